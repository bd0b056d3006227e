// A record as the node hands it out: system fields, and the fields as canonical bytes that are
// copied into the answer.
//
// Made by CumulusStorage from a row, encoded by CumulusWire. hot: once per fetched record.

package struct RecordView: Hashable, Sendable {
    /// What a share's record shows besides its fields.
    ///
    /// Made by operations for each share record that is shown, as its caller may see it; encoded by
    /// CumulusWire, which puts in the URL.
    package struct Sharing: Hashable, Sendable {
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

    package var name: String
    package var type: String
    /// 8 bytes.
    package var changeTag: Bytes
    /// Milliseconds since 1970 UTC.
    package var created: Int64
    package var createdBy: String
    package var modified: Int64
    package var modifiedBy: String
    package var parent: String?
    package var share: String?
    /// For a share's record: what it shares, and with whom.
    ///
    /// Added where it is shown.
    package var sharing: Sharing? {
        get { boxedSharing?.view }
        set { boxedSharing = newValue.map(Box.init) }
    }
    /// `repeated Field fields = 10`, canonical.
    package var fields: Bytes

    /// Elsewhere: nearly no record is a share's.
    private var boxedSharing: Box?

    private final class Box: Hashable, Sendable {
        let view: Sharing

        init(_ view: Sharing) { self.view = view }

        static func == (left: Box, right: Box) -> Bool { left.view == right.view }

        func hash(into hasher: inout Hasher) { hasher.combine(view) }
    }

    package init(
        name: String,
        type: String,
        changeTag: Bytes,
        created: Int64,
        createdBy: String,
        modified: Int64,
        modifiedBy: String,
        parent: String? = nil,
        share: String? = nil,
        fields: Bytes = []
    ) {
        self.name = name
        self.type = type
        self.changeTag = changeTag
        self.created = created
        self.createdBy = createdBy
        self.modified = modified
        self.modifiedBy = modifiedBy
        self.parent = parent
        self.share = share
        self.fields = fields
    }
}
