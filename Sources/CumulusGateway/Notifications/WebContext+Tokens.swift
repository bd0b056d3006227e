// tokens/create and tokens/register: where a browser waits for notifications, and where devices and
// browsers are woken.
//
// Folder: what browsers are told. Read `WebContext+Tokens`, then `WebCourier` and `CourierBoard`.

import CumulusModel
import CumulusWire

extension WebContext {
    /// - Parameter registers: The request names a token that it has already.
    func makeCourier(registers: Bool) async throws -> [JSON.Member] {
        guard !user.isEmpty else { throw WebContext.userNeeded }
        let environment = try request.needed("apnsEnvironment")
        guard ["development", "production"].contains(environment) else {
            throw WebError.badRequest("'apnsEnvironment' must be development or production")
        }
        if registers, let address = try pushAddress(isSandbox: environment == "development") {
            return try await register(address, environment)
        }
        let known = registers ? courier(try request.needed("apnsToken")) : nil
        let client = try request.string("clientId") ?? route.clientID
        let device = links.access.device(of: client)
        func isOwn(_ station: CourierToken.Station) -> Bool {
            station.access == links.access && station.device == device
        }
        var token: CourierToken
        if let known, known.stations.contains(where: isOwn) {
            token = known
        } else {
            let station = CourierToken.Station(
                id: door.random(),
                access: links.access,
                feed: try await feedToken(),
                device: device
            )
            token = known ?? CourierToken(station, made: door.now)
            token.add(station, now: door.now)
        }
        let sealed = door.seal(token.content)
        return [
            JSON.Member("apnsEnvironment", .string(environment)),
            JSON.Member("apnsToken", .string(sealed.hex)),
            JSON.Member(
                "webcourierURL",
                .string(links.base + CourierToken.path + Base64URL.encode(sealed))
            ),
        ]
    }

    // MARK: Pushes

    /// What a request asks to be woken at; nil if it names the token of a courier.
    ///
    /// `topic`, `webPush` and `fcmToken` are not CloudKit's. A device's token without a topic gets
    /// a courier, as ever.
    private func pushAddress(isSandbox: Bool) throws(WebError) -> PushAddress? {
        let label = try request.string("label") ?? ""
        if let token = try request.string("fcmToken") { return .fcm(token: token, label: label) }
        if let web = try request.object("webPush") {
            let keys = try web.object("keys")
            func key(_ name: String) throws(WebError) -> Bytes {
                guard let text = try keys?.needed(name), let key = Base64URL.decode(text.utf8)
                else { throw .badRequest("'webPush.keys.\(name)' must be Base64 for URLs") }
                return key
            }
            return .webPush(
                endpoint: try web.needed("endpoint"),
                publicKey: try key("p256dh"),
                secret: try key("auth"),
                label: label
            )
        }
        guard let topic = try request.string("topic") else { return nil }
        guard let token = Bytes(hex: try request.needed("apnsToken")) else {
            throw .badRequest("'apnsToken' must have pairs of hexadecimal digits")
        }
        return .apns(deviceToken: token, topic: topic, isSandbox: isSandbox, label: label)
    }

    private func register(
        _ address: PushAddress,
        _ environment: String
    ) async throws -> [JSON.Member] {
        let request = RegisterPushRequest(address)
        let messages = try await calls.change(.pushesRegister, request.encoded())
        guard let last = messages.last else { throw WebContext.resultMissing }
        let id = try RegisterPushResponse(wire: last).id.hex
        var members = [
            JSON.Member("apnsEnvironment", .string(environment)),
            JSON.Member("pushID", .string(id)),
        ]
        if address.service == .apns {
            members.append(JSON.Member("apnsToken", .string(address.token)))
        }
        return members
    }

    /// nil for the token of a device: what it is told goes elsewhere.
    private func courier(_ text: String) -> CourierToken? {
        guard let sealed = Bytes(hex: text), let content = door.open(sealed),
            let token = try? CourierToken(content: content), token.isGood(now: door.now)
        else { return nil }
        return token
    }

    /// The present token of the user's feed.
    private func feedToken() async throws -> Bytes {
        let call = FollowFeedRequest(token: [], untilCheckpoint: true)
        let messages = try await calls.read(.feedsFollow, call.encoded())
        guard let last = messages.last else { throw WebContext.resultMissing }
        return try WireFeedPage(wire: last).token
    }
}
