// The sync engine: keeps an app's copy of a database equal to the server's.
//
// A thin shell: one task takes the steps that `SyncState` decides, one at a time. It makes the
// calls, and hands events to the delegate. Every rule is in `SyncState`.
//
// Folder: the sync engine, a synchronous state machine and the shell around it. Read `SyncEngine`,
// then `SyncState`, `SyncFetch`, `SyncSend` and `SyncLedger`.

public import CumulusModel
import CumulusWire
import Synchronization

/// Keeps an app's copy of a private or shared database equal to the server's.
///
/// The app adds its changes to ``state``, gives the records when the engine asks for them, and
/// applies the events that its delegate gets. The engine decides when to sync, cuts requests to the
/// server's limits, keeps the change tokens, and retries after temporary errors. Its contract is
/// the one of CloudKit's `CKSyncEngine`. Use one engine for a database on a device.
///
/// ```swift
/// let configuration = SyncEngine.Configuration(
///     database: container.privateCloudDatabase,
///     stateSerialization: savedState,
///     delegate: app
/// )
/// let engine = SyncEngine(configuration)
/// engine.state.add(pendingRecordZoneChanges: [.saveRecord(note.recordID)])
/// ```
///
/// A save succeeds if the record did not change on the server (`ifServerRecordUnchanged`). The
/// default zone is not fetched: it keeps no changes. The engine stops when it is released.
///
/// It learns of changes by other devices as they are made: it saves a subscription to the database
/// and follows the container's feed (``Container/notifications(since:)``). If the server has no
/// feed, it asks every 30 seconds. If the server refuses that for good, because the access token is
/// not valid or there is no permission, the engine stops asking. ``fetchChanges(_:)`` throws the
/// error, and if nobody is signed in any more the delegate gets an account change. The first fetch
/// that succeeds makes the engine listen again.
public final class SyncEngine: Sendable {
    /// How an engine is set up.
    public struct Configuration: Sendable {
        /// The private or shared database to sync.
        public var database: Database
        /// The newest state that an earlier engine told to keep; nil for the first engine.
        public var stateSerialization: State.Serialization?
        /// Gets events and gives records; the engine keeps a weak reference.
        public var delegate: any SyncEngineDelegate
        /// Whether the engine syncs by itself; false means only when it is asked to.
        public var automaticallySync = true
        /// Id of the subscription that tells the engine of changes; nil means
        /// `cumulus-sync-engine`.
        ///
        /// The engine saves that subscription if the user has none with the id. An app that has its
        /// own subscription to all zones and record types of the database gives its id here.
        public var subscriptionID: Subscription.ID?
        /// The source of news; nil means the user's feed.
        package var news: (any SyncNews)?
        /// How often the server is asked if it has no feed.
        package var newsMilliseconds: Int64 = 30_000

        /// The configuration of an engine for a database and a delegate.
        public init(
            database: Database,
            stateSerialization: State.Serialization?,
            delegate: any SyncEngineDelegate
        ) {
            self.database = database
            self.stateSerialization = stateSerialization
            self.delegate = delegate
        }
    }

    private struct WeakDelegate: Sendable {
        weak var value: (any SyncEngineDelegate)?
    }

    /// The state that callers and the engine's task share.
    private struct Desk {
        var lastNumber = 0
        /// Callers of `fetchChanges` and `sendChanges`.
        var callers: [Int: CheckedContinuation<Void, any Error>] = [:]
        /// The call to the server that is under way, and the run that makes it.
        var call: (run: Int, task: Task<SyncState.Answer, Never>)?
        var work: Task<Void, Never>?
        /// Listens for news; nil if the server refused the database.
        var listening: Task<Void, Never>?
    }

    /// The database that is synced.
    public let database: Database
    /// The changes that wait to be sent and fetched.
    public let state: State
    private let delegate: WeakDelegate
    /// nil if the engine does nothing by itself.
    private let news: (any SyncNews)?
    private let desk = Mutex(Desk())

    private var environment: ClientEnvironment { database.core.environment }

