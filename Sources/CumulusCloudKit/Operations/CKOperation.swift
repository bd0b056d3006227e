// The common base of operations: their life in a queue, settings, and how they end.
//
// A subclass overrides `run`, which does the work and calls the blocks of single items, and
// `conclude`, which calls the block of the whole. Both are called in one task, one after the other,
// so that an operation's blocks never run at the same time.
//
// Folder: operations. Read `CKOperation`, then `CKOperationConfiguration`, `CKDatabaseOperation`
// and one of the others, such as `CKModifyRecordsOperation`.

internal import Cumulus
public import Foundation
internal import Synchronization

/// A call to the server that is put together first and run by a queue.
open class CKOperation: Operation, @unchecked Sendable {
    /// Names an operation.
    public typealias ID = String
    /// How an operation is carried out.
    public typealias Configuration = CKOperationConfiguration

    private enum Stage {
        case new
        case executing
        case finished
    }

    private struct Life {
        var stage = Stage.new
        var task: Task<Void, Never>?
    }

    private let life = Mutex(Life())

    /// Names this operation.
    public let operationID: ID = UUID().uuidString
    @_Guarded private var ownConfiguration = Configuration()
    /// The group that the operation belongs to.
    @_Guarded public var group: CKOperationGroup? = nil
    /// Called when a long-lived operation begins.
    ///
    /// Operations end with their process: nothing keeps them longer on this system.
    @_Block
    public var longLivedOperationWasPersistedBlock: (() -> Void)? = nil

    /// An operation without inputs.
    public override init() {}

    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    /// How this operation is carried out.
    ///
    /// The operation keeps a copy of what is set; nil sets the standard configuration.
    public var configuration: Configuration! {
        get { ownConfiguration }
        set { ownConfiguration = newValue?.completed(by: nil) ?? Configuration() }
    }

    // MARK: - For subclasses

    /// Does the work.
    func run() async throws {}

    /// Tells how the work ended: the last block of the operation.
    func conclude(_ error: CKError?) {}

    /// How calls are made.
    var settings: CallSettings {
        var settings = CallSettings(ownConfiguration, group)
        // The queue's own property counts too.
        if settings.qualityOfService == .default {
            settings.qualityOfService = qualityOfService
        }
        return settings
    }

    /// The container that the operation was added to.
    @_Guarded var home: CKContainer? = nil

    /// The container that the operation uses.
    var usedContainer: CKContainer {
        ownConfiguration.container ?? home ?? CKContainer.default()
    }

    /// Whether the operation has been started.
    var isStarted: Bool { life.withLock { $0.stage != .new } }

    // MARK: - Life

    /// True.
    open override var isAsynchronous: Bool { true }

    /// Whether the operation runs.
    open override var isExecuting: Bool { life.withLock { $0.stage == .executing } }

    /// Whether the operation has ended, and all its blocks were called.
    open override var isFinished: Bool { life.withLock { $0.stage == .finished } }

    /// Begins; called by the queue.
    open override func start() {
        let isFirst = life.withLock { life in
            guard life.stage == .new else { return false }
            life.stage = .executing
            return true
        }
        guard isFirst else { return }
        didChangeValue(forKey: "isExecuting")
        let task = Task(priority: settings.priority) { await work() }
        life.withLock { $0.task = task }
        // `cancel` may have come before the task was there.
        if isCancelled { task.cancel() }
    }

    /// Ends the operation early: it fails with `operationCancelled`.
    open override func cancel() {
        super.cancel()
        life.withLock { $0.task }?.cancel()
    }

    private func work() async {
        let isLongLived = ownConfiguration.isLongLived
        if isLongLived { LongLivedOperations.begin(self) }
        var failure: CKError?
        do {
            if isCancelled { throw CancellationError() }
            if isLongLived { longLivedOperationWasPersistedBlock?() }
            try await run()
        } catch {
            failure = CKError(any: error)
        }
        conclude(failure)
        if isLongLived { LongLivedOperations.end(self) }
        life.withLock { life in
            life.stage = .finished
            life.task = nil
        }
        didChangeValue(forKey: "isExecuting")
        didChangeValue(forKey: "isFinished")
    }
}

// The old places of what the configuration holds.
extension CKOperation {
    /// See `CKOperation.Configuration`.
    public var container: CKContainer? {
        get { configuration.container }
        set { configuration.container = newValue }
    }

    /// See `CKOperation.Configuration`.
    public var isLongLived: Bool {
        get { configuration.isLongLived }
        set { configuration.isLongLived = newValue }
    }

    /// See `CKOperation.Configuration`.
    public var allowsCellularAccess: Bool {
        get { configuration.allowsCellularAccess }
        set { configuration.allowsCellularAccess = newValue }
    }

    /// See `CKOperation.Configuration`.
    public var timeoutIntervalForRequest: TimeInterval {
        get { configuration.timeoutIntervalForRequest }
        set { configuration.timeoutIntervalForRequest = newValue }
    }

    /// See `CKOperation.Configuration`.
    public var timeoutIntervalForResource: TimeInterval {
        get { configuration.timeoutIntervalForResource }
        set { configuration.timeoutIntervalForResource = newValue }
    }
}

/// The long-lived operations of this process that have not ended.
enum LongLivedOperations {
    private static let running = Mutex<[CKOperation.ID: CKOperation]>([:])

    static func begin(_ operation: CKOperation) {
        running.withLock { $0[operation.operationID] = operation }
    }

    static func end(_ operation: CKOperation) {
        running.withLock { $0[operation.operationID] = nil }
    }

    /// Lists the running operations of a container, in the order of their ids.
    static func all(of client: ContainerClient) -> [CKOperation] {
        running.withLock { Array($0.values) }
            .filter { $0.isOf(client) }
            .sorted { $0.operationID < $1.operationID }
    }
}
