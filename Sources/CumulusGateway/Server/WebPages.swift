// Pages that a node serves beside web services.
//
// Asked by `HTTPServer` in a fixed order, before the gateway, and for the hosts of the node only,
// see `WebHosts`. Requests are read as a whole, but for files, which pass through.

package import CumulusModel

package protocol WebPages: Sendable {
    /// Whether a path is one of its pages, or is kept for them.
    func isAt(_ path: Substring) -> Bool
    /// They are answered also when connections of others fill the room.
    var areForOperators: Bool { get }
    /// Whether a request comes from an operator who is signed in.
    ///
    /// - Parameter request: Has no body yet.
    func isOfOperator(_ request: WebRequest) -> Bool
    /// nil if the request is for none of its pages.
    func answer(_ request: WebRequest) async -> WebAnswer?
}

extension WebPages {
    package var areForOperators: Bool { false }
    package func isOfOperator(_ request: WebRequest) -> Bool { false }
}

/// Pages that take files, too.
package protocol FilePages: WebPages {
    /// Whether the body of a request is a file, which is for `upload` then and never for `answer`.
    func takesFile(_ request: WebRequest) -> Bool
    /// Takes a file.
    ///
    /// - Parameters:
    ///   - request: Has no body.
    ///   - body: The file, in pieces.
    ///   - limit: Bytes of the file.
    ///   - onWait: Told when the file's first bytes are waited for, and again when a part of it
    ///     is on the node's disk, and more is to come.
    func upload<Body: AsyncSequence>(
        _ request: WebRequest,
        _ body: Body,
        limit: Int,
        onWait: () -> Void
    ) async -> WebAnswer where Body.Element == Bytes
}
