// Merge policies between the wire and the operations: names checked, units known.
//
// Called by the session for operators' calls.

import CumulusModel
import CumulusOperations
import CumulusWire

extension MergePolicies.Entry {
    /// Throws what is wrong with it.
    init(checking wire: WireMergePolicy) throws(ServiceError) {
        let type = try Names.checkTypeName(wire.recordType[...])
        let groups = try wire.groups.map { (fields) throws(ServiceError) in
            FieldGroup(
                try fields.map { (field) throws(ServiceError) in
                    try Names.checkFieldName(field[...], "field name")
                }
            )
        }
        self.init(recordType: type, policy: try Self.policy(of: wire.unit, groups))
    }

    private static func policy(
        of unit: UInt32,
        _ groups: [FieldGroup]
    ) throws(ServiceError) -> MergePolicy {
        if unit == WireMergePolicy.units.groups {
            if let refusal = MergePolicy.refusal(of: groups) {
                throw ServiceError(.invalidArguments, .invalidValue, refusal)
            }
            return .groups(groups)
        }
        guard groups.isEmpty else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                "only the policy 'groups' takes groups of fields"
            )
        }
        switch unit {
        case WireMergePolicy.units.fields: return .fields
        case WireMergePolicy.units.record: return .record
        default:
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                "merge policy \(unit) is unknown here; there are fields, groups and record"
            )
        }
    }
}

extension WireMergePolicy {
    init(_ entry: MergePolicies.Entry) {
        self.init(recordType: Bytes(entry.recordType.utf8), unit: WireMergePolicy.units.fields)
        switch entry.policy {
        case .fields: break
        case .record: unit = WireMergePolicy.units.record
        case .groups(let all):
            unit = WireMergePolicy.units.groups
            groups = all.map { group in group.fields.map { Bytes($0.utf8) } }
        }
    }
}
