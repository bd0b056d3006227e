// Pages that a node serves beside web services.
//
// Asked by `HTTPServer` in a fixed order, with requests that were read as a whole, before the
// gateway. The first answer counts.

package protocol WebPages: Sendable {
    /// nil if the request is for none of its pages.
    func answer(_ request: WebRequest) async -> WebAnswer?
}
