// Decides which records a query looks at, and in which order.
//
// `QueryRecords` makes it from a bound query and the indexes that are ready. A plan only skips
// records that would fail the predicate or come behind the page: `Candidate` judges the others.
// `QuerySearch` runs the plan and finds out which way is the shortest.

package import CumulusModel

package struct QueryPlan: Hashable, Sendable {
    /// A way on which records come in the order of the results, so a full page ends it.
    package enum Walk: Hashable, Sendable {
        /// All records of a zone, by name.
        case records
        /// An index, or a part of it.
        case index(IndexAccess)
    }

    /// All names that results can have, ascending; nil means any.
    package private(set) var names: [String]?
    package private(set) var walk: Walk?
    /// Ways to parts of the records; each part contains all results.
    package private(set) var accesses: [IndexAccess] = []
    /// Whether only rows of the query's record type are looked at.
    package var staysInType: Bool {
        switch walk {
        case .index: true
        case .records: false
        case nil: names == nil && !accesses.isEmpty
        }
    }

    /// - Parameter counts: Only the number of results is wanted, so order does not matter.
    package init(_ query: BoundQuery, _ indexes: [NumberedIndex], counts: Bool) {
        names = query.names?.sorted(by: precedes).map { String(decoding: $0, as: UTF8.self) }
        if names != nil { return }
        if query.isImpossible {
            accesses = [IndexAccess(ranges: [], order: .name)]
            return
        }
        let ways = QueryWays(query, indexes.filter(\.isReady))
        accesses = QueryPlan.few(of: ways.accesses.filter { !counts || !$0.repeats })
        if counts { return }
        if let key = query.sortKeys.first {
            guard let ordered = ways.inOrder(of: key) else { return }
            walk = .index(ordered)
            // The same rows in another order are no shorter way.
            let same = Set(ordered.ranges)
            accesses.removeAll { $0.ranges.count == same.count && Set($0.ranges) == same }
        } else if let index = accesses.firstIndex(where: { $0.order == .name }) {
            walk = .index(accesses.remove(at: index))
        } else {
            walk = .records
        }
    }
}

extension QueryPlan {
    /// As many ways as are worth counting: a predicate can have hundreds of parts.
    private static func few(of accesses: [IndexAccess]) -> [IndexAccess] {
        var kept: [IndexAccess] = []
        var rangeCount = 0
        for access in accesses where kept.count < mostAccesses && !kept.contains(access) {
            guard rangeCount + access.ranges.count <= mostRanges else { continue }
            rangeCount += access.ranges.count
            kept.append(access)
        }
        return kept
    }

    fileprivate static let mostAccesses = 8
    /// A bound for the ranges of all accesses together.
    fileprivate static let mostRanges = 1_000
}

/// A way to the records that satisfy a part of a predicate: some ranges of index rows.
package struct IndexAccess: Hashable, Sendable {
    package enum Order: Hashable, Sendable {
        /// By name within each range; a range holds one value.
        case name
        /// By value, and by name within a value; ranges follow each other.
        case value
        case valueDescending
        case none
    }

    package var ranges: [IndexRange]
    package var order: Order
    /// True if a record can occur several times, because it has several rows in one range.
    package var repeats = false
    /// True if a row holds everything that the query asks about its record.
    package var isCovering = false

    /// The fields whose indexes are read, for log messages.
    package var fields: String {
        var seen: Set<String> = []
        let names = ranges.map { "'\($0.index.definition.field)'" }
        return names.filter { seen.insert($0).inserted }.joined(separator: ", ")
    }
}

/// Rows of one index.
package struct IndexRange: Hashable, Sendable {
    package var index: NumberedIndex
    /// The first bytes after the index number, see `IndexedValues`; the end is exclusive.
    package var start: Bytes
    package var end: Bytes

    init(_ index: NumberedIndex, start: Bytes, end: Bytes) {
        self.index = index
        self.start = start
        self.end = end
    }

    /// All rows with that prefix.
    init(_ index: NumberedIndex, prefix: Bytes) {
        let range = KeyRange(prefix: prefix)
        self.init(index, start: range.start, end: range.end)
    }

    package func keys(in zone: ZoneNumber) -> KeyRange {
        let prefix = KeyRange.indexRows(of: zone, index.number).start
        return KeyRange(start: prefix + start, end: prefix + end)
    }
}

