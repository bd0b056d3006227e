// A request to a push service, its answer, and what the answer means for the courier.
//
// Made and judged by `APNsPush`, `WebPush` and `FCMPush`; carried by `PushSender`.

package import CumulusModel

package struct PushRequest: Sendable {
    package var address: WebAddress
    package var headers: [(name: String, value: String)]
    package var body: Bytes

    package init(
        to address: WebAddress,
        headers: [(name: String, value: String)],
        _ body: Bytes
    ) {
        self.address = address
        self.headers = headers
        self.body = body
    }

    /// The value of a header; nil without it.
    package subscript(header: String) -> String? {
        headers.first { $0.name == header }?.value
    }
}

package struct PushAnswer: Sendable {
    package var status: Int
    /// The value of the header "Retry-After".
    package var retryAfter: String?
    package var body: Bytes

    package init(status: Int, retryAfter: String? = nil, body: Bytes = []) {
        self.status = status
        self.retryAfter = retryAfter
        self.body = body
    }

    /// How long the service wants to be left alone, in milliseconds; nil if it doesn't say, or
    /// says it by a date.
    package var pause: Int64? {
        retryAfter.flatMap { Int64($0) }.map { min(max($0, 0), 86_400) * 1_000 }
    }

    var json: JSON? { try? JSONReader.read(body) }
}

extension JSON {
    /// A string; nil for every other value.
    var word: String? { if case .string(let text) = self { text } else { nil } }
}

/// What became of a push.
package enum PushVerdict: Hashable, Sendable {
    /// The service took it.
    case taken
    /// The device has no such address any more.
    ///
    /// - Parameter since: When the service learned that, in milliseconds since 1970 UTC; nil if it
    ///   doesn't say.
    case gone(since: Int64?)
    /// The service will never take this push.
    case refused(String)
    /// The service doesn't take the token that says who pushes.
    case unauthorised(String)
    /// It may be taken later.
    ///
    /// - Parameter pause: How long the service wants to be left alone, in milliseconds.
    case later(String, pause: Int64?)

    /// What services have in common.
    ///
    /// - Parameter reason: The service's word for it; empty if it has none.
    init(common answer: PushAnswer, _ reason: String) {
        let said = PushVerdict.said(answer, reason)
        switch answer.status {
        case 200..<300: self = .taken
        case 401, 403: self = .unauthorised(said)
        case 408, 425, 429, 500...: self = .later(said, pause: answer.pause)
        default: self = .refused(said)
        }
    }

    /// What the log says of an answer.
    static func said(_ answer: PushAnswer, _ reason: String) -> String {
        "status \(answer.status)" + (reason.isEmpty ? "" : ", \(reason)")
    }

    /// A word of a service, safe to be logged.
    static func word(_ text: String?) -> String {
        String((text ?? "").prefix(64).filter { $0.isASCII && ($0.isLetter || $0 == "_") })
    }
}

/// Why a push can't be made.
package enum PushFailure: Error, CustomStringConvertible {
    case otherKey
    case noAddress
    /// The service's token endpoint gave none.
    case noToken(String)

    package var description: String {
        switch self {
        case .otherKey: "the key is one of another service"
        case .noAddress: "the address of the device is no URL"
        case .noToken(let why): "no access token was given: \(why)"
        }
    }
}
