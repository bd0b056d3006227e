// How often record types, or the fields of one type, were dropped. The counts give the names under
// which they are stored, see `StoredName`.
//
// They are registers of the schema whose greatest value wins. Nodes that drop the same thing
// concurrently drop it once, and a node that knows less brings nothing back.

package import CumulusModel

package struct DropCounts: Hashable, Sendable {
    /// Counts by shown name; an unlisted name was never dropped.
    private var counts: [String: UInt32] = [:]

    package init() {}

    package var isEmpty: Bool { counts.isEmpty }

    package subscript(_ shown: String) -> UInt32 { counts[shown] ?? 0 }

    /// The count after another drop; it stops at the largest number, which is out of reach.
    package func next(_ shown: String) -> UInt32 { min(self[shown], .max - 1) + 1 }

    /// The name under which something with that shown name is stored now.
    package func stored(_ shown: String) -> String {
        isEmpty ? shown : StoredName(shown, drops: self[shown]).text
    }

    /// The shown name of a stored name; nil if it was dropped.
    package func shown(_ stored: String) -> String? {
        let name = StoredName(stored)
        return name.drops == self[name.shown] ? name.shown : nil
    }

    /// Adds a register's value.
    mutating func add(_ shown: String, _ value: Bytes) throws(EngineError) {
        guard value.count == 4 else { throw .damagedSchema }
        counts[shown] = value.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    }

    /// The value of a register; its bytes are ordered like the counts.
    package static func registerValue(_ count: UInt32) -> Bytes {
        withUnsafeBytes(of: count.bigEndian) { Bytes($0) }
    }
}

extension RowReader where Self: ~Copyable {
    /// The counts of the types of a scope.
    package borrowing func typeDrops(_ scope: ScopeNumber) throws(EngineError) -> DropCounts {
        try drops(scope, SchemaRegister.typeDropNamespace, below: [])
    }

    /// The counts of the fields of a type, given its stored name.
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

    /// The count of a single type, given its shown name.
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

    /// The counts of the fields of all types, by the types' stored names.
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
