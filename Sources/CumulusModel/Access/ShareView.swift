// What a share says besides its fields, as the node shows it: part of `RecordView`.
//
// Made by operations for each share record that is shown, as its caller may see it; encoded by
// CumulusWire, which puts in the URL.

package struct ShareView: Hashable, Sendable {
    /// 16 bytes, of which the node makes the URL.
    package var share: Bytes
    /// Without a URL.
    package var details: ShareDetails

    package init(share: Bytes, details: ShareDetails) {
        self.share = share
        self.details = details
    }

    /// Record name of the root; nil: the zone.
    package var root: String? { details.root.isEmpty ? nil : details.root }
}
