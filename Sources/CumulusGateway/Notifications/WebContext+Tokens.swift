// tokens/create and tokens/register: where a browser waits for notifications.
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
