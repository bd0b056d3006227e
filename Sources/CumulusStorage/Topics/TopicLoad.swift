// How many comparisons the topics of a record type take of each save of a record of the type.
//
// Counted by `TopicIndex` while topics come and go. Asked when a subscription is saved. A topic
// whose predicate needs a value of a field is compared only with records that have the value, so
// its comparisons count for that value. The count is read from predicates and needs no schema.

package import CumulusModel

struct TopicLoad: Sendable {
    struct Field: Hashable, Sendable {
        let name: String
        /// A record has several of its values.
        let isList: Bool
    }

    /// A value that a predicate needs.
    struct Value: Hashable, Sendable {
        let field: Field
        /// Values with equal hashes count together.
        let hash: Int
    }

    /// Comparisons with every record.
    private var always = 0
    /// Comparisons with the records that have a value, by field and by the hash of the value.
    private var byField: [Field: [Int: Int]] = [:]

    /// Counts a topic.
    ///
    /// Returns the values for which its comparisons count; none if they count for every record.
    mutating func enter(_ topic: Topic) -> [Value] {
        let values = places(of: topic)
        add(topic.comparisonCount, for: values)
        return values
    }

    /// Forgets a topic that was counted for some values.
    mutating func leave(_ topic: Topic, _ values: [Value]) {
        add(-topic.comparisonCount, for: values)
    }

    /// The most comparisons that one record can take.
    var most: Int {
        byField.reduce(always) { sum, field in
            let counts = field.value.values
            return sum + (field.key.isList ? counts.reduce(0, +) : counts.max() ?? 0)
        }
    }

    /// How many comparisons a record takes at least that is compared with a new topic.
    ///
    /// Unlike `most` it costs the same for any number of topics.
    func count(with topic: Topic) -> Int {
        always + topic.comparisonCount + (places(of: topic).map(count).max() ?? 0)
    }

    private mutating func add(_ count: Int, for values: [Value]) {
        if values.isEmpty { always += count }
        for value in values {
            byField[value.field, default: [:]][value.hash, default: 0] += count
            if self.count(value) == 0 { byField[value.field]?[value.hash] = nil }
            if byField[value.field]?.isEmpty == true { byField[value.field] = nil }
        }
    }

    private func count(_ value: Value) -> Int { byField[value.field]?[value.hash] ?? 0 }

    /// The values of the field whose values have the fewest comparisons so far, as in `TopicGroup`.
    private func places(of topic: Topic) -> [Value] {
        (topic.predicate?.neededValues ?? []).min { crowd($0) < crowd($1) } ?? []
    }

    private func crowd(_ values: [Value]) -> Int { values.reduce(0) { $0 + 1 + count($1) } }
}

extension Topic {
    /// How often a record is compared; a topic without comparisons counts as one with one.
    fileprivate var comparisonCount: Int { max(1, predicate?.comparisonCount ?? 0) }
}

extension Query.Predicate {
    package var comparisonCount: Int {
        nodes.count { if case .comparison = $0 { true } else { false } }
    }

    /// Whether only records are compared that have a certain value.
    package var needsValue: Bool { !neededValues.isEmpty }

    /// The comparisons by equality that must hold, each as the values that its field may have.
    fileprivate var neededValues: [[TopicLoad.Value]] {
        if nodes.contains(.or) { return [] }
        return nodes.indices.compactMap { index in
            let isNegated = index + 1 < nodes.count && nodes[index + 1] == .not
            guard !isNegated, case .comparison(let comparison) = nodes[index],
                comparison.relation.isEquality, comparison.relation != .notEquals
            else { return nil }
            let isList = comparison.relation.wantsList
            let field = TopicLoad.Field(name: comparison.key, isList: isList)
            return Set(comparison.operands).map { .init(field: field, hash: $0.hashValue) }
        }
    }
}

extension ScopeFeeds {
    /// How many comparisons a record takes at least that is compared with a topic.
    ///
    /// Returns 0 if a subscription of any user has the topic already: one more costs nothing.
    package func comparisonCount(
        with topic: Topic,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Int {
        try load(&transaction).topics.count(with: topic)
    }
}
