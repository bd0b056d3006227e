// The calls on addresses at which devices are woken: a user registers, lists and ends its own, and
// operators list and end any user's.
//
// `MethodTable` lists them. The couriers of `CumulusGateway` push to what they keep.

import CumulusModel
import CumulusOperations
import CumulusRequests
import CumulusStorage
import CumulusWire

enum PushCalls {
    static let methods: [MethodEntry] = [
        .init(
            .pushesRegister,
            .message,
            [.token, .audit],
            parse: decoded(RegisterPushRequest.init(wire:)),
            change: register,
            encode: oneMessage { outcome in
                RegisterPushResponse(
                    id: outcome.id.bytes,
                    isChanged: outcome.isChanged
                ).encoded()
            }
        ),
        .init(
            .pushesList,
            .parts,
            .token,
            parse: decoded { try ListPushesRequest(wire: $0).bytes },
            read: list,
            encode: { pushes, _ in ListPushesResponse(pushes).encoded() }
        ),
        .init(
            .pushesEnd,
            .message,
            [.token, .audit],
            parse: decoded(EndPushesRequest.init(wire:)),
            change: end,
            encode: ended
        ),
        .init(.pushesServices, .message, parse: unread, begin: services),
    ]

    private static func register(
        _ request: RegisterPushRequest,
        _ context: CallContext
    ) throws -> RegisterPush {
        guard context.caller.role != .operator else {
            throw ServiceError(
                .permissionFailure,
                "an operator has no devices that are woken; use a user's access token"
            )
        }
        _ = try context.identity.session()
        guard let service = PushService(rawValue: request.service) else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                "name a push service: 1 (APNs), 2 (Web Push) or 3 (FCM)"
            )
        }
        func text(_ bytes: Bytes) -> String { String(decoding: bytes, as: UTF8.self) }
        let address = PushAddress(
            service: service,
            token: text(request.token),
            topic: text(request.topic),
            isSandbox: request.isSandbox,
            publicKey: request.publicKey,
            secret: request.secret,
            label: request.label
        )
        try address.check(against: offers(try context.scope(), context))
        context.concerns("\(service.name) \(StoredPush.ID(of: address).bytes.hex)")
        return RegisterPush(address, device: context.caller.device)
    }

    private static func offers(_ scope: ScopeID, _ context: CallContext) -> [PushOffer] {
        context.node.configuration.pushOffers(scope.container)
    }

    private static func list(
        _ raw: Bytes,
        _ context: CallContext
    ) throws -> Reading<ArraySlice<WirePush>>? {
        let name = try SessionCalls.user(raw, context)
        let own = context.caller.user
        let session = context.identity.credential?.session?.digest
        return .onDisk { context in
            let user = try name.map {
                try SessionCalls.user(named: $0, in: context.reader)
                    .recordName(in: context.scope.container)
            }
            let pushes = try Pushes.all(
                of: user ?? own,
                in: context.number,
                now: context.node.environment.wallClock(),
                context.reader
            )
            return Part(list: pushes.map { WirePush($0, isOfThis: $0.session == session) }[...])
        }
    }

    private static func end(
        _ request: EndPushesRequest,
        _ context: CallContext
    ) throws -> EndPushes {
        let name = try SessionCalls.user(request.user, context)
        let count = StoredPush.ID.byteCount
        guard request.id.isEmpty || request.id.count == count else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                "a push address's id has \(count) bytes, and not \(request.id.count); list them"
            )
        }
        let what = request.id.isEmpty ? "all push addresses" : "push address \(request.id.hex)"
        context.concerns(name.map { "\($0): \(what)" } ?? what)
        return EndPushes(request.id.isEmpty ? nil : StoredPush.ID(bytes: request.id), of: name)
    }

    private static func ended(
        _ count: Int,
        _ request: EndPushesRequest,
        _ context: CallContext
    ) -> [Bytes] {
        if count == 0 { context.concernsNothing() }
        return [EndPushesResponse(count: count).encoded()]
    }

    private static func services(_: Void, _ context: CallContext) throws {
        let offers = offers(try context.scope(), context).map(WirePushOffer.init)
        context.finish([PushServicesResponse(offers).encoded()])
    }
}

extension WirePush {
    fileprivate init(_ push: StoredPush, isOfThis: Bool) {
        self.init(
            id: push.id.bytes,
            push.address,
            device: push.device,
            registered: push.registered,
            isOfThis: isOfThis
        )
    }
}
