// The calls on sessions: of users about their own, and of operators about any user's. An operator
// also disables users.
//
// `MethodTable` lists them. `SignInCalls` has the calls that take passwords.
//
// Folder: what users and operators ask about accounts. Read `SessionCalls`, then `SignInCalls`,
// `PeopleCalls`, `KeyCalls` and `OperatorTokenCalls`.

import CumulusModel
import CumulusOperations
import CumulusRequests
import CumulusStorage
import CumulusWire

enum SessionCalls {
    static let methods: [MethodEntry] = [
        .init(
            .accountsSessions,
            .parts,
            .token,
            parse: decoded { try SessionsRequest(wire: $0).bytes },
            read: list,
            encode: { sessions, _ in SessionsResponse(sessions).encoded() }
        ),
        .init(
            .accountsRevoke,
            .message,
            [.token, .audit],
            parse: decoded(RevokeSessionsRequest.init(wire:)),
            begin: revoke
        ),
        .init(
            .operatorSetUserState,
            .message,
            .act,
            parse: decoded(SetUserStateRequest.init(wire:)),
            change: setUserState,
            encode: oneMessage { SetUserStateResponse($0).encoded() }
        ),
    ]

    private static func list(
        _ raw: Bytes,
        _ context: CallContext
    ) throws -> Reading<ArraySlice<WireSession>>? {
        let name = try user(raw, context)
        let caller = context.identity.credential?.session
        return .onDisk(in: .cluster) { context in
            let named = try name.map { try user(named: $0, in: context.reader).id }
            guard let userID = named ?? caller?.userID else { throw Sessions.refusal }
            let now = context.node.environment.wallClock()
            let sessions = try Sessions.all(of: userID, now: now, in: context.reader).map {
                WireSession($0, isThis: $0.digest == caller?.digest)
            }
            return Part(list: sessions[...])
        }
    }

    /// Ends one session or all: these are two changes.
    private static func revoke(
        _ request: RevokeSessionsRequest,
        _ context: CallContext
    ) throws {
        let name = try user(request.user, context)
        guard request.id.isEmpty || request.id.count == 32 else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                "a session's id has 32 bytes, and not \(request.id.count); list the sessions"
            )
        }
        let what = request.id.isEmpty ? "all sessions" : "session \(request.id.hex)"
        context.concerns(name.map { "\($0): \(what)" } ?? what)
        let encode = { @Sendable (isChanged: Bool) in
            if !isChanged { context.concernsNothing() }
            return [RevokeSessionsResponse(isChanged).encoded()]
        }
        if request.id.isEmpty {
            context.change(EndSessions(user: name), encode)
        } else {
            context.change(RevokeSession(digest: request.id, user: name), encode)
        }
    }

    private static func setUserState(
        _ request: SetUserStateRequest,
        _ context: CallContext
    ) throws -> SetDisabled {
        let name = try Names.checkIdentifier(request.user[...], "user name")
        context.concerns("\(name): \(request.isDisabled ? "disabled" : "enabled")")
        return SetDisabled(request.isDisabled, user: name)
    }

    /// The name of the user whom an operator means; nil means the caller itself.
    static func user(
        _ raw: Bytes,
        _ context: CallContext
    ) throws(ServiceError) -> String? {
        if context.caller.role == .operator {
            return try Names.checkIdentifier(raw[...], "user name")
        }
        _ = try context.identity.session()
        guard raw.isEmpty else {
            throw ServiceError(
                .permissionFailure,
                "only an operator names a user; leave the name out: it is about yourself"
            )
        }
        return nil
    }

    static func user(
        named name: String,
        in reader: ReadTransaction
    ) throws -> Users.User {
        guard let user = try Users.find(name, in: reader) else { throw Users.unknown(name) }
        return user
    }
}

extension WireSession {
    fileprivate init(_ session: Sessions.Session, isThis: Bool) {
        let details = session.token.details
        self.init(
            id: session.digest,
            kind: UInt32(clamping: details?.kind.rawValue ?? 0),
            label: details?.label ?? "",
            device: details?.device ?? [],
            opened: session.opened,
            expires: details?.expires ?? 0,
            isThis: isThis
        )
    }
}