extension IndexRange {
    /// A tag and the bytes after it, as keys have them.
    static func bytes(
        _ tag: IndexedValues.Tag,
        _ add: (inout KeyWriter) -> Void = { _ in }
    ) -> Bytes {
        var writer = KeyWriter(.indexRow)
        writer.add(tag.rawValue)
        add(&writer)
        return Bytes(writer.bytes.dropFirst())
    }

    /// Greater than all values.
    static let end = bytes(.more)
    /// Before all values, after the rows of records without a value.
    static let firstValue = bytes(.value)

    /// The range of a value and of all values that share its indexed bytes.
    static func value(_ value: ComparableValue) -> Bytes {
        bytes(.value) { $0.add(indexed: value) }
    }
}

// MARK: - Ways

/// Finds the ways that a query's comparisons and sort keys allow.
private struct QueryWays {
    private let query: BoundQuery
    private var indexes: [Slot: NumberedIndex] = [:]

    private struct Slot: Hashable {
        var column: BoundQuery.Column
        var form: IndexDefinition.Form
    }

    init(_ query: BoundQuery, _ indexes: [NumberedIndex]) {
        self.query = query
        for index in indexes {
            let definition = index.definition
            self.indexes[Slot(column: definition.column, form: definition.form)] = index
        }
    }

    private func index(
        _ column: BoundQuery.Column,
        _ form: IndexDefinition.Form
    ) -> NumberedIndex? {
        indexes[Slot(column: column, form: form)]
    }

    var accesses: [IndexAccess] {
        let conjuncts = query.conjuncts
        // The number of operands bounds all ways except word searches, which cover every field.
        var found = conjuncts.filter { !$0.searchesWords }.flatMap(accesses)
        for search in conjuncts where search.searchesWords {
            if found.count >= QueryPlan.mostAccesses { break }
            found += accesses(search).filter { !found.contains($0) }
        }
        var bounded: [BoundQuery.Column] = []
        for column in conjuncts.compactMap(\.boundedColumn) where !bounded.contains(column) {
            bounded.append(column)
            guard let index = index(column, .value), let bounds = bounds(on: index) else {
                continue
            }
            found.append(access([bounds].compactMap(\.self), .none))
        }
        // A query for all records of the type needn't read records of other types.
        if let all = index(.system(.recordID), .value) {
            let range = IndexRange(all, start: IndexRange.firstValue, end: IndexRange.end)
            found.append(access([range], .none))
        }
        return found
    }

    /// The ways that a single comparison allows.
    private func accesses(_ comparison: BoundQuery.Comparison) -> [IndexAccess] {
        switch comparison.subject {
        case .values(let column, let values) where comparison.relation != .notEquals:
            if let index = index(column, .element) {
                return [access(index.ranges(of: values) + [index.more], .name)]
            }
            guard let index = index(column, .value) else { return [] }
            return [access(index.ranges(of: values), .name)]
        case .value(let column, let prefix):
            guard let index = index(column, .element) else { return [] }
            let range = IndexRange(index, prefix: IndexRange.beginning(prefix))
            var access = access([range, index.more], .none)
            access.repeats = true
            return [access]
        case .place(let column, let place, let metres):
            guard let index = index(column, .cell) else { return [] }
            let cells = LocationCells.cover(place, metres: metres)
            return [access(cells.map { IndexRange(index, cells: $0) }, .none)]
        case .words(let words): return accesses(words, isAny: comparison.relation.isAny)
        case .presence(let column):
            guard let index = index(column, .value), index.definition.holdsAbsence else {
                return []
            }
            return [access([IndexRange(index, prefix: IndexRange.bytes(.absent))], .name)]
        case .values: return []
        }
    }

