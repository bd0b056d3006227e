// What a save does to counters: increments, and new bases where it sets or removes one.
//
// Called by `SavePlanner.plan`.

import CumulusModel
import CumulusStorage

extension SavePlanner {
    /// What sets a counter carries the base that gives the wanted value, and what removes one the
    /// base that gives 0; both say what base that is.
    func planCounters(
        _ put: inout Commit.Put,
        _ row: RecordRow?
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
            try checkOverflow(increment, row)
        }
        for counter in row?.counters ?? [] {
            guard let entry = put.fields.entry(named: counter.field) else { continue }
            let zero = Commit.Increment(field: counter.field, delta: 0 &- counter.total)
            guard entry.type != nil else {
                put.resetCounters.append(zero)
                continue
            }
            let value = try malformed { () throws(MalformedBytes) in try put.fields.int64(entry) }
            // Another type can stand here where two nodes disagreed on the field's.
            guard let value else { continue }
            put.resetCounters.append(zero)
            let base = value &- counter.total
            put.fields = put.fields.replacing(counter.field, withInt64: base)
        }
    }

    /// An increment goes on from what the field shows.
    func checkOverflow(
        _ increment: Commit.Increment,
        _ row: RecordRow?
    ) throws(PlanFailure) {
        var shown: Int64?
        if let row, let entry = row.body.entry(named: increment.field) {
            shown = try malformed { () throws(MalformedBytes) in try row.body.int64(entry) }
            // An empty list may stand where the schema had no column yet, and another type where
            // nodes gave the field two.
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
