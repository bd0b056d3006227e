// The calls on assets: which chunks are missing, chunks on their way up, chunks on their way down.
//
// `assets.proto`. Chunks are the bulk of what a node moves: what is in them is not copied here, on
// its way out or in. It is judged by `Chunk.plain`. hot: once per chunk.

package import CumulusAssets
package import CumulusModel

extension Chunk: Coded {
    package init() { self.init(digest: [], size: 0, isCompressed: false, content: []) }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &digest)
        var short = UInt32(truncatingIfNeeded: size)
        try coder.number(2, &short)
        size = Int(short)
        try coder.flag(3, &isCompressed)
        try coder.slice(4, &content)
    }
}

/// A message of chunks, whose content stays part of the message that is read.
///
/// In memory, chunks may take sixteen times as much as the message, and a little more.
package protocol ChunkMessage: WireMessage {}

extension ChunkMessage {
    package static var growth: Int { 16 }

    /// The message with the content of its chunks where it is.
    package func pieces() -> MessagePieces {
        var writer = CanonicalWriter(keepingSlicesApart: 64)
        write(to: &writer)
        return MessagePieces(writer)
    }
}

// MARK: - Prepare

package struct PrepareAssetsRequest: Coded, Hashable {
    /// `DatabaseScope`, or a number that this release doesn't know.
    package var database: UInt32 = 0
    package var lists: [Bytes] = []
    /// In the shared database, of the records that will name them; nil elsewhere.
    package var zone: WireZoneID?

    package init() {}

    package init(database: DatabaseScope, lists: [Bytes], zone: WireZoneID? = nil) {
        self.database = UInt32(database.rawValue)
        self.lists = lists
        self.zone = zone
    }

    package var roughCount: Int { lists.reduce(16) { $0 + $1.count + 6 } }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &database)
        try coder.list(2, &lists)
        try coder.message(3, &zone)
    }
}

/// Indexes of the chunks of an asset that are missing.
package struct MissingChunks: Coded, Hashable {
    package var chunks: [Int] = []

    package init() {}

    package init(_ chunks: [Int]) {
        self.chunks = chunks
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.list(1, indexes: &chunks)
    }
}

/// `PreparedAsset`.
package typealias PreparedAsset = WireResult<MissingChunks>
package typealias PrepareAssetsResponse = MessageList<PreparedAsset>

extension PrepareAssetsResponse {
    /// Per asset: indexes of the chunks that are missing.
    package init(_ results: [Result<[Int], ServiceError>]) {
        self.init(results.map { result in WireResult(result.map { MissingChunks($0) }) })
    }

    package var results: [Result<[Int], ServiceError>] {
        elements.map { $0.result(\.chunks) }
    }
}

extension Coder {
    /// Places in a list: `uint32`, in one run.
    mutating func list(_ field: Int, indexes: inout [Int]) throws(MalformedBytes) {
        var numbers = indexes.map { UInt32($0) }
        try list(field, packed: &numbers)
        if reads { indexes = numbers.map { Int($0) } }
    }
}

// MARK: - Upload

package struct UploadChunksRequest: Coded, Hashable {
    /// `DatabaseScope`, or a number that this release doesn't know.
    package var database: UInt32 = 0
    /// As in the request that prepared it.
    package var zone: WireZoneID?

    package init() {}

    package init(database: DatabaseScope, zone: WireZoneID? = nil) {
        self.database = UInt32(database.rawValue)
        self.zone = zone
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &database)
        try coder.message(2, &zone)
    }
}

/// `Chunks`: too many bytes to be copied by libprotobuf-c, so the node reads them as a client reads
/// answers.
package struct WireChunks: ChunkMessage, Hashable {
    package var chunks: [Chunk] = []

    package init() {}

    package init(_ chunks: [Chunk]) {
        self.chunks = chunks
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.list(1, &chunks)
    }
}

package struct UploadChunksResponse: WireMessage, Hashable {
    package var chunks: UInt64 = 0

    package init() {}

    package init(chunks: UInt64) {
        self.chunks = chunks
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &chunks)
    }
}

// MARK: - Download

package struct DownloadAssetRequest: Coded, Hashable {
    /// `DatabaseScope`, or a number that this release doesn't know.
    package var database: UInt32 = 0
    /// Digest of its list.
    package var asset: Bytes = []
    package var offset: UInt64 = 0
    /// 0: to the end.
    package var length: UInt64 = 0
    package var onlyList = false
    /// Digests of chunks that the caller has.
    package var except: [Bytes] = []
    /// The record that names it; nil means a bare digest.
    package var record: WireRecordID?
    /// The field of that record.
    package var field: Bytes = []

    package init() {}

    package init(database: DatabaseScope, asset: Bytes) {
        self.database = UInt32(database.rawValue)
        self.asset = asset
    }

    /// - Parameter asset: As it was read, from a field of a record or otherwise.
    package init(database: DatabaseScope, _ asset: Asset) {
        self.init(database: database, asset: asset.digest)
        guard let place = asset.place else { return }
        record = WireRecordID(place.recordID)
        field = Bytes(place.key.utf8)
    }

    package var roughCount: Int { 64 + 34 * except.count }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &database)
        try coder.bytes(2, &asset)
        try coder.number(3, &offset)
        try coder.number(4, &length)
        try coder.flag(5, &onlyList)
        try coder.list(6, &except)
        try coder.message(7, &record)
        try coder.bytes(8, &field)
    }
}

package struct DownloadAssetResponse: ChunkMessage, Hashable {
    /// In the first message.
    package var list: Bytes = []
    package var chunks: [Chunk] = []
    /// Chunks that the node has not got; with the list.
    package var missing: UInt32 = 0
    /// What those that it has take on its disk; with the list.
    package var storedBytes: UInt64 = 0

    package init() {}

    package init(list: Bytes = [], chunks: [Chunk] = []) {
        self.list = list
        self.chunks = chunks
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &list)
        try coder.list(2, &chunks)
        try coder.number(3, &missing)
        try coder.number(4, &storedBytes)
    }
}

// MARK: - Peers

package struct PeerAssetRequest: WireMessage, Hashable {
    /// `DatabaseScope`, or a number that this release doesn't know.
    package var database: UInt32 = 0
    /// The user whose private database it is.
    package var owner: Bytes = []
    package var asset: Bytes = []
    /// Indexes into the list; none: the list only.
    package var chunks: [Int] = []

    package init() {}

    package init(database: DatabaseID, asset: Bytes, chunks: [Int] = []) {
        self.database = UInt32(database.kind.rawValue)
        owner = Bytes(database.owner.utf8)
        self.asset = asset
        self.chunks = chunks
    }

    package static var growth: Int { 16 }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &database)
        try coder.bytes(2, &owner)
        try coder.bytes(3, &asset)
        try coder.list(4, indexes: &chunks)
    }
}

/// An asset that a node lacks.
package struct WantedAsset: Coded, Hashable {
    /// `DatabaseScope`, or a number that this release doesn't know.
    package var database: UInt32 = 0
    /// The user whose private database it is.
    package var owner: Bytes = []
    package var asset: Bytes = []

    package init() {}

    package init(database: DatabaseID, asset: Bytes) {
        self.database = UInt32(database.kind.rawValue)
        owner = Bytes(database.owner.utf8)
        self.asset = asset
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &database)
        try coder.bytes(2, &owner)
        try coder.bytes(3, &asset)
    }
}

package typealias WantedAssetsResponse = MessageList<WantedAsset>
