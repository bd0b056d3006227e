// The canonical form of a predicate, and its bytes: predicates that say the same about records of a
// type have equal bytes.
//
// Made when a subscription is saved, after the `Binder` checked the predicate against the schema.
// Keys become the schema's names. Values get the types of their fields. The alias of the caller
// becomes the caller's name. Values of IN, and terms of a conjunction, are sorted, and duplicates
// are dropped. A predicate with OR keeps its order.

package import CumulusModel

extension Query.Predicate {
    /// The canonical form.
    ///
    /// The predicate must be valid for the type.
    ///
    /// - Parameter user: The user that `__defaultOwner__` stands for.
    package func canonical(in schema: TypeSchema, for user: String) -> Query.Predicate {
        let binder = Binder(
            query: Query(recordType: schema.name, predicate: self),
            schema: schema,
            context: BoundQuery.Context(
                environment: .production,
                user: user,
                now: 0,
                limits: .standard
            )
        )
        let nodes = nodes.map { node -> Query.Node in
            guard case .comparison(let comparison) = node else { return node }
            return .comparison(comparison.canonical(binder))
        }
        if nodes.contains(.or) { return Query.Predicate(nodes: nodes) }
        return Query.Predicate(conjunctionOf: Query.Predicate.terms(of: nodes))
    }

    /// The terms of a conjunction: comparisons, negated ones and constants.
    private static func terms(of nodes: [Query.Node]) -> [[Query.Node]] {
        var terms: [[Query.Node]] = []
        for node in nodes {
            switch node {
            // Follows the comparison that it negates: only comparisons are negated.
            case .not where !terms.isEmpty: terms[terms.count - 1].append(node)
            case .and, .or, .not: break
            case .constant, .comparison: terms.append([node])
            }
        }
        return terms
    }

    /// Joins the terms in the order of their bytes; drops duplicates and `TRUEPREDICATE`.
    private init(conjunctionOf terms: [[Query.Node]]) {
        let needed = terms.filter { $0 != [.constant(true)] }
        var seen: Set<Bytes> = []
        let sorted = needed.map { (bytes: Query.Predicate(nodes: $0).bytes, nodes: $0) }
            .filter { seen.insert($0.bytes).inserted }
            .sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
        guard let first = sorted.first else {
            self = .all
            return
        }
        self.init(nodes: sorted.dropFirst().reduce(first.nodes) { $0 + $1.nodes + [.and] })
    }

    private var bytes: Bytes {
        var writer = CanonicalWriter()
        write(to: &writer)
        return writer.bytes
    }
}

extension Query.Comparison {
    fileprivate func canonical(_ binder: Binder) -> Query.Comparison {
        // A text search has no column.
        guard let column = try? binder.column(key) else { return self }
        var comparison = self
        if case .system(let field) = column { comparison.key = field.rawValue }
        comparison.operands = operands.enumerated().map { index, operand in
            // The operand after the location is the distance.
            operand.canonical(as: index > 0 && relation.isDistance ? .double : column.kind, binder)
        }
        guard relation == .isIn || relation == .listContainsAny else { return comparison }
        var seen: Set<Bytes> = []
        comparison.operands = comparison.operands.map { (bytes: $0.bytes, operand: $0) }
            .filter { seen.insert($0.bytes).inserted }
            .sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
            .map(\.operand)
        if comparison.operands.count == 1 {
            comparison.relation = relation == .isIn ? .equals : .listContains
        }
        return comparison
    }
}

extension BoundQuery.Column {
    /// The kind of its values, or of the elements of its lists; nil for any other column.
    fileprivate var kind: FieldKind? {
        switch type {
        case .one(let kind), .list(let kind): kind
        default: nil
        }
    }
}

