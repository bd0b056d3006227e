// The calls by which users find each other: a user's profile and handles, and the look-up of
// handles and user record names.
//
// `MethodTable` lists them. `People` decides what a look-up may tell.

import CumulusModel
import CumulusOperations
import CumulusRequests
import CumulusStorage
import CumulusWire

enum PeopleCalls {
    static let methods: [MethodEntry] = [
        .init(
            .accountsProfile,
            .message,
            .token,
            admit: checkCaller,
            parse: decoded { try ProfileRequest(wire: $0).bytes },
            read: profile,
            encode: { profile, _ in profile.encoded() }
        ),
        .init(
            .accountsSetProfile,
            .message,
            .token,
            admit: checkCaller,
            parse: decoded(SetProfileRequest.init(wire:)),
            change: setProfile,
            encode: oneMessage { SetProfileResponse($0).encoded() }
        ),
        .init(
            .accountsDiscover,
            .message,
            .token,
            admit: { _ = try $0.identity.session() },
            parse: decoded(DiscoverRequest.init(wire:)),
            read: discover,
            encode: { users, _ in DiscoverResponse(users).encoded() }
        ),
        .init(
            .operatorSetHandle,
            .message,
            .act,
            parse: decoded(SetHandleRequest.init(wire:)),
            change: setHandle,
            encode: oneMessage { set in
                SetHandleResponse(existed: set.existed, isMoved: set.isMoved).encoded()
            }
        ),
    ]

    private static func profile(
        _ raw: Bytes,
        _ context: CallContext
    ) throws -> Reading<WireProfile>? {
        let name = try SessionCalls.user(raw, context)
        let caller = context.identity.credential?.session
        return .onDisk(in: .cluster) { context in
            let named = try name.map { try SessionCalls.user(named: $0, in: context.reader).id }
            guard let userID = named ?? caller?.userID else { throw Sessions.refusal }
            let profile = try People.profile(of: userID, in: context.reader)
            let handles = try People.handles(of: userID, in: context.reader)
            let answer = WireProfile(
                displayName: profile.displayName,
                isDiscoverable: profile.isDiscoverable,
                handles: handles.map(WireHandle.init)
            )
            return Part(answer)
        }
    }

    private static func setProfile(
        _ request: SetProfileRequest,
        _ context: CallContext
    ) throws -> SetProfile {
        let name = try SessionCalls.user(request.user, context)
        let displayName = request.displayName
        let profile = People.Profile(
            displayName: displayName.isEmpty
                ? "" : try Names.checkText(displayName[...], "display name"),
            isDiscoverable: request.isDiscoverable
        )
        if let name { context.concerns("\(name): profile") }
        return SetProfile(profile, user: name)
    }

    /// Refuses callers without an account before their message is read.
    @Sendable private static func checkCaller(_ context: CallContext) throws {
        if context.caller.role != .operator { _ = try context.identity.session() }
    }

    private static func discover(
        _ request: DiscoverRequest,
        _ context: CallContext
    ) throws -> Reading<[DiscoveredUser]>? {
        let count = request.handles.count + request.users.count
        let limit = context.limits.handlesPerRequest
        guard count <= limit else { throw ServiceError.tooManyItems(count, limit: limit) }
        let handles = try request.handles.map { try Handle($0) }
        // No user has a name of another form.
        let recordNames = request.users.map { String(decoding: $0, as: UTF8.self) }
        let container = try context.scope().container
        return .onDisk(in: .cluster) { context in
            let names = context.node.userNames
            let held = try handles.map {
                try People.discover($0, in: container, context.reader)
            }
            let named = try recordNames.map {
                try People.discover(recordName: $0, in: container, by: names, context.reader)
            }
            return Part((held + named).map(DiscoveredUser.init))
        }
    }

    private static func setHandle(
        _ request: SetHandleRequest,
        _ context: CallContext
    ) throws -> SetHandle {
        let name = try Names.checkIdentifier(request.user[...], "user name")
        let handle = try Handle(request.handle)
        context.concerns("\(name): handle \(request.isHeld ? "given" : "taken")")
        return SetHandle(handle, user: name, isHeld: request.isHeld)
    }
}

extension Handle {
    init(_ wire: WireHandle) throws(ServiceError) {
        guard let kind = UInt8(exactly: wire.kind).flatMap(Kind.init(rawValue:)) else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                "a handle is of kind 1 (e-mail) or 2 (telephone), and not \(wire.kind)"
            )
        }
        try self.init(kind, wire.value)
    }
}

extension WireHandle {
    fileprivate init(_ held: People.HeldHandle) {
        self.init(
            kind: UInt32(held.handle.kind.rawValue),
            value: Bytes(held.handle.text.utf8),
            verifiedBy: held.verifiedBy
        )
    }
}

extension DiscoveredUser {
    fileprivate init(_ person: People.Person?) {
        self.init(user: person?.user ?? "", displayName: person?.displayName ?? "")
    }
}