    /// An engine that begins at once.
    public init(_ configuration: Configuration) {
        precondition(
            configuration.database.databaseScope != .public,
            "the public database keeps no changes: a sync engine needs a private or shared one"
        )
        database = configuration.database
        delegate = WeakDelegate(value: configuration.delegate)
        let isAutomatic = configuration.automaticallySync
        state = State(SyncState(configuration.stateSerialization, isAutomatic: isAutomatic))
        let feed = FollowedNews(
            database: database,
            subscriptionID: configuration.subscriptionID ?? FollowedNews.standardID,
            milliseconds: configuration.newsMilliseconds
        )
        news = isAutomatic ? configuration.news ?? feed : nil
        let environment = database.core.environment
        let state = state
        let work = Task(executorPreference: environment.executor) { [weak self] in
            while !Task.isCancelled {
                guard let pause = await self?.work() else { return }
                await state.bell.wait(milliseconds: pause.milliseconds, environment)
            }
        }
        desk.withLock { $0.work = work }
        listen()
    }

    deinit {
        desk.withLock { desk in
            desk.work?.cancel()
            desk.listening?.cancel()
        }
    }

    /// Begins to listen for news, unless the engine listens already.
    private func listen() {
        guard let news else { return }
        let state = state
        desk.withLock { desk in
            guard desk.listening == nil else { return }
            desk.listening = Task(executorPreference: environment.executor) { [weak self] in
                await news.follow { state.change { $0.hear() } }
                self?.desk.withLock { $0.listening = nil }
            }
        }
    }

    // MARK: Asking

    /// Fetches what changed on the server, at once; returns when the delegate has it.
    ///
    /// Do not await it in a method of the delegate.
    public func fetchChanges(_ options: FetchChangesOptions = .init()) async throws {
        try await perform(.fetch(options))
    }

    /// Sends what is pending, at once; returns when the delegate knows what became of it.
    ///
    /// Changes that the delegate adds again after a refusal wait for the next send. Do not await it
    /// in a method of the delegate.
    ///
    /// - Throws: `partialFailure` if changes were refused, with their errors in the events; or the
    ///   error that ended the send early: what was not sent stays pending.
    public func sendChanges(_ options: SendChangesOptions = .init()) async throws {
        try await perform(.send(options))
    }

    /// Ends the current fetch or send, and all waiting ones.
    ///
    /// Unsent changes stay pending. It returns at once; callers get `operationCancelled` when the
    /// delegate has the last event.
    public func cancelOperations() async {
        cancelCall(of: state.change { $0.cancelAll() })
    }

    private func perform(_ work: SyncState.Request.Work) async throws {
        let number = desk.withLock { desk in
            desk.lastNumber += 1
            return desk.lastNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { caller in
                desk.withLock { $0.callers[number] = caller }
                state.change { $0.request(number, work) }
                if Task.isCancelled { cancel(number) }
            }
        } onCancel: {
            cancel(number)
        }
    }

    private func cancel(_ number: Int) {
        cancelCall(of: state.change { $0.cancel(number) })
    }

    /// Cancels the call that is under way, if that run makes it.
    private func cancelCall(of run: Int?) {
        let call = desk.withLock { $0.call }
        if let call, call.run == run { call.task.cancel() }
    }

    // MARK: Working

    /// How long to wait for the bell; nil means until it rings.
    private struct Pause {
        var milliseconds: Int64?
    }

    /// Takes steps until there is nothing to do.
    private func work() async -> Pause {
        while true {
            let step = state.machine.withLock {
                $0.next(now: environment.now(), dice: environment.random)
            }
            switch step {
            case .wait(let time): return Pause(milliseconds: time.map { $0 - environment.now() })
            case .deliver(let event): await delegate.value?.handleEvent(event, syncEngine: self)
            case .chooseOptions(let context):
                let options = await delegate.value?.nextFetchChangesOptions(
                    context,
                    syncEngine: self
                )
                receive(.options(options ?? context.options))
            case .chooseBatch(let context):
                let batch = await delegate.value?.nextRecordZoneChangeBatch(
                    context,
                    syncEngine: self
                )
                receive(.batch(batch))
            case .call(let call): receive(await answer(to: call))
            case .finish(let number, let error):
                let caller = desk.withLock { $0.callers.removeValue(forKey: number) }
                if let error { caller?.resume(throwing: error) } else { caller?.resume() }
            }
        }
    }

