// Merge policies as operators set and list them.
//
// `operator.proto`. Names are bytes here; the node checks them.

import CCumulusWire
package import CumulusModel

/// What of a type's records changes as one.
package struct WireMergePolicy: Hashable, Sendable {
    package var recordType: Bytes
    /// `MergeUnit`, or a number that this release doesn't know.
    package var unit: UInt32
    package var groups: [[Bytes]]

    package static let units = (fields: UInt32(0), groups: UInt32(1), record: UInt32(2))

    package init(recordType: Bytes, unit: UInt32, groups: [[Bytes]] = []) {
        self.recordType = recordType
        self.unit = unit
        self.groups = groups
    }

    /// The bytes of a `SetMergePolicyRequest`.
    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        encode(to: &writer)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__set_merge_policy_request__unpack)
        guard let policy = message.raw.policy else {
            throw MalformedMessage(message: "the request names no policy")
        }
        self.init(wire: policy.pointee)
    }

    /// The bytes of a `ListMergePoliciesResponse`.
    package static func answer(_ policies: [WireMergePolicy]) -> Bytes {
        var writer = CanonicalWriter()
        for policy in policies { policy.encode(to: &writer) }
        return writer.bytes
    }

    package static func list(wire bytes: Bytes) throws(MalformedMessage) -> [WireMergePolicy] {
        let message = try CMessage(answer: bytes, cumulus__v1__list_merge_policies_response__unpack)
        return elements(message.raw.n_policies, message.raw.policies).map(WireMergePolicy.init)
    }

    /// The bytes of a `SetMergePolicyResponse`.
    package static func answer(existed: Bool) -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, varint: existed ? 1 : 0)
        return writer.bytes
    }

    package static func existed(wire bytes: Bytes) throws(MalformedMessage) -> Bool {
        let message = try CMessage(bytes[...], cumulus__v1__set_merge_policy_response__unpack)
        return message.raw.existed != 0
    }

    private func encode(to writer: inout CanonicalWriter) {
        writer.message(1) { writer in
            writer.field(1, bytes: recordType)
            writer.field(2, varint: UInt64(unit))
            for group in groups {
                writer.message(3) { writer in
                    for field in group { writer.present(1, bytes: field) }
                }
            }
        }
    }

    private init(wire raw: Cumulus__V1__MergePolicy) {
        recordType = raw.record_type.swiftBytes
        unit = UInt32(raw.unit.rawValue)
        groups = elements(raw.n_groups, raw.groups).map { group in
            elements(group.n_fields, group.fields).map(\.swiftBytes)
        }
    }
}
