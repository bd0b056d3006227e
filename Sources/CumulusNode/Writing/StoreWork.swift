// What waits for the writer: requests of callers, and jobs of peers and of the node itself.
//
// Made by callers, peers and background tasks, queued by `StoreGate`, done by `BatchWriter`.

package import CumulusModel
package import CumulusOperations
package import CumulusStorage
package import CumulusWire

extension StoreGate {
    package typealias Answer = Result<WriteRequest.Answer, ServiceError>

    /// What the writer is to do, and whom it tells, on the loop.
    package enum Work: Sendable {
        case request(WriteRequest, CallToken, @Sendable (Answer) -> Void)
        case job(Job)

        /// The same, with what its caller showed: the writer judges that again.
        func showing(_ credential: Credential?) -> Work {
            guard case .request(var request, let token, let completion) = self else { return self }
            request.credential = credential
            return .request(request, token, completion)
        }
    }

    /// A change that no client asked for: of a peer, or of the node itself.
    package struct Job: Sendable {
        package enum Kind: Sendable {
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

        let kind: Kind
        let run: @Sendable (inout WriteTransaction) throws(EngineError) -> Progress
        let refuse: @Sendable (ServiceError) -> Void

        /// - Parameters:
        ///   - change: Run in the writer; what it threw after is undone.
        ///   - waits: Whether what came of it waits for other changes: if some of the same batch
        ///     come behind it, it is run again.
        ///   - completion: Called once, when the change is durable or was refused.
        package init<Value: Sendable>(
            _ kind: Kind,
            _ change: @escaping @Sendable (inout WriteTransaction) throws(EngineError) -> Value,
            waits: @escaping @Sendable (Value) -> Bool = { _ in false },
            then completion: @escaping @Sendable (Result<Value, ServiceError>) -> Void
        ) {
            self.kind = kind
            run = { (transaction: inout WriteTransaction) throws(EngineError) in
                let value = try change(&transaction)
                return ({ completion(.success(value)) }, waits(value))
            }
            refuse = { completion(.failure($0)) }
        }
    }

    /// Work on its way to the writer.
    package struct QueuedWrite: Sendable {
        package var work: Work
        package var byteCount: Int
        package var loop: any FrameLoop
        /// Whether its answer may show so many bytes of the server's records; who says so counts
        /// them until the answer has come to the loop.
        package var admits: @Sendable (Int) -> Bool

        package init(
            _ work: Work,
            byteCount: Int,
            loop: any FrameLoop,
            admits: @escaping @Sendable (Int) -> Bool = { _ in true }
        ) {
            self.work = work
            self.byteCount = byteCount
            self.loop = loop
            self.admits = admits
        }

        /// Tells that it was not done.
        func refusal(_ error: ServiceError) -> Report {
            switch work {
            case .request(_, _, let completion): { completion(.failure(error)) }
            case .job(let job): { job.refuse(error) }
            }
        }
    }

    /// Tells somebody how it went.
    typealias Report = @Sendable () -> Void
    typealias Progress = (report: Report, waits: Bool)
}