extension Query.Operand {
    fileprivate func canonical(as kind: FieldKind?, _ binder: Binder) -> Query.Operand {
        guard case .value(let value) = self else { return self }
        switch (value, kind) {
        case (.int64(let number), .double): return .value(.double(Double(number)))
        case (.double(let number), _): return .value(.double(number == 0 ? 0 : number))
        case (.string(let name), .reference): return .reference(to: binder.resolved(name))
        case (.reference(let target), _): return .reference(to: binder.resolved(target.recordName))
        case (.location(let place), _):
            return .value(
                .location(
                    Location(
                        latitude: place.latitude == 0 ? 0 : place.latitude,
                        longitude: place.longitude == 0 ? 0 : place.longitude
                    )
                )
            )
        default: return self
        }
    }

    private static func reference(to name: String) -> Query.Operand {
        .value(.reference(Record.Reference(recordName: name)))
    }
}

// MARK: - Bytes

extension Query.Predicate {
    func write(to writer: inout CanonicalWriter) {
        writer.varint(UInt64(nodes.count))
        for node in nodes {
            switch node {
            case .constant(let value): writer.varint(value ? 1 : 0)
            case .and: writer.varint(2)
            case .or: writer.varint(3)
            case .not: writer.varint(4)
            case .comparison(let comparison):
                writer.varint(5)
                writer.delimited(comparison.key.utf8)
                writer.varint(UInt64(comparison.relation.rawValue))
                writer.varint(UInt64(comparison.operands.count))
                for operand in comparison.operands { operand.write(to: &writer) }
            }
        }
    }

    /// Reads a predicate; throws if it is not well formed.
    init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        self.init(nodes: try reader.list(Query.Node.init(reading:)))
        guard isWellFormed else { throw MalformedBytes("a predicate is not well formed") }
    }
}

extension Query.Node {
    fileprivate init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        switch try reader.varint() {
        case 0: self = .constant(false)
        case 1: self = .constant(true)
        case 2: self = .and
        case 3: self = .or
        case 4: self = .not
        case 5:
            let key = try reader.text()
            let number = UInt32(try reader.count(limit: Int(UInt32.max)))
            guard let relation = Query.Relation(rawValue: number) else {
                throw MalformedBytes("a comparison has an unknown relation")
            }
            let operands = try reader.list(Query.Operand.init(reading:))
            self = .comparison(Query.Comparison(key, relation, operands))
        default: throw MalformedBytes("a predicate holds something unknown")
        }
    }
}

extension Query.Operand {
    fileprivate var bytes: Bytes {
        var writer = CanonicalWriter()
        write(to: &writer)
        return writer.bytes
    }

    /// Writes 0 for `NOW()`, or else the number of the value's kind and the value.
    fileprivate func write(to writer: inout CanonicalWriter) {
        guard case .value(let value) = self, let kind = value.kind else {
            writer.varint(0)
            return
        }
        writer.varint(UInt64(kind.rawValue))
        switch value {
        case .string(let text): writer.delimited(text.utf8)
        case .int64(let number): writer.varint(zigzag(number))
        case .double(let number): writer.fixed64(number.bitPattern)
        case .timestamp(let time): writer.varint(zigzag(time.millisecondsSince1970))
        case .bytes(let bytes): writer.delimited(bytes)
        case .location(let place):
            writer.fixed64(place.latitude.bitPattern)
            writer.fixed64(place.longitude.bitPattern)
        case .reference(let target): writer.delimited(target.recordName.utf8)
        // No comparison has such an operand.
        case .asset, .list: break
        }
    }

    fileprivate init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        let number = try reader.count(limit: 255)
        if number == 0 {
            self = .now
            return
        }
        switch FieldKind(number: number) {
        case .string: self = .value(.string(try reader.text()))
        case .int64: self = .value(.int64(try reader.signed()))
        case .double: self = .value(.double(try reader.double()))
        case .timestamp:
            self = .value(.timestamp(Timestamp(millisecondsSince1970: try reader.signed())))
        case .bytes: self = .value(.bytes(try reader.delimitedBytes()))
        case .location:
            let (latitude, longitude) = (try reader.double(), try reader.double())
            self = .value(.location(Location(latitude: latitude, longitude: longitude)))
        case .reference:
            self = .value(.reference(Record.Reference(recordName: try reader.text())))
        case .asset, nil: throw MalformedBytes("a comparison holds a value of an unknown kind")
        }
    }
}
