// Encrypted fields as JSON and back: `{"$encrypted": value}` where the key is at hand, otherwise
// `{"$sealed": ...}`, which an import puts back as it is.

import Cumulus
package import CumulusModel
import CumulusSystem
import CumulusTerminal

extension Record.EncryptedValues.Value {
    /// nil for a value that is not encrypted.
    package init?(_ json: JSON) throws {
        guard case .object(let members) = json, members.count == 1 else { return nil }
        switch (members[0].key, members[0].value) {
        case ("$encrypted", let value):
            guard let value = try FieldValue.optional(value) else {
                throw InputProblem("nothing can't be encrypted; null removes the field")
            }
            self = .open(value)
        case ("$sealed", let value): self = .sealed(try SealedValue(value))
        default: return nil
        }
    }

    package var json: JSON {
        switch self {
        case .open(let value): ["$encrypted": value.json]
        case .sealed(let value): ["$sealed": value.json]
        }
    }
}

extension SealedValue {
    private static let damaged = InputProblem(
        "a $sealed is a type such as \"STRING\" or \"LIST<STRING>\", and bytes in base64"
    )

    fileprivate init(_ json: JSON) throws {
        guard case .object(let members) = json, members.count == 2,
            case .string(let type)? = json["type"], case .string(let text)? = json["bytes"],
            let bytes = try? base64(text)
        else { throw SealedValue.damaged }
        switch FieldType(name: type) {
        case .one(let kind): self.init(kind: kind, isList: false, bytes: bytes)
        case .list(let kind): self.init(kind: kind, isList: true, bytes: bytes)
        case nil where type == FieldType.emptyList.name:
            self.init(kind: nil, isList: true, bytes: bytes)
        default: throw SealedValue.damaged
        }
    }

    fileprivate var json: JSON {
        let type = kind.map { isList ? FieldType.list($0) : .one($0) } ?? .emptyList
        return [
            "type": .string(type.name), "bytes": .string(Data(bytes).base64EncodedString()),
        ]
    }
}
