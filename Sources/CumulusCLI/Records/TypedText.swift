// The text of `--field KEY=TEXT` as a value of the type that the schema gives the field.
//
// Used by `cumulus record save`. A user can't read the schema, so the text is saved as it stands.
// If the server refuses it and names another type, it is read by that type and saved again.

import Cumulus
import CumulusModel
import CumulusTerminal
import CumulusTransfer

enum TypedText {
    /// The field and the type that a refusal names; nil if it says anything else.
    ///
    /// The form of the message is part of the contract: see WRONG_TYPE in `proto/records.md`.
    static func expected(by error: any Error) -> (field: String, type: String)? {
        guard let error = error as? ServiceError, error.reason == .wrongType,
            let match = error.message.firstMatch(
                of: /expected type (.+) but actual value type is STRING for field '(.+)'/
            )
        else { return nil }
        return (String(match.2), String(match.1))
    }

    /// - Throws: A message with the expected form, if the text can't be read so.
    static func value(of assignment: Assignment, as type: String) throws -> FieldValue {
        let text = assignment.value
        let value: FieldValue? =
            switch type {
            case "INT64": Int64(text).map { .int64($0) }
            case "DOUBLE": Double(text).map { .double($0) }
            case "TIMESTAMP": Timestamp(text: text).map { .timestamp($0) }
            case _ where type.hasPrefix("LIST<"): list(text)
            default: nil
            }
        if let value { return value }
        let advice = advice(for: type)
        throw InputProblem("--field \(assignment.key): '\(text)' is no \(type); \(advice)")
    }

    private static func list(_ text: String) -> FieldValue? {
        guard let json = try? JSONReader.read(text.utf8), case .array = json else { return nil }
        return try? FieldValue(json)
    }

    private static func advice(for type: String) -> String {
        switch type {
        case "INT64": "write a whole number, like 3"
        case "DOUBLE": "write a number, like 0.5"
        case "TIMESTAMP": "write a time like 2024-02-29T12:00:00.000Z"
        case _ where type.hasPrefix("LIST<"): "write a list in JSON, like [\"a\", \"b\"]"
        default: "write the value with --json-fields, or a file with --asset"
        }
    }
}
