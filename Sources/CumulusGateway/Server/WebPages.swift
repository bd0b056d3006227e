// Pages that a node serves beside web services.
//
// Asked by `HTTPServer` in a fixed order, with requests that were read as a whole, before the
// gateway. They are served for the hosts of the node only, see `WebHosts`.

package protocol WebPages: Sendable {
    /// Whether a path is one of its pages, or is kept for them.
    func isAt(_ path: Substring) -> Bool
    /// nil if the request is for none of its pages.
    func answer(_ request: WebRequest) async -> WebAnswer?
}
