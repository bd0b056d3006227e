// Merge policies as operators set and list them.
//
// `operator.proto`. Names are bytes here; the node checks them.

package import CumulusModel

/// `MergePolicy`: what of a type's records changes as one.
package struct WireMergePolicy: Coded, Hashable {
    package var recordType: Bytes = []
    /// `MergeUnit`, or a number that this release doesn't know.
    package var unit: UInt32 = 0
    package var groups: [[Bytes]] = []

    package static let units = (fields: UInt32(0), groups: UInt32(1), record: UInt32(2))

    package init() {}

    package init(recordType: Bytes, unit: UInt32, groups: [[Bytes]] = []) {
        self.recordType = recordType
        self.unit = unit
        self.groups = groups
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &recordType)
        try coder.number(2, &unit)
        var fieldGroups = groups.map { FieldGroup($0) }
        try coder.list(3, &fieldGroups)
        groups = fieldGroups.map(\.fields)
    }

    /// `FieldGroup`.
    private struct FieldGroup: Coded {
        var fields: [Bytes] = []

        init() {}

        init(_ fields: [Bytes]) {
            self.fields = fields
        }

        mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.list(1, &fields)
        }
    }
}

package struct SetMergePolicyRequest: Coded, Hashable {
    package var policy = WireMergePolicy()

    package init() {}

    package init(_ policy: WireMergePolicy) {
        self.policy = policy
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.message(1, &policy)
    }
}

/// Whether it existed.
package typealias SetMergePolicyResponse = FlagMessage
package typealias ListMergePoliciesResponse = MessageList<WireMergePolicy>
