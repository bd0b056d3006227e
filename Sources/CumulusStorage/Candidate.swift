// A record that a query looks at: whether it satisfies the predicate, and where it stands in the
// order. Also what a record is indexed by, so that both read the same values.
//
// The meaning of every predicate is here, once: an index only spares records that would fail here.
// Truth has three values, as in SQL: a comparison with a field that the record doesn't have is
// unknown, and so is its negation. hot: once per record that a query reads.

package import CumulusModel

package struct Candidate {
    package let view: RecordView
    private let body: RecordBody
    /// Where a row of an index says all that is asked: the column, and what stands in it.
    private let known: (column: BoundQuery.Column, value: FieldValue?)?

    /// A record as it is stored, whole.
    package init(_ view: RecordView) throws(MalformedBytes) {
        self.view = view
        body = try RecordBody(stored: view.fields)
        known = nil
    }

    /// A record that is about to be stored.
    package init(_ row: RecordRow, named name: String) {
        view = RecordView(row, name: name)
        body = row.body
        known = nil
    }

    /// A record of which only its name and one column are known.
    package init(
        named name: String,
        type: String,
        knowing column: BoundQuery.Column,
        _ value: FieldValue?
    ) {
        view = RecordView(
            name: name,
            type: type,
            changeTag: [],
            created: 0,
            createdBy: "",
            modified: 0,
            modifiedBy: ""
        )
        body = RecordBody()
        known = (column, value)
    }

    /// What stands in a column that is no list; nil where the record has nothing, or a value of
    /// another type.
    package func value(of column: BoundQuery.Column) throws(MalformedBytes) -> FieldValue? {
        if let known, known.column == column { return known.value }
        switch column {
        case .system(let field): return value(of: field)
        case .field: return try entry(of: column).flatMap(body.value)
        }
    }

    /// Whether a column of both holds the same, as bytes.
    func agrees(with other: Candidate, in column: BoundQuery.Column) -> Bool {
        guard case .field = column else {
            return (try? value(of: column)) == (try? other.value(of: column))
        }
        guard let one = entry(of: column), let two = other.entry(of: column) else {
            return entry(of: column) == nil && other.entry(of: column) == nil
        }
        return body.bytes[one.whole] == other.body.bytes[two.whole]
    }

    /// Where a field stands that has a value of its column's type.
    private func entry(of column: BoundQuery.Column) -> RecordBody.Entry? {
        guard case .field(let name, let type) = column, let entry = body.entry(named: name),
            let found = entry.type, found.fits(type), !found.isEmptyList
        else { return nil }
        return entry
    }

    private func value(of field: SystemField) -> FieldValue? {
        func reference(_ name: String?) -> FieldValue? {
            name.map { .reference(Record.Reference(recordName: $0)) }
        }
        func time(_ milliseconds: Int64) -> FieldValue {
            .timestamp(Timestamp(millisecondsSince1970: milliseconds))
        }
        return switch field {
        case .recordID: reference(view.name)
        case .createTime: time(view.created)
        case .modTime: time(view.modified)
        case .createdBy: reference(view.createdBy)
        case .modifiedBy: reference(view.modifiedBy)
        case .etag: .string(view.changeTag.hex)
        case .parent: reference(view.parent)
        case .share: reference(view.share)
        }
    }
}

// MARK: - Truth

extension Candidate {
    /// Whether a query finds the record.
    ///
    /// Throws `MalformedBytes`, or what `effort` stops with.
    package func satisfies(_ query: BoundQuery, _ effort: inout QueryEffort) throws -> Bool {
        guard view.type == query.recordType else { return false }
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

    private func outcome(
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
            if case .field = column, known == nil { return entry(of: column) == nil }
            return try value(of: column) == nil
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
            guard let here = try value(of: column)?.location else { return nil }
            let distance = GreatCircle.distance(here, place)
            return relation == .isNearerThan ? distance < metres : distance <= metres
        }
    }

    private func comparable(
        _ column: BoundQuery.Column,
        _ effort: inout QueryEffort
    ) throws -> ComparableValue? {
        guard let value = try value(of: column).flatMap(ComparableValue.init) else { return nil }
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
        if let entry = entry(of: column) { try body.visitElements(entry, visit) }
    }

    /// A search for nothing but words that say nothing finds nothing.
    private func finds(
        _ wanted: Set<String>,
        _ relation: Query.Relation,
        in columns: [BoundQuery.Column],
        _ effort: inout QueryEffort
    ) throws -> Bool {
        var missing = wanted
        for column in columns where !missing.isEmpty {
            try visitTexts(of: column) { text in
                try effort.spend(text.utf8.count)
                for word in SearchWords.words(of: text) { missing.remove(word) }
                return !missing.isEmpty
            }
            if relation == .containsAnyToken, missing.count < wanted.count { return true }
        }
        return missing.isEmpty && !wanted.isEmpty
    }

    /// Visits the text of a field, or the texts of a list, until `visit` returns false.
    func visitTexts(
        of column: BoundQuery.Column,
        _ visit: (String) throws -> Bool
    ) throws {
        guard let entry = entry(of: column) else { return }
        if case .list = entry.type {
            try body.visitElements(entry) { try visit($0.string ?? "") }
        } else if let text = try body.value(entry)?.string {
            _ = try visit(text)
        }
    }
}

extension BoundQuery.Column {
    fileprivate var isList: Bool { if case .list = type { true } else { false } }
}
