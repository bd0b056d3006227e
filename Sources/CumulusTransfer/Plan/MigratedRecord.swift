// A record of the source as it is saved here, and what differs between the two.
//
// Pure. Users of the source become users here, in references too. All fields of the type are set,
// those without a value to nil, so that a record which was saved before loses what the source
// removed since.

package import CumulusModel
import CumulusTerminal

/// How records are changed on their way.
package struct RecordMapping: Sendable {
    /// The fields of each type.
    package var columns: [String: [String: FieldType]]
    package var keepsOrigin: Bool
    /// What `OriginField.container` says.
    package var container: String
    /// The record name of a user here, by its name there.
    package var mapped: @Sendable (String) -> String

    package init(
        columns: [String: [String: FieldType]],
        keepsOrigin: Bool,
        container: String = "",
        mapped: @escaping @Sendable (String) -> String
    ) {
        self.columns = columns
        self.keepsOrigin = keepsOrigin
        self.container = container
        self.mapped = mapped
    }

    /// The record to be saved.
    ///
    /// - Parameters:
    ///   - zone: The zone here.
    ///   - assets: The content of its assets by field; a field that is missing gets what the source
    ///     says of digest and size, for comparing.
    /// - Throws: `InputProblem` for a type or a field that the schema's file lacks, or a value that
    ///   does not fit the field.
    package func record(
        _ source: SourceRecord,
        in zone: RecordZone.ID,
        assets: [String: [Asset]] = [:]
    ) throws -> Record {
        guard let columns = columns[source.type] else {
            throw InputProblem(
                "record '\(source.name)' has the type '\(source.type)', which the schema's file "
                    + "lacks: export the source's schema again"
            )
        }
        if let field = source.fields.keys.sorted().first(where: { columns[$0] == nil }) {
            throw InputProblem(
                "field '\(field)' of record '\(source.name)' is not in type '\(source.type)' of "
                    + "the schema's file: export the source's schema again"
            )
        }
        var record = Record(
            recordType: source.type,
            recordID: Record.ID(recordName: source.name, zoneID: zone)
        )
        for (key, column) in columns {
            do {
                try set(key, to: source.fields[key], column, assets[key], in: &record)
            } catch let problem as InputProblem {
                throw InputProblem("field '\(key)' of record '\(source.name)' \(problem.message)")
            }
        }
        record.parent = source.parent.map { Record.Reference(recordName: $0) }
        if keepsOrigin { setOrigin(source, columns, in: &record) }
        return record
    }

    private func set(
        _ key: String,
        to value: SourceValue?,
        _ column: FieldType,
        _ assets: [Asset]?,
        in record: inout Record
    ) throws {
        switch value {
        case nil:
            if column.isEncrypted {
                record.encryptedValues[key] = nil
            } else {
                record[key] = nil
            }
        case .plain(let plain)?:
            let fitting = RecordMapping.fitting(plain, column).mappingUsers(mapped)
            if column.isEncrypted {
                record.encryptedValues.set(.open(fitting), for: key)
            } else {
                record[key] = fitting
            }
        case .encrypted(let open)?:
            guard column.isEncrypted else { throw InputProblem("is encrypted, and must not be") }
            record.encryptedValues.set(.open(RecordMapping.fitting(open, column)), for: key)
        case .sealed(let bytes)?:
            record.encryptedValues.set(.sealed(try sealed(bytes, column)), for: key)
        case .assets(let files, let isList)?:
            let found = (assets ?? files.map(\.stated)).map { FieldValue.asset($0) }
            record[key] = isList ? FieldValue.list(found) : found.first
        }
    }

    /// Numbers without a type are as wide as their field.
    private static func fitting(_ value: FieldValue, _ column: FieldType) -> FieldValue {
        switch (value, column) {
        case (.int64(let number), .one(.double)), (.int64(let number), .encrypted(.double)):
            .double(Double(number))
        case (.int64(let number), .one(.timestamp)), (.int64(let number), .encrypted(.timestamp)):
            .timestamp(Timestamp(millisecondsSince1970: number))
        case (.list(let elements), .list(let kind)):
            .list(elements.map { fitting($0, .one(kind)) })
        default: value
        }
    }

    private func sealed(_ bytes: [UInt8], _ column: FieldType) throws -> SealedValue {
        switch column {
        case .encrypted(let kind): return SealedValue(kind: kind, isList: false, bytes: bytes)
        case .encryptedList(let kind): return SealedValue(kind: kind, isList: true, bytes: bytes)
        default:
            throw InputProblem("is encrypted at the source, and \(column.name) in the schema")
        }
    }

    /// A record that a migration brought to the source keeps the first source's times and users.
    private func setOrigin(
        _ source: SourceRecord,
        _ columns: [String: FieldType],
        in record: inout Record
    ) {
        func set(_ field: OriginField, _ value: FieldValue?) {
            let key = field.rawValue
            guard columns[key] != nil else { return }
            if field == .container || source.fields[key] == nil { record[key] = value }
        }
        func time(_ moment: SourceMoment?) -> FieldValue? {
            moment.map { .timestamp(Timestamp(millisecondsSince1970: $0.time)) }
        }
        func user(_ moment: SourceMoment?) -> FieldValue? {
            guard let user = moment?.user, !user.isEmpty else { return nil }
            return .string(mapped(user))
        }
        set(.created, time(source.created))
        set(.createdBy, user(source.created))
        set(.modified, time(source.modified))
        set(.modifiedBy, user(source.modified))
        set(.container, .string(container))
        for field in [OriginField.createdBy, .modifiedBy] {
            if let user = source.originUser(field) {
                record[field.rawValue] = .string(mapped(user))
            }
        }
    }
}

