// Limits the size of a record and of its commit.
//
// Called by `SavePlanner.plan`, last. An error does not say how large the stored record is: the
// caller may have the right to change the record, but not to read it.

import CumulusModel
import CumulusStorage

extension SavePlanner {
    func checkSize(_ put: Commit.Put, _ row: RecordRow?) throws(PlanFailure) {
        let limit = request.limits.recordBytes
        let kept = row?.body.bytes.count ?? 0
        guard put.fields.bytes.count + kept > limit else { return }
        let size = row?.body.merging(put.fields).bytes.count ?? put.fields.bytes.count
        guard size > limit else { return }
        throw .item(
            ServiceError(
                .limitExceeded,
                .tooLarge,
                "record too large: its fields would take more than \(limit) bytes; save less in it"
            )
        )
    }

    /// Throws if a database would exceed its quota, as far as this node knows what it holds.
    ///
    /// A save that does not make it larger is always accepted.
    func checkQuota(
        _ put: Commit.Put,
        _ row: RecordRow?,
        _ plan: inout ZoneBatch.Plan,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) {
        let most = RecordBody.mostQuotaBytes
        let quota = min(request.limits.quota(of: found.zone.database.kind), most)
        guard quota > 0 else { return }
        let body = row?.body.merging(put.fields) ?? put.fields
        let growth = try malformed { () throws(MalformedBytes) in
            try body.quotaBytes() - (row?.body.quotaBytes() ?? 0)
        }
        if plan.used == nil {
            plan.used = try engine { () throws(EngineError) in try usedBytes(&transaction) }
        }
        let used = plan.used ?? 0
        guard growth <= 0 || used + plan.growth + growth <= quota else {
            let taken = max(0, used + plan.growth)
            throw .item(.quotaExceeded(request.database, taken, of: quota, by: growth))
        }
        plan.growth = max(plan.growth + growth, -most)
    }

    private func usedBytes(_ transaction: inout WriteTransaction) throws(EngineError) -> Int {
        guard let number = try transaction.database(scope, found.zone.database) else { return 0 }
        return min(try transaction.knownUsage(of: number).total, RecordBody.mostQuotaBytes)
    }

    /// Throws if the commit gets too large: it travels in one frame, and with whole records it can
    /// be larger than its request.
    func checkCommitSize(
        _ put: Commit.Put,
        _ plan: inout ZoneBatch.Plan
    ) throws(PlanFailure) {
        let limit = request.limits.commitBytes
        let size = plan.putBytes + put.byteCount
        guard size > limit else {
            plan.putBytes = size
            return
        }
        throw .item(
            ServiceError(
                .limitExceeded,
                .tooLarge,
                """
                this batch takes more than \(limit) bytes, with all that changes with it by its \
                types' merge policies; save fewer records at once
                """
            )
        )
    }

    /// Throws if a record has too many fields; the schema doesn't limit them, because a removed
    /// field leaves its name behind.
    func checkFieldCount(
        _ put: Commit.Put,
        _ row: RecordRow?,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) {
        let limit = request.limits.fieldsPerType
        let stored = row.map { $0.body.entries.count + $0.absent.count } ?? 0
        guard put.fields.entries.count + stored > limit else { return }
        var names = Set(put.fields.entries.map { put.fields.name(of: $0) })
        if let row {
            names.formUnion(row.body.entries.map { row.body.name(of: $0) })
            names.formUnion(row.absent.map(\.name))
            let lens = try engine { () throws(EngineError) in try transaction.lens(of: scope) }
            names = names.filter { !lens.hides($0, of: row.type) }
        }
        guard names.count > limit else { return }
        throw .item(
            ServiceError(
                .limitExceeded,
                .tooManyItems,
                "the record would have more than \(limit) fields, counting those that were removed"
            )
        )
    }
}

extension RecordBody {
    /// More bytes than any disk holds, and few enough that some such numbers can be added up.
    ///
    /// A caller can claim that an asset is larger.
    fileprivate static let mostQuotaBytes = Int.max / 8

    /// The bytes that a record with these fields takes of a quota.
    fileprivate func quotaBytes() throws(MalformedBytes) -> Int {
        var sum = bytes.count
        for entry in entries where entry.type?.holdsAssets == true {
            for asset in try assets(entry) {
                let most = RecordBody.mostQuotaBytes
                sum = min(sum + min(Int(clamping: asset.size), most), most)
            }
        }
        return sum
    }
}

extension ServiceError {
    /// The error for a request whose stored records are larger than one request may change.
    static func changesTooMuch(limit: Int) -> ServiceError {
        ServiceError(
            .limitExceeded,
            .tooLarge,
            """
            the records that this request changes, with what it looks at beside them, hold more \
            than \(limit) bytes; change fewer of them at once
            """
        )
    }

    /// The error for a database that has no room for so many more bytes.
    ///
    /// Only the owner is told how much a database holds.
    ///
    /// - Parameter database: The database, as the caller named it.
    static func quotaExceeded(
        _ database: DatabaseScope,
        _ taken: Int,
        of quota: Int,
        by growth: Int
    ) -> ServiceError {
        switch database {
        case .shared:
            return ServiceError(
                .quotaExceeded,
                "the owner's database has no room for this; ask the owner"
            )
        case .public:
            return ServiceError(
                .quotaExceeded,
                """
                the public database has no room for this in its \(quota) bytes; delete records or \
                assets, or ask an operator to raise publicDatabaseBytes
                """
            )
        case .private:
            return ServiceError(
                .quotaExceeded,
                """
                your private database takes \(taken) of \(quota) bytes, which leaves no room for \
                \(growth) more; delete records or assets that you don't need; their space is free \
                at once
                """
            )
        }
    }
}
