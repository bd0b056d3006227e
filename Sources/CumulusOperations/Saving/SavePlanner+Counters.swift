// What a save does to counters: it adds increments, and new bases if it sets or removes a counter.
//
// Called by `SavePlanner.plan`.

import CumulusModel
import CumulusStorage

extension SavePlanner {
    /// Adds a base for each counter that the save sets or removes.
    ///
    /// With the base, the counter shows the wanted value, or 0.
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
            // The value has another type if two nodes gave the field two types.
            guard let value else { continue }
            put.resetCounters.append(zero)
            let base = value &- counter.total
            put.fields = put.fields.replacing(counter.field, withInt64: base)
        }
    }

    /// Whether a refusal may depend on what the record holds, because the caller may read it.
    ///
    /// Otherwise a caller could find a hidden value by adding to it until the sum overflows. So for
    /// such a caller a sum wraps around when it overflows, as it does if several nodes add.
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

    /// Throws if the sum of an increment and the shown value overflows.
    func checkOverflow(
        _ increment: Commit.Increment,
        _ row: RecordRow?
    ) throws(PlanFailure) {
        var shown: Int64?
        if let row, let entry = row.body.entry(named: increment.field) {
            shown = try malformed { () throws(MalformedBytes) in try row.body.int64(entry) }
            // The value may have another type, if nodes gave the field two types.
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
