// The network of a migration, by async-http-client.
//
// Redirects are followed for files alone, since their links say all that is needed: a request says
// who asks, and no other host may learn it. What began in secret stays so. An answer has an end in
// time, and a bound.

import AsyncHTTPClient
package import CumulusModel
import CumulusSystem
import NIOCore
import NIOHTTP1

package struct HTTPTransport: SourceTransport {
    private let client: HTTPClient

    private static let timeout = TimeAmount.seconds(120)
    /// Files may take longer.
    private static let fileTimeout = TimeAmount.hours(6)
    /// 200 records of 1 MB each, in base64.
    private static let mostBytes = 400 << 20
    private static let mostRedirects = 4

    package init() {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.timeout.connect = .seconds(10)
        configuration.timeout.read = .seconds(60)
        // An unreachable service is an error at once; what follows is decided elsewhere.
        configuration.connectionPool.retryConnectionEstablishment = false
        client = HTTPClient(configuration: configuration)
    }

    package func close() async {
        try? await client.shutdown()
    }

    package func send(_ ask: SourceAsk) async throws -> SourceReply {
        var request = HTTPClientRequest(url: ask.url)
        for header in ask.headers { request.headers.add(name: header.name, value: header.value) }
        if !ask.body.isEmpty {
            request.method = .POST
            request.body = .bytes(ByteBuffer(string: ask.body))
        }
        let response = try await client.execute(request, timeout: HTTPTransport.timeout)
        var reply = HTTPTransport.reply(response)
        let body = try await response.body.collect(upTo: HTTPTransport.mostBytes)
        reply.body = Bytes(body.readableBytesView)
        return reply
    }

    package func stream(
        _ url: String,
        to take: (Bytes) throws -> Void
    ) async throws -> SourceReply {
        var url = url
        for _ in 0...HTTPTransport.mostRedirects {
            let request = HTTPClientRequest(url: url)
            let response = try await client.execute(request, timeout: HTTPTransport.fileTimeout)
            let location = response.headers.first(name: "Location")
            if (300..<400).contains(response.status.code),
                let next = location.flatMap({ HTTPTransport.target(of: $0, from: url) })
            {
                url = next
                continue
            }
            if response.status == .ok {
                for try await part in response.body { try take(Bytes(part.readableBytesView)) }
            }
            return HTTPTransport.reply(response)
        }
        return SourceReply(status: 310)
    }

    /// Where a redirect leads; nil if it may not be followed.
    static func target(of location: String, from url: String) -> String? {
        guard let base = URL(string: url), let next = URL(string: location, relativeTo: base)
        else { return nil }
        let isSecret = next.scheme == "https"
        guard isSecret || next.scheme == "http" && base.scheme == "http" else { return nil }
        return next.absoluteString
    }

    private static func reply(_ response: HTTPClientResponse) -> SourceReply {
        SourceReply(
            status: Int(response.status.code),
            retryAfter: response.headers.first(name: "Retry-After"),
            renewedToken: response.headers.first(name: "X-Apple-CloudKit-Web-Auth-Token"),
            date: response.headers.first(name: "Date")
        )
    }
}
