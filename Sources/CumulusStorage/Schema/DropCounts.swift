// How often record types, or the fields of one type, were dropped: what tells the names under which
// they are stored, see `StoredName`.
//
// Registers of the schema whose greatest value stands, so that nodes which drop the same
// thing drop it once, and one that knows less than others brings nothing back.

package import CumulusModel

package struct DropCounts: Hashable, Sendable {
    /// By shown name; what isn't listed was never dropped.
    private var counts: [String: UInt32] = [:]

    package init() {}

    package var isEmpty: Bool { counts.isEmpty }

    package subscript(_ shown: String) -> UInt32 { counts[shown] ?? 0 }

    /// The count with another drop; the largest one stays; it is out of reach.
    package func next(_ shown: String) -> UInt32 { min(self[shown], .max - 1) + 1 }

    /// The name under which something of that name is stored by now.
    package func stored(_ shown: String) -> String {
        isEmpty ? shown : StoredName(shown, drops: self[shown]).text
    }

    /// What callers know under a stored name; nil means it was dropped.
    package func shown(_ stored: String) -> String? {
        let name = StoredName(stored)
        return name.drops == self[name.shown] ? name.shown : nil
    }

    /// Takes in a register's value.
    mutating func add(_ shown: String, _ value: Bytes) throws(EngineError) {
        guard value.count == 4 else { throw .damagedSchema }
        counts[shown] = value.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    }

    /// A count as a register holds it: the order of the bytes is that of the counts.
    package static func registerValue(_ count: UInt32) -> Bytes {
        withUnsafeBytes(of: count.bigEndian) { Bytes($0) }
    }
}

extension RowReader where Self: ~Copyable {
    /// Those of the types of a scope.
    package borrowing func typeDrops(_ scope: ScopeNumber) throws(EngineError) -> DropCounts {
        try drops(scope, SchemaRegister.typeDropNamespace, below: [])
    }

    /// Those of the fields of a type of that stored name.
    package borrowing func fieldDrops(
        _ scope: ScopeNumber,
        of type: String
    ) throws(EngineError) -> DropCounts {
        try drops(scope, SchemaRegister.fieldDropNamespace, below: [Bytes(type.utf8)])
    }

    private borrowing func drops(
        _ scope: ScopeNumber,
        _ namespace: String,
        below key: [Bytes]
    ) throws(EngineError) -> DropCounts {
        var drops = DropCounts()
        for (rest, value) in try registers(scope, namespace, below: key) {
            guard let name = rest.first, rest.count == 1 else { throw .damagedSchema }
            try drops.add(String(decoding: name, as: UTF8.self), value)
        }
        return drops
    }

    /// Those of a type of that shown name alone.
    package borrowing func typeDrops(
        _ scope: ScopeNumber,
        of type: String
    ) throws(EngineError) -> DropCounts {
        var drops = DropCounts()
        let key = [Bytes(type.utf8)]
        if let value = try register(scope, SchemaRegister.typeDropNamespace, key)?.value {
            try drops.add(type, value)
        }
        return drops
    }

    /// Those of the fields of all types, by the types' stored names.
    package borrowing func fieldDrops(
        _ scope: ScopeNumber
    ) throws(EngineError) -> [String: DropCounts] {
        var drops: [String: DropCounts] = [:]
        for (key, value) in try registers(scope, SchemaRegister.fieldDropNamespace) {
            guard key.count == 2 else { throw .damagedSchema }
            let names = key.map { String(decoding: $0, as: UTF8.self) }
            try drops[names[0], default: DropCounts()].add(names[1], value)
        }
        return drops
    }
}
