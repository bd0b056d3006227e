// A record that a query looks at: whether it satisfies the predicate, and its place in the order.
// Indexes read values through it too, so both read the same values.
//
// Every predicate is evaluated here alone: an index only skips records that would fail here. Truth
// has three values, as in SQL: a comparison with a missing field is unknown, and so is its
// negation. hot: once per record that a query reads.

package import CumulusModel

package struct Candidate {
    /// A record whose fields are read without copying the rest.
    private final class Stored: Sendable {
        let view: RecordView
        let body: RecordBody

        init(_ view: RecordView, _ body: RecordBody) {
            self.view = view
            self.body = body
        }
    }

    /// Decoded values for many queries: each field is decoded once.
    private struct Kept {
        var values: [BoundQuery.Column: ComparableValue?] = [:]
        /// The elements of lists; nil if the record has no list.
        var lists: [BoundQuery.Column: Set<ComparableValue>?] = [:]
        var words: [BoundQuery.Column: Set<String>] = [:]
    }

    private enum Content {
        /// It is a class so that rows, which are many, stay small.
        case record(Stored)
        /// A row of an index that covers the query: one column's value and the record's name.
        case row(IndexEntry)
    }

    private let content: Content
    /// Decoded values so far; nil if none are kept.
    private var kept: Kept?
    /// The last distance that was measured, and its origin.
    private var measured: (from: Location, metres: Double)?

    /// A record as it is stored, whole.
    package init(_ view: RecordView) throws(MalformedBytes) {
        content = .record(Stored(view, try RecordBody(stored: view.fields)))
    }

    /// A record that is about to be stored.
    ///
    /// - Parameter keepsValues: Many queries look at the record: each field is decoded once.
    package init(_ row: RecordRow, named name: String, keepsValues: Bool = false) {
        content = .record(Stored(RecordView(row, name: name), row.body))
        if keepsValues { kept = Kept() }
    }

    /// A record from an index row that covers the query.
    package init(_ entry: IndexEntry) {
        content = .row(entry)
    }

    package var name: String {
        switch content {
        case .record(let record): record.view.name
        case .row(let entry): entry.name
        }
    }

    /// nil means the type of the index.
    var type: String? {
        if case .record(let record) = content { record.view.type } else { nil }
    }

    /// The value of a column that is no list; nil if the record has none, or a value of another
    /// type.
    package func value(of column: BoundQuery.Column) throws(MalformedBytes) -> FieldValue? {
        guard case .record(let record) = content else { return nil }
        if case .system(let field) = column { return record.view.value(of: field) }
        return try entry(of: column).flatMap(record.body.value)
    }

    /// Whether both hold the same bytes in a column.
    func agrees(with other: Candidate, in column: BoundQuery.Column) -> Bool {
        guard case .field = column else {
            return (try? value(of: column)) == (try? other.value(of: column))
        }
        guard let one = entry(of: column), let two = other.entry(of: column),
            case .record(let record) = content, case .record(let otherRecord) = other.content
        else { return entry(of: column) == nil && other.entry(of: column) == nil }
        return record.body.bytes[one.whole] == otherRecord.body.bytes[two.whole]
    }

    /// The entry of a field that has a value of its column's type.
    private func entry(of column: BoundQuery.Column) -> RecordBody.Entry? {
        guard case .record(let record) = content, case .field(let name, let type) = column,
            let entry = record.body.entry(named: name), let found = entry.type, found.fits(type),
            !found.isEmptyList
        else { return nil }
        return entry
    }

    /// Number of bytes of a column's value; 0 if it is empty.
    func byteCount(of column: BoundQuery.Column) -> Int { entry(of: column)?.value.count ?? 0 }

    /// The distance of a column's place from another place; nil if the column is empty.
    mutating func distance(
        from origin: Location,
        in column: BoundQuery.Column
    ) throws(MalformedBytes) -> Double? {
        guard case .row(let entry) = content else {
            return try value(of: column)?.location.map { GreatCircle.distance($0, origin) }
        }
        // Results are nearly always sorted by the distance that was just compared.
        if let measured, measured.from == origin { return measured.metres }
        guard let metres = entry.distance(from: origin) else { return nil }
        measured = (origin, metres)
        return metres
    }

    /// The comparable value of a column that holds no list and no place.
    func comparable(
        _ column: BoundQuery.Column
    ) throws(MalformedBytes) -> ComparableValue? {
        switch content {
        case .row(let entry):
            return column == .system(.recordID) ? .bytes(Bytes(entry.nameBytes)) : entry.value
        case .record(let record):
            // Texts are compared as bytes, so no String is made.
            if case .field(_, .one(.string)) = column {
                return entry(of: column).map { .bytes(Bytes(record.body.bytes[$0.value])) }
            }
            return try value(of: column).flatMap(ComparableValue.init)
        }
    }
}