    private func receive(_ answer: SyncState.Answer) {
        state.machine.withLock { $0.receive(answer) }
    }

    /// Makes a call, in a task that `cancelOperations` can cancel.
    private func answer(to call: SyncState.Call) async -> SyncState.Answer {
        let task = Task(executorPreference: environment.executor) { [database] in
            do {
                return try await database.answer(to: call)
            } catch {
                return SyncState.Answer.failed(ServiceError(any: error))
            }
        }
        let run = state.machine.withLock { $0.run }
        desk.withLock { $0.call = (run, task) }
        // `cancelOperations` may have come before the task was in the desk.
        if state.machine.withLock({ $0.isCancelled }) { task.cancel() }
        let answer = await task.value
        desk.withLock { $0.call = nil }
        // The server may have refused this before.
        if case .zones = answer { listen() }
        return answer
    }
}

extension Database {
    /// Makes a call of a sync engine.
    fileprivate func answer(to call: SyncState.Call) async throws -> SyncState.Answer {
        switch call {
        case .identify:
            let hello = try await core.hello()
            let user = hello.callerUser.isEmpty ? nil : hello.callerUser
            return .identity(user: user, SyncEngine.BatchLimits(hello.limits))
        case .databaseChanges(let token):
            let page = try await databaseChanges(since: token)
            return .zones(
                SyncState.DatabasePage(
                    modifications: page.modifications,
                    deletions: page.deletions,
                    token: page.changeToken,
                    moreComing: page.moreComing
                )
            )
        case .zoneChanges(let zone, let token): return try await changes(in: zone, since: token)
        case .modifyZones(let saves, let deletes):
            let results = try await modifyRecordZones(saving: saves, deleting: deletes)
            return .sentZones(
                SyncState.ZoneOutcome(
                    saves: saves.map { Database.outcome(results.saveResults[$0.zoneID]) },
                    deletes: deletes.map { Database.failure(results.deleteResults[$0]) }
                )
            )
        case .modifyRecords(let batch):
            let results = try await modifyRecords(
                saving: batch.recordsToSave,
                deleting: batch.recordIDsToDelete,
                atomically: batch.atomicByZone
            )
            return .sentRecords(
                SyncState.RecordOutcome(
                    saves: batch.recordsToSave.map { record in
                        Database.outcome(results.saveResults[record.recordID])
                    },
                    deletes: batch.recordIDsToDelete.map { id in
                        Database.failure(results.deleteResults[id])
                    }
                )
            )
        }
    }

    private func changes(
        in zone: RecordZone.ID,
        since token: ServerChangeToken?
    ) async throws -> SyncState.Answer {
        let page = try await recordZoneChanges(inZoneWith: zone, since: token)
        let records = page.modificationResultsByID.sorted { left, right in
            left.key.recordName < right.key.recordName
        }
        return .records(
            SyncState.ZonePage(
                modifications: records.compactMap { try? $0.value.get() },
                deletions: page.deletions,
                token: page.changeToken,
                moreComing: page.moreComing
            )
        )
    }

    private static func outcome<Value>(
        _ result: Result<Value, any Error>?
    ) -> Result<Value, ServiceError> {
        (result ?? .failure(missingResult)).mapError(ServiceError.init(any:))
    }

    private static func failure(_ result: Result<Void, any Error>?) -> ServiceError? {
        if case .failure(let error) = outcome(result) { error } else { nil }
    }
}

extension ServiceError {
    /// The error itself, or a service error in place of an error of another type.
    init(any error: any Error) {
        switch error {
        case let error as ServiceError: self = error
        case is CancellationError: self = SyncState.cancelled
        default: self.init(.internalError, "\(error)")
        }
    }
}
