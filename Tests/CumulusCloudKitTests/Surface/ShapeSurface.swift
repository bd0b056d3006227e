// Forms in which apps use members that the other lists do not use: what blocks may capture, what
// takes functions, what an object of an actor may hand on, what a class may be asked for through
// `Self`.
//
// Compiled, never run: see `DatabaseSurface`.

import CloudKit
import Foundation

/// Values of types that are not sendable, as blocks capture them.
enum BlockSurface {
    /// A function that was handed over, and a variable that several blocks share.
    static func find(
        _ query: CKQuery,
        in database: CKDatabase,
        done: @escaping ([CKRecord]) -> Void
    ) {
        var found: [CKRecord] = []
        let operation = CKQueryOperation(query: query)
        operation.recordMatchedBlock = { _, result in
            if case .success(let record) = result { found.append(record) }
        }
        operation.queryResultBlock = { _ in done(found) }
        database.add(operation)
    }

    /// Functions themselves, without a closure around them.
    static func forward(
        _ operation: CKModifyRecordsOperation,
        each: @escaping (CKRecord.ID, Result<CKRecord, any Error>) -> Void,
        end: @escaping (Result<Void, any Error>) -> Void
    ) {
        operation.perRecordSaveBlock = each
        operation.modifyRecordsResultBlock = end
        let _: ((Result<Void, any Error>) -> Void)? = operation.modifyRecordsResultBlock
    }
}

/// An object of the main actor that starts operations.
@MainActor protocol RecordKeeper: AnyObject {
    var database: CKDatabase { get }
}

extension RecordKeeper {
    func keep(_ record: CKRecord, done: @escaping (Result<Void, any Error>) -> Void) {
        let operation = CKModifyRecordsOperation(recordsToSave: [record])
        operation.modifyRecordsResultBlock = { [weak self] result in
            Task { @MainActor [weak self] in
                if self != nil { done(result) }
            }
        }
        database.add(operation)
    }
}

/// Functions that are handed on, in modules with the language's own rules for where they run.
enum FunctionSurface {
    static func soon<Value>(
        _ database: CKDatabase,
        _ body: @escaping @Sendable (CKDatabase) async throws -> Value
    ) async throws -> Value {
        try await database.configuredWith(configuration: nil, group: nil, body: body)
    }

    static func soon<Value>(
        _ container: CKContainer,
        _ body: @escaping @Sendable (CKContainer) async throws -> Value
    ) async throws -> Value {
        try await container.configuredWith(group: CKOperationGroup(), body: body)
    }

    static func batch(
        _ changes: [CKSyncEngine.PendingRecordZoneChange],
        _ provider: @escaping @Sendable (CKRecord.ID) async -> CKRecord?
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes, recordProvider: provider)
    }
}

/// An object of the main actor whose calls take their settings from a configuration.
@MainActor final class ConfiguredSurface {
    private var count = 0

    private func add(_ more: Int) { count += more }

    func fetch(_ id: CKRecord.ID, from database: CKDatabase) async throws {
        let _: CKRecord = try await database.configuredWith { database in
            try await database.record(for: id)
        }
        try await database.configuredWith(group: CKOperationGroup()) { database in
            let found = try await database.records(for: [id])
            await self.add(found.count)
        }
        try await database.configuredWith { @MainActor database in
            self.count += try await database.records(for: [id]).count
        }
    }

    func ask(_ container: CKContainer) async throws {
        let _: CKRecord.ID = try await container.configuredWith { container in
            try await container.userRecordID()
        }
        try await container.configuredWith(group: CKOperationGroup()) { container in
            if try await container.accountStatus() == .available { await self.add(1) }
        }
        try await container.configuredWith { @MainActor container in
            self.count += try await container.accountStatus() == .available ? 1 : 0
        }
    }

    func share(_ container: CKContainer, _ urls: [URL]) async throws {
        let results: [URL: Result<Void, any Error>] = try await container.requestShareAccess(
            for: urls
        )
        let ask = CKShareRequestAccessOperation(shareURLs: urls)
        ask.perShareAccessRequestResultBlock = { _, _ in }
        ask.shareAccessRequestResultBlock = { [weak self] _ in
            Task { @MainActor in self?.add(1) }
        }
        container.add(ask)
        count += results.count
    }

    func note(_ event: CKSyncEngine.Event, _ changes: [CKDatabase.RecordZoneChange.Modification]) {
        count += event.description.count + Set(changes).count
    }
}

/// An actor that does the same.
actor ConfiguredActor {
    private var count = 0

    private func add(_ more: Int) { count += more }

    func fetch(_ id: CKRecord.ID, from database: CKDatabase) async throws {
        try await database.configuredWith { database in
            let found = try await database.records(for: [id])
            await self.add(found.count)
        }
    }
}

/// A class that is asked for by a protocol of the app.
protocol NamedSource {
    static func named(_ name: String) -> Self
    static func made(_ name: String) -> Self
}

extension CKContainer: NamedSource {
    static func named(_ name: String) -> Self { self.init(identifier: name) }
    static func made(_ name: String) -> Self { Self(identifier: name) }
}
