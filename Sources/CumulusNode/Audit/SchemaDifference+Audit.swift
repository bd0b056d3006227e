// Describes a change of the schema for the audit log: the types and roles that it changes, and what
// it drops.
//
// Asked by `SchemaCalls` when an import, a deployment or a reset is done. A schema may have
// hundreds of types: a line names ten of them.

import CumulusModel

extension SchemaDifference {
    /// Types and roles of one line, and as many things that were dropped.
    private static let mostNames = 10

    /// An example is `3 changes: Note, role Editor; dropped: field Note.text`.
    var summary: String {
        if isEmpty { return "nothing changed" }
        let names = Set(changes.map(\.subject)).sorted()
        let count = changes.count == 1 ? "1 change" : "\(changes.count) changes"
        let text = "\(count): \(Self.some(names))"
        let dropped = changes.compactMap(\.dropped)
        return dropped.isEmpty ? text : "\(text); dropped: \(Self.some(dropped))"
    }

    private static func some(_ names: [String]) -> String {
        let named = names.prefix(mostNames).joined(separator: ", ")
        let rest = names.count - mostNames
        return rest > 0 ? "\(named) and \(rest) more" : named
    }
}

extension SchemaDifference.Change {
    /// The type or role that changes.
    fileprivate var subject: String {
        switch self {
        case .roleAdded(let role), .roleRemoved(let role): "role \(role)"
        case .typeAdded(let type), .typeRemoved(let type), .fieldAdded(let type, _),
            .fieldRemoved(let type, _), .fieldTypeChanged(let type, _, _, _),
            .indexesChanged(let type, _, _, _), .grantsChanged(let type, _, _, _):
            type
        }
    }

    /// The dropped types and fields; nil if there are none.
    fileprivate var dropped: String? {
        switch self {
        case .roleRemoved(let role): "role \(role)"
        case .typeRemoved(let type): "type \(type)"
        case .fieldRemoved(let type, let field): "field \(type).\(field.name)"
        case .fieldTypeChanged(let type, let field, let old, _): "field \(type).\(field) \(old)"
        case .roleAdded, .typeAdded, .fieldAdded, .indexesChanged, .grantsChanged: nil
        }
    }
}
