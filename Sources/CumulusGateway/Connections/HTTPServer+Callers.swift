// The caller of an HTTP request, and the request's head as the pages and the gateway read it.
//
// Called by `HTTPServer` once per request.

import CumulusModel
import CumulusTransport
import HTTPTypes
import HummingbirdCore
import NIOCore

extension HTTPServer {
    /// The other end of a request's connection.
    struct Caller {
        let address: Bytes
        let isLoopback: Bool
        let channel: any Channel

        init(_ channel: any Channel) {
            address = channel.remoteAddress?.addressBytes ?? []
            isLoopback = channel.remoteAddress?.isLoopback ?? false
            self.channel = channel
        }

        var id: OpenConnections.ID { ObjectIdentifier(channel) }

        /// The body is read, or the answer made, from now on: the request has its time once more,
        /// and a caller that waits with its body is told to send it.
        func expectBody() {
            channel.triggerUserOutboundEvent(RequestCameOn(), promise: nil)
        }
    }

    /// A request without its body.
    static func read(_ request: Request, _ method: String, _ target: String) -> WebRequest {
        var headers: [String: String] = [:]
        // A field on several lines is one list: RFC 9110, section 5.3.
        for field in request.headers {
            let name = field.name.canonicalName
            let separator = name == "cookie" ? "; " : ", "
            headers[name] = headers[name].map { $0 + separator + field.value } ?? field.value
        }
        let host = request.head.authority ?? ""
        if !host.isEmpty { headers["host"] = host }
        return WebRequest(method, target, headers: headers)
    }
}
