// Checks that the assets of a save are whole, belong to the database of its record, and may be
// named by the caller.
//
// Called by `SavePlanner.plan`.

import CumulusModel
import CumulusStorage

extension SavePlanner {
    /// Checks that a record's assets are whole and of its database.
    ///
    /// Outside the caller's own database, the caller must have sent an asset, or may read a record
    /// that names it: see `AssetClaims`. An asset that a record of the zone names already may still
    /// be on its way to this node.
    ///
    /// - Parameter row: The record as it is; nil if it is new.
    func checkAssets(
        _ put: Commit.Put,
        _ row: RecordRow?,
        _ plan: inout ZoneBatch.Plan,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) {
        let record = row == nil ? nil : put.recordName
        for entry in put.fields.entries where entry.type?.holdsAssets == true {
            let assets = try malformed { () throws(MalformedBytes) in
                try put.fields.assets(entry)
            }
            for asset in assets {
                let why = try engine { () throws(EngineError) in
                    try problem(with: asset, in: record, &plan.claims, &transaction)
                }
                guard let why else { continue }
                let field = StoredName.shown(put.fields.name(of: entry))
                throw .item(
                    ServiceError(
                        .assetNotAvailable,
                        .assetIncomplete,
                        "field '\(field)' holds an asset \(why)"
                    )
                )
            }
        }
    }

    /// - Parameter record: The name of the saved record; nil if it is new.
    private func problem(
        with asset: Asset,
        in record: String?,
        _ claims: inout AssetClaims?,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> String? {
        guard asset.size <= UInt64(Int64.max) else { return "that no disk could hold" }
        let database = try transaction.database(scope, found.zone.database)
        if let database, found.rights != .own {
            if claims == nil {
                let shared = found.rights.view == nil ? nil : found
                claims = AssetClaims(database, of: scope, by: caller, in: shared)
            }
            switch try claims?.problem(with: asset.digest, in: record, &transaction) {
            case nil: break
            case .unknown: return SavePlanner.notUploaded
            case .missing(let count): return SavePlanner.incomplete(count)
            }
        }
        guard let database,
            let known = try DatabaseAssets(of: database).update(asset.digest, &transaction)
        else {
            // This node doesn't know the asset's size before its content arrives.
            if let zone = found.number, try transaction.isNamed(asset.digest, in: zone) {
                return nil
            }
            return SavePlanner.notUploaded
        }
        guard known.size == asset.size else {
            return "that is said to have \(asset.size) bytes and has \(known.size)"
        }
        if known.isComplete { return nil }
        if let zone = found.number, try transaction.isNamed(asset.digest, in: zone) { return nil }
        return SavePlanner.incomplete(known.missing)
    }

    private static let notUploaded =
        "whose content was not uploaded to this database; upload it and save again"

    private static func incomplete(_ missing: Int) -> String {
        "of which \(missing) chunks are missing; upload them and save again"
    }
}
