// A container: where an app begins.
//
// Holds the client library's container by way of `ContainerClient`; its databases share it.
//
// Folder: containers, and what they tell of accounts. Read `CKContainer`, then
// `CKContainer+Accounts`.

internal import Cumulus
public import Foundation
internal import Synchronization

extension Notification.Name {
    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// Another user is signed in, or no user is: posted when `CKContainer.connection` changes.
    public static let CKAccountChanged = Notification.Name("CKAccountChangedNotification")
}

/// Whether somebody is signed in.
public enum CKAccountStatus: Int, Sendable {
    /// No node could be asked.
    case couldNotDetermine = 0
    /// A user is signed in, or a server with its key.
    case available = 1
    /// The account may not be used; nodes don't send it.
    case restricted = 2
    /// No user is signed in.
    case noAccount = 3
    /// The account can't be used now.
    case temporarilyUnavailable = 4
}

/// The databases of an app, and its user.
open class CKContainer: NSObject, @unchecked Sendable {
    let client: ContainerClient
    /// The settings of `configuredWith`; nil outside.
    let settings: CallSettings?
    let queue: OperationQueue

    /// The records that all can read, and signed-in users can add to.
    public let publicCloudDatabase: CKDatabase
    /// The records that only the signed-in user sees.
    public let privateCloudDatabase: CKDatabase
    /// The records that other users share with the signed-in user.
    public let sharedCloudDatabase: CKDatabase

    /// How containers reach the server, unless they are made with a connection of their own.
    ///
    /// It begins with what the environment's variables and the file say; see
    /// `CumulusConnection`. Setting it changes the account of all containers, from their next
    /// call on. Beyond CloudKit.
    public static var connection: CumulusConnection {
        get { (try? ContainerClient.connection.get()) ?? CumulusConnection() }
        set { ContainerClient.connection = .success(newValue) }
    }

    /// The app's container, which the settings name.
    ///
    /// Its calls fail with `missingEntitlement` if the settings name no container.
    public class func `default`() -> CKContainer { CKContainer(ContainerClient.shared(nil)) }

    /// The container of that name.
    public required convenience init(identifier containerIdentifier: String) {
        self.init(ContainerClient.shared(containerIdentifier))
    }

    /// The container of that name, with a connection of its own.
    ///
    /// Call `close()` when you are done with it. Beyond CloudKit.
    public convenience init(identifier: String, connection: CumulusConnection) {
        self.init(ContainerClient(identifier, connection))
    }

    init(_ client: ContainerClient, _ settings: CallSettings? = nil) {
        self.client = client
        self.settings = settings
        queue = OperationQueue()
        publicCloudDatabase = CKDatabase(.public, client, settings, queue)
        privateCloudDatabase = CKDatabase(.private, client, settings, queue)
        sharedCloudDatabase = CKDatabase(.shared, client, settings, queue)
    }

    /// The container's name; nil if neither code nor settings give one.
    public var containerIdentifier: String? { client.containerIdentifier }

    /// The database of that scope.
    public func database(with databaseScope: CKDatabase.Scope) -> CKDatabase {
        switch databaseScope {
        case .public: publicCloudDatabase
        case .private: privateCloudDatabase
        case .shared: sharedCloudDatabase
        }
    }

    /// Ends all connections of containers of this name; the next call makes others.
    ///
    /// Beyond CloudKit.
    public func close() async {
        await client.close()
    }

    // MARK: - Operations

    /// Runs an operation in this container.
    ///
    /// An operation on a database that names none runs on the private database.
    public func add(_ operation: CKOperation) {
        // An operation that was found again by its id runs already.
        if operation.isStarted { return }
        operation.home = self
        queue.addOperation(operation)
    }

    /// The ids of the long-lived operations of this process that have not ended.
    public func allLongLivedOperationIDs() async throws -> [CKOperation.ID] {
        LongLivedOperations.all(of: client).map(\.operationID)
    }

    /// The long-lived operation of that id; nil if it has ended, or ran in another process.
    ///
    /// Set its blocks, and add it to its database again.
    public func longLivedOperation(for operationID: CKOperation.ID) async throws -> CKOperation? {
        LongLivedOperations.all(of: client).first { $0.operationID == operationID }
    }

    /// Finds the ids of the long-lived operations of this process that have not ended.
    @preconcurrency
    public func fetchAllLongLivedOperationIDs(
        completionHandler: @escaping @Sendable ([CKOperation.ID]?, (any Error)?) -> Void
    ) {
        CallSettings.start(
            settings,
            { try await self.allLongLivedOperationIDs() },
            pair(completionHandler)
        )
    }

    /// Finds the long-lived operation of that id.
    @preconcurrency
    public func fetchLongLivedOperation(
        withID operationID: CKOperation.ID,
        completionHandler: @escaping @Sendable (CKOperation?, (any Error)?) -> Void
    ) {
        CallSettings.start(
            settings,
            { try await self.longLivedOperation(for: operationID) },
            { result in
                switch result {
                case .success(let operation): completionHandler(operation, nil)
                case .failure(let error): completionHandler(nil, error)
                }
            }
        )
    }

    // MARK: - Configured calls

    /// Calls of the container that the body gets take their settings from a configuration and a
    /// group.
    @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil,
        group: CKOperationGroup? = nil,
        body: (CKContainer) throws -> R
    ) rethrows -> R {
        try body(CKContainer(client, CallSettings(configuration, group)))
    }

    /// Calls of the container that the body gets take their settings from a configuration and a
    /// group.
    ///
    /// The body runs outside of the caller's actor.
    @preconcurrency @concurrent @discardableResult
    public func configuredWith<R>(
        configuration: CKOperation.Configuration? = nil,
        group: CKOperationGroup? = nil,
        body: @concurrent @Sendable (CKContainer) async throws -> R
    ) async rethrows -> R {
        try await body(CKContainer(client, CallSettings(configuration, group)))
    }

    /// Makes a call; its errors are `CKError`s.
    func call<Value: Sendable>(
        _ body: @escaping @Sendable (Container) async throws -> Value
    ) async throws -> Value {
        try await CallSettings.run(settings) { [client] in try await body(client.container()) }
    }
}