    /// If all words are wanted, each word alone is a way.
    private func accesses(_ words: Set<String>, isAny: Bool) -> [IndexAccess] {
        let indexes = query.searchable.compactMap { index($0, .word) }
        guard indexes.count == query.searchable.count else { return [] }
        func ranges(_ words: Set<String>) -> [IndexRange] {
            let values = Set(words.map { ComparableValue.bytes(Bytes($0.utf8)) })
            return indexes.flatMap { $0.ranges(of: values) + [$0.more] }
        }
        if words.isEmpty { return [access([], .name)] }
        if isAny {
            guard (words.count + 1) * indexes.count <= QueryPlan.mostRanges else { return [] }
            return [access(ranges(words), .name)]
        }
        // Long words are likely to be rare.
        let longest = words.sorted { ($0.utf8.count, $1) > ($1.utf8.count, $0) }
        return longest.prefix(QueryWays.countedWords).map { access(ranges([$0]), .name) }
    }

    /// How many words of a search for all of them are looked up.
    private static let countedWords = 3

    private func access(_ ranges: [IndexRange], _ order: IndexAccess.Order) -> IndexAccess {
        let isCovering = ranges.first.map { query.isCovered(by: $0.index.definition) } ?? false
        return IndexAccess(ranges: ranges, order: order, isCovering: isCovering)
    }

    // MARK: Ranges of values

    /// The range between all bounds that the predicate sets; empty if they exclude each other.
    ///
    /// nil if it sets no bounds.
    private func bounds(on index: NumberedIndex) -> IndexRange?? {
        var (start, end) = (IndexRange.firstValue, IndexRange.end)
        var isBounded = false
        for comparison in query.conjuncts {
            guard comparison.boundedColumn == index.definition.column,
                case .value(_, let value) = comparison.subject
            else { continue }
            isBounded = true
            let (lower, upper) = IndexRange.bounds(comparison.relation, value)
            if let lower, precedes(start, lower) { start = lower }
            if let upper, precedes(upper, end) { end = upper }
        }
        guard isBounded else { return nil }
        return .some(precedes(start, end) ? IndexRange(index, start: start, end: end) : nil)
    }

    /// An index that holds the records in the order of a sort key.
    func inOrder(of key: BoundQuery.SortKey) -> IndexAccess? {
        guard key.origin == nil, let index = index(key.column, .value),
            index.definition.holdsAbsence
        else { return nil }
        var ranges = [
            IndexRange(index, start: IndexRange.bytes(.absent), end: IndexRange.end)
        ]
        if let bounds = bounds(on: index) { ranges = [bounds].compactMap(\.self) }
        for case .values(key.column, let values) in query.equalities.map(\.subject) {
            ranges = index.ranges(of: values)
        }
        if !key.ascending { ranges.reverse() }
        return access(ranges, key.ascending ? .value : .valueDescending)
    }
}

extension NumberedIndex {
    /// One range per value, ascending.
    fileprivate func ranges(of values: Set<ComparableValue>) -> [IndexRange] {
        // Long texts with equal prefixes share one range.
        let prefixes = Set(values.map(IndexRange.value))
        return prefixes.sorted(by: precedes).map { IndexRange(self, prefix: $0) }
    }

    /// The records with more elements or words than rows.
    fileprivate var more: IndexRange { IndexRange(self, prefix: IndexRange.bytes(.more)) }
}

extension IndexRange {
    fileprivate init(_ index: NumberedIndex, cells: ClosedRange<UInt64>) {
        let last = KeyRange(prefix: IndexRange.bytes(.value) { $0.add(cells.upperBound) })
        let start = IndexRange.bytes(.value) { $0.add(cells.lowerBound) }
        self.init(index, start: start, end: last.end)
    }

    /// The prefix of all texts that begin with this one.
    fileprivate static func beginning(_ prefix: ComparableValue) -> Bytes {
        // The terminator of the text is left out.
        Bytes(value(prefix).dropLast(2))
    }

