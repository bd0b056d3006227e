// A share's details as the node shows them: part of `RecordView`.
//
// Made by operations for each share record that is shown, as its caller may see it; encoded by
// CumulusWire, which puts in the URL.

package struct ShareView: Hashable, Sendable {
    /// 16 bytes, from which the node makes the URL.
    package var share: Bytes
    /// The details without a URL.
    package var details: ShareDetails

    package init(share: Bytes, details: ShareDetails) {
        self.share = share
        self.details = details
    }

    /// Record name of the root; nil: the zone.
    package var root: String? { details.root.isEmpty ? nil : details.root }
}
