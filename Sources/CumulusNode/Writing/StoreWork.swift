// What waits for the writer: changes that callers ask for, and jobs of peers and of the node
// itself.
//
// Made by callers, peers and background tasks, queued by `StoreGate`, done by `BatchWriter`, which
// asks each the same questions.

package import CumulusModel
package import CumulusOperations
package import CumulusStorage
package import CumulusWire

/// Something for the writer to do, and whom it tells.
package protocol WriterWork: AnyObject, Sendable {
    associatedtype Outcome: Sendable

    var kind: StoreGate.WorkKind { get }
    /// nil means that no caller asked for it.
    var terms: StoreGate.Terms? { get }

    /// Does it; the answer, and whether what was written is to stay.
    func run(
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> (Result<Outcome, ServiceError>, keep: Bool)

    /// Leaves out what its answer shows of the server's records beyond what there is room for.
    func limitShown(_ outcome: inout Outcome, to room: inout Int)

    /// Whether what came of it waits for other changes: if some of the same batch come behind it,
    /// it is run again.
    func waits(_ outcome: Outcome) -> Bool

    /// Tells how it went, on the loop.
    func tell(_ answer: Result<Outcome, ServiceError>)
}

extension StoreGate {
    /// What work needs, and who sees what comes of it.
    package enum WorkKind: Sendable {
        /// Brings in what others wait for, and needs room on the disk.
        case commits
        /// Brings in nothing but deletes that others wait for.
        case deletes
        /// Concerns this node alone.
        case housekeeping
        /// So does this, and needs room on the disk.
        case derived

        /// Whether it is done on a disk with room for so much.
        func fits(_ room: DiskLevel) -> Bool {
            switch self {
            case .commits, .derived: room == .all
            case .deletes: room != .nothing
            case .housekeeping: true
            }
        }

        /// Whether others see a difference.
        var isSeen: Bool { self == .commits || self == .deletes }
    }

    /// What decides in its turn whether a change that a caller asks for is made.
    package struct Terms: Sendable {
        let token: CallToken
        let requestID: RequestID?
        /// nil means that it changes all scopes.
        let scope: ScopeID?
        /// A node that only shows what it has makes it, too.
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
        /// Counts what its answer shows of the server's records until that has come to the loop;
        /// nil: nobody does.
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
        ///   - change: Run in the writer; what it threw after is undone.
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

    /// Work on its way to the writer.
    package struct QueuedWrite: Sendable {
        package let work: any WriterWork
        package let byteCount: Int
        package let loop: any FrameLoop

        package init(_ work: any WriterWork, byteCount: Int, loop: any FrameLoop) {
            self.work = work
            self.byteCount = byteCount
            self.loop = loop
        }

        /// Tells that it was not done.
        func refusal(_ error: ServiceError) -> Report { Self.refusal(of: work, error) }

        private static func refusal(of work: some WriterWork, _ error: ServiceError) -> Report {
            { work.tell(.failure(error)) }
        }
    }

    /// Tells somebody how it went.
    typealias Report = @Sendable () -> Void
}
