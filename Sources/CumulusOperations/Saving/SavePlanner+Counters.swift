// What a save does to counters: increments, and new bases where it sets or removes one.
//
// Called by `SavePlanner.plan`.

import CumulusModel
import CumulusStorage

extension SavePlanner {
    /// Adds the bases of counters that the save sets or removes: a base is chosen so that the
    /// counter shows the wanted value, or 0.
    func planCounters(
        _ put: inout Commit.Put,
        _ row: RecordRow?,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) {
        for increment in put.increments {
            if put.fields.entry(named: increment.field) != nil {
                throw .item(
                    ServiceError(
                        .invalidArguments,
                        .invalidValue,
                        """
                        a save can't set and increment field \
                        '\(StoredName.shown(increment.field))'; do one of both
                        """
                    )
                )
            }
            if try mayKnow(row, named: put.recordName, in: &transaction) {
                try checkOverflow(increment, row)
            }
        }
        for counter in row?.counters ?? [] {
            guard let entry = put.fields.entry(named: counter.field) else { continue }
            let zero = Commit.Increment(field: counter.field, delta: 0 &- counter.total)
            guard entry.type != nil else {
                put.resetCounters.append(zero)
                continue
            }
            let value = try malformed { () throws(MalformedBytes) in try put.fields.int64(entry) }
            // A value of another type stands here if two nodes gave the field two types.
            guard let value else { continue }
            put.resetCounters.append(zero)
            let base = value &- counter.total
            put.fields = put.fields.replacing(counter.field, withInt64: base)
        }
    }

    /// Whether a refusal may depend on what the record holds: its caller may read it.
    ///
    /// Otherwise a caller would find a hidden value by adding to it until the sum doesn't fit. So
    /// for such a caller a sum that doesn't fit comes in again at the other bound, as it does where
    /// several nodes add.
    private func mayKnow(
        _ row: RecordRow?,
        named name: String,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) -> Bool {
        guard let row else { return true }
        return try engine { () throws(EngineError) in
            try access.refusal(.read, row, named: name, &transaction) == nil
        }
    }

    /// Throws if the sum of an increment and what the field shows doesn't fit.
    func checkOverflow(
        _ increment: Commit.Increment,
        _ row: RecordRow?
    ) throws(PlanFailure) {
        var shown: Int64?
        if let row, let entry = row.body.entry(named: increment.field) {
            shown = try malformed { () throws(MalformedBytes) in try row.body.int64(entry) }
            // Another type may stand there where nodes gave the field two.
            if shown == nil {
                throw .item(holdsAnother(increment.field, entry.type ?? .emptyList))
            }
        }
        let hidden = row?.counters.first { $0.field == increment.field }
        let before = shown ?? hidden?.value ?? 0
        guard before.addingReportingOverflow(increment.delta).overflow else { return }
        throw .item(
            ServiceError(
                .invalidArguments,
                .invalidValue,
                """
                the value of field '\(StoredName.shown(increment.field))' would not fit into 64 bits
                """
            )
        )
    }

    func holdsAnother(_ name: String, _ type: FieldType) -> ServiceError {
        ServiceError(
            .invalidArguments,
            .wrongType,
            """
            field '\(StoredName.shown(name))' of this record holds a value of type \
            \(type.name); save an INT64 in it before it is incremented
            """
        )
    }
}
