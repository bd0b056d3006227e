// The registers that change a schema; they name types and fields as they are stored.
//
// Made by `SchemaImport` for its commit. Drops are counted, see `DropCounts`.

import CumulusModel
import CumulusStorage

struct SchemaRegisters {
    private(set) var registers: [Commit.Register] = []
    private let wanted: Schema
    private var types: [String: TypeSchema] = [:]
    /// Fields that get another type, with the names of their record types.
    private var renewed: Set<[String]> = []

    init<Reader: RowReader & ~Copyable>(
        _ difference: SchemaDifference,
        to wanted: Schema,
        of scope: ScopeNumber,
        _ reader: borrowing Reader
    ) throws(EngineError) {
        self.wanted = wanted
        let typeDrops = try reader.typeDrops(scope)
        for change in difference.changes {
            if let type = change.type, types[type] == nil {
                types[type] = try reader.typeSchema(scope, type)
            }
            add(change, typeDrops)
        }
        withholdGrants(of: difference)
    }

    private mutating func add(_ change: SchemaDifference.Change, _ typeDrops: DropCounts) {
        switch change {
        case .roleAdded(let role): add(SchemaRegister.roleNamespace, [role], [])
        case .roleRemoved(let role): add(SchemaRegister.roleNamespace, [role], nil)
        case .typeAdded(let type): add(SchemaRegister.typeNamespace, [stored(type)], [])
        case .typeRemoved(let type):
            let count = DropCounts.registerValue(typeDrops.next(type))
            add(SchemaRegister.typeDropNamespace, [type], count)
        case .fieldAdded(let type, let field): add(field, of: type, drops(of: type)[field.name])
        case .fieldRemoved(let type, let field): drop(field.name, of: type)
        case .fieldTypeChanged(let type, let name, _, _): renew(name, of: type)
        case .indexesChanged(let type, let field, _, let indexes):
            if renewed.contains([type, field]) { return }
            let key = [stored(type), drops(of: type).stored(field)]
            add(SchemaRegister.indexNamespace, key, [indexes.rawValue])
        case .grantsChanged(let type, let role, _, let permissions):
            add(SchemaRegister.grantNamespace, [stored(type), role], [permissions.rawValue])
        }
    }

    // MARK: Fields

    private func stored(_ type: String) -> String { types[type]?.name ?? type }

    private func drops(of type: String) -> DropCounts { types[type]?.fieldDrops ?? DropCounts() }

    private mutating func add(_ field: Schema.Field, of type: String, _ drops: UInt32) {
        let key = [stored(type), StoredName(field.name, drops: drops).text]
        let name = Bytes(field.type.storedType.name.utf8)
        add(SchemaRegister.fieldNamespace, key, name)
        add(SchemaRegister.indexNamespace, key, [field.indexes.rawValue])
    }

    private mutating func drop(_ field: String, of type: String) {
        let count = DropCounts.registerValue(drops(of: type).next(field))
        add(SchemaRegister.fieldDropNamespace, [stored(type), field], count)
    }

    /// Replaces a field by one of another type, which is a new field.
    private mutating func renew(_ name: String, of type: String) {
        drop(name, of: type)
        renewed.insert([type, name])
        guard let field = wanted.recordType(type)?.field(name) else { return }
        add(field, of: type, drops(of: type).next(name))
    }

    // MARK: Grants

    /// A new type begins with the usual grants, so the ones that it is not to have are taken away.
    private mutating func withholdGrants(of difference: SchemaDifference) {
        var given: Set<[String]> = []
        for case .grantsChanged(let type, let role, _, _) in difference.changes {
            given.insert([type, role])
        }
        for case .typeAdded(let type) in difference.changes {
            for grant in Schema.usualGrants where !given.contains([type, grant.role]) {
                add(SchemaRegister.grantNamespace, [stored(type), grant.role], [0])
            }
        }
    }

    private mutating func add(_ namespace: String, _ key: [String], _ value: Bytes?) {
        registers.append(
            Commit.Register(
                namespace: namespace,
                key: key.map { Bytes($0.utf8) },
                value: value
            )
        )
    }
}

extension SchemaDifference.Change {
    /// The record type that the change is about; nil if it is about a role.
    fileprivate var type: String? {
        switch self {
        case .roleAdded, .roleRemoved: nil
        case .typeAdded(let type), .typeRemoved(let type): type
        case .fieldAdded(let type, _), .fieldRemoved(let type, _): type
        case .fieldTypeChanged(let type, _, _, _): type
        case .indexesChanged(let type, _, _, _): type
        case .grantsChanged(let type, _, _, _): type
        }
    }
}
