// The keys of assets, see `Keyspace`: digests have 32 bytes, so they stand in keys as they are.

package import CumulusModel

extension RowKey {
    package static func asset(_ database: DatabaseNumber, _ asset: Bytes) -> RowKey {
        RowKey(.asset) {
            $0.add(database)
            $0.add(fixed: asset)
        }
    }

    package static func chunkList(_ database: DatabaseNumber, _ asset: Bytes) -> RowKey {
        RowKey(.chunkList) {
            $0.add(database)
            $0.add(fixed: asset)
        }
    }

    package static func chunk(_ database: DatabaseNumber, _ chunk: Bytes) -> RowKey {
        RowKey(.chunk) {
            $0.add(database)
            $0.add(fixed: chunk)
        }
    }

    package static func pack(_ pack: PackNumber) -> RowKey {
        RowKey(.pack) { $0.add(pack) }
    }

    package static let packOrigin = RowKey(.packOrigin)

    package static func packed(_ pack: PackNumber, _ offset: Int) -> RowKey {
        RowKey(.packed) {
            $0.add(pack)
            $0.add(UInt32(truncatingIfNeeded: offset))
        }
    }

    package static func chunkUse(
        _ database: DatabaseNumber,
        _ chunk: Bytes,
        _ asset: Bytes
    ) -> RowKey {
        RowKey(.chunkUse) {
            $0.add(database)
            $0.add(fixed: chunk)
            $0.add(fixed: asset)
        }
    }

    /// A record of a zone names an asset.
    package static func assetUse(_ zone: ZoneNumber, _ asset: Bytes, _ name: String) -> RowKey {
        RowKey(.assetUse) {
            $0.add(zone)
            $0.add(fixed: asset)
            $0.add(name)
        }
    }

    /// The name of the record in an `assetUse` key.
    package static func assetUser(_ key: Bytes) throws(EngineError) -> String {
        var parts = KeyReader(key)
        _ = try parts.number(ZoneNumber.self)
        _ = try parts.bytes(32)
        return try parts.text()
    }

    /// An entry of the conflict log names an asset.
    package static func assetLoss(_ asset: Bytes, of conflict: RowKey) -> RowKey {
        RowKey(.assetLoss) {
            $0.add(fixed: asset)
            $0.add(text: conflict.bytes)
        }
    }

    /// A record names an asset that is not whole here.
    package static func wantedAsset(_ database: DatabaseNumber, _ asset: Bytes) -> RowKey {
        RowKey(.wantedAsset) {
            $0.add(database)
            $0.add(fixed: asset)
        }
    }

    /// The lease of a user for an asset or a chunk.
    package static func lease(
        _ database: DatabaseNumber,
        _ user: String,
        _ digest: Bytes
    ) -> RowKey {
        RowKey(.lease) {
            $0.add(database)
            $0.add(user)
            $0.add(fixed: digest)
        }
    }

    package static func assetUsage(_ database: DatabaseNumber, _ user: String) -> RowKey {
        RowKey(.assetUsage) {
            $0.add(database)
            $0.add(user)
        }
    }
}

extension KeyRange {
    /// Assets that contain a chunk.
    package static func chunkUses(_ database: DatabaseNumber, _ chunk: Bytes) -> KeyRange {
        let prefix = RowKey(.chunkUse) {
            $0.add(database)
            $0.add(fixed: chunk)
        }
        return KeyRange(prefix: prefix.bytes)
    }

    /// The chunks of a pack.
    package static func packed(_ pack: PackNumber) -> KeyRange {
        KeyRange(prefix: RowKey(.packed) { $0.add(pack) }.bytes)
    }

    /// Uses of assets by records of a zone: of one asset, or of all.
    package static func assetUses(of zone: ZoneNumber, _ asset: Bytes = []) -> KeyRange {
        let prefix = RowKey(.assetUse) {
            $0.add(zone)
            $0.add(fixed: asset)
        }
        return KeyRange(prefix: prefix.bytes)
    }

    package static func assetLosses(of asset: Bytes) -> KeyRange {
        KeyRange(prefix: RowKey(.assetLoss) { $0.add(fixed: asset) }.bytes)
    }

    /// The assets of a database, after a given one.
    package static func assets(of database: DatabaseNumber, after asset: Bytes = []) -> KeyRange {
        var range = KeyRange(prefix: RowKey(.asset) { $0.add(database) }.bytes)
        if !asset.isEmpty { range.start = RowKey.asset(database, asset).bytes + [0] }
        return range
    }

    /// The leases of a database, after the lease with that key.
    package static func leases(of database: DatabaseNumber, after key: Bytes = []) -> KeyRange {
        var range = KeyRange(prefix: RowKey(.lease) { $0.add(database) }.bytes)
        if !key.isEmpty { range.start = key + [0] }
        return range
    }

    /// The wanted assets of a database, after a given one.
    package static func wantedAssets(
        of database: DatabaseNumber,
        after asset: Bytes = []
    ) -> KeyRange {
        var range = KeyRange(prefix: RowKey(.wantedAsset) { $0.add(database) }.bytes)
        if !asset.isEmpty { range.start = RowKey.wantedAsset(database, asset).bytes + [0] }
        return range
    }
}
