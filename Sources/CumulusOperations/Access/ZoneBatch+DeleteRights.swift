// What a caller may delete, and what it is told of records that it may not read.
//
// Called by `ZoneBatch`, and by `CascadeSurvey` for the texts of errors. In one's own database
// nothing is looked up.

import CumulusModel
import CumulusStorage

extension ZoneBatch {
    /// Why a record can't be deleted by the caller; nil if it can.
    ///
    /// - Parameter row: The record; nil if there is none, and a user may delete that without
    ///   effect.
    func refusal(
        ofDeleting row: RecordRow?,
        named name: String,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> ServiceError? {
        guard let row else {
            return access.rights == .granted ? Authorisation.changeRefusal(of: caller) : nil
        }
        return try access.refusal(.delete, row, named: name, &transaction)
    }

    /// The name of a record; nil if the caller may not read the record.
    func readable(
        _ name: String,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> String? {
        guard found.rights != .own, let zone = found.number,
            let row = try transaction.record(zone, name)
        else { return name }
        let refusal = try access.refusal(.read, row, named: name, &transaction)
        return refusal == nil ? name : nil
    }

    /// Hides fields and creators of records that the caller may change but not read.
    func hideValues(
        of saved: [Int],
        _ transaction: inout WriteTransaction,
        _ outcome: inout ModifyOutcome
    ) throws(EngineError) {
        guard found.rights == .granted else { return }
        for index in saved {
            guard case .success(var told) = outcome.saves[index], told.tellsMore(than: caller),
                case .success(let content) = request.saves[index].content
            else { continue }
            let record = RecordAccess.Record(
                name: request.saves[index].address.name,
                type: StoredName.shown(content.type),
                createdBy: told.createdBy
            )
            guard try access.refusal(.read, record, &transaction) != nil else { continue }
            told.hide(from: caller)
            outcome.saves[index] = .success(told)
        }
    }

    /// - Parameters:
    ///   - child: The child's name; nil if the caller may not read it.
    ///   - parent: The parent's name; nil if the caller may not read it.
    static func orphan(_ child: String?, of parent: String?) -> ServiceError {
        let child = child.map { "record '\($0)'" } ?? "a record that you may not read"
        let parent = parent.map { "'\($0)'" } ?? "a record that you may not read"
        return ServiceError(
            .referenceViolation,
            """
            Record delete would violate validating reference (\(child) has \(parent) as its \
            parent), rejecting update; delete the children first or in the same batch
            """
        )
    }
}
