// The calls on assets: which chunks are missing, chunks on their way up, chunks on their way down.
//
// `assets.proto`. Chunks are the bulk of what a node moves: what is in them is not copied here, on
// its way out or in. It is judged by `Chunk.plain`. hot: once per chunk.

import CCumulusWire
package import CumulusAssets
package import CumulusModel

extension Chunk {
    fileprivate func encode(_ field: Int, to message: inout MessagePieces) {
        // What stands around the content has less than 64 bytes.
        var fields = CanonicalWriter(reserving: 64)
        fields.field(1, bytes: digest)
        fields.field(2, varint: UInt64(size))
        fields.field(3, varint: isCompressed ? 1 : 0)
        if !content.isEmpty {
            fields.tag(4, .delimited)
            fields.varint(UInt64(content.count))
        }
        var head = CanonicalWriter(reserving: 64)
        head.tag(field, .delimited)
        head.varint(UInt64(fields.bytes.count + content.count))
        head.raw(fields.bytes)
        message.append(head.bytes[...])
        message.append(content)
    }

    /// What isn't copied is part of the message that is read.
    fileprivate init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        self.init(digest: [], size: 0, isCompressed: false, content: [])
        while let (field, type) = try reader.nextField() {
            switch (field, type) {
            case (1, .delimited): digest = try reader.delimitedBytes()
            case (2, .varint): size = Int(UInt32(truncatingIfNeeded: try reader.varint()))
            case (3, .varint): isCompressed = try reader.varint() != 0
            case (4, .delimited): content = reader.bytes[try reader.delimited()]
            case (1...4, _): throw MalformedBytes("a field of a chunk has another type")
            default: try reader.skip(type)
            }
        }
    }
}

extension [Chunk] {
    /// Adds the chunk that a message has next.
    ///
    /// In memory, chunks may take sixteen times as much as the message, and a little more, like the
    /// parts of any other message.
    fileprivate mutating func add(from reader: inout CanonicalReader) throws(MalformedBytes) {
        guard count * 128 <= 16 * reader.bytes.count + 256 << 10 else {
            throw MalformedBytes("too many small chunks")
        }
        var chunk = try reader.message()
        append(try Chunk(reading: &chunk))
    }
}

/// Reads a message in place: its chunks are too many bytes to be unpacked by libprotobuf-c, which
/// copies them twice.
///
/// A test compares the two on damaged messages; the library alone lets pass a field 0, and numbers
/// that are too long.
private func readingInPlace(
    _ bytes: Bytes,
    _ read: (inout CanonicalReader) throws(MalformedBytes) -> Void
) throws(MalformedMessage) {
    var reader = CanonicalReader(bytes)
    do throws(MalformedBytes) {
        try read(&reader)
    } catch {
        throw MalformedMessage(message: "the message can't be read: \(error.reason)")
    }
}

// MARK: - Prepare

package struct PrepareAssetsRequest: Hashable, Sendable {
    /// `DatabaseScope`, or a number that this release doesn't know.
    package var database: UInt32
    package var lists: [Bytes]
    /// In the shared database, of the records that will name them; nil elsewhere.
    package var zone: WireZoneID?

    package init(database: DatabaseScope, lists: [Bytes], zone: WireZoneID? = nil) {
        self.database = UInt32(database.rawValue)
        self.lists = lists
        self.zone = zone
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter(reserving: lists.reduce(16) { $0 + $1.count + 6 })
        writer.field(1, varint: UInt64(database))
        for list in lists { writer.present(2, bytes: list) }
        zone?.encode(3, to: &writer)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__prepare_assets_request__unpack)
        database = UInt32(message.raw.database.rawValue)
        lists = elements(message.raw.n_lists, message.raw.lists).map(\.swiftBytes)
        zone = message.raw.zone.map { WireZoneID(wire: $0.pointee) }
    }
}

