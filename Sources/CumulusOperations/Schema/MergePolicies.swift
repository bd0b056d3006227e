// Operators set and list how concurrent changes of a type's records are merged: one register per
// record type and environment.
//
// Saves follow a policy from the moment when their node knows it; what was saved earlier stays as
// it was merged then.
// merged then.

package import CumulusModel
package import CumulusStorage

package enum MergePolicies {
    package struct Entry: Hashable, Sendable {
        package var recordType: String
        package var policy: MergePolicy

        package init(recordType: String, policy: MergePolicy) {
            self.recordType = recordType
            self.policy = policy
        }
    }

    /// The types whose policy is not the default, by name.
    package static func all(
        in scope: ScopeNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> [Entry] {
        var entries: [Entry] = []
        let drops = try reader.typeDrops(scope)
        for (key, value) in try reader.registers(scope, SchemaRegister.mergeNamespace, below: []) {
            guard let type = key.first, key.count == 1 else {
                throw .corrupt("a schema register is damaged")
            }
            let policy = try reader.decoding(value) { () throws(MalformedBytes) in
                try MergePolicy(register: value)
            }
            guard let name = drops.shown(String(decoding: type, as: UTF8.self)) else { continue }
            entries.append(Entry(recordType: name, policy: policy))
        }
        return entries
    }
}

/// Sets a type's policy.
package struct SetMergePolicy: ContainerChange {
    private let entry: MergePolicies.Entry

    package init(_ entry: MergePolicies.Entry) {
        self.entry = entry
    }

    package static var isOperators: Bool { true }

    package func keeps(_ existed: Bool) -> Bool { !existed }

    /// Sets the policy; the outcome is true if it was set already, and then nothing is changed.
    package func run(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<Bool, ServiceError> {
        let namespace = SchemaRegister.mergeNamespace
        let key = [Bytes(try transaction.schema(scope, entry.recordType).name.utf8)]
        let value = entry.policy == .fields ? nil : entry.policy.registerValue
        if try transaction.register(scope, namespace, key)?.value == value { return .success(true) }
        let register = Commit.Register(namespace: namespace, key: key, value: value)
        try ScopeRegisters(of: scope).set([register], &transaction)
        return .success(false)
    }
}
