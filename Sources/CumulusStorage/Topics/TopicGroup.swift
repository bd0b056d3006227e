// The topics of one record type of one database, found by the values of a record.
//
// Held by `TopicIndex`. A topic whose predicate needs a value of a field is listed under that
// value, so a record is compared only with topics that need a value it has. If a predicate needs
// values of several fields, the topic is listed under the field whose values have the fewest topics
// so far. The comparison that led there is true then; `Candidate` evaluates the rest of the
// predicate, as for queries. It decodes each field of the record once for all topics. hot: once per
// changed record of a type that has subscriptions.

package import CumulusModel

package struct TopicGroup: Sendable {
    /// A topic that is bound.
    ///
    /// An object, so that lists of topics hold no copies.
    private final class Entry: Sendable {
        let topic: Topic
        /// What is left to be compared with a record that has one of the values in `places`.
        ///
        /// nil if the predicate is no longer valid for the schema: no record matches then.
        let query: BoundQuery?
        /// The values under which it is listed; empty if every record is compared with it.
        let places: [Place]
        /// The comparisons with `NOW()`, by their places in the predicate.
        let timed: [Int]
        /// Whether the comparison with the values in `places` is not in `query` any more.
        let isShortened: Bool
        /// Whether nothing is left to be compared.
        let isSettled: Bool

        init(_ topic: Topic, _ query: BoundQuery?, _ way: Way?) {
            let timed = topic.predicate?.timed ?? []
            var rest = query
            var isShortened = false
            // A time is not known before a record comes.
            if let way, !way.places.isEmpty, !timed.contains(way.node) {
                rest?.nodes[way.node] = .constant(true)
                isShortened = true
            }
            isSettled = rest?.nodes.allSatisfy { $0 == .constant(true) || $0 == .and } ?? false
            self.topic = topic
            self.query = rest
            self.places = way?.places ?? []
            self.timed = timed
            self.isShortened = isShortened
        }

        /// The columns that say whether a record matches.
        var columns: Set<BoundQuery.Column> {
            Set((query?.columns ?? []) + places.map(\.column))
        }

        /// The query at a time, in milliseconds since 1970 UTC.
        func query(at now: Int64) -> BoundQuery? {
            guard !timed.isEmpty, let predicate = topic.predicate else { return query }
            return query?.at(now, timed, of: predicate)
        }
    }

    private struct Place: Hashable, Sendable {
        let column: BoundQuery.Column
        let value: ComparableValue
    }

    /// A comparison by equality that must hold: its index in the query, and the values.
    private struct Way {
        let node: Int
        let places: [Place]
    }

    /// What predicates are bound to.
    package struct Binding: Sendable {
        let schema: TypeSchema
        let environment: Environment

        package init(schema: TypeSchema, environment: Environment) {
            self.schema = schema
            self.environment = environment
        }
    }

    private let binding: Binding
    /// Topics that are still to be bound.
    private var unbound: [Topic] = []
    private var entries: [Topic.ID: Entry] = [:]
    private var byValue: [BoundQuery.Column: [ComparableValue: [Entry]]] = [:]
    private var others: [Entry] = []
    /// How many topics depend on each column.
    private var columns: [BoundQuery.Column: Int] = [:]

    package init(_ binding: Binding) {
        self.binding = binding
    }

    /// A group whose topics `bind` binds before the first record is compared.
    init(_ binding: Binding, of topics: some Sequence<Topic>) {
        self.binding = binding
        unbound = Array(topics)
    }

    /// Binds topics, one at least, for as long as the effort allows; returns whether all are bound.
    mutating func bind(within effort: inout QueryEffort) -> Bool {
        while let topic = unbound.popLast() {
            insert(topic)
            let nodes = max(1, topic.predicate?.nodes.count ?? 0)
            do { try effort.spend(TopicGroup.bindingSteps * nodes) } catch { break }
        }
        return unbound.isEmpty
    }

    /// Steps that the binding of one node of a predicate counts as.
    private static let bindingSteps = 2

    package mutating func insert(_ topic: Topic) {
        guard entries[topic.id] == nil else { return }
        let query = bound(topic)
        let entry = Entry(topic, query, query.flatMap(way))
        entries[topic.id] = entry
        if query == nil { return }
        for column in entry.columns { columns[column, default: 0] += 1 }
        if entry.places.isEmpty { others.append(entry) }
        for place in entry.places {
            byValue[place.column, default: [:]][place.value, default: []].append(entry)
        }
    }

    package mutating func remove(_ id: Topic.ID) {
        unbound.removeAll { $0.id == id }
        guard let entry = entries.removeValue(forKey: id), entry.query != nil else { return }
        for column in entry.columns {
            columns[column, default: 1] -= 1
            if columns[column] == 0 { columns[column] = nil }
        }
        if entry.places.isEmpty { others.removeAll { $0 === entry } }
        for place in entry.places {
            byValue[place.column]?[place.value]?.removeAll { $0 === entry }
            if byValue[place.column]?[place.value]?.isEmpty == true {
                byValue[place.column]?[place.value] = nil
            }
            if byValue[place.column]?.isEmpty == true { byValue[place.column] = nil }
        }
    }

    /// The topics that a visible record of the type matches.
    ///
    /// - Parameter now: The time that `NOW()` means, in milliseconds since 1970 UTC.
    package func matches(
        _ row: RecordRow,
        named name: String,
        in zone: String,
        now: Int64
    ) throws(MalformedBytes) -> Set<Topic.ID> {
        var effort = QueryEffort { nil }
        return Set(try matches(row, named: name, in: zone, now: now, &effort) ?? [])
    }

    /// Finds the topics within an effort; returns nil if that takes more steps than it allows.
    ///
    /// A topic may be found twice.
    func matches(
        _ row: RecordRow,
        named name: String,
        in zone: String,
        now: Int64,
        _ effort: inout QueryEffort
    ) throws(MalformedBytes) -> [Topic.ID]? {
        var candidate = Candidate(row, named: name, keepsValues: true)
        var matches: [Topic.ID] = []
        for entry in try suspects(candidate) where entry.topic.zones.contain(zone) {
            guard let query = entry.query(at: now) else { continue }
            let isMatch = try candidate.satisfies(
                query,
                isSettled: entry.isSettled,
                steps: entry.isShortened ? 2 : 1,
                within: &effort
            )
            guard let isMatch else { return nil }
            if isMatch { matches.append(entry.topic.id) }
        }
        return matches
    }

    /// Whether a record matches after a change what it matched before, at the same time, as far as
    /// the columns of all topics show; false says nothing.
    ///
    /// - Parameter count: How many topics it matched: that many columns are compared at most, since
    ///   to compare the topics again takes no longer.
    func agree(
        _ before: RecordRow,
        _ after: RecordRow,
        named name: String,
        matching count: Int
    ) -> Bool {
        guard columns.count <= count, before.type == after.type else { return false }
        let (one, other) = (Candidate(before, named: name), Candidate(after, named: name))
        return columns.keys.allSatisfy { one.agrees(with: other, in: $0) }
    }

    /// The topics that a record is compared with: all that can match, and few others.
    package func suspects(
        of row: RecordRow,
        named name: String
    ) throws(MalformedBytes) -> [Topic.ID] {
        try suspects(Candidate(row, named: name)).map(\.topic.id)
    }

    private func suspects(_ candidate: Candidate) throws(MalformedBytes) -> [Entry] {
        var found = others
        for (column, topics) in byValue {
            for value in try candidate.values(of: column) { found += topics[value] ?? [] }
        }
        return found
    }

    /// The query of a topic, with `NOW()` as 1970.
    private func bound(_ topic: Topic) -> BoundQuery? {
        guard let predicate = topic.predicate else {
            return BoundQuery(everyRecordOf: binding.schema)
        }
        var query = Query(recordType: topic.recordType ?? "", predicate: predicate)
        query.allowsExtensions = true
        return try? BoundQuery(
            query,
            binding.schema,
            BoundQuery.Context(
                environment: binding.environment,
                // A canonical predicate contains no alias of the user.
                user: "",
                now: 0,
                limits: .standard
            )
        )
    }

    /// The places under which the topic of a query is listed; nil if no value is needed.
    private func way(_ query: BoundQuery) -> Way? {
        let ways = query.neededValues.map { node, column, values in
            Way(node: node, places: values.map { Place(column: column, value: $0) })
        }
        return ways.min { crowd($0.places) < crowd($1.places) }
    }

    /// How many topics are listed in some places, and how many places these are.
    private func crowd(_ places: [Place]) -> Int {
        places.reduce(0) { $0 + 1 + (byValue[$1.column]?[$1.value]?.count ?? 0) }
    }
}

