// The text of `--field KEY=TEXT` as a value: by the type that the schema gives the field, by the
// one that the command line names, or as it looks.
//
// Used by `cumulus record save`. A user can't read the schema, so a text is first read as it looks:
// a number is a number. If the server refuses that and names another type, the text is read by it
// and saved again.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal
import CumulusTransfer

/// `KEY=TEXT`, or `KEY:TYPE=TEXT`, on the command line.
struct FieldAssignment: ExpressibleByArgument, Equatable {
    var key: String
    /// The name of the type, as it was written; nil if the text may be read in any way.
    var typeName: String?
    var text: String

    init?(argument: String) {
        guard let assignment = Assignment(argument: argument) else { return nil }
        let parts = assignment.key.split(
            separator: ":",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        guard !parts[0].isEmpty else { return nil }
        key = String(parts[0])
        typeName = parts.count == 2 ? String(parts[1]) : nil
        text = assignment.value
    }

    /// Throws for a name that no type has.
    func check() throws {
        guard let typeName, TypedText.type(named: typeName) == nil else { return }
        throw ValidationError(
            "--field \(key): '\(typeName)' is no type; write \(TypedText.typeNames)."
        )
    }

    /// The value that is saved first.
    func value() throws -> FieldValue {
        guard let typeName, let type = TypedText.type(named: typeName) else {
            return TypedText.value(asItLooks: text)
        }
        return try TypedText.value(of: text, in: key, as: type)
    }
}

enum TypedText {
    static let typeNames = "string, int64, double, timestamp, bytes, location, reference or list"

    /// The type in the schema language; nil if no type has that name, or its values have no text.
    static func type(named name: String) -> String? {
        let type = name.uppercased()
        switch type {
        case "LIST", "STRING", "INT64", "DOUBLE", "TIMESTAMP", "BYTES", "LOCATION", "REFERENCE":
            return type
        default:
            guard case .list(let kind)? = FieldType(name: type), kind != .asset else { return nil }
            return type
        }
    }

    /// The field and the type that a refusal names; nil if it says anything else.
    ///
    /// The form of the message is part of the contract: see WRONG_TYPE in `proto/records.md`.
    static func expected(by error: any Error) -> (field: String, type: String)? {
        guard let error = error as? ServiceError, error.reason == .wrongType,
            let match = error.message.firstMatch(
                of: /expected type (.+) but actual value type is \w+ for field '(.+)'/
            )
        else { return nil }
        return (String(match.2), String(match.1))
    }

    /// What JSON would call a number is one, if it loses nothing; everything else is text.
    ///
    /// So `007` stays as it is written, and so does a number of more than 64 bits.
    static func value(asItLooks text: String) -> FieldValue {
        guard let match = text.wholeMatch(of: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+\-]?[0-9]+)?/)
        else { return .string(text) }
        if match.2 == nil, match.3 == nil {
            return Int64(text).map { .int64($0) } ?? .string(text)
        }
        guard let number = Double(text), number.isFinite else { return .string(text) }
        return .double(number)
    }

    /// - Throws: A message with the expected form, if the text can't be read so.
    static func value(of text: String, in key: String, as type: String) throws -> FieldValue {
        let value: FieldValue? =
            switch type {
            case "STRING": .string(text)
            case "INT64": Int64(text).map { .int64($0) }
            case "DOUBLE": Double(text).map { .double($0) }
            case "TIMESTAMP": Timestamp(text: text).map { .timestamp($0) }
            case "BYTES": Data(base64Encoded: text).map { .bytes(Array($0)) }
            case "LOCATION": location(text)
            case "REFERENCE":
                text.isEmpty ? nil : .reference(Record.Reference(recordName: text))
            case _ where type.contains("ENCRYPTED"): nil
            case _ where type.hasPrefix("LIST"): list(text)
            default: nil
            }
        if let value { return value }
        throw InputProblem("--field \(key): '\(text)' is no \(type); \(advice(for: type))")
    }

    private static func list(_ text: String) -> FieldValue? {
        guard let json = try? JSONReader.read(text.utf8), case .array = json else { return nil }
        return try? FieldValue(json)
    }

    private static func location(_ text: String) -> FieldValue? {
        let degrees = text.split(separator: ",", omittingEmptySubsequences: false)
            .map { Double($0.trimmed) }
        guard degrees.count == 2, let latitude = degrees[0], let longitude = degrees[1] else {
            return nil
        }
        return .location(Location(latitude: latitude, longitude: longitude))
    }

    private static func advice(for type: String) -> String {
        switch type {
        case "INT64": "write a whole number, like 3"
        case "DOUBLE": "write a number, like 0.5"
        case "TIMESTAMP": "write a time like 2024-02-29T12:00:00.000Z"
        case "BYTES": "write them in base64, like aGVq"
        case "LOCATION": "write degrees of latitude and longitude, like 59.33,18.07"
        case "REFERENCE": "write the name of a record"
        case "ASSET": "name a file with --asset"
        case _ where type.contains("ENCRYPTED"): "write the value with --json-fields"
        case _ where type.hasPrefix("LIST"): "write a list in JSON, like [\"a\", \"b\"]"
        default: "write the value with --json-fields, or a file with --asset"
        }
    }
}
