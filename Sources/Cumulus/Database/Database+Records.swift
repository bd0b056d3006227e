// Records: fetch, save, delete, list.
//
// Requests that exceed the limits that the server told are sent in parts, where that means the
// same. A part that the server refuses since it would change too much is sent again in halves.

public import CumulusModel
import CumulusWire

/// How a save compares and sends fields.
public enum RecordSavePolicy: UInt32, Sendable {
    /// Changed keys, if the record did not change since it was fetched.
    case ifServerRecordUnchanged = 0
    /// Changed keys, whatever the server holds.
    case changedKeys = 1
    /// All keys, whatever the server holds; keys that only the server has stay.
    case allKeys = 2
}

extension Database {
    /// The record with that name.
    ///
    /// - Parameters:
    ///   - recordID: Its name.
    ///   - downloadingAssets: Whether the content of its assets comes along, in files.
    public func record(
        for recordID: Record.ID,
        downloadingAssets: Bool = false
    ) async throws -> Record {
        let request = request([recordID], nil)
        let results = try await fetch(request)
        guard let result = results.first else { throw Database.missingResult }
        let record = try result.get()
        return downloadingAssets ? try await self.downloadingAssets(of: record) : record
    }

    /// The records with these names; each has a result of its own.
    ///
    /// - Parameters:
    ///   - ids: Ids of records; a repeated id is fetched once.
    ///   - desiredKeys: The fields to fetch; nil means all; empty: system fields only.
    public func records(
        for ids: [Record.ID],
        desiredKeys: [String]? = nil
    ) async throws -> [Record.ID: Result<Record, any Error>] {
        let unique = Array(Set(ids))
        var results: [Record.ID: Result<Record, any Error>] = [:]
        let limit = try await core.hello().limits.itemsPerRequest
        for part in unique.parts(of: limit) {
            let answers = try await fetch(request(part, desiredKeys))
            for (id, answer) in zip(part, answers) {
                results[id] = answer.mapError { $0 as any Error }
            }
        }
        return results
    }

    /// Saves a record: a new one, or one that did not change on the server since it was fetched.
    ///
    /// Assets that were made from files or data are uploaded first.
    ///
    /// - Parameters:
    ///   - record: The record to save.
    ///   - progress: Follows the upload of its assets.
    /// - Returns: The saved record, with its new change tag. Go on with this value.
    @discardableResult
    public func save(_ record: Record, progress: AssetProgress? = nil) async throws -> Record {
        let results = try await modifyRecords(saving: [record], deleting: [], progress: progress)
        guard let result = results.saveResults[record.recordID] else {
            throw Database.missingResult
        }
        return try result.get()
    }

    /// Deletes a record, and what refers to it with `deleteSelf`.
    ///
    /// Deleting one that isn't there succeeds.
    @discardableResult
    public func deleteRecord(withID recordID: Record.ID) async throws -> Record.ID {
        let results = try await modifyRecords(saving: [], deleting: [recordID])
        try results.deleteResults[recordID]?.get()
        return recordID
    }

