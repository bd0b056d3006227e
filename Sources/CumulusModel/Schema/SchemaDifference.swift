// The changes that turn one schema into another.
//
// Part of the client's surface: shown before a schema is imported or deployed, and asked whether
// data would be lost. Equal schemas have no changes.

/// The changes from one schema to another, in a fixed order.
///
/// Roles come first, then types by name; of each type the fields by name, then the grants by role.
public struct SchemaDifference: Hashable, Sendable {
    /// All changes; each names one thing.
    ///
    /// An added type is followed by its fields and grants; a removed type stands for its own.
    public private(set) var changes: [Change] = []

    /// The changes that turn one schema into another.
    public init(from old: Schema, to new: Schema) {
        for (old, new) in Self.pairs(old.roles, new.roles, by: \.self) {
            if old == nil, let new { changes.append(.roleAdded(new)) }
            if new == nil, let old { changes.append(.roleRemoved(old)) }
        }
        for (old, new) in Self.pairs(old.recordTypes, new.recordTypes, by: \.name) {
            compare(old, new)
        }
    }

    /// Whether the schemas are equal.
    public var isEmpty: Bool { changes.isEmpty }

    /// The changes that would make stored data unreadable.
    ///
    /// Types and fields that go, and fields of another type.
    public var removals: [Change] { changes.filter(\.isRemoval) }

    private mutating func compare(_ old: Schema.RecordType?, _ new: Schema.RecordType?) {
        guard let new else {
            if let old { changes.append(.typeRemoved(old.name)) }
            return
        }
        if old == nil { changes.append(.typeAdded(new.name)) }
        for (before, after) in Self.pairs(old?.fields ?? [], new.fields, by: \.name) {
            compare(before, after, in: new.name)
        }
        for (before, after) in Self.pairs(old?.grants ?? [], new.grants, by: \.role) {
            guard let role = (after ?? before)?.role, before != after else { continue }
            let permissions = (before?.permissions ?? [], after?.permissions ?? [])
            changes.append(
                .grantsChanged(type: new.name, role: role, from: permissions.0, to: permissions.1)
            )
        }
    }

    private mutating func compare(_ old: Schema.Field?, _ new: Schema.Field?, in type: String) {
        guard let name = (new ?? old)?.name else { return }
        // System fields neither come nor go: one that isn't listed has no indexes.
        if SystemField(rawValue: name) == nil {
            if old == nil, let new { return changes.append(.fieldAdded(type: type, new)) }
            if new == nil, let old { return changes.append(.fieldRemoved(type: type, old)) }
        }
        if let old, let new, old.type != new.type {
            changes.append(
                .fieldTypeChanged(type: type, name, from: old.typeName, to: new.typeName)
            )
        }
        let indexes = (old?.indexes ?? [], new?.indexes ?? [])
        if indexes.0 != indexes.1 {
            changes.append(.indexesChanged(type: type, name, from: indexes.0, to: indexes.1))
        }
    }

    /// Pairs the elements of two sorted lists by name.
    private static func pairs<Element>(
        _ old: [Element],
        _ new: [Element],
        by name: (Element) -> String
    ) -> [(Element?, Element?)] {
        var pairs: [(Element?, Element?)] = []
        var rest = (old: old[...], new: new[...])
        while true {
            let names = (rest.old.first.map { name($0) }, rest.new.first.map { name($0) })
            guard let next = [names.0, names.1].compactMap(\.self).min() else { return pairs }
            let old = names.0 == next ? rest.old.popFirst() : nil
            let new = names.1 == next ? rest.new.popFirst() : nil
            pairs.append((old, new))
        }
    }
}

extension SchemaDifference {
    /// One change of a schema.
    public enum Change: Hashable, Sendable {
        /// A role that is new.
        case roleAdded(String)
        /// A role that is no more.
        case roleRemoved(String)
        /// A record type that is new.
        case typeAdded(String)
        /// A record type that is no more, with its fields and grants.
        case typeRemoved(String)
        /// A field that is new.
        case fieldAdded(type: String, Schema.Field)
        /// A field that is no more.
        case fieldRemoved(type: String, Schema.Field)
        /// A field of another type, named as in the schema language.
        case fieldTypeChanged(type: String, String, from: String, to: String)
        /// A field, possibly a system field, with other indexes.
        case indexesChanged(
            type: String,
            String,
            from: Schema.Indexes,
            to: Schema.Indexes
        )
        /// A role that may do other things with a type's records.
        case grantsChanged(
            type: String,
            role: String,
            from: Schema.Permissions,
            to: Schema.Permissions
        )

        /// Whether stored data would be lost.
        var isRemoval: Bool {
            switch self {
            case .typeRemoved, .fieldRemoved, .fieldTypeChanged: true
            case .roleAdded, .roleRemoved, .typeAdded, .fieldAdded, .indexesChanged, .grantsChanged:
                false
            }
        }
    }
}

extension SchemaDifference.Change: CustomStringConvertible {
    /// The change in one line, such as `+ field Trail.title STRING QUERYABLE`.
    public var description: String {
        switch self {
        case .roleAdded(let role): "+ role \(role)"
        case .roleRemoved(let role): "- role \(role)"
        case .typeAdded(let type): "+ type \(type)"
        case .typeRemoved(let type): "- type \(type)"
        case .fieldAdded(let type, let field): "+ field \(type).\(Self.text(field))"
        case .fieldRemoved(let type, let field): "- field \(type).\(Self.text(field))"
        case .fieldTypeChanged(let type, let field, let old, let new):
            "~ field \(type).\(field) type: \(old) -> \(new)"
        case .indexesChanged(let type, let field, let old, let new):
            "~ field \(type).\(field) indexes: \(Self.text(old)) -> \(Self.text(new))"
        case .grantsChanged(let type, let role, let old, let new):
            "~ grants of \(type) to \(role): \(Self.text(old)) -> \(Self.text(new))"
        }
    }

    private static func text(_ field: Schema.Field) -> String {
        let words = [field.name, field.typeName] + SchemaLanguage.names(of: field.indexes)
        return words.joined(separator: " ")
    }

    private static func text(_ indexes: Schema.Indexes) -> String {
        indexes.isEmpty ? "none" : SchemaLanguage.names(of: indexes).joined(separator: " ")
    }

    private static func text(_ permissions: Schema.Permissions) -> String {
        permissions.isEmpty
            ? "none" : SchemaLanguage.names(of: permissions).joined(separator: " ")
    }
}