package enum PrepareAssetsResponse {
    /// Per asset: indexes of the chunks that are missing.
    package static func encoded(_ results: [Result<[Int], ServiceError>]) -> Bytes {
        var writer = CanonicalWriter()
        for result in results {
            writer.message(1) { writer in
                switch result {
                case .success(let missing):
                    writer.message(1) { $0.field(1, packed: missing) }
                case .failure(let error): writer.present(2, bytes: error.encoded())
                }
            }
        }
        return writer.bytes
    }

    package static func results(
        wire bytes: Bytes
    ) throws(MalformedMessage) -> [Result<[Int], ServiceError>] {
        let message = try CMessage(answer: bytes, cumulus__v1__prepare_assets_response__unpack)
        return elements(message.raw.n_assets, message.raw.assets).map { raw in
            switch raw.result_case {
            case CUMULUS__V1__PREPARED_ASSET__RESULT_MISSING:
                let missing = raw.missing.pointee
                return .success(elements(missing.n_chunks, missing.chunks).map(Int.init))
            case CUMULUS__V1__PREPARED_ASSET__RESULT_ERROR:
                return .failure(ServiceError(wire: raw.error.pointee))
            default: return .failure(ServiceError(.internalError, "a result is empty"))
            }
        }
    }
}

extension CanonicalWriter {
    /// proto3 packs numbers into one run.
    mutating func field(_ field: Int, packed numbers: [Int]) {
        var run = CanonicalWriter(reserving: 2 * numbers.count)
        for number in numbers { run.varint(UInt64(number)) }
        self.field(field, bytes: run.bytes)
    }
}

// MARK: - Upload

package struct UploadChunksRequest: Hashable, Sendable {
    /// `DatabaseScope`, or a number that this release doesn't know.
    package var database: UInt32
    /// As in the request that prepared it.
    package var zone: WireZoneID?

    package init(database: DatabaseScope, zone: WireZoneID? = nil) {
        self.database = UInt32(database.rawValue)
        self.zone = zone
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, varint: UInt64(database))
        zone?.encode(2, to: &writer)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__upload_chunks_request__unpack)
        database = UInt32(message.raw.database.rawValue)
        zone = message.raw.zone.map { WireZoneID(wire: $0.pointee) }
    }
}

package struct WireChunks: Hashable, Sendable {
    package var chunks: [Chunk]

    package init(_ chunks: [Chunk]) {
        self.chunks = chunks
    }

    package func encoded() -> MessagePieces {
        var message = MessagePieces()
        for chunk in chunks { chunk.encode(1, to: &message) }
        return message
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        var chunks: [Chunk] = []
        try readingInPlace(bytes) { (reader) throws(MalformedBytes) in
            while let (field, type) = try reader.nextField() {
                switch (field, type) {
                case (1, .delimited): try chunks.add(from: &reader)
                case (1, _): throw MalformedBytes("a field of a message has another type")
                default: try reader.skip(type)
                }
            }
        }
        self.chunks = chunks
    }
}

package struct UploadChunksResponse: Hashable, Sendable {
    package var chunks: UInt64

    package init(chunks: UInt64) {
        self.chunks = chunks
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, varint: chunks)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(answer: bytes, cumulus__v1__upload_chunks_response__unpack)
        chunks = message.raw.chunks
    }
}

// MARK: - Download

package struct DownloadAssetRequest: Hashable, Sendable {
    /// `DatabaseScope`, or a number that this release doesn't know.
    package var database: UInt32
    /// Digest of its list.
    package var asset: Bytes
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

    package func encoded() -> Bytes {
        var writer = CanonicalWriter(reserving: 64 + 34 * except.count)
        writer.field(1, varint: UInt64(database))
        writer.field(2, bytes: asset)
        writer.field(3, varint: offset)
        writer.field(4, varint: length)
        writer.field(5, varint: onlyList ? 1 : 0)
        for digest in except { writer.present(6, bytes: digest) }
        record?.encode(7, to: &writer)
        writer.field(8, bytes: field)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__download_asset_request__unpack)
        let raw = message.raw
        database = UInt32(raw.database.rawValue)
        asset = raw.asset.swiftBytes
        offset = raw.offset
        length = raw.length
        onlyList = raw.only_list != 0
        except = elements(raw.n_except, raw.except).map(\.swiftBytes)
        record = raw.record.map { WireRecordID(wire: $0.pointee) }
        field = raw.field.swiftBytes
    }
}

