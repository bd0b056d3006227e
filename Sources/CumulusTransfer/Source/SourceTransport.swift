// The seam to the network: one request, one answer; and files, piece by piece.
//
// `SourceClient` decides what is asked and what follows an answer; `HTTPTransport` is the network,
// and tests have another.

package import CumulusModel

/// A request over HTTP: a GET without a body, else a POST.
package struct SourceAsk: Sendable {
    package var url: String
    package var headers: [(name: String, value: String)]
    package var body: String

    package init(url: String, headers: [(name: String, value: String)] = [], body: String = "") {
        self.url = url
        self.headers = headers
        self.body = body
    }
}

package struct SourceReply: Sendable {
    package var status: Int
    /// The header of that name: seconds to wait, or a date that is not read.
    package var retryAfter: String?
    /// The token that the service gives a user in place of the last one.
    package var renewedToken: String?
    package var body: Bytes

    package init(
        status: Int,
        retryAfter: String? = nil,
        renewedToken: String? = nil,
        body: Bytes = []
    ) {
        self.status = status
        self.retryAfter = retryAfter
        self.renewedToken = renewedToken
        self.body = body
    }
}

package protocol SourceTransport: Sendable {
    /// Throws if no answer came.
    func send(_ ask: SourceAsk) async throws -> SourceReply

    /// Gets a file; its pieces come in order, if the status is 200.
    func stream(_ url: String, to take: (Bytes) throws -> Void) async throws -> SourceReply

    func close() async
}
