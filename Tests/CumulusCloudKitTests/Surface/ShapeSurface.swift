// Forms in which apps use members that the other lists do not use: what blocks may capture, what
// takes functions, what a class may be asked for through `Self`.
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

/// A class that is asked for by a protocol of the app.
protocol NamedSource {
    static func named(_ name: String) -> Self
}

extension CKContainer: NamedSource {
    static func named(_ name: String) -> Self { self.init(identifier: name) }
}
