// A sealed link to the content of an asset: where a file is uploaded, or where one is downloaded.
//
// `WebLinks` makes it and `WebTransfers` opens it. A link works for a limited time. The cluster
// seals it. Each kind of sealed content begins with a label of its own, so a link is never taken
// for another kind, nor for the token of a session, which begins with a digest.

package import CumulusModel

package struct WebLink: Hashable, Sendable {
    package enum Purpose: Hashable, Sendable {
        /// - Parameter zone: The zone of the records that will name the asset; nil means the
        ///   default zone.
        case upload(zone: RecordZone.ID?)
        /// An asset, and the field in which it was read.
        case download(Asset, record: Record.ID, field: String)
    }

    package var access: WebAccess
    /// In milliseconds since 1970 UTC.
    package var made: Int64
    package var purpose: Purpose
    /// For a download: a causal token of the answer that gave the link; nil if it had none.
    package var seen: Bytes?

    /// How long a link to upload works, in milliseconds.
    package static let uploadTime: Int64 = 15 * 60_000
    /// The same of a link to download.
    package static let downloadTime: Int64 = 4 * 3_600_000
    /// Clocks of two nodes differ by less.
    static let clockSkew: Int64 = 60_000

    package init(_ access: WebAccess, made: Int64, _ purpose: Purpose, seen: Bytes? = nil) {
        self.access = access
        self.made = made
        self.purpose = purpose
        self.seen = seen
    }

    /// - Parameter now: Milliseconds since 1970 UTC.
    package func isGood(now: Int64) -> Bool {
        let time: Int64 =
            switch purpose {
            case .upload: WebLink.uploadTime
            case .download: WebLink.downloadTime
            }
        return now - made > -WebLink.clockSkew && now - made < time
    }

    // MARK: URLs

    /// The path before a link's token.
    package static let path = "/database/1/content/"

    /// The token of a link; nil if the target of a request is no link.
    package static func token(of target: String) -> Substring? {
        WebText.lastPart(of: target, after: WebLink.path)
    }

    // MARK: Bytes

    /// The prefix of the sealed content.
    private enum Label: String {
        case upload = "link to upload"
        case download = "link to download"
        case seen = "link to download what was seen"
    }

    package var content: Bytes {
        var writer = CanonicalWriter()
        switch purpose {
        case .upload(let zone):
            writer.delimited(Label.upload.rawValue.utf8)
            access.write(to: &writer)
            writer.varint(zigzag(made))
            writer.varint(zone == nil ? 0 : 1)
            if let zone { writer.zone(zone) }
        case .download(let asset, let record, let field):
            let label: Label = seen == nil ? .download : .seen
            writer.delimited(label.rawValue.utf8)
            access.write(to: &writer)
            writer.varint(zigzag(made))
            writer.delimited(asset.digest)
            writer.varint(asset.size)
            writer.delimited(record.recordName.utf8)
            writer.zone(record.zoneID)
            writer.delimited(field.utf8)
            if let seen { writer.delimited(seen) }
        }
        return writer.bytes
    }

    package init(content: Bytes) throws(MalformedBytes) {
        var reader = CanonicalReader(content)
        guard let label = Label(rawValue: try reader.text()) else {
            throw MalformedBytes("something else than a link")
        }
        access = try WebAccess(reading: &reader)
        made = try reader.signed()
        switch label {
        case .upload:
            let hasZone = try reader.varint() != 0
            purpose = .upload(zone: hasZone ? try reader.zone() : nil)
        case .download, .seen:
            let digest = try reader.delimitedBytes()
            let asset = Asset(digest: digest, size: try reader.varint())
            let name = try reader.text()
            let record = Record.ID(recordName: name, zoneID: try reader.zone())
            purpose = .download(asset, record: record, field: try reader.text())
            if label == .seen { seen = try reader.delimitedBytes() }
        }
        guard reader.isAtEnd else { throw MalformedBytes("a link of another length") }
    }
}

extension CanonicalWriter {
    fileprivate mutating func zone(_ zone: RecordZone.ID) {
        delimited(zone.zoneName.utf8)
        delimited(zone.ownerName.utf8)
    }
}

extension CanonicalReader {
    fileprivate mutating func zone() throws(MalformedBytes) -> RecordZone.ID {
        let name = try text()
        return RecordZone.ID(zoneName: name, ownerName: try text())
    }
}
