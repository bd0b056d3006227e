// The common base of operations on a database.

internal import Cumulus
internal import Foundation

/// An operation on a database.
open class CKDatabaseOperation: CKOperation, @unchecked Sendable {
    /// The database; nil means the private database of the configuration's container.
    ///
    /// `CKDatabase.add(_:)` sets it.
    @_Guarded public var database: CKDatabase? = nil

    /// Makes a call to the operation's database; its errors are `CKError`s.
    func call<Value: Sendable>(
        _ body: @escaping @Sendable (Database) async throws -> Value
    ) async throws -> Value {
        let database = database ?? usedContainer.privateCloudDatabase
        return try await CallSettings.run(settings) { try await body(database.model) }
    }
}

extension CKOperation {
    /// Whether the operation uses a container.
    func isOf(_ client: ContainerClient) -> Bool {
        let database = (self as? CKDatabaseOperation)?.database
        return (database?.client ?? usedContainer.client) === client
    }
}
