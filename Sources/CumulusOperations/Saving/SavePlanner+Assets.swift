// Whether the assets of a save are whole and belong to the database of its record.
//
// Called by `SavePlanner.plan`.

import CumulusModel
import CumulusStorage

extension SavePlanner {
    /// Checks that a record's assets are whole and of its database.
    ///
    /// One that a record of the zone names already may still be on its way to this node.
    func checkAssets(
        _ put: Commit.Put,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) {
        for entry in put.fields.entries where entry.type?.holdsAssets == true {
            let assets = try malformed { () throws(MalformedBytes) in
                try put.fields.assets(entry)
            }
            for asset in assets {
                let why = try engine { () throws(EngineError) in
                    try problem(with: asset, in: &transaction)
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

    func problem(
        with asset: Asset,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> String? {
        guard asset.size <= UInt64(Int64.max) else { return "that no disk could hold" }
        let database = try transaction.database(scope, found.zone.database)
        guard let database,
            let known = try transaction.update(asset: asset.digest, in: database)
        else {
            // Its size is not known here before its content.
            if let zone = found.number, try transaction.isNamed(asset.digest, in: zone) {
                return nil
            }
            return "whose content was not uploaded to this database; upload it and save again"
        }
        guard known.size == asset.size else {
            return "that is said to have \(asset.size) bytes and has \(known.size)"
        }
        if known.isComplete { return nil }
        if let zone = found.number, try transaction.isNamed(asset.digest, in: zone) { return nil }
        return "of which \(known.missing) chunks are missing; upload them and save again"
    }
}