    /// Saves and deletes records; each has a result of its own.
    ///
    /// - Parameters:
    ///   - recordsToSave: New records, and changed ones.
    ///   - recordIDsToDelete: Names of records; one that isn't there is no error.
    ///   - savePolicy: When a save may overwrite the server's record.
    ///   - atomically: In custom zones all of a zone's items succeed, or none. Elsewhere it means
    ///     nothing.
    ///   - progress: Follows the upload of assets, which goes first.
    /// - Throws: An error that concerns all items. A request may be sent in parts. If a later part
    ///   fails, its error is the result of its items and of all items after them. Items of a custom
    ///   zone that are changed atomically are not separated: `limitExceeded` then means that
    ///   nothing was done, and to send fewer at once.
    public func modifyRecords(
        saving recordsToSave: [Record],
        deleting recordIDsToDelete: [Record.ID],
        savePolicy: RecordSavePolicy = .ifServerRecordUnchanged,
        atomically: Bool = true,
        progress: AssetProgress? = nil
    ) async throws -> (
        saveResults: [Record.ID: Result<Record, any Error>],
        deleteResults: [Record.ID: Result<Void, any Error>]
    ) {
        defer { progress?.finish() }
        try checkUnique(recordsToSave.map(\.recordID) + recordIDsToDelete)
        try checkIncrements(recordsToSave)
        let recordsToSave = try await uploading(recordsToSave, progress)
        var saveResults: [Record.ID: Result<Record, any Error>] = [:]
        var deleteResults: [Record.ID: Result<Void, any Error>] = [:]
        let canSplit = !atomically || !hasAtomicZone(recordsToSave, recordIDsToDelete)
        let parts = try await split(
            recordsToSave,
            recordIDsToDelete,
            savePolicy,
            canSplit: canSplit
        )
        // The next one is the last.
        var waiting = Array(parts.reversed())
        var isFirst = true
        var failure: ServiceError?
        while let part = waiting.popLast() {
            if let failure {
                note(Database.unsent(after: failure), of: part, &saveResults, &deleteResults)
                continue
            }
            let request = ModifyRecordsRequest(
                database: databaseScope,
                policy: savePolicy.rawValue,
                isAtomic: atomically,
                saves: part.saves.map(\.bytes),
                deletes: part.deletes.map { WireRecordID($0) }
            ).encoded()
            let messages: [Bytes]
            do {
                messages = try await core.change(.recordsModify, request)
            } catch let error as ServiceError where canSplit && error.code == .limitExceeded {
                // How much the stored records hold that it would change, only the server knows.
                if let (first, second) = part.halves {
                    waiting += [second, first]
                    continue
                }
                // A single record is too large; the others don't suffer.
                isFirst = false
                note(error, of: part, &saveResults, &deleteResults)
                continue
            } catch let error as ServiceError where !isFirst {
                // Items that were saved before must keep their results, which have new change tags.
                failure = error
                note(error, of: part, &saveResults, &deleteResults)
                continue
            }
            isFirst = false
            var saves: [RecordResult] = []
            var deletes: [ServiceError?] = []
            for message in messages {
                let answer = try decoding { try ModifyRecordsResponse(wire: message) }
                saves += answer.saves.map { $0.mapError(core.keyring.opening) }
                deletes += answer.deletes
            }
            try Database.check(saves.count, of: part.saves.count)
            try Database.check(deletes.count, of: part.deletes.count)
            for (save, answer) in zip(part.saves, saves) {
                saveResults[save.record.recordID] =
                    answer.map { save.record.saved(as: $0) }.mapError { $0 as any Error }
            }
            for (id, error) in zip(part.deletes, deletes) {
                deleteResults[id] = error.map { .failure($0) } ?? .success(())
            }
        }
        await fetchServerRecords(&saveResults)
        await completeShares(&saveResults, deleteResults)
        return (saveResults, deleteResults)
    }

    /// All items of a part fail with it.
    private func note(
        _ error: ServiceError,
        of part: Part,
        _ saveResults: inout [Record.ID: Result<Record, any Error>],
        _ deleteResults: inout [Record.ID: Result<Void, any Error>]
    ) {
        for save in part.saves { saveResults[save.record.recordID] = .failure(error) }
        for id in part.deletes { deleteResults[id] = .failure(error) }
    }

    /// The error for items that were not sent: their outcome is known, unlike the outcome of sent
    /// items.
    static func unsent(after failure: ServiceError) -> ServiceError {
        guard failure.code == .serverResponseLost else { return failure }
        return ServiceError(
            .networkFailure,
            "it was not sent: an earlier part of the request got no answer"
        )
    }

    /// Adds the records of the server that its answer had no room for, as they are now.
    private func fetchServerRecords(_ results: inout [Record.ID: Result<Record, any Error>]) async {
        let ids = results.compactMap { id, result -> Record.ID? in
            guard case .failure(let error as ServiceError) = result,
                error.code == .serverRecordChanged, error.serverRecord == nil
            else { return nil }
            return id
        }
        guard !ids.isEmpty, let found = try? await records(for: ids) else { return }
        for (id, record) in found {
            guard case .failure(var error as ServiceError)? = results[id] else { continue }
            error.serverRecord = try? record.get()
            results[id] = .failure(error)
        }
    }

    /// All records of a zone in the order of their names, from one moment, as they arrive.
    ///
    /// Beyond CloudKit; made for export.
    ///
    /// - Parameters:
    ///   - zoneID: The zone.
    ///   - desiredKeys: The fields to fetch; nil means all; empty: system fields only.
    public func allRecords(
        inZoneWith zoneID: RecordZone.ID = .default,
        desiredKeys: [String]? = nil
    ) -> RecordSequence {
        let request = ListRecordsRequest(
            database: databaseScope,
            zone: zoneID == .default ? nil : WireZoneID(zoneID),
            keys: desiredKeys?.map { Bytes($0.utf8) }
        )
        return RecordSequence(core: core, request: request.encoded())
    }

    // MARK: Parts

    static let missingResult = ServiceError(
        .internalError,
        "the server's answer lacks a result"
    )

    /// Checks that an answer has a result for each item.
    static func check(_ count: Int, of asked: Int) throws {
        guard count == asked else { throw missingResult }
    }

    private func request(_ ids: [Record.ID], _ keys: [String]?) -> FetchRecordsRequest {
        FetchRecordsRequest(
            database: databaseScope,
            ids: ids.map { WireRecordID($0) },
            keys: keys?.map { Bytes($0.utf8) }
        )
    }

