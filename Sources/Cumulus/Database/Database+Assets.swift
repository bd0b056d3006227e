// Assets: content is uploaded before the records that name it are saved, and downloaded when it is
// asked for.

import CumulusAssets
public import CumulusModel
import CumulusWire

extension Database {
    /// The same records, with their assets on the server.
    ///
    /// Saves do that themselves; call it to send large content ahead.
    ///
    /// - Parameters:
    ///   - records: Records whose assets were made from files or data; others stay as they are.
    ///   - progress: Follows what is sent.
    public func uploadAssets(
        of records: [Record],
        progress: AssetProgress? = nil
    ) async throws -> [Record] {
        defer { progress?.finish() }
        return try await uploading(records, progress)
    }

    func uploading(_ records: [Record], _ progress: AssetProgress?) async throws -> [Record] {
        guard databaseScope == .shared else {
            return try await uploading(records, for: nil, progress)
        }
        // Each zone belongs to another user, whose space its content takes.
        var uploaded: [Record.ID: Record] = [:]
        for (zone, part) in Dictionary(grouping: records, by: \.recordID.zoneID) {
            for record in try await uploading(part, for: zone, progress) {
                uploaded[record.recordID] = record
            }
        }
        return records.map { uploaded[$0.recordID] ?? $0 }
    }

    /// - Parameter zone: The zone of the records, in the shared database.
    private func uploading(
        _ records: [Record],
        for zone: RecordZone.ID?,
        _ progress: AssetProgress?
    ) async throws -> [Record] {
        var local: [Asset] = []
        for record in records { local += record.localAssets }
        if local.isEmpty { return records }
        let upload = AssetUpload(
            core: core,
            database: databaseScope,
            zone: zone.map { WireZoneID($0) },
            progress: progress
        )
        var uploaded = try await upload.run(local)[...]
        return records.map { $0.replacingLocalAssets(with: &uploaded) }
    }

    /// An asset with its content in a file: see `Asset.fileURL`.
    ///
    /// A file in the container's cache is not fetched again. The public and the shared database
    /// check whether the user may read the record in which the value was read, and whether its
    /// field still holds that asset.
    ///
    /// - Parameters:
    ///   - asset: An asset of a record of this database, as its field gave it; in the private
    ///     database any asset.
    ///   - progress: Follows what arrives.
    public func download(_ asset: Asset, progress: AssetProgress? = nil) async throws -> Asset {
        defer { progress?.finish() }
        return try await downloaded(asset, progress)
    }

    func downloaded(_ asset: Asset, _ progress: AssetProgress?) async throws -> Asset {
        if asset.source != nil { return asset }
        guard asset.digest.count == 32, asset.size <= UInt64(Int64.max) else {
            throw ServiceError(.assetFileNotFound, "the asset has neither content nor a digest")
        }
        let (core, database, cache) = (core, databaseScope, core.assetCache)
        var whole = asset
        let known = cache.file(of: asset)
        let path =
            if let known { known } else {
                try await cache.file(of: asset) { number in
                    try await AssetDownload(
                        core: core,
                        database: database,
                        asset: asset,
                        cache: cache,
                        number: number,
                        progress: progress
                    )
                    .run()
                }
            }
        whole.source = .file(path: path)
        return whole
    }

    /// The part of an asset that a node has.
    public struct AssetStatus: Hashable, Sendable {
        /// Number of its chunks, repeated ones included.
        public var chunks: Int
        /// Different chunks that have not reached that node.
        public var missingChunks: Int
        /// Bytes that its chunks take there, compressed as they are.
        public var storedBytes: UInt64
    }

    /// The part of an asset that the answering node has.
    public func status(of asset: Asset) async throws -> AssetStatus {
        var request = DownloadAssetRequest(database: databaseScope, asset)
        request.onlyList = true
        let messages = try await core.read(.assetsDownload, request.encoded())
        guard let first = messages.first else { throw Database.missingResult }
        let answer = try decoding { try DownloadAssetResponse(wire: first) }
        return AssetStatus(
            chunks: try AssetDownload.list(answer.list, of: asset).count,
            missingChunks: Int(answer.missing),
            storedBytes: answer.storedBytes
        )
    }

    /// Part of an asset's content, fetched without the cache.
    ///
    /// - Parameters:
    ///   - asset: An asset of a record of this database.
    ///   - range: Bytes of its content; what lies behind its end is left out.
    public func bytes(of asset: Asset, in range: Range<UInt64>) async throws -> [UInt8] {
        let range = range.clamped(to: 0..<asset.size)
        if range.isEmpty { return [] }
        var request = DownloadAssetRequest(database: databaseScope, asset)
        request.offset = range.lowerBound
        request.length = UInt64(range.count)
        let messages = try await core.read(.assetsDownload, request.encoded())
        let answers = try decoding { try messages.map { try DownloadAssetResponse(wire: $0) } }
        let list = try AssetDownload.list(answers.first?.list ?? [], of: asset)
        let (indexes, start) = list.chunks(holding: range)
        let codec = ChunkCodec()
        var plain: [Bytes: ArraySlice<UInt8>] = [:]
        for chunk in answers.flatMap(\.chunks) {
            do {
                plain[chunk.digest] = try chunk.plain(codec)
            } catch {
                throw ServiceError(
                    .internalError,
                    "the server sent a damaged chunk: \(error.reason)"
                )
            }
        }
        var content: Bytes = []
        for index in indexes {
            guard let bytes = plain[list[index].digest] else {
                throw AssetDownload.incomplete(asset)
            }
            content += bytes
        }
        return Bytes(content.dropFirst(Int(range.lowerBound - start)).prefix(range.count))
    }

    /// The same records with the content of their assets in files.
    func downloadingAssets(of record: Record) async throws -> Record {
        var record = record
        for key in record.allKeys() {
            switch record[key] {
            case .asset(let asset):
                record.receive(.asset(try await downloaded(asset, nil)), for: key)
            case .list(let elements):
                var whole: [FieldValue] = []
                for element in elements {
                    guard case .asset(let asset) = element else { break }
                    whole.append(.asset(try await downloaded(asset, nil)))
                }
                if !whole.isEmpty { record.receive(.list(whole), for: key) }
            default: break
            }
        }
        return record
    }
}

extension Record {
    /// Assets in changed fields whose content is not on the server yet, in a fixed order.
    fileprivate var localAssets: [Asset] {
        guard holdsAssets else { return [] }
        return changedKeys().flatMap { key -> [Asset] in
            switch self[key] {
            case .asset(let asset): asset.isLocal ? [asset] : []
            case .list(let elements):
                elements.compactMap { element in
                    guard case .asset(let asset) = element, asset.isLocal else { return nil }
                    return asset
                }
            default: []
            }
        }
    }

    /// The same record with uploaded assets in the same order.
    fileprivate func replacingLocalAssets(with uploaded: inout ArraySlice<Asset>) -> Record {
        var record = self
        func replacement(_ value: FieldValue) -> FieldValue {
            guard case .asset(let asset) = value, asset.isLocal, let next = uploaded.popFirst()
            else { return value }
            return .asset(next)
        }
        for key in changedKeys() {
            switch self[key] {
            case .asset(let asset): record.receive(replacement(.asset(asset)), for: key)
            case .list(let elements): record.receive(.list(elements.map(replacement)), for: key)
            default: break
            }
        }
        return record
    }
}

extension Asset {
    fileprivate var isLocal: Bool { digest.isEmpty && source != nil }
}