extension BoundQuery {
    /// The columns that comparisons look at.
    fileprivate var columns: [Column] {
        nodes.flatMap { node -> [Column] in
            guard case .comparison(let comparison) = node else { return [] }
            return switch comparison.subject {
            case .values(let column, _), .value(let column, _), .presence(let column),
                .place(let column, _, _):
                [column]
            case .words: searchable
            }
        }
    }

    /// The comparisons by equality that must hold: their indices, a column, and the values that it
    /// may have.
    fileprivate var neededValues: [(node: Int, column: Column, values: Set<ComparableValue>)] {
        if nodes.contains(.or) { return [] }
        return nodes.enumerated().compactMap { index, node in
            let isNegated = index + 1 < nodes.count && nodes[index + 1] == .not
            guard !isNegated, case .comparison(let comparison) = node,
                comparison.relation.isEquality, comparison.relation != .notEquals,
                case .values(let column, let values) = comparison.subject
            else { return nil }
            return (index, column, values)
        }
    }
}

extension Query.Predicate {
    /// The places of the comparisons with `NOW()`.
    fileprivate var timed: [Int] {
        nodes.indices.filter { index in
            guard case .comparison(let comparison) = nodes[index] else { return false }
            return comparison.operands.contains(.now)
        }
    }
}

extension BoundQuery {
    /// The query at another time.
    ///
    /// - Parameter timed: The comparisons with `NOW()`: each stands where the predicate has it.
    fileprivate func at(
        _ now: Int64,
        _ timed: [Int],
        of predicate: Query.Predicate
    ) -> BoundQuery {
        var query = self
        for index in timed {
            guard case .comparison(let asked) = predicate.nodes[index],
                case .comparison(var comparison) = nodes[index]
            else { continue }
            let values = asked.operands.compactMap { $0.comparable(at: now) }
            switch comparison.subject {
            case .values(let column, _): comparison.subject = .values(column, Set(values))
            case .value(let column, _): comparison.subject = .value(column, values[0])
            case .place, .words, .presence: continue
            }
            query.nodes[index] = .comparison(comparison)
        }
        return query
    }
}