extension RecordView {
    fileprivate func value(of field: SystemField) -> FieldValue? {
        func reference(_ name: String?) -> FieldValue? {
            name.map { .reference(Record.Reference(recordName: $0)) }
        }
        func time(_ milliseconds: Int64) -> FieldValue {
            .timestamp(Timestamp(millisecondsSince1970: milliseconds))
        }
        return switch field {
        case .recordID: reference(name)
        case .createTime: time(created)
        case .modTime: time(modified)
        case .createdBy: reference(createdBy)
        case .modifiedBy: reference(modifiedBy)
        case .etag: .string(changeTag.hex)
        case .parent: reference(parent)
        case .share: reference(share)
        }
    }
}

// MARK: - Truth

extension Candidate {
    /// Whether a query finds the record.
    ///
    /// Throws `MalformedBytes`, or the error that `effort` stops with.
    package mutating func satisfies(
        _ query: BoundQuery,
        _ effort: inout QueryEffort
    ) throws -> Bool {
        if let type, type != query.recordType { return false }
        if query.nodes.count == 1, case .comparison(let comparison) = query.nodes[0] {
            return try outcome(comparison, query, &effort) == true
        }
        if !query.nodes.contains(.or) { return try satisfiesAll(query, &effort) }
        var stack: [Bool?] = []
        for node in query.nodes {
            switch node {
            case .constant(let value): stack.append(value)
            case .comparison(let comparison):
                stack.append(try outcome(comparison, query, &effort))
            case .not:
                let operand = stack.removeLast()
                stack.append(operand.map { !$0 })
            case .and, .or:
                let (right, left) = (stack.removeLast(), stack.removeLast())
                stack.append(Candidate.join(left, right, absorbing: node == .or))
            }
        }
        return stack.last == true
    }

    /// Evaluates terms joined by AND until one of them is not true.
    private mutating func satisfiesAll(
        _ query: BoundQuery,
        _ effort: inout QueryEffort
    ) throws -> Bool {
        let nodes = query.nodes
        for index in nodes.indices {
            let outcome: Bool?
            switch nodes[index] {
            case .constant(let value): outcome = value
            case .comparison(let comparison):
                outcome = try self.outcome(comparison, query, &effort)
            case .not, .and, .or: continue
            }
            // Only comparisons are negated, and NOT follows them directly.
            let wanted = index + 1 == nodes.count || nodes[index + 1] != .not
            if outcome != wanted { return false }
        }
        return true
    }

    /// The absorbing value decides whatever the other one is; otherwise an unknown stays unknown.
    private static func join(_ left: Bool?, _ right: Bool?, absorbing value: Bool) -> Bool? {
        if left == value || right == value { return value }
        return left == nil || right == nil ? nil : !value
    }

    private mutating func outcome(
        _ comparison: BoundQuery.Comparison,
        _ query: BoundQuery,
        _ effort: inout QueryEffort
    ) throws -> Bool? {
        try effort.spend(1)
        let relation = comparison.relation
        switch comparison.subject {
        case .words(let words):
            return try finds(words, relation, in: query.searchable, &effort)
        case .presence(let column):
            switch (content, column) {
            case (.record, .field): return entry(of: column) == nil
            case (.record, .system): return try value(of: column) == nil
            case (.row(let entry), _): return column.isMissing(in: entry)
            }
        case .values(let column, let wanted) where column.isList:
            if let list = try keptList(of: column) {
                return list.map { wanted.contains(where: $0.contains) }
            }
            return try holds(column, &effort, wanted.contains)
        case .value(let column, let prefix) where column.isList:
            return try holds(column, &effort) { $0.begins(with: prefix) }
        case .values(let column, let wanted):
            let value = try comparable(column, &effort)
            return value.map { wanted.has($0) == (relation != .notEquals) }
        case .value(let column, let operand):
            return try comparable(column, &effort).map { Candidate.holds($0, relation, operand) }
        case .place(let column, let place, let metres):
            guard let distance = try distance(from: place, in: column) else { return nil }
            return relation.reaches(distance, metres)
        }
    }

    private mutating func comparable(
        _ column: BoundQuery.Column,
        _ effort: inout QueryEffort
    ) throws -> ComparableValue? {
        if let known = kept?.values[column] { return known }
        let value = try comparable(column)
        if case .bytes(let bytes)? = value { try effort.spend(bytes.count / 64) }
        kept?.values.updateValue(value, forKey: column)
        return value
    }

