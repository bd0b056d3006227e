// What a save adds to its type's schema: the type itself, and new fields.
//
// Filled by `SavePlanner`, written with the save's commit. Production doesn't grow: unknown types
// and fields are refused there.

import CumulusModel
import CumulusStorage

struct SchemaGrowth {
    /// The stored name of the type; the added fields have stored names, too.
    let type: String
    let isAllowed: Bool
    private(set) var registers: [Commit.Register] = []
    private(set) var size = SchemaSize()

    init(type: String, isAllowed: Bool) {
        self.type = type
        self.isAllowed = isAllowed
    }

    mutating func addType() throws(ServiceError) {
        guard isAllowed else {
            throw refusal(
                """
                Cannot create new type \(StoredName.shown(type)) in production schema; save a \
                record of it in development and deploy the schema
                """
            )
        }
        add(SchemaRegister.typeNamespace, [type], "")
        size.addType(StoredName.shown(type))
    }

    mutating func addField(_ name: String, _ fieldType: FieldType) throws(ServiceError) {
        guard isAllowed else {
            throw refusal(
                """
                Cannot create or modify field '\(StoredName.shown(name))' in record \
                '\(StoredName.shown(type))' in production schema; save it in development and \
                deploy the schema
                """
            )
        }
        add(SchemaRegister.fieldNamespace, [type, name], fieldType.name)
        size.addField(StoredName.shown(name), of: StoredName.shown(type))
    }

    private mutating func add(_ namespace: String, _ key: [String], _ value: String) {
        registers.append(
            Commit.Register(
                namespace: namespace,
                key: key.map { Bytes($0.utf8) },
                value: Bytes(value.utf8)
            )
        )
    }

    private func refusal(_ message: String) -> ServiceError {
        ServiceError(.invalidArguments, .invalidValue, message)
    }
}