extension Query.Operand {
    fileprivate func comparable(at now: Int64) -> ComparableValue? {
        switch self {
        case .now: .int64(now)
        case .value(let value): ComparableValue(value)
        }
    }
}

extension Candidate {
    /// Whether the record satisfies a query; nil if that takes more steps than the effort allows.
    ///
    /// - Parameters:
    ///   - isSettled: Whether every record of its type satisfies it.
    ///   - steps: What it takes besides the query's comparisons.
    fileprivate mutating func satisfies(
        _ query: BoundQuery,
        isSettled: Bool,
        steps: Int,
        within effort: inout QueryEffort
    ) throws(MalformedBytes) -> Bool? {
        do {
            try effort.spend(steps)
            if isSettled { return type.map { $0 == query.recordType } ?? true }
            return try satisfies(query, &effort)
        } catch let error as MalformedBytes {
            throw error
        } catch is ServiceError {
            return nil
        } catch {
            throw MalformedBytes("\(error)")
        }
    }

    /// The value of a column, or the elements of its list.
    fileprivate func values(of column: BoundQuery.Column) throws(MalformedBytes)
        -> [ComparableValue]
    {
        guard case .list = column.type else { return try comparable(column).map { [$0] } ?? [] }
        var values: [ComparableValue] = []
        do {
            try visitElements(of: column) { element in
                if let value = ComparableValue(element) { values.append(value) }
                return true
            }
        } catch {
            throw MalformedBytes("\(error)")
        }
        return values
    }
}