extension SourceAsset {
    /// What the source says of the content: a node says the digest, others the size alone.
    package var stated: Asset {
        let digest = Base64.decode(checksum) ?? []
        return Asset(digest: digest.count == 32 ? digest : [], size: size)
    }
}

extension SourceRecord {
    /// The users whom the record names, at the source.
    package var users: Set<String> {
        var found: Set<String> = []
        for moment in [created, modified] {
            if let user = moment?.user, Names.isUserRecordName(user) { found.insert(user) }
        }
        for field in [OriginField.createdBy, .modifiedBy] {
            if let user = originUser(field) { found.insert(user) }
        }
        for case .plain(let value) in fields.values {
            for case .reference(let reference) in value.list ?? [value]
            where Names.isUserRecordName(reference.recordName) {
                found.insert(reference.recordName)
            }
        }
        for participant in share?.participants ?? [] where !participant.user.isEmpty {
            found.insert(participant.user)
        }
        return found
    }

    /// The user of the source whom an origin field of the record names.
    fileprivate func originUser(_ field: OriginField) -> String? {
        guard case .plain(.string(let user))? = fields[field.rawValue],
            Names.isUserRecordName(user)
        else { return nil }
        return user
    }

    /// Its assets, by field.
    package var assets: [String: [SourceAsset]] {
        fields.compactMapValues { value in
            if case .assets(let files, _) = value { files } else { nil }
        }
    }
}

// MARK: - Comparing

/// What differs between a record of the source and the record here.
package enum RecordComparison {
    /// The names of fields that differ, sorted; `parent` stands for the parent.
    ///
    /// - Parameter wanted: The source's record as it should be here.
    package static func differences(_ wanted: Record, _ found: Record) -> [String] {
        var names: Set<String> = []
        if wanted.recordType != found.recordType { names.insert("recordType") }
        if wanted.parent?.recordName != found.parent?.recordName { names.insert("parent") }
        for key in Set(wanted.allKeys()).union(found.allKeys())
        where !isSame(wanted[key], found[key]) {
            names.insert(key)
        }
        let (sealed, kept) = (wanted.encryptedValues.values, found.encryptedValues.values)
        for key in Set(sealed.keys).union(kept.keys) where sealed[key] != kept[key] {
            names.insert(key)
        }
        return names.sorted()
    }

    /// The fields whose content has to be compared byte for byte: sizes are equal, and the source
    /// does not say a digest.
    package static func unclearAssets(_ wanted: Record) -> [String] {
        wanted.allKeys().filter { key in
            guard let value = wanted[key] else { return false }
            return (value.list ?? [value]).contains { element in
                if case .asset(let asset) = element { asset.digest.isEmpty } else { false }
            }
        }
    }

    private static func isSame(_ wanted: FieldValue?, _ found: FieldValue?) -> Bool {
        switch (wanted, found) {
        case (.asset(let one)?, .asset(let other)?):
            one.size == other.size && (one.digest.isEmpty || one.digest == other.digest)
        case (.list(let some)?, .list(let others)?):
            some.count == others.count && zip(some, others).allSatisfy { isSame($0, $1) }
        default: wanted == found
        }
    }
}

// MARK: - Order

/// The order in which records of one page are saved.
package enum MigrationOrder {
    /// The most bytes of files that are fetched before their records are saved.
    package static let mostFileBytes: UInt64 = 256 << 20

    /// The records in parts, in their order: the files of one fit on the disk, or it is one record.
    package static func parts(
        _ records: [SourceRecord],
        of most: UInt64 = mostFileBytes
    ) -> [[SourceRecord]] {
        var parts: [[SourceRecord]] = []
        var room: UInt64 = 0
        for record in records {
            let bytes = record.assets.values.joined().reduce(into: UInt64(0)) { sum, asset in
                sum = sum.addingReportingOverflow(asset.size).overflow ? .max : sum + asset.size
            }
            if parts.isEmpty || bytes > room {
                parts.append([])
                room = max(most, bytes)
            }
            parts[parts.count - 1].append(record)
            room -= bytes
        }
        return parts
    }

    /// Parents before their children, and owners before what goes with them.
    ///
    /// Else records stay as they came, and so do those in a circle.
    package static func ownersFirst(_ records: [SourceRecord]) -> [SourceRecord] {
        let byName = Dictionary(records.map { ($0.name, $0) }) { first, _ in first }
        var (done, ordered): (Set<String>, [SourceRecord]) = ([], [])
        for record in records where !done.contains(record.name) {
            // A chain may be long: the way down is kept in an array.
            var way = [record]
            var entered: Set<String> = [record.name]
            while let last = way.last {
                let next = last.owners.first { name in
                    byName[name] != nil && !done.contains(name) && !entered.contains(name)
                }
                if let next, let owner = byName[next] {
                    entered.insert(next)
                    way.append(owner)
                } else {
                    way.removeLast()
                    if done.insert(last.name).inserted { ordered.append(last) }
                }
            }
        }
        return ordered
    }
}

extension SourceRecord {
    /// The records that have to be there before: the parent, and those with which this one goes.
    fileprivate var owners: [String] {
        var names = parent.map { [$0] } ?? []
        for case .plain(let value) in fields.values {
            for case .reference(let reference) in value.list ?? [value]
            where reference.action == .deleteSelf {
                names.append(reference.recordName)
            }
        }
        return names.sorted()
    }
}
