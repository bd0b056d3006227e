// What an asset consists of and which of it is here, for somebody who wants to read it.
//
// Run on a snapshot. Bytes are read later, from the packs that the rows name. Callers ask for their
// own databases, peers for any.

package import CumulusAssets
package import CumulusModel
package import CumulusStorage

package struct ReadAsset: Sendable {
    package struct Found: Sendable {
        package var database: DatabaseNumber
        package var list: ChunkList
        package var row: AssetRow
    }

    /// A record names it, and nothing of it has come yet.
    package struct Wanted: Error {
        package let database: DatabaseNumber
    }

    /// Digest of its list.
    package var asset: Bytes

    package init(asset: Bytes) {
        self.asset = asset
    }

    package func run(
        _ scope: ScopeNumber,
        in database: DatabaseScope,
        by caller: Caller,
        _ reader: ReadTransaction
    ) throws -> Found {
        guard asset.count == 32 else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                "an asset is named by a digest of 32 bytes"
            )
        }
        let id = try Authorisation.database(database, for: caller)
        let found = try find(scope, in: id, reader)
        // Until a record names it, it is nobody's to read.
        guard try reader.isNamed(asset, inDatabase: found.database) else { throw unknown }
        return found
    }

    package func find(
        _ scope: ScopeNumber,
        in database: DatabaseID,
        _ reader: ReadTransaction
    ) throws -> Found {
        guard let number = try reader.database(scope, database) else { throw unknown }
        guard var row = try reader.asset(asset, in: number),
            let list = try reader.chunkList(of: asset, in: number)
        else {
            if try isWanted(in: number, reader) { throw Wanted(database: number) }
            throw unknown
        }
        if !row.isComplete { row.missing = try reader.missingChunks(of: list, in: number).count }
        return Found(database: number, list: list, row: row)
    }

    /// A record names it, and nothing of it has come yet.
    private func isWanted(
        in database: DatabaseNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Bool {
        try reader.get(.wantedAsset(database, asset)) != nil
    }

    private var unknown: ServiceError {
        ServiceError(.assetNotAvailable, "there is no asset \(asset.hex) in this database")
    }

    /// - Parameter endpoints: Of the nodes that may have it.
    package func notHereYet(mayBeAt endpoints: [String]) -> ServiceError {
        let advice =
            endpoints.isEmpty
            ? "this node is alone: only who has the content can bring it back, by saving it again"
            : "these nodes may have it: \(endpoints.joined(separator: ", "))"
        var error = ServiceError(
            .assetNotAvailable,
            .assetIncomplete,
            "asset \(asset.hex) is not whole on this node, and could not be fetched; \(advice)"
        )
        // Without others there is nothing to wait for.
        error.retryAfterMilliseconds = endpoints.isEmpty ? nil : 1_000
        return error
    }
}