package struct DownloadAssetResponse: Hashable, Sendable {
    /// In the first message.
    package var list: Bytes
    package var chunks: [Chunk]
    /// Chunks that the node has not got; with the list.
    package var missing: UInt32 = 0
    /// What those that it has take on its disk; with the list.
    package var storedBytes: UInt64 = 0

    package init(list: Bytes = [], chunks: [Chunk] = []) {
        self.list = list
        self.chunks = chunks
    }

    package func encoded() -> MessagePieces {
        var head = CanonicalWriter(reserving: list.count + 8)
        head.field(1, bytes: list)
        var message = MessagePieces(head.bytes)
        for chunk in chunks { chunk.encode(2, to: &message) }
        var end = CanonicalWriter()
        end.field(3, varint: UInt64(missing))
        end.field(4, varint: storedBytes)
        message.append(end.bytes[...])
        return message
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        var answer = DownloadAssetResponse()
        try readingInPlace(bytes) { (reader) throws(MalformedBytes) in
            while let (field, type) = try reader.nextField() {
                switch (field, type) {
                case (1, .delimited): answer.list = try reader.delimitedBytes()
                case (2, .delimited): try answer.chunks.add(from: &reader)
                case (3, .varint): answer.missing = UInt32(truncatingIfNeeded: try reader.varint())
                case (4, .varint): answer.storedBytes = try reader.varint()
                case (1...4, _): throw MalformedBytes("a field of a message has another type")
                default: try reader.skip(type)
                }
            }
        }
        self = answer
    }
}

// MARK: - Peers

package struct PeerAssetRequest: Hashable, Sendable {
    /// `DatabaseScope`, or a number that this release doesn't know.
    package var database: UInt32
    /// Of a private database.
    package var owner: Bytes
    package var asset: Bytes
    /// Indexes into the list; none: the list only.
    package var chunks: [Int]

    package init(database: DatabaseID, asset: Bytes, chunks: [Int] = []) {
        self.database = UInt32(database.kind.rawValue)
        owner = Bytes(database.owner.utf8)
        self.asset = asset
        self.chunks = chunks
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, varint: UInt64(database))
        writer.field(2, bytes: owner)
        writer.field(3, bytes: asset)
        writer.field(4, packed: chunks)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__peer_asset_request__unpack)
        let raw = message.raw
        database = UInt32(raw.database.rawValue)
        owner = raw.owner.swiftBytes
        asset = raw.asset.swiftBytes
        chunks = elements(raw.n_chunks, raw.chunks).map(Int.init)
    }
}

/// Which assets a node lacks.
package enum WantedAssetsResponse {
    package struct Asset: Hashable, Sendable {
        /// `DatabaseScope`, or a number that this release doesn't know.
        package var database: UInt32
        /// Of a private database.
        package var owner: Bytes
        package var asset: Bytes

        package init(database: DatabaseID, asset: Bytes) {
            self.database = UInt32(database.kind.rawValue)
            owner = Bytes(database.owner.utf8)
            self.asset = asset
        }

        fileprivate init(wire raw: Cumulus__V1__WantedAsset) {
            database = UInt32(raw.database.rawValue)
            owner = raw.owner.swiftBytes
            asset = raw.asset.swiftBytes
        }
    }

    package static func encoded(_ assets: [Asset]) -> Bytes {
        var writer = CanonicalWriter(reserving: 64 * assets.count)
        for asset in assets {
            writer.message(1) { writer in
                writer.field(1, varint: UInt64(asset.database))
                writer.field(2, bytes: asset.owner)
                writer.field(3, bytes: asset.asset)
            }
        }
        return writer.bytes
    }

    package static func assets(wire bytes: Bytes) throws(MalformedMessage) -> [Asset] {
        let message = try CMessage(answer: bytes, cumulus__v1__wanted_assets_response__unpack)
        return elements(message.raw.n_assets, message.raw.assets).map(Asset.init(wire:))
    }
}