    /// Start and end of the values that compare in this way with a value; nil if the relation has
    /// no order.
    fileprivate static func bounds(
        _ relation: Query.Relation,
        _ operand: ComparableValue
    ) -> (lower: Bytes?, upper: Bytes?) {
        let alike = KeyRange(prefix: value(operand))
        // Long texts with the same prefix may lie on either side.
        var isExact = true
        if case .bytes(let bytes) = operand { isExact = bytes.count < ResultPosition.sortedBytes }
        switch relation {
        case .lessThan: return (nil, isExact ? alike.start : alike.end)
        case .lessThanOrEquals: return (nil, alike.end)
        case .greaterThan: return (isExact ? alike.end : alike.start, nil)
        case .greaterThanOrEquals: return (alike.start, nil)
        default:
            let range = KeyRange(prefix: beginning(operand))
            return (range.start, range.end)
        }
    }
}

extension Query.Relation {
    fileprivate var isAny: Bool { self == .containsAnyToken }
}

// MARK: - What a predicate says

extension BoundQuery.Comparison {
    fileprivate var searchesWords: Bool { if case .words = subject { true } else { false } }

    /// The column that is compared by order.
    fileprivate var boundedColumn: BoundQuery.Column? {
        guard case .value(let column, _) = subject, case .one = column.type else { return nil }
        return column
    }
}

extension BoundQuery {
    /// All names that results can have, as bytes: Swift treats some differently encoded texts as
    /// equal.
    ///
    /// nil means any.
    fileprivate var names: Set<Bytes>? {
        var names: Set<Bytes>?
        for case .values(.system(.recordID), let values) in equalities.map(\.subject) {
            let wanted = values.compactMap { if case .bytes(let name) = $0 { name } else { nil } }
            names = names?.intersection(wanted) ?? Set(wanted)
        }
        return names
    }

    /// Whether the constants alone make the predicate false, as an empty IN does.
    fileprivate var isImpossible: Bool {
        var stack: [Bool?] = []
        for node in nodes {
            switch node {
            case .constant(let value): stack.append(value)
            case .comparison: stack.append(nil)
            case .not: stack.append(stack.removeLast().map { !$0 })
            case .and, .or:
                let sides = [stack.removeLast(), stack.removeLast()]
                let decides = node == .or
                stack.append(sides.contains(decides) ? decides : sides[0] == nil ? nil : sides[1])
            }
        }
        return stack == [false]
    }

    /// Comparisons that every result satisfies by being equal to a value, or to one of several.
    fileprivate var equalities: [Comparison] {
        conjuncts.filter { $0.relation == .equals || $0.relation == .isIn }
    }

    /// Whether the query asks only about a record's name and the values in one row of an index.
    fileprivate func isCovered(by definition: IndexDefinition) -> Bool {
        guard definition.form == .value || definition.form == .cell else { return false }
        func isKnown(_ column: Column) -> Bool {
            column == definition.column || column == .system(.recordID)
        }
        let areKnown = nodes.allSatisfy { node in
            guard case .comparison(let comparison) = node else { return true }
            return switch comparison.subject {
            case .values(let column, _), .value(let column, _), .place(let column, _, _),
                .presence(let column):
                isKnown(column)
            case .words: false
            }
        }
        return areKnown && sortKeys.allSatisfy { isKnown($0.column) }
    }

    /// Comparisons that every result satisfies, because only AND joins them.
    package var conjuncts: [Comparison] {
        var stack: [[Comparison]] = []
        for node in nodes {
            switch node {
            case .constant: stack.append([])
            case .comparison(let comparison): stack.append([comparison])
            case .not: stack[stack.count - 1] = []
            case .and:
                let right = stack.removeLast()
                stack[stack.count - 1] += right
            case .or:
                stack.removeLast()
                stack[stack.count - 1] = []
            }
        }
        return stack.last ?? []
    }
}
