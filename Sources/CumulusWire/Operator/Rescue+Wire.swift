// What an operator hands a node of the directory of a node that was removed.
//
// `operator.proto`.

import CCumulusWire
package import CumulusAssets
package import CumulusModel

/// `RescueRequest`: commits, or parts of the assets that commits to come name.
package struct RescueRequest: Hashable, Sendable {
    /// As their origins encoded them.
    package var commits: [Bytes] = []
    /// Of the lists and chunks: `DatabaseScope`, or a number that this release doesn't know.
    package var database: UInt32 = 0
    /// Of a private or shared database.
    package var owner: Bytes = []
    package var lists: [Bytes] = []
    package var chunks: [Chunk] = []

    package init(commits: [Bytes] = []) {
        self.commits = commits
    }

    package init(database: DatabaseID, lists: [Bytes] = [], chunks: [Chunk] = []) {
        self.database = UInt32(database.kind.rawValue)
        owner = Bytes(database.owner.utf8)
        self.lists = lists
        self.chunks = chunks
    }

    package func encoded() -> Bytes {
        let parts = (commits + lists).reduce(256) { $0 + $1.count + 8 }
        let size = chunks.reduce(parts) { $0 + $1.content.count + 64 }
        var writer = CanonicalWriter(reserving: size)
        for commit in commits { writer.present(1, bytes: commit) }
        writer.field(2, varint: UInt64(database))
        writer.field(3, bytes: owner)
        for list in lists { writer.present(4, bytes: list) }
        for chunk in chunks {
            writer.message(5) { writer in
                writer.field(1, bytes: chunk.digest)
                writer.field(2, varint: UInt64(chunk.size))
                writer.field(3, varint: chunk.isCompressed ? 1 : 0)
                writer.field(4, bytes: Bytes(chunk.content))
            }
        }
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__rescue_request__unpack)
        let raw = message.raw
        commits = elements(raw.n_commits, raw.commits).map(\.swiftBytes)
        database = UInt32(raw.database.rawValue)
        owner = raw.owner.swiftBytes
        lists = elements(raw.n_lists, raw.lists).map(\.swiftBytes)
        chunks = elements(raw.n_chunks, raw.chunks).map { chunk in
            Chunk(
                digest: chunk.digest.swiftBytes,
                size: Int(chunk.size),
                isCompressed: chunk.is_compressed != 0,
                content: chunk.content.swiftBytes[...]
            )
        }
    }
}

/// `RescueResponse`.
package struct RescueResponse: Hashable, Sendable {
    /// How far the node has applied the scope's commits.
    package var vector: VersionVector
    /// Commits of the request that were new to the node.
    package var applied: UInt64
    /// Per list, indexes of the chunks that the node lacks.
    package var missing: [[Int]]

    package init(vector: VersionVector, applied: UInt64 = 0, missing: [[Int]] = []) {
        self.vector = vector
        self.applied = applied
        self.missing = missing
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.vector(1, vector)
        writer.field(2, varint: applied)
        for chunks in missing { writer.message(3) { $0.field(1, packed: chunks) } }
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(answer: bytes, cumulus__v1__rescue_response__unpack)
        let raw = message.raw
        vector = VersionVector(wire: elements(raw.n_vector, raw.vector))
        applied = raw.applied
        missing = elements(raw.n_missing, raw.missing).map { list in
            elements(list.n_chunks, list.chunks).map(Int.init)
        }
    }
}
