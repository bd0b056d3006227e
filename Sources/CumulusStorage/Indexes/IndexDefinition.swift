// Which values the indexes of a record type hold, and how far this node has built them.
//
// The replicated schema says which indexes a field has; each node decides how to serve them. The
// writer settles them when the schema changes, and queries read them. A changed index gets a new
// number. Rows under an old number are dropped in the background and never read again.
//
// Folder: the indexes of record types: their rows, their building, their audit. Read
// `IndexDefinition`, then `IndexedValues`, `ScopeIndexes+Rows`, `OwedIndexRows`,
// `ScopeIndexes` and `IndexRows`.

package import CumulusModel

/// One way to keep a field's values in order.
package struct IndexDefinition: Hashable, Sendable {
    package enum Form: UInt8, Sendable {
        /// One row per record: its value.
        case value = 1
        /// One row per different element of a list.
        case element = 2
        /// One row per different word of a text, or of a list of texts.
        case word = 3
        /// One row per record: the cell in which its place lies.
        case cell = 4
    }

    /// Name of the field in the schema.
    package var field: String
    package var form: Form
    /// Values of other types are not indexed.
    package var type: FieldType

    package init(field: String, form: Form, type: FieldType) {
        self.field = field
        self.form = form
        self.type = type
    }

    package var column: BoundQuery.Column {
        SystemField(rawValue: field).map(BoundQuery.Column.system) ?? .field(field, type)
    }

    /// Whether records without a value have a row too, because they have a place in the order.
    package var holdsAbsence: Bool {
        guard form == .value, case .one(let kind) = type else { return false }
        return kind.isSortable
    }
}

/// The state of an index of a record type.
package struct IndexRow: RowValue, Equatable {
    package enum State: Hashable, Sendable {
        /// Records after this position may lack their rows; `looked` records were visited.
        case building(IndexPosition, looked: UInt64)
        case ready
        /// Its rows are to be deleted.
        case dropped
    }

    package var definition: IndexDefinition
    package var state: State

    package init(definition: IndexDefinition, state: State) {
        self.definition = definition
        self.state = state
    }

    package func write(to writer: inout CanonicalWriter) {
        writer.delimited(definition.field.utf8)
        writer.varint(UInt64(definition.form.rawValue))
        writer.delimited(definition.type.name.utf8)
        switch state {
        case .building(let position, let looked):
            writer.varint(0)
            writer.varint(UInt64(position.zone))
            writer.delimited(position.name.utf8)
            writer.varint(looked)
        case .ready: writer.varint(1)
        case .dropped: writer.varint(2)
        }
    }

    package init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        let field = try reader.text()
        guard let form = IndexDefinition.Form(rawValue: UInt8(try reader.count(limit: 255))),
            let type = FieldType(name: try reader.text())
        else { throw MalformedBytes("an index of an unknown form") }
        definition = IndexDefinition(field: field, form: form, type: type)
        switch try reader.varint() {
        case 0:
            let zone = ZoneNumber(try reader.count(limit: Int(ZoneNumber.max)))
            let position = IndexPosition(zone: zone, name: try reader.text())
            state = .building(position, looked: try reader.varint())
        case 1: state = .ready
        case 2: state = .dropped
        default: throw MalformedBytes("an index in an unknown state")
        }
    }
}

/// How far a walk through all records of a scope is: zones by their numbers, records by name.
package struct IndexPosition: Hashable, Sendable {
    package var zone: ZoneNumber
    /// Every record up to this name was visited.
    package var name: String

    package init(zone: ZoneNumber, name: String) {
        self.zone = zone
        self.name = name
    }

    package static let start = IndexPosition(zone: 0, name: "")
}

/// An index with its number.
package struct NumberedIndex: Hashable, Sendable {
    package var number: IndexNumber
    package var definition: IndexDefinition
    /// True if every record has its rows.
    package var isReady: Bool

    package init(number: IndexNumber, definition: IndexDefinition, isReady: Bool) {
        self.number = number
        self.definition = definition
        self.isReady = isReady
    }
}

extension TypeSchema {
    /// The indexes that the schema requires.
    package func indexDefinitions(in environment: Environment) -> Set<IndexDefinition> {
        guard exists else { return [] }
        var found: Set<IndexDefinition> = []
        for (name, type) in fields {
            found.formUnion(definitions(of: name, type, in: environment))
        }
        for field in SystemField.allCases where fields[field.rawValue] == nil {
            let name = field.rawValue
            found.formUnion(definitions(of: name, .one(field.kind), in: environment))
        }
        return found
    }

    private func definitions(
        of field: String,
        _ type: FieldType,
        in environment: Environment
    ) -> [IndexDefinition] {
        let indexes = indexes(of: field, in: environment)
        var forms: [IndexDefinition.Form] = []
        switch type {
        case .one(.location) where indexes.contains(.queryable): forms.append(.cell)
        case .one(.location), .one(.asset), .list(.location), .list(.asset): break
        case .one where !indexes.isDisjoint(with: [.queryable, .sortable]): forms.append(.value)
        case .list where indexes.contains(.queryable): forms.append(.element)
        default: break
        }
        if indexes.contains(.searchable), type == .one(.string) || type == .list(.string) {
            forms.append(.word)
        }
        return forms.map { IndexDefinition(field: field, form: $0, type: type) }
    }
}

extension RowReader where Self: ~Copyable {
    /// The indexes of a record type, including dropped ones.
    package borrowing func indexRows(
        of type: String,
        _ scope: ScopeNumber
    ) throws(EngineError) -> [(number: IndexNumber, row: IndexRow)] {
        try indexRows(in: .indexes(of: scope, type)).map { ($0.number, $0.row) }
    }

    /// The indexes of all record types of a scope, including dropped ones.
    package borrowing func indexRows(
        of scope: ScopeNumber
    ) throws(EngineError) -> [(type: String, number: IndexNumber, row: IndexRow)] {
        try indexRows(in: .indexes(of: scope))
    }

    private borrowing func indexRows(
        in range: KeyRange
    ) throws(EngineError) -> [(type: String, number: IndexNumber, row: IndexRow)] {
        try rows(.meta, range).map { (key, value) throws(EngineError) in
            var parts = KeyReader(key)
            _ = try parts.number(ScopeNumber.self)
            let type = try parts.text()
            let number: IndexNumber = try parts.number()
            let row = try decoding(key) { () throws(MalformedBytes) in try IndexRow(row: value) }
            return (type, number, row)
        }
    }

    /// The indexes that are in use, by number.
    package borrowing func indexes(
        of type: String,
        _ scope: ScopeNumber
    ) throws(EngineError) -> [NumberedIndex] {
        try indexRows(of: type, scope).compactMap { number, row in
            guard row.state != .dropped else { return nil }
            let isReady = row.state == .ready
            return NumberedIndex(number: number, definition: row.definition, isReady: isReady)
        }
    }
}