    /// The kept elements of a list; nil if none are kept, `.some(nil)` if there is no list.
    private mutating func keptList(
        of column: BoundQuery.Column
    ) throws -> Set<ComparableValue>?? {
        guard kept != nil else { return nil }
        if let known = kept?.lists[column] { return .some(known) }
        var found: Set<ComparableValue> = []
        try visitElements(of: column) { element in
            if let value = ComparableValue(element) { found.insert(value) }
            return true
        }
        let list = entry(of: column).map { _ in found }
        kept?.lists.updateValue(list, forKey: column)
        return .some(list)
    }

    private static func holds(
        _ value: ComparableValue,
        _ relation: Query.Relation,
        _ operand: ComparableValue
    ) -> Bool {
        switch relation {
        case .lessThan: value.order(operand) < 0
        case .lessThanOrEquals: value.order(operand) <= 0
        case .greaterThan: value.order(operand) > 0
        case .greaterThanOrEquals: value.order(operand) >= 0
        default: value.begins(with: operand)
        }
    }

    /// Whether the comparison is about an element of the list; nil without a list.
    private func holds(
        _ column: BoundQuery.Column,
        _ effort: inout QueryEffort,
        _ isMeant: (ComparableValue) -> Bool
    ) throws -> Bool? {
        guard entry(of: column) != nil else { return nil }
        var isFound = false
        try visitElements(of: column) { element in
            try effort.spend(1)
            isFound = ComparableValue(element).map(isMeant) ?? false
            return !isFound
        }
        return isFound
    }

    /// Visits the elements of a list, until `visit` returns false.
    func visitElements(
        of column: BoundQuery.Column,
        _ visit: (FieldValue) throws -> Bool
    ) throws {
        guard let entry = entry(of: column), case .record(let record) = content else { return }
        try record.body.visitElements(entry, visit)
    }

    /// A search whose words are all insignificant finds nothing.
    private mutating func finds(
        _ wanted: Set<String>,
        _ relation: Query.Relation,
        in columns: [BoundQuery.Column],
        _ effort: inout QueryEffort
    ) throws -> Bool {
        var missing = wanted
        for column in columns where !missing.isEmpty {
            if let known = try keptWords(of: column) {
                // The record may have very many words.
                missing = missing.filter { !known.contains($0) }
                if relation == .containsAnyToken, missing.count < wanted.count { return true }
                continue
            }
            try visitTexts(of: column) { text in
                try effort.spend(text.utf8.count)
                for word in SearchWords.words(of: text) { missing.remove(word) }
                return !missing.isEmpty
            }
            if relation == .containsAnyToken, missing.count < wanted.count { return true }
        }
        return missing.isEmpty && !wanted.isEmpty
    }

    private mutating func keptWords(
        of column: BoundQuery.Column
    ) throws -> Set<String>? {
        guard kept != nil else { return nil }
        if let known = kept?.words[column] { return known }
        var found: Set<String> = []
        try visitTexts(of: column) { text in
            found.formUnion(SearchWords.words(of: text))
            return true
        }
        kept?.words[column] = found
        return found
    }

    /// Visits the text of a field, or the texts of a list, until `visit` returns false.
    func visitTexts(
        of column: BoundQuery.Column,
        _ visit: (String) throws -> Bool
    ) throws {
        guard let entry = entry(of: column), case .record(let record) = content else { return }
        if case .list = entry.type {
            try record.body.visitElements(entry) { try visit($0.string ?? "") }
        } else if let text = try record.body.value(entry)?.string {
            _ = try visit(text)
        }
    }
}

extension Set<ComparableValue> {
    /// Whether the set contains a value; a long value is hashed only if an element is as long.
    ///
    /// Many comparisons may look at one long text.
    fileprivate func has(_ value: ComparableValue) -> Bool {
        if let count = value.byteCount, count > 64,
            !contains(where: { $0.byteCount == count })
        {
            return false
        }
        return contains(value)
    }
}

extension ComparableValue {
    /// nil for numbers.
    fileprivate var byteCount: Int? {
        if case .bytes(let bytes) = self { bytes.count } else { nil }
    }
}

extension BoundQuery.Column {
    /// Whether an index row says that the record has no value; every record has a name.
    fileprivate func isMissing(in entry: IndexEntry) -> Bool {
        entry.tag == .absent && self != .system(.recordID)
    }

    fileprivate var isList: Bool { if case .list = type { true } else { false } }
}
