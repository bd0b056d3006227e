// The addresses at which the user's devices are woken, in a container: register, list, end.
//
// A node pushes to them what the user's subscriptions tell, see `Subscription.NotificationInfo`.

public import CumulusModel
import CumulusWire

/// The address of a device that is woken, as its user and operators see it.
public struct RegisteredPush: Hashable, Identifiable, Sendable {
    /// 32 hexadecimal digits.
    public let id: String
    /// The service that wakes it; nil: one that this release of the library doesn't know.
    public let service: PushService?
    /// APNs: the bundle id of the app; empty for other services.
    public let topic: String
    /// APNs: the app runs in the development environment of APNs.
    public let isSandbox: Bool
    /// The label that was given when it was registered, for people.
    public let label: String
    /// The ``Container/Configuration/deviceID`` with which it was registered.
    public let deviceID: String
    /// When it was registered, by the clock of the node that took it.
    public let registered: Timestamp
    /// The session of the container that asked has registered it.
    public let isOfThis: Bool

    private init(_ wire: WirePush) {
        id = wire.id.hex
        service = PushService(rawValue: wire.service)
        topic = String(decoding: wire.topic, as: UTF8.self)
        isSandbox = wire.isSandbox
        label = wire.label
        deviceID = String(decoding: wire.device, as: UTF8.self)
        registered = Timestamp(millisecondsSince1970: wire.registered)
        isOfThis = wire.isOfThis
    }

    /// The addresses of an answer in several messages.
    static func list(_ answer: [Bytes]) throws -> [RegisteredPush] {
        try decoding {
            try answer.flatMap { try ListPushesResponse(wire: $0).elements.map(Self.init) }
        }
    }

    /// The bytes that an id stands for; no bytes would stand for all addresses.
    static func bytes(_ id: ID) throws(ServiceError) -> Bytes {
        guard let bytes = Bytes(hex: id), bytes.count == 16 else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                "'\(id)' is no id of a push address, which has 32 hexadecimal digits; list them"
            )
        }
        return bytes
    }
}

extension Container {
    /// Registers the address at which this device is woken for the user.
    ///
    /// Register at each launch, as apps do with Apple's service: nothing is changed if the address
    /// is known. It counts in this container, as long as the session of the container's token
    /// lasts, and until the service says that the device is gone. What this device changes by
    /// itself does not wake it: the device is the configuration's `deviceID`.
    ///
    /// - Returns: The address's id.
    /// - Throws: `invalidArguments` for an address that the cluster can't push to;
    ///   `notAuthenticated` without an access token.
    @discardableResult
    public func register(_ address: PushAddress) async throws -> RegisteredPush.ID {
        let request = RegisterPushRequest(address)
        let answer = try await core.read(.pushesRegister, request.encoded())
        return try decoding { try RegisterPushResponse(wire: answer.first ?? []).id.hex }
    }

    /// The addresses at which the user's devices are woken, oldest first.
    ///
    /// - Throws: `notAuthenticated` without an access token.
    public func pushAddresses() async throws -> [RegisteredPush] {
        let message = ListPushesRequest([]).encoded()
        return try RegisteredPush.list(await core.read(.pushesList, message))
    }

    /// Ends an address of the user; returns false if there is none with that id.
    ///
    /// - Throws: `invalidArguments` if the id can't be one; `notAuthenticated` without an access
    ///   token.
    @discardableResult
    public func endPush(_ id: RegisteredPush.ID) async throws -> Bool {
        try await endPushes(EndPushesRequest(id: RegisteredPush.bytes(id))) > 0
    }

    /// Ends all addresses of the user in this container; returns how many there were.
    ///
    /// - Throws: `notAuthenticated` without an access token.
    @discardableResult
    public func endAllPushes() async throws -> Int {
        try await endPushes(EndPushesRequest(id: []))
    }

    private func endPushes(_ request: EndPushesRequest) async throws -> Int {
        let answer = try await core.read(.pushesEnd, request.encoded())
        return try decoding { Int(try EndPushesResponse(wire: answer.first ?? []).count) }
    }

    /// What the cluster can wake devices with in this container.
    public func pushOffers() async throws -> [PushOffer] {
        let answer = try await core.read(.pushesServices, [])
        return try decoding {
            try PushServicesResponse(wire: answer.first ?? []).elements.compactMap(PushOffer.init)
        }
    }
}

extension PushOffer {
    /// nil for a service that this release doesn't know.
    fileprivate init?(_ wire: WirePushOffer) {
        guard let service = PushService(rawValue: wire.service) else { return nil }
        self.init(
            service: service,
            topics: wire.topics.map { String(decoding: $0, as: UTF8.self) },
            publicKey: wire.publicKey
        )
    }
}
