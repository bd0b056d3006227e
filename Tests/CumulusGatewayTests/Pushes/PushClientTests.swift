// The client of push services where a service falls silent.

import CumulusGateway
import CumulusModel
import CumulusTransport
import Testing

@Suite(.timeLimit(.minutes(1))) struct PushClientTests {
    /// A dead connection of HTTP/2 looks like a service that does not answer: new connections are
    /// made then, and the next request has its answer.
    @Test func muchSilenceMakesConnectionsAnew() async throws {
        try await PushEndpoint.serve { endpoint, url in
            let loops = EventLoops(threads: 1)
            let client = try OutboundPushClient(on: loops.group, milliseconds: 100)
            let address = try #require(WebAddress("\(url)/browser/1"))
            let request = PushRequest(to: address, headers: [], [1])
            endpoint.hang(.webPush)
            for _ in 0..<6 {
                await #expect(throws: OutboundPushClient.Failure.self) {
                    try await client.post(request)
                }
            }
            #expect(client.renewals >= 1)
            endpoint.hang(.webPush, false)
            #expect(try await client.post(request).status == 201)
            let before = client.renewals
            for _ in 0..<10 { _ = try await client.post(request) }
            #expect(client.renewals == before)
            await client.close()
            try await loops.stop()
        }
    }
}
