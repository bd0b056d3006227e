// Records as lines of JSON: what import reads, export writes, and `--json` shows.

import Cumulus
package import CumulusModel
import CumulusSystem
import CumulusTerminal

extension Record {
    /// The parent's key in a line; no field can have that name.
    static let parentKey = "$parent"
    /// The key of an object with the fields whose names mean something else in a line.
    static let fieldsKey = "$fields"
    /// The key of what a node says of a record, which an import passes over.
    static let systemKey = "$record"

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
        for member in members
        where !["recordName", Record.systemKey, DatabaseLine.typeKey, DatabaseLine.zoneKey]
            .contains(member.key)
        {
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
    package var line: JSON { line(withSystemFields: false) }

    /// - Parameters:
    ///   - withSystemFields: Whether it says when and by whom the record was created and modified,
    ///     too, and with whom a share is shared.
    ///   - withPlace: Whether it says the type and the zone.
    package func line(withSystemFields: Bool, withPlace: Bool = false) -> JSON {
        var members = [JSON.Member("recordName", .string(recordID.recordName))]
        if withPlace { members += DatabaseLine.members(of: self) }
        if withSystemFields { members.append(JSON.Member(Record.systemKey, systemJSON)) }
        if let parent { members.append(JSON.Member(Record.parentKey, .string(parent.recordName))) }
        let named = fieldMembers.filter { $0.key == "recordName" }
        if !named.isEmpty { members.append(JSON.Member(Record.fieldsKey, .object(named))) }
        return .object(members + fieldMembers.filter { $0.key != "recordName" })
    }

    private var systemJSON: JSON {
        var members: [JSON.Member] = []
        func add(_ key: String, _ text: String?) {
            if let text { members.append(JSON.Member(key, .string(text))) }
        }
        add("type", recordType)
        add("zone", recordID.zoneID.zoneName)
        add("changeTag", recordChangeTag)
        add("created", creationDate?.text)
        add("createdBy", creatorUserRecordName)
        add("modified", modificationDate?.text)
        add("modifiedBy", lastModifiedUserRecordName)
        add("share", share?.recordName)
        guard let shared = Share(self) else { return .object(members) }
        add("root", shared.rootRecordID?.recordName)
        add("publicPermission", "\(shared.publicPermission)")
        let participants = shared.participants.map { participant -> JSON in
            [
                "user": participant.userRecordID.map { .string($0.recordName) } ?? .null,
                "role": .string("\(participant.role)"),
                "permission": .string("\(participant.permission)"),
                "status": .string("\(participant.acceptanceStatus)"),
            ]
        }
        members.append(JSON.Member("participants", .array(participants)))
        return .object(members)
    }

    // MARK: Files

    /// The assets of its fields.
    var allAssets: [Asset] {
        allKeys().flatMap { key -> [Asset] in
            guard let value = self[key] else { return [] }
            return (value.list ?? [value]).compactMap { element in
                if case .asset(let asset) = element { asset } else { nil }
            }
        }
    }

    /// Takes the content of assets from the files of a folder, as an export wrote them.
    ///
    /// An asset without a file stays: the node may have its content.
    mutating func takeFiles(from folder: String) {
        func taken(_ value: FieldValue) -> FieldValue {
            guard case .asset(let asset) = value else { return value }
            let path = asset.path(in: folder)
            guard Files.size(of: path) == asset.size else { return value }
            return .asset(Asset(fileURL: URL(filePath: path)))
        }
        guard holdsAssets else { return }
        for key in allKeys() {
            switch self[key] {
            case .list(let elements): self[key] = .list(elements.map(taken))
            case let value?: self[key] = taken(value)
            case nil: continue
            }
        }
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

extension Asset {
    /// The file of an export with its content.
    func path(in folder: String) -> String { "\(folder)/\(digest.hex)" }
}

extension JSON {
    /// Text without its quotes; everything else as JSON.
    package var plain: String { if case .string(let text) = self { text } else { text } }
}
