// The schema of a migration: what the source's file says, joined with what is here, and the fields
// that keep what a node decides by itself.
//
// Pure. A node sets when and by whom a record was created and modified; nobody else can. So a
// migration saves records of the public database as their creators, and keeps the source's times
// and users in four fields of each record, which queries can use. A fifth says which source the
// record is from: only such records are deleted when they are gone there.
//
// Folder: what a migration decides, without I/O. Read `MigrationState`, then `MigratedRecord` and
// `MigrationSchema`.

package import CumulusModel
import CumulusTerminal

/// The fields that keep what the source says of a record.
package enum OriginField: String, CaseIterable, Sendable {
    case created = "originCreated"
    case createdBy = "originCreatedBy"
    case modified = "originModified"
    case modifiedBy = "originModifiedBy"
    /// The source: container and environment, with a slash between.
    case container = "originContainer"

    package var type: FieldType {
        switch self {
        case .created, .modified: .one(.timestamp)
        case .createdBy, .modifiedBy, .container: .one(.string)
        }
    }

    package static let names = allCases.map(\.rawValue)
}

package struct MigrationSchema: Sendable {
    /// The types whose records are copied, sorted: of the file, without users and shares.
    package let types: [String]
    /// The fields of each type of the file, by their names, with the origin's.
    package let columns: [String: [String: FieldType]]
    /// The types of the file whose records only their creators may read, sorted: a key sees none of
    /// others there, and no refusal.
    package let hidden: [String]
    /// What the schema here is to become.
    package let joined: Schema

    /// - Parameters:
    ///   - file: The source's schema.
    ///   - here: The schema of the container here.
    ///   - keepsOrigin: Whether records get the fields of `OriginField`.
    /// - Throws: `InputProblem` if one field has another type here, or the file has a field that
    ///   the origin needs with another type.
    package init(_ file: Schema, into here: Schema, keepsOrigin: Bool) throws {
        let own = file.recordTypes.filter { ![Schema.shareType, "Users"].contains($0.name) }
        types = own.map(\.name)
        hidden = own.filter(\.isOfCreators).map(\.name)
        var joined = here
        joined.roles = Array(Set(here.roles).union(file.roles))
        var columns: [String: [String: FieldType]] = [:]
        for type in file.recordTypes {
            var wanted = type
            if keepsOrigin, types.contains(type.name) { try wanted.addOrigin() }
            columns[type.name] = Dictionary(
                uniqueKeysWithValues: wanted.fields.filter { SystemField(rawValue: $0.name) == nil }
                    .map { ($0.name, $0.type.storedType) }
            )
            guard let index = joined.recordTypes.firstIndex(where: { $0.name == type.name }) else {
                joined.recordTypes.append(wanted)
                continue
            }
            joined.recordTypes[index] = try joined.recordTypes[index].joined(with: wanted)
        }
        self.joined = joined
        self.columns = columns
    }
}

extension Schema.RecordType {
    fileprivate var isOfCreators: Bool {
        let readers = grants.filter { $0.permissions.contains(.read) }.map(\.role)
        return !readers.isEmpty && readers.allSatisfy { $0 == Grants.creator }
    }

    fileprivate mutating func addOrigin() throws {
        let own = OriginField.allCases.filter { field($0.rawValue) != nil }
        guard own.count == OriginField.allCases.count || !own.contains(.container) else {
            // An app's own field would lose its values.
            throw InputProblem(
                "type '\(name)' has a field '\(OriginField.container.rawValue)', and a migration "
                    + "needs it for the source's name: rename the field, or leave the source's "
                    + "times and users away with --no-origin"
            )
        }
        for origin in OriginField.allCases {
            if let field = field(origin.rawValue) {
                guard field.type.storedType == origin.type else {
                    throw InputProblem(
                        "type '\(name)' has a field '\(field.name)' of type \(field.typeName), and "
                            + "a migration needs it for the source's times and users: rename the "
                            + "field, or leave those away with --no-origin"
                    )
                }
                continue
            }
            let isTime = origin.type == .one(.timestamp)
            fields.append(
                Schema.Field(
                    name: origin.rawValue,
                    type: .type(origin.type),
                    indexes: isTime ? [.queryable, .sortable] : .queryable
                )
            )
        }
    }

    /// The type with the fields, indexes and grants of both.
    fileprivate func joined(with other: Schema.RecordType) throws -> Schema.RecordType {
        var joined = self
        for field in other.fields {
            guard let index = joined.fields.firstIndex(where: { $0.name == field.name }) else {
                joined.fields.append(field)
                continue
            }
            let known = joined.fields[index]
            guard known.type.storedType == field.type.storedType else {
                throw InputProblem(
                    "field '\(field.name)' of type '\(name)' is \(field.typeName) in the file, and "
                        + "\(known.typeName) here; nothing was changed"
                )
            }
            joined.fields[index].indexes.formUnion(field.indexes)
        }
        joined.grants += other.grants
        return joined
    }
}
