// How large a record and its commit may become.
//
// Called by `SavePlanner.plan`, last.

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
                "record too large: its fields take \(size) bytes, the limit is \(limit)"
            )
        )
    }

    /// A commit travels in one frame, and with whole records it can be larger than its request.
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

    /// Bounds what the schema doesn't: a removed field leaves its name behind.
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
