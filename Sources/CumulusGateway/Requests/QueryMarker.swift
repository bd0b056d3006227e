// The marker of a query's next page.
//
// Made and read by records/query; clients carry it as base64.

package import CumulusModel

/// The content of a query's marker: the node's cursor, and the wishes that clients don't repeat.
package struct QueryMarker: Hashable, Sendable {
    /// Empty: the first page.
    package var cursor: Bytes = []
    /// nil means all fields.
    package var keys: [String]?
    /// The `syncToken` of the first page; nil if that page had none.
    package var syncToken: String?

    package init(cursor: Bytes, keys: [String]?, syncToken: String? = nil) {
        self.cursor = cursor
        self.keys = keys
        self.syncToken = syncToken
    }

    /// - Parameter content: The content of a marker; empty without a marker.
    package init(_ content: Bytes) throws(WebError) {
        if content.isEmpty { return }
        do throws(MalformedBytes) {
            var reader = CanonicalReader(content)
            cursor = try reader.delimitedBytes()
            let count = try reader.varint()
            // One more than there are; each takes a byte at least.
            guard count <= UInt64(content.count) else { throw MalformedBytes("too many keys") }
            if count > 0 {
                var keys: [String] = []
                for _ in 1..<count { keys.append(try reader.text()) }
                self.keys = keys
            }
            if !reader.isAtEnd { syncToken = try reader.text() }
            guard reader.isAtEnd, !cursor.isEmpty, syncToken?.isEmpty != true else {
                throw MalformedBytes("no end")
            }
        } catch {
            throw .badRequest("'continuationMarker' is none that a query of this server gave")
        }
    }

    package var content: Bytes {
        var writer = CanonicalWriter()
        writer.delimited(cursor)
        writer.varint(keys.map { UInt64($0.count) + 1 } ?? 0)
        for key in keys ?? [] { writer.delimited(key.utf8) }
        if let syncToken { writer.delimited(syncToken.utf8) }
        return writer.bytes
    }
}
