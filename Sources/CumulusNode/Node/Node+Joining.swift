// How a new node joins its cluster: until it has taken a state it refuses clients, because records
// that it lacks would look to them as if they had never existed.
//
// The store remembers that the node joins, so a killed node still knows after its restart. Peers
// and operators are let in: the node needs the peers, and operators may have to help. `PeerLinks`
// runs it; `CatchUp` knows when it is over.
//
// A node that begins with a backup serves clients. It begins no counters until it holds what
// another node held when they met, or is the only listed member: see `SavePlanner`. Before the
// backup it may have reported the end of a counter, and the others may have forgotten that end
// since. A counter begun now would be another life for each of them.

import CumulusModel
import CumulusOperations
import CumulusStorage
import Logging
import Synchronization

extension Node {
    /// What this node waits for before it lets clients in; empty if it lets them in.
    package var notReady: String { catchUp.isJoining ? catchUp.wait : "" }

    /// Why clients are refused while this node joins; nil means it has taken a state.
    ///
    /// The text names no other node, since any caller may see it.
    var joiningRefusal: ServiceError? {
        catchUp.isJoining ? Node.notReadyYet(details: "") : nil
    }

    /// The same for a greeted caller; an operator is told what this node waits for.
    func refusalWhileJoining(of caller: Caller) -> ServiceError? {
        guard catchUp.isJoining else { return nil }
        return Node.notReadyYet(details: caller.role == .operator ? ": \(catchUp.wait)" : "")
    }

    private static func notReadyYet(details: String) -> ServiceError {
        var error = ServiceError(
            .serviceUnavailable,
            .nodeBehind,
            """
            this node is new and has not taken its cluster's state yet\(details); use another \
            node, or try again
            """
        )
        error.retryAfterMilliseconds = joiningRetryMilliseconds
        return error
    }

    /// The status with which a node that became ready closes its peers' connections.
    static let isReadyNow = ServiceError(
        .serviceUnavailable,
        "this node has taken its cluster's state and is ready: connect again"
    )

    private static let joiningRetryMilliseconds: UInt32 = 1_000

    /// Waits until this node has taken a state, and lets clients in.
    ///
    /// Returns false if the task is cancelled before.
    func finishJoining() async -> Bool {
        var pause = LookPause()
        while catchUp.isJoining {
            if await hasCaughtUp(noting: { $0.put(.joining, nil) }) {
                catchUp.endJoining()
                environment.logger.info("this node has taken its cluster's state and is ready")
                meetPeersAgain()
                return true
            }
            try? await environment.sleep(pause.next(after: waitNews))
            if Task.isCancelled { return false }
        }
        return true
    }

    /// Asks peers that join too how far they are by now; while this node has no better one.
    func askNewcomersAgain() {
        guard catchUp.isJoining else { return }
        for peer in catchUp.undecided {
            let connection = connections.withLock { $0[peer]?.connection }
            connection?.stop("that node was joining too, and is asked again")
        }
    }

    /// Waits until this node has caught up with another one, or no other one is listed, if it began
    /// with a backup.
    func finishRestore() async {
        guard isRestored else { return }
        var pause = LookPause()
        while !Task.isCancelled {
            if await hasCaughtUp(orIsAlone: true, noting: { $0.endRestore() }) {
                return environment.logger.info(
                    "this node began with a backup and begins counters from now on"
                )
            }
            try? await environment.sleep(pause.next(after: waitNews))
        }
    }

    /// Numbers, at least one of which changes when this node may have got what it waits for.
    ///
    /// Without a peer, commits bring nothing that it waits for.
    private var waitNews: [UInt64] {
        let heard = catchUp.heard
        return [heard.news, heard.hasPeers ? gate.visible.versioned.version : 0]
    }

    /// Whether this node has what another one held when they met, and that is written down.
    ///
    /// - Parameter orIsAlone: It is enough that no other member is listed.
    private func hasCaughtUp(
        orIsAlone: Bool = false,
        noting note: @escaping @Sendable (inout WriteTransaction) throws(EngineError) -> Void
    ) async -> Bool {
        let isOver = try? await gate.reading(.prompt) { [catchUp, nodeID] reader -> Bool in
            if orIsAlone, try Members.others(than: nodeID, in: reader).isEmpty { return true }
            return try catchUp.hasCaughtUp(reader, of: nodeID)
        }
        guard isOver == true else { return false }
        let written: Void? = try? await gate.change(.housekeeping, note)
        return written != nil
    }
}

/// The pauses between looks whether this node may go on: short after news, and longer without.
struct LookPause {
    private static let shortest: Int64 = 50
    private static let longest: Int64 = 500

    private var milliseconds = LookPause.shortest
    private var news: [UInt64] = []

    /// Returns how long to wait, in milliseconds.
    ///
    /// - Parameter news: Numbers, at least one of which has changed if there is something new to
    ///   look at.
    mutating func next(after news: [UInt64]) -> Int64 {
        let isNews = news != self.news
        milliseconds = isNews ? LookPause.shortest : min(2 * milliseconds, LookPause.longest)
        self.news = news
        return milliseconds
    }
}