    private func fetch(_ request: FetchRecordsRequest) async throws -> [RecordResult] {
        let messages = try await core.read(.recordsFetch, request.encoded())
        let results = try decoding {
            try messages.flatMap { try FetchRecordsResponse(wire: $0).results }
        }
        try Database.check(results.count, of: request.ids.count)
        return results.map { $0.map(core.keyring.opening) }
    }

    private func checkUnique(_ ids: [Record.ID]) throws {
        guard ids.count > 1 else { return }
        var seen: Set<Record.ID> = []
        for id in ids where !seen.insert(id).inserted {
            throw ServiceError(
                .invalidArguments,
                "record '\(id.recordName)' occurs twice in the request; name each record once"
            )
        }
    }

    private func checkIncrements(_ records: [Record]) throws {
        for record in records {
            guard let field = record.overflows.min() else { continue }
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                """
                the increments of field '\(field)' of record '\(record.recordID.recordName)' don't \
                fit into 64 bits together
                """
            )
        }
    }

    private func hasAtomicZone(_ records: [Record], _ ids: [Record.ID]) -> Bool {
        guard databaseScope != .public else { return false }
        let zones = records.map(\.recordID.zoneID) + ids.map(\.zoneID)
        return zones.contains { $0.zoneName != RecordZone.ID.default.zoneName }
    }

    private struct Part {
        var saves: [(record: Record, bytes: Bytes)] = []
        var deletes: [Record.ID] = []
        /// While it is filled.
        var byteCount = 0
        var owners = 0

        /// Two parts that do the same, in the same order; nil: it is a single item.
        var halves: (Part, Part)? {
            let middle = (saves.count + deletes.count) / 2
            guard middle > 0 else { return nil }
            let rest = max(0, middle - saves.count)
            let first = Part(
                saves: Array(saves.prefix(middle)),
                deletes: Array(deletes.prefix(rest))
            )
            let second = Part(
                saves: Array(saves.dropFirst(middle)),
                deletes: Array(deletes.dropFirst(rest))
            )
            return (first, second)
        }
    }

    /// Cuts a request where it would exceed the server's limits.
    ///
    /// Records that must not be separated are sent together, for the server to judge.
    private func split(
        _ records: [Record],
        _ ids: [Record.ID],
        _ policy: RecordSavePolicy,
        canSplit: Bool
    ) async throws -> [Part] {
        let limits = try await core.hello().limits
        // Room for what stands around the items.
        let byteLimit = limits.requestBytes - 1_024
        var parts = [Part()]
        func makeRoom(_ byteCount: Int, owners: Int = 0) {
            let part = parts[parts.count - 1]
            let count = part.saves.count + part.deletes.count
            let isFull =
                count >= limits.itemsPerRequest || part.byteCount + byteCount > byteLimit
                || part.owners + owners > limits.ownersPerRequest
            if canSplit && isFull && count > 0 { parts.append(Part()) }
            parts[parts.count - 1].byteCount += byteCount
            parts[parts.count - 1].owners += owners
        }
        for record in records {
            let isWhole = policy == .allKeys
            let bytes = try core.keyring.sealing(record, all: isWhole).encodedSave(allKeys: isWhole)
            makeRoom(bytes.count + 8, owners: record.ownerCount(allKeys: isWhole))
            parts[parts.count - 1].saves.append((record, bytes))
        }
        for id in ids {
            makeRoom(id.recordName.utf8.count + id.zoneID.zoneName.utf8.count + 64)
            parts[parts.count - 1].deletes.append(id)
        }
        return parts
    }
}

extension Record {
    /// deleteSelf references in the fields that a save sends.
    fileprivate func ownerCount(allKeys: Bool) -> Int {
        let keys = allKeys ? self.allKeys() : changedKeys()
        return keys.reduce(0) { $0 + (self[$1]?.ownerCount ?? 0) }
    }
}

extension FieldValue {
    fileprivate var ownerCount: Int {
        switch self {
        case .reference(let reference): reference.action == .deleteSelf ? 1 : 0
        case .list(let elements): elements.reduce(0) { $0 + $1.ownerCount }
        case .string, .int64, .double, .timestamp, .bytes, .location, .asset: 0
        }
    }
}

extension Array {
    /// Neighbours in groups of at most `size`.
    func parts(of size: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: count, by: Swift.max(1, size)).map {
            self[$0..<Swift.min($0 + Swift.max(1, size), count)]
        }
    }
}

extension Database {
    private func request(_ ids: ArraySlice<Record.ID>, _ keys: [String]?) -> FetchRecordsRequest {
        request(Array(ids), keys)
    }
}
