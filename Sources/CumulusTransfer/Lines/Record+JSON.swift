// Records as lines of JSON: what import reads, export writes, and `--json` shows.

import Cumulus
package import CumulusModel
import CumulusTerminal

extension Record {
    /// The parent's key in a line; no field can have that name.
    static let parentKey = "$parent"
    /// The key of an object with the fields whose names mean something else in a line.
    static let fieldsKey = "$fields"

    /// The record of one line of an import: a field per key, null for none.
    package init(
        line json: JSON,
        type: String,
        zoneID: RecordZone.ID = .default,
        nameKey: String = "recordName"
    ) throws {
        guard case .object(let members) = json else {
            throw InputProblem("a line must hold one JSON object")
        }
        guard let name = json[nameKey] else { throw InputProblem("there is no '\(nameKey)'") }
        self.init(
            recordType: type,
            recordID: ID(recordName: try Record.name(name, nameKey), zoneID: zoneID)
        )
        for member in members where member.key != "recordName" {
            if member.key == Record.fieldsKey, case .object(let fields) = member.value {
                for field in fields { try set(field) }
            } else {
                try set(member)
            }
        }
        guard nameKey == "recordName" || json["recordName"] == nil else {
            throw InputProblem(
                "the name is in '\(nameKey)': write a field recordName into an object '$fields'"
            )
        }
    }

    private static func name(_ json: JSON, _ key: String) throws -> String {
        switch json {
        case .string(let name): name
        case .integer(let number): String(number)
        default: throw InputProblem("'\(key)' must be a text or an integer")
        }
    }

    /// Sets one field, or the parent.
    package mutating func set(_ member: JSON.Member) throws {
        guard member.key != Record.parentKey else { return try setParent(member.value) }
        do {
            if let encrypted = try EncryptedValues.Value(member.value) {
                encryptedValues.set(encrypted, for: member.key)
            } else {
                self[member.key] = try FieldValue.optional(member.value)
            }
        } catch let problem as InputProblem {
            throw InputProblem("\(member.key): \(problem.message)")
        }
    }

    private mutating func setParent(_ json: JSON) throws {
        switch json {
        case .null: parent = nil
        case .string(let name): parent = Reference(recordName: name)
        default: throw InputProblem("\(Record.parentKey) must be a record name")
        }
    }

    /// The line of an export: recordName, then the fields in the order of their names.
    package var line: JSON {
        var members = [JSON.Member("recordName", .string(recordID.recordName))]
        if let parent { members.append(JSON.Member(Record.parentKey, .string(parent.recordName))) }
        let named = fieldMembers.filter { $0.key == "recordName" }
        if !named.isEmpty { members.append(JSON.Member(Record.fieldsKey, .object(named))) }
        return .object(members + fieldMembers.filter { $0.key != "recordName" })
    }

    package var fields: JSON { .object(fieldMembers) }

    private var fieldMembers: [JSON.Member] {
        let plain = allKeys().compactMap { key in self[key].map { JSON.Member(key, $0.json) } }
        if encryptedValues.values.isEmpty { return plain }
        let encrypted = encryptedValues.values.map { JSON.Member($0, $1.json) }
        return (plain + encrypted).sorted { $0.key < $1.key }
    }

    /// Everything that is known, for `--json`.
    package var json: JSON {
        var members = [
            JSON.Member("recordName", .string(recordID.recordName)),
            JSON.Member("recordType", .string(recordType)),
            JSON.Member("zone", .string(recordID.zoneID.zoneName)),
        ]
        func add(_ key: String, _ text: String?) {
            if let text { members.append(JSON.Member(key, .string(text))) }
        }
        add("recordChangeTag", recordChangeTag)
        add("created", creationDate?.text)
        add("createdBy", creatorUserRecordName)
        add("modified", modificationDate?.text)
        add("modifiedBy", lastModifiedUserRecordName)
        add("parent", parent?.recordName)
        return .object(members + [JSON.Member("fields", fields)])
    }

    /// The row of a table: name, type, when it was modified, fields.
    package var row: [String] {
        [recordID.recordName, recordType, modificationDate?.text ?? "", fields.text]
    }

    /// The same for people: a name and a value per line.
    package var rows: [[String]] {
        guard case .object(let members) = json else { return [] }
        return members.dropLast().map { [$0.key, $0.value.plain] }
            + fieldMembers.map { ["  " + $0.key, $0.value.plain] }
    }
}

extension JSON {
    /// Text without its quotes; everything else as JSON.
    package var plain: String { if case .string(let text) = self { text } else { text } }
}
