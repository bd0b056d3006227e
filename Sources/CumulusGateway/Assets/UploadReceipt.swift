// The receipt that answers an upload and that `records/modify` takes. It proves that a caller
// uploaded an asset to a database, or read it in a record there.
//
// It is bound to caller, database and content, and not to a record: clients name their records
// later. The node judges by itself whether a record may name the asset.

package import CumulusModel

package struct UploadReceipt: Hashable, Sendable {
    package var asset: Asset
    package var scope: ScopeID
    package var database: DatabaseScope
    /// The owner of that database, if another user shares it; else empty.
    package var owner: String
    /// The caller brought the content itself; else it read the asset in a record, and may not read
    /// that record any more.
    package var isUpload: Bool
    /// The caller's user record name; empty for a server.
    package var user: String
    /// In milliseconds since 1970 UTC.
    package var made: Int64

    /// Milliseconds for which a node keeps an asset that no record names.
    package static let time: Int64 = 24 * 3_600_000
    /// The prefix of the sealed content.
    private enum Label: String {
        case own = "receipt of an upload"
        case shared = "receipt of an upload to another user's database"
        case ownCopy = "receipt of an asset of a record"
        case sharedCopy = "receipt of an asset of a record in another user's database"

        init(isUpload: Bool, isOwn: Bool) {
            self = isUpload ? isOwn ? .own : .shared : isOwn ? .ownCopy : .sharedCopy
        }

        var isUpload: Bool { self == .own || self == .shared }
        var isOwn: Bool { self == .own || self == .ownCopy }
    }

    package init(
        of asset: Asset,
        in scope: ScopeID,
        _ database: DatabaseScope,
        of owner: String = "",
        by user: String,
        made: Int64,
        isUpload: Bool = true
    ) {
        self.asset = asset
        self.isUpload = isUpload
        self.scope = scope
        self.database = database
        self.owner = owner
        self.user = user
        self.made = made
    }

    /// - Parameter now: Milliseconds since 1970 UTC.
    package func isGood(
        in scope: ScopeID,
        _ database: DatabaseScope,
        of owner: String = "",
        for user: String,
        now: Int64
    ) -> Bool {
        let age = now - made
        return self.scope == scope && self.database == database && self.owner == owner
            && self.user == user && age > -WebLink.clockSkew && age < UploadReceipt.time
    }

    // MARK: Bytes

    package var content: Bytes {
        var writer = CanonicalWriter()
        let label = Label(isUpload: isUpload, isOwn: owner.isEmpty)
        writer.delimited(label.rawValue.utf8)
        writer.delimited(asset.digest)
        writer.varint(asset.size)
        writer.delimited(scope.container.utf8)
        writer.varint(UInt64(scope.environment.rawValue))
        writer.varint(UInt64(database.rawValue))
        writer.delimited(user.utf8)
        writer.varint(zigzag(made))
        if !owner.isEmpty { writer.delimited(owner.utf8) }
        return writer.bytes
    }

    package init(content: Bytes) throws(MalformedBytes) {
        var reader = CanonicalReader(content)
        guard let label = Label(rawValue: try reader.text()) else {
            throw MalformedBytes("something else than a receipt")
        }
        let digest = try reader.delimitedBytes()
        asset = Asset(digest: digest, size: try reader.varint())
        let container = try reader.text()
        let number = UInt8(truncatingIfNeeded: try reader.varint())
        let kind = UInt8(truncatingIfNeeded: try reader.varint())
        guard let environment = Environment(rawValue: number),
            let database = DatabaseScope(rawValue: kind)
        else { throw MalformedBytes("a receipt of no database") }
        scope = ScopeID(container: container, environment: environment)
        self.database = database
        user = try reader.text()
        made = try reader.signed()
        owner = label.isOwn ? "" : try reader.text()
        isUpload = label.isUpload
        guard reader.isAtEnd else { throw MalformedBytes("a receipt of another length") }
    }
}
