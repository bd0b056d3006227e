// A database of a container, as apps written for CloudKit use it.
//
// Calls stand in one file per noun, each with `await` and with a handler. They go to the client
// library's `Database`, by way of `Database+Records` where records and assets are moved.
//
// Folder: what an app asks of a database. Read `CKDatabase`, then `Database+Records` and
// `CKDatabase+Records`.

internal import Cumulus
public import Foundation

/// The public, private or shared database of a container.
open class CKDatabase: NSObject, @unchecked Sendable {
    /// The scope of a database in its container.
    public enum Scope: Int, Sendable {
        /// Everybody reads it; users write what is theirs.
        case `public` = 1
        /// A user's own.
        case `private` = 2
        /// The records that others share with a user.
        case shared = 3
    }

    /// The database's scope in the container.
    public let databaseScope: Scope
    let client: ContainerClient
    /// The settings of `configuredWith`; nil outside.
    let settings: CallSettings?
    private let queue: OperationQueue

    init(
        _ scope: Scope,
        _ client: ContainerClient,
        _ settings: CallSettings?,
        _ queue: OperationQueue
    ) {
        databaseScope = scope
        self.client = client
        self.settings = settings
        self.queue = queue
    }

    /// Runs an operation on this database.
    public func add(_ operation: CKDatabaseOperation) {
        // An operation that was found again by its id runs already.
        if operation.isStarted { return }
        operation.database = self
        queue.addOperation(operation)
    }

    /// Calls of the database that the body gets take their settings from a configuration and a
    /// group.
    @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil,
        group: CKOperationGroup? = nil,
        body: (CKDatabase) throws -> R
    ) rethrows -> R {
        try body(CKDatabase(databaseScope, client, CallSettings(configuration, group), queue))
    }

    /// Calls of the database that the body gets take their settings from a configuration and a
    /// group.
    ///
    /// The body runs outside of the caller's actor.
    @preconcurrency @concurrent @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil,
        group: CKOperationGroup? = nil,
        body: @concurrent @Sendable (CKDatabase) async throws -> R
    ) async rethrows -> R {
        try await body(
            CKDatabase(databaseScope, client, CallSettings(configuration, group), queue)
        )
    }

    /// The client library's database.
    var model: Database {
        get throws(ServiceError) {
            let scope: DatabaseScope =
                switch databaseScope {
                case .public: .public
                case .private: .private
                case .shared: .shared
                }
            return try client.container().database(with: scope)
        }
    }

    /// Makes a call; its errors are `CKError`s.
    func call<Value: Sendable>(
        _ body: @escaping @Sendable (Database) async throws -> Value
    ) async throws -> Value {
        try await CallSettings.run(settings) { try await body(self.model) }
    }

    /// The result of the one item of a call.
    static func only<Value>(_ result: Result<Value, any Error>?) throws -> Value {
        guard let result else {
            throw CKError(ServiceError(.internalError, "the server's answer lacks a result"))
        }
        return try result.get()
    }
}
