// A record that a query looks at: whether it satisfies the predicate, and where it stands in the
// order.
//
// The meaning of every predicate is here, once: an index only spares records that would fail here.
// Truth has three values, as in SQL: a comparison with a field that the record doesn't have is
// unknown, and so is its negation. hot: once per record that a query reads.

package import CumulusModel

package struct Candidate {
    package let view: RecordView
    private let body: RecordBody

    /// A record as it is stored, whole.
    package init(_ view: RecordView) throws(MalformedBytes) {
        self.view = view
        body = try RecordBody(stored: view.fields)
    }

    /// What stands in a column; nil where the record has nothing, or a value of another type.
    package func value(of column: BoundQuery.Column) throws(MalformedBytes) -> FieldValue? {
        switch column {
        case .system(let field): return value(of: field)
        case .field(let name, let type):
            guard let entry = body.entry(named: name), entry.type?.fits(type) == true else {
                return nil
            }
            let value = try body.value(entry)
            return value?.list?.isEmpty == true ? nil : value
        }
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
    package func satisfies(_ query: BoundQuery) throws(MalformedBytes) -> Bool {
        guard view.type == query.recordType else { return false }
        var stack: [Bool?] = []
        for node in query.nodes {
            switch node {
            case .constant(let value): stack.append(value)
            case .comparison(let comparison): stack.append(try outcome(comparison, query))
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
        _ query: BoundQuery
    ) throws(MalformedBytes) -> Bool? {
        guard let column = comparison.column else {
            return try finds(comparison.operands, comparison.relation, in: query.searchable)
        }
        let value = try value(of: column)
        if comparison.relation == .isNil { return value == nil }
        guard let value else { return nil }
        return Candidate.holds(value, comparison.relation, comparison.operands)
    }

    private static func holds(
        _ value: FieldValue,
        _ relation: Query.Relation,
        _ operands: [FieldValue]
    ) -> Bool {
        let operand = operands[0]
        return switch relation {
        case .equals: value.order(operand) == 0
        case .notEquals: value.order(operand) != 0
        case .lessThan: value.order(operand) < 0
        case .lessThanOrEquals: value.order(operand) <= 0
        case .greaterThan: value.order(operand) > 0
        case .greaterThanOrEquals: value.order(operand) >= 0
        case .beginsWith: value.begins(with: operand)
        case .isIn: operands.contains { value.order($0) == 0 }
        case .listContains, .listContainsAny:
            (value.list ?? []).contains { element in
                operands.contains { element.order($0) == 0 }
            }
        case .listMemberBeginsWith: (value.list ?? []).contains { $0.begins(with: operand) }
        case .isNearerThan: value.distance(from: operand) < operands[1].double ?? 0
        case .isAtMostAsFarAs: value.distance(from: operand) <= operands[1].double ?? 0
        case .containsAnyToken, .containsAllTokens, .isNil: false
        }
    }

    /// A search for nothing but words that say nothing finds nothing.
    private func finds(
        _ words: [FieldValue],
        _ relation: Query.Relation,
        in columns: [BoundQuery.Column]
    ) throws(MalformedBytes) -> Bool {
        let wanted = Set(words.compactMap(\.string))
        if wanted.isEmpty { return false }
        var found: Set<String> = []
        for column in columns {
            guard let value = try value(of: column) else { continue }
            for text in value.list ?? [value] {
                for word in SearchWords.words(of: text.string ?? "") where wanted.contains(word) {
                    if relation == .containsAnyToken { return true }
                    found.insert(word)
                }
            }
        }
        return found.count == wanted.count
    }
}

// MARK: - Values

extension FieldValue {
    /// The order of two values of one kind: negative, zero, positive.
    ///
    /// Texts and bytes compare byte by byte, references by the name of their target. (A cursor may
    /// hold a value of the type that its column had before: kinds have an order too.)
    package func order(_ other: FieldValue) -> Int {
        switch (self, other) {
        case (.string(let left), .string(let right)): FieldValue.order(left, right)
        case (.reference(let left), .reference(let right)):
            FieldValue.order(left.recordName, right.recordName)
        case (.bytes(let left), .bytes(let right)): FieldValue.order(left, right)
        case (.int64(let left), .int64(let right)): left < right ? -1 : left > right ? 1 : 0
        case (.double(let left), .double(let right)): left < right ? -1 : left > right ? 1 : 0
        case (.timestamp(let left), .timestamp(let right)): left < right ? -1 : left > right ? 1 : 0
        default: Int(kind?.rawValue ?? 0) - Int(other.kind?.rawValue ?? 0)
        }
    }

    private static func order(_ left: String, _ right: String) -> Int {
        var (left, right) = (left, right)
        return left.withUTF8 { left in
            right.withUTF8 { right in
                compare(UnsafeRawBufferPointer(left), UnsafeRawBufferPointer(right))
            }
        }
    }

    private static func order(_ left: Bytes, _ right: Bytes) -> Int {
        left.withUnsafeBytes { left in right.withUnsafeBytes { compare(left, $0) } }
    }

    fileprivate func begins(with prefix: FieldValue) -> Bool {
        guard let text = string, let prefix = prefix.string else { return false }
        return text.utf8.starts(with: prefix.utf8)
    }

    /// Metres.
    fileprivate func distance(from place: FieldValue) -> Double {
        guard let here = location, let place = place.location else { return .infinity }
        return GreatCircle.distance(here, place)
    }
}
