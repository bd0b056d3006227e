// The size of a schema: its types, their fields, and the bytes of their names.
//
// Changes that make a schema grow check it against the limits. The size of a stored schema is
// counted once, and then updated with each register that is written.

package import CumulusModel

package struct SchemaSize: Hashable, Sendable {
    /// Number of types without Users, which always exists.
    package var types = 0
    package var fields = 0
    /// Bytes of the types' names, and of each field's name with its type's.
    package var bytes = 0

    package init() {}

    package init(of schema: Schema) {
        for type in schema.recordTypes {
            addType(type.name)
            for field in type.fields where SystemField(rawValue: field.name) == nil {
                addField(field.name, of: type.name)
            }
        }
    }

    /// - Parameter name: The shown name.
    package mutating func addType(_ name: String) {
        if name == Schema.users.name { return }
        types += 1
        bytes += name.utf8.count
    }

    package mutating func addField(_ name: String, of type: String) {
        if type == Schema.users.name, Schema.users.field(name) != nil { return }
        fields += 1
        bytes += type.utf8.count + name.utf8.count
    }

    package static func + (one: SchemaSize, other: SchemaSize) -> SchemaSize {
        var sum = one
        sum.types += other.types
        sum.fields += other.fields
        sum.bytes += other.bytes
        return sum
    }
}

extension RowReader where Self: ~Copyable {
    /// The size of a scope's schema without dropped types and fields.
    package borrowing func storedSchemaSize(
        of scope: ScopeNumber
    ) throws(EngineError) -> SchemaSize {
        var size = SchemaSize()
        let (typeDrops, fieldDrops) = (try typeDrops(scope), try fieldDrops(scope))
        for (key, _) in try registers(scope, SchemaRegister.typeNamespace) {
            guard let name = key.first, key.count == 1 else { throw .damagedSchema }
            let type = typeDrops.shown(String(decoding: name, as: UTF8.self))
            if let type { size.addType(type) }
        }
        for (key, _) in try registers(scope, SchemaRegister.fieldNamespace) {
            guard key.count == 2 else { throw .damagedSchema }
            let names = key.map { String(decoding: $0, as: UTF8.self) }
            let drops = fieldDrops[names[0]] ?? DropCounts()
            if let type = typeDrops.shown(names[0]), let field = drops.shown(names[1]) {
                size.addField(field, of: type)
            }
        }
        return size
    }
}

extension WriteTransaction {
    /// The size of a scope's schema as it stands in this batch.
    package mutating func schemaSize(of scope: ScopeNumber) throws(EngineError) -> SchemaSize {
        if let known = state.schemaSizes[scope] { return known }
        let size = try storedSchemaSize(of: scope)
        state.schemaSizes[scope] = size
        return size
    }
}
