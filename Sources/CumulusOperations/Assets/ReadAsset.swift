// What an asset consists of and which of its chunks are here, for somebody who wants to read it.
//
// Run on a snapshot. The bytes are read later, from the packs that the rows name. In a caller's own
// database a digest is enough. In the public and the shared database, the caller must name a record
// that it may read. Peers may read any asset.

package import CumulusAssets
package import CumulusModel
package import CumulusStorage

package struct ReadAsset: Sendable {
    package struct Found: Sendable {
        package var database: DatabaseNumber
        package var list: ChunkList
        package var row: AssetRow
    }

    /// A record names the asset, but nothing of it has come yet.
    package struct Wanted: Error {
        package let database: DatabaseNumber
    }

    /// A field of a record, as a caller names it.
    package struct Place: Sendable {
        package var record: RecordAddress
        package var field: String

        package init(record: RecordAddress, field: String) {
            self.record = record
            self.field = field
        }
    }

    /// The digest of the asset's list of chunks.
    package var asset: Bytes
    /// Where the caller read the digest; nil if it does not say.
    package var place: Place?

    package init(asset: Bytes, place: Place? = nil) {
        self.asset = asset
        self.place = place
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
        // An operator may read every public record, and what the conflict log says was lost.
        let isOpen = id.kind == .private || caller.role == .operator && place == nil
        if !isOpen, try !isNamed(scope, in: database, by: caller, reader) { throw unknown(in: id) }
        // Shared content is in its owner's private database.
        let owner = place?.record.zone.owner ?? ""
        let place = id.kind == .shared ? DatabaseID(kind: .private, owner: owner) : id
        let found = try find(scope, in: place, reader)
        // Until a record names the asset, nobody may read it.
        if isOpen, try !reader.isNamed(asset, inDatabase: found.database) { throw unknown(in: id) }
        return found
    }

    /// Checks again before a later page of the asset.
    ///
    /// Throws if the caller may no longer read the record in which it found the digest. What that
    /// record holds by now does not matter.
    package func askAgain(
        _ scope: ScopeNumber,
        in database: DatabaseScope,
        by caller: Caller,
        _ reader: ReadTransaction
    ) throws {
        guard database != .private, let place else { return }
        let fetch = FetchRecords(database: database, ids: [.success(place.record)], keys: [])
        switch try fetch.run(scope, by: caller, in: reader).first {
        case .success: return
        case .failure(let error) where error.code == .internalError: throw error
        case .failure, nil: throw unknown(in: try Authorisation.database(database, for: caller))
        }
    }

    /// Whether the place names the asset now, in a record that the caller may read.
    private func isNamed(
        _ scope: ScopeNumber,
        in database: DatabaseScope,
        by caller: Caller,
        _ reader: ReadTransaction
    ) throws -> Bool {
        guard let place else { return false }
        let fetch = FetchRecords(
            database: database,
            ids: [.success(place.record)],
            keys: [place.field]
        )
        // A record that can't be read now is not the same as a record that is not there.
        switch try fetch.run(scope, by: caller, in: reader).first {
        case .success(let record):
            let body = try RecordBody(stored: record.fields)
            guard let entry = body.entry(named: place.field) else { return false }
            return try body.assets(entry).contains { $0.digest == asset }
        case .failure(let error) where error.code == .internalError: throw error
        case .failure, nil: return false
        }
    }

    package func find(
        _ scope: ScopeNumber,
        in database: DatabaseID,
        _ reader: ReadTransaction
    ) throws -> Found {
        guard let number = try reader.database(scope, database) else {
            throw unknown(in: database)
        }
        guard var row = try reader.asset(asset, in: number),
            let list = try reader.chunkList(of: asset, in: number)
        else {
            if try isWanted(in: number, reader) { throw Wanted(database: number) }
            throw unknown(in: database)
        }
        if !row.isComplete { row.missing = try reader.missingChunks(of: list, in: number).count }
        return Found(database: number, list: list, row: row)
    }

    /// Whether a record names the asset, but nothing of it has come yet.
    private func isWanted(
        in database: DatabaseNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Bool {
        try reader.get(.wantedAsset(database, asset)) != nil
    }

    private func unknown(in database: DatabaseID) -> ServiceError {
        ServiceError(
            .assetNotAvailable,
            database.kind != .private
                ? "no record that you may read has asset \(asset.hex) in the field that you name"
                : "there is no asset \(asset.hex) in this database"
        )
    }

    /// - Parameter endpoints: The addresses of the nodes that may have it.
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
        // Without other nodes there is nothing to wait for.
        error.retryAfterMilliseconds = endpoints.isEmpty ? nil : 1_000
        return error
    }
}
