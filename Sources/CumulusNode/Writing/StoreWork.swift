// Work for the writer: changes that callers ask for, and jobs of peers and of the node itself.
//
// Callers, peers and background tasks make it, `StoreGate` queues it, and `BatchWriter` runs it,
// without knowing which of these it is.

package import CumulusModel
package import CumulusOperations
package import CumulusStorage
package import CumulusWire

/// Something for the writer to do, and the receiver of its outcome.
package protocol WriterWork: AnyObject, Sendable {
    associatedtype Outcome: Sendable

    var kind: StoreGate.WorkKind { get }
    /// The terms of a caller's change; nil if no caller asked for the work.
    var terms: StoreGate.Terms? { get }

    /// Keys that the work will probably ask for, see `Change`.
    func likelyRows(
        in transaction: borrowing WriteTransaction
    ) throws(EngineError) -> [RowKey]

    /// Runs the work. Returns the answer, and whether what was written is to stay.
    func run(
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> (Result<Outcome, ServiceError>, keep: Bool)

    /// Leaves out of an answer the server's records for which there is no room.
    func limitShown(_ outcome: inout Outcome, to room: inout Int)

    /// Whether the outcome waits for other changes; if later work of the same batch may bring them,
    /// the work is run again.
    func waits(_ outcome: Outcome) -> Bool

    /// Delivers the answer, on the loop.
    func tell(_ answer: Result<Outcome, ServiceError>)
}

extension WriterWork {
    package func likelyRows(
        in transaction: borrowing WriteTransaction
    ) throws(EngineError) -> [RowKey] { [] }
}

extension StoreGate {
    /// What work needs, and whether others see its result.
    package enum WorkKind: Sendable {
        /// Work that brings in changes that others wait for, and needs room on the disk.
        case commits
        /// Work that brings in only deletes that others wait for.
        case deletes
        /// Work that concerns only this node.
        case housekeeping
        /// Work that concerns only this node, and needs room on the disk.
        case derived

        /// Whether such work is done while the disk has room for so much.
        func fits(_ room: DiskLevel) -> Bool {
            switch self {
            case .commits, .derived: room == .all
            case .deletes: room != .nothing
            case .housekeeping: true
            }
        }

        /// Whether others see the result.
        var isSeen: Bool { self == .commits || self == .deletes }
    }

    /// What decides, in the writer, whether a caller's change is made.
    package struct Terms: Sendable {
        let token: CallToken
        let requestID: RequestID?
        /// The scope that is changed; nil means all scopes.
        let scope: ScopeID?
        /// Whether even a read-only node makes the change.
        let isMadeReadOnly: Bool

        init<Asked: Change>(_ request: WriteRequest<Asked>, _ token: CallToken) {
            self.token = token
            requestID = request.asker.requestID
            scope = Asked.changesEveryScope ? nil : request.asker.scope
            isMadeReadOnly = Asked.isMadeReadOnly
        }
    }

    /// A change that a caller asks for.
    package final class Request<Asked: Change>: WriterWork {
        private let request: WriteRequest<Asked>
        private let token: CallToken
        /// Counts the bytes of the server's records in the answer until it has reached the loop;
        /// nil means that nobody counts them.
        private let room: ConnectionRoom?
        private let completion: @Sendable (Result<Asked.Outcome, ServiceError>) -> Void

        init(
            _ request: WriteRequest<Asked>,
            _ token: CallToken,
            in room: ConnectionRoom?,
            then completion: @escaping @Sendable (Result<Asked.Outcome, ServiceError>) -> Void
        ) {
            self.request = request
            self.token = token
            self.room = room
            self.completion = completion
        }

        /// - Parameter completion: Called once, when the change is durable or was refused.
        package convenience init(
            _ request: WriteRequest<Asked>,
            _ token: CallToken,
            then completion: @escaping @Sendable (Result<Asked.Outcome, ServiceError>) -> Void
        ) {
            self.init(request, token, in: nil, then: completion)
        }

        package var kind: WorkKind { request.change.onlyDeletes ? .deletes : .commits }
        package var terms: Terms? { Terms(request, token) }

        package func likelyRows(
            in transaction: borrowing WriteTransaction
        ) throws(EngineError) -> [RowKey] {
            try request.likelyRows(in: transaction)
        }

        package func run(
            in transaction: inout WriteTransaction
        ) throws(EngineError) -> (Result<Asked.Outcome, ServiceError>, keep: Bool) {
            try request.run(in: &transaction)
        }

        package func limitShown(_ outcome: inout Asked.Outcome, to bytes: inout Int) {
            Asked.limitShown(&outcome, to: &bytes) { room?.admit($0) ?? true }
        }

        package func waits(_ outcome: Asked.Outcome) -> Bool { false }

        package func tell(_ answer: Result<Asked.Outcome, ServiceError>) { completion(answer) }
    }

    /// A change that no caller asked for: of a peer, or of the node itself.
    package final class Job<Outcome: Sendable>: WriterWork {
        package let kind: WorkKind
        private let change: @Sendable (inout WriteTransaction) throws(EngineError) -> Outcome
        private let isWaiting: @Sendable (Outcome) -> Bool
        private let completion: @Sendable (Result<Outcome, ServiceError>) -> Void

        /// - Parameters:
        ///   - change: Runs in the writer; if it throws, what it wrote is undone.
        ///   - completion: Called once, when the change is durable or was refused.
        package init(
            _ kind: WorkKind,
            _ change: @escaping @Sendable (inout WriteTransaction) throws(EngineError) -> Outcome,
            waits isWaiting: @escaping @Sendable (Outcome) -> Bool = { _ in false },
            then completion: @escaping @Sendable (Result<Outcome, ServiceError>) -> Void
        ) {
            self.kind = kind
            self.change = change
            self.isWaiting = isWaiting
            self.completion = completion
        }

        package var terms: Terms? { nil }

        package func run(
            in transaction: inout WriteTransaction
        ) throws(EngineError) -> (Result<Outcome, ServiceError>, keep: Bool) {
            (.success(try change(&transaction)), true)
        }

        package func limitShown(_ outcome: inout Outcome, to room: inout Int) {}
        package func waits(_ outcome: Outcome) -> Bool { isWaiting(outcome) }
        package func tell(_ answer: Result<Outcome, ServiceError>) { completion(answer) }
    }

    /// Work in the writer's queue.
    package struct QueuedWrite: Sendable {
        package let work: any WriterWork
        package let byteCount: Int
        package let loop: any FrameLoop

        package init(_ work: any WriterWork, byteCount: Int, loop: any FrameLoop) {
            self.work = work
            self.byteCount = byteCount
            self.loop = loop
        }

        /// A report that the work was refused.
        func refusal(_ error: ServiceError) -> Report { Self.refusal(of: work, error) }

        private static func refusal(of work: some WriterWork, _ error: ServiceError) -> Report {
            { work.tell(.failure(error)) }
        }
    }

    /// Tells the receiver of some work how it ended.
    typealias Report = @Sendable () -> Void
}
