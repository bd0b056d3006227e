// A record that a query looks at: whether it satisfies the predicate, and where it stands in the
// order. Also what a record is indexed by, so that both read the same values.
//
// The meaning of every predicate is here, once: an index only spares records that would fail here.
// Truth has three values, as in SQL: a comparison with a field that the record doesn't have is
// unknown, and so is its negation. hot: once per record that a query reads.

package import CumulusModel

package struct Candidate {
    private enum Content {
        /// Apart, so that rows, which are many, are small.
        indirect case record(RecordView, RecordBody)
        /// Of an index that says all that is asked: about its column, and records' names.
        case row(IndexEntry)
    }

    private let content: Content
    /// The words of its fields, once they were asked for; nil: they are not kept.
    private var words: [BoundQuery.Column: Set<String>]?
    /// How far it is from a place, once that was asked.
    private var measured: (from: Location, metres: Double)?

    /// A record as it is stored, whole.
    package init(_ view: RecordView) throws(MalformedBytes) {
        content = .record(view, try RecordBody(stored: view.fields))
    }

    /// A record that is about to be stored.
    ///
    /// - Parameter keepsWords: Very many queries look at it: its texts are cut into words once.
    package init(_ row: RecordRow, named name: String, keepsWords: Bool = false) {
        content = .record(RecordView(row, name: name), row.body)
        if keepsWords { words = [:] }
    }

    /// The record of an index row that says all that is asked.
    package init(_ entry: IndexEntry) {
        content = .row(entry)
    }

    package var name: String {
        switch content {
        case .record(let view, _): view.name
        case .row(let entry): entry.name
        }
    }

    /// nil means that of the index.
    var type: String? {
        if case .record(let view, _) = content { view.type } else { nil }
    }

    /// What stands in a column that is no list; nil where the record has nothing, or a value of
    /// another type.
    package func value(of column: BoundQuery.Column) throws(MalformedBytes) -> FieldValue? {
        guard case .record(let view, let body) = content else { return nil }
        if case .system(let field) = column { return view.value(of: field) }
        return try entry(of: column).flatMap(body.value)
    }

    /// Whether a column of both holds the same, as bytes.
    func agrees(with other: Candidate, in column: BoundQuery.Column) -> Bool {
        guard case .field = column else {
            return (try? value(of: column)) == (try? other.value(of: column))
        }
        guard let one = entry(of: column), let two = other.entry(of: column),
            case .record(_, let body) = content, case .record(_, let otherBody) = other.content
        else { return entry(of: column) == nil && other.entry(of: column) == nil }
        return body.bytes[one.whole] == otherBody.bytes[two.whole]
    }

    /// Where a field stands that has a value of its column's type.
    private func entry(of column: BoundQuery.Column) -> RecordBody.Entry? {
        guard case .record(_, let body) = content, case .field(let name, let type) = column,
            let entry = body.entry(named: name), let found = entry.type, found.fits(type),
            !found.isEmptyList
        else { return nil }
        return entry
    }

    /// How far the place in a column is from another one; nil if the column is empty.
    mutating func distance(
        from origin: Location,
        in column: BoundQuery.Column
    ) throws(MalformedBytes) -> Double? {
        guard case .row(let entry) = content else {
            return try value(of: column)?.location.map { GreatCircle.distance($0, origin) }
        }
        // What is near is nearly always sorted by the same distance.
        if let measured, measured.from == origin { return measured.metres }
        guard let metres = entry.distance(from: origin) else { return nil }
        measured = (origin, metres)
        return metres
    }

    /// What is compared in a column that is no list and holds no places.
    func comparable(
        _ column: BoundQuery.Column
    ) throws(MalformedBytes) -> ComparableValue? {
        switch content {
        case .row(let entry):
            return column == .system(.recordID) ? .bytes(Bytes(entry.nameBytes)) : entry.value
        case .record(_, let body):
            // The bytes of a text are what is compared: no text is made of them.
            if case .field(_, .one(.string)) = column {
                return entry(of: column).map { .bytes(Bytes(body.bytes[$0.value])) }
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
    /// Throws `MalformedBytes`, or what `effort` stops with.
    package mutating func satisfies(
        _ query: BoundQuery,
        _ effort: inout QueryEffort
    ) throws -> Bool {
        if let type, type != query.recordType { return false }
        if query.nodes.count == 1, case .comparison(let comparison) = query.nodes[0] {
            return try outcome(comparison, query, &effort) == true
        }
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

    /// One value decides, whatever the other is; without it the unknown stays unknown.
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
            return try holds(column, &effort, wanted.contains)
        case .value(let column, let prefix) where column.isList:
            return try holds(column, &effort) { $0.begins(with: prefix) }
        case .values(let column, let wanted):
            let value = try comparable(column, &effort)
            return value.map { wanted.contains($0) == (relation != .notEquals) }
        case .value(let column, let operand):
            return try comparable(column, &effort).map { Candidate.holds($0, relation, operand) }
        case .place(let column, let place, let metres):
            guard let distance = try distance(from: place, in: column) else { return nil }
            return relation.reaches(distance, metres)
        }
    }

    private func comparable(
        _ column: BoundQuery.Column,
        _ effort: inout QueryEffort
    ) throws -> ComparableValue? {
        guard let value = try comparable(column) else { return nil }
        if case .bytes(let bytes) = value { try effort.spend(bytes.count / 64) }
        return value
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

    /// Whether an element of a list is meant; nil without a list.
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
        guard let entry = entry(of: column), case .record(_, let body) = content else { return }
        try body.visitElements(entry, visit)
    }

    /// A search for nothing but words that say nothing finds nothing.
    private mutating func finds(
        _ wanted: Set<String>,
        _ relation: Query.Relation,
        in columns: [BoundQuery.Column],
        _ effort: inout QueryEffort
    ) throws -> Bool {
        var missing = wanted
        for column in columns where !missing.isEmpty {
            if let known = try keptWords(of: column) {
                missing.subtract(known)
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
        guard let words else { return nil }
        if let known = words[column] { return known }
        var found: Set<String> = []
        try visitTexts(of: column) { text in
            found.formUnion(SearchWords.words(of: text))
            return true
        }
        self.words?[column] = found
        return found
    }

    /// Visits the text of a field, or the texts of a list, until `visit` returns false.
    func visitTexts(
        of column: BoundQuery.Column,
        _ visit: (String) throws -> Bool
    ) throws {
        guard let entry = entry(of: column), case .record(_, let body) = content else { return }
        if case .list = entry.type {
            try body.visitElements(entry) { try visit($0.string ?? "") }
        } else if let text = try body.value(entry)?.string {
            _ = try visit(text)
        }
    }
}

extension BoundQuery.Column {
    /// Whether the record of an index row has no value here; each has a name.
    fileprivate func isMissing(in entry: IndexEntry) -> Bool {
        entry.mark == .absent && self != .system(.recordID)
    }

    fileprivate var isList: Bool { if case .list = type { true } else { false } }
}
