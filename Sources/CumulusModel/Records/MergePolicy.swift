// How concurrent changes of one record come together, declared per record type.
//
// Set by operators, kept as a register of the schema; what it means is decided where a save is
// planned, at its origin: nodes apply every commit by the same rules.

/// The parts of a record that change as one when nodes change them concurrently.
package enum MergePolicy: Hashable, Sendable {
    /// Each field on its own: the later value of each stands.
    case fields
    /// The fields of each group together; all others on their own.
    case groups([FieldGroup])
    /// The whole record: all of the later save stands, nothing of the other one.
    case record
}

/// Fields that change together, sorted.
package struct FieldGroup: Hashable, Sendable {
    package let fields: [String]

    package init(_ fields: some Sequence<String>) {
        self.fields = Set(fields).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
}

extension MergePolicy {
    /// Whether a field is in a group.
    package func groups(_ field: String) -> Bool {
        guard case .groups(let groups) = self else { return false }
        return groups.contains { $0.fields.contains(field) }
    }

    /// Why groups can't be as given; nil if they can.
    package static func refusal(of groups: [FieldGroup]) -> String? {
        if groups.isEmpty { return "the policy 'groups' needs at least one group of fields" }
        if groups.contains(where: { $0.fields.count < 2 }) {
            return "a group has at least two fields"
        }
        let limit = Limits.standard.fieldsPerType
        if groups.reduce(0, { $0 + $1.fields.count }) > limit {
            return "a type has at most \(limit) fields"
        }
        var seen: Set<String> = []
        let twice = groups.flatMap(\.fields).first { !seen.insert($0).inserted }
        return twice.map { "field '\($0)' is in two groups" }
    }
}
