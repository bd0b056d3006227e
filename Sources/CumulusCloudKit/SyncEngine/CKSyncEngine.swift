// CloudKit's sync engine on top of the client library's.
//
// Every rule is in `SyncEngine` of the client library; this one puts CloudKit's objects in place of
// its values. `SyncAdapter` stands between the two delegates.
//
// Folder: the sync engine. Read `CKSyncEngine`, then `SyncAdapter` and `CKSyncEngine+Event`.

internal import Cumulus
internal import CumulusModel

/// Keeps an app's copy of a private or shared database equal to the server's.
///
/// The app adds what it changed to `state`, gives the records when the engine asks for them,
/// and applies the events that its delegate gets. The engine stops when it is released. It
/// keeps the account that `CKContainer.connection` had when it was made: make another one for
/// another user.
public final class CKSyncEngine: Sendable {
    /// How an engine is set up.
    public struct Configuration: Sendable {
        /// The private or shared database to sync.
        public var database: CKDatabase
        /// The newest state that an earlier engine told to keep; nil for the first engine.
        public var stateSerialization: State.Serialization?
        /// Gets events and gives records; the engine keeps a weak reference.
        public var delegate: any CKSyncEngineDelegate
        /// Whether the engine syncs by itself; false means only when it is asked to.
        public var automaticallySync = true
        /// Id of the app's own subscription to the database; nil means the engine saves one.
        public var subscriptionID: CKSubscription.ID?

        /// The configuration of an engine for a database and a delegate.
        public init(
            database: CKDatabase,
            stateSerialization: State.Serialization?,
            delegate: any CKSyncEngineDelegate
        ) {
            self.database = database
            self.stateSerialization = stateSerialization
            self.delegate = delegate
        }
    }

    /// The database that is synced.
    public let database: CKDatabase
    /// The changes that wait to be sent and fetched.
    public let state: State
    private let model: SyncEngine
    private let adapter: SyncAdapter

    /// An engine that begins at once.
    ///
    /// Traps if the settings name no container, or can't be read.
    public init(_ configuration: Configuration) {
        database = configuration.database
        let store: Database
        do {
            store = try configuration.database.model
        } catch {
            preconditionFailure("a sync engine can't begin: \(error)")
        }
        adapter = SyncAdapter(store, configuration.delegate)
        var settings = SyncEngine.Configuration(
            database: store,
            stateSerialization: configuration.stateSerialization?.model,
            delegate: adapter
        )
        settings.automaticallySync = configuration.automaticallySync
        settings.subscriptionID = configuration.subscriptionID
        model = SyncEngine(settings)
        state = State(model.state)
        adapter.attach(self)
    }

    /// Fetches what changed on the server, at once; returns when the delegate has it.
    ///
    /// Do not await it in a method of the delegate.
    public func fetchChanges(_ options: FetchChangesOptions = .init()) async throws {
        do {
            try await model.fetchChanges(options.model)
        } catch {
            throw CKError(any: error)
        }
    }

    /// Sends what is pending, at once; returns when the delegate knows what became of it.
    ///
    /// Changes that the delegate adds again after a refusal wait for the next send. Do not await it
    /// in a method of the delegate.
    ///
    /// - Throws: `partialFailure` if changes were refused, with their errors in the events; or the
    ///   error that ended the send early.
    public func sendChanges(_ options: SendChangesOptions = .init()) async throws {
        do {
            try await model.sendChanges(options.model)
        } catch {
            throw CKError(any: error)
        }
    }

    /// Ends the current fetch or send, and all waiting ones.
    public func cancelOperations() async {
        await model.cancelOperations()
    }
}
