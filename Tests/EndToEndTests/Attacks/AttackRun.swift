// The threads of one attack, which go on until they are told to end.
//
// Begun and ended by `BesideAttacksTests`; what the threads do stands in `Attack`. Each thread has
// connections of its own, and opens a new one when the node closed one. The attackers share two
// processors with the node and with the user beside them, so they pause after each refusal. All
// threads are over when `end` returns; it waits for what each of them is doing.

import CumulusModel
import CumulusTesting
import CumulusWire
import Foundation
import Synchronization

final class AttackRun: Sendable {
    /// What one thread does; it returns once `isOver`.
    typealias Work = @Sendable (AttackRun) -> Void

    /// What became of the attackers' calls.
    struct Counts: Sendable {
        var answered = 0
        /// The node answered with an error.
        var refused = 0
        /// The connection ended, or no answer came in time.
        var broken = 0

        static func + (left: Counts, right: Counts) -> Counts {
            Counts(
                answered: left.answered + right.answered,
                refused: left.refused + right.refused,
                broken: left.broken + right.broken
            )
        }
    }

    private struct State {
        var isOver = false
        var counts = Counts()
    }

    /// The longest wait of an attacker for one answer, in milliseconds.
    static let patience: Int32 = 2_000
    /// Seconds that an attacker waits after a refusal.
    private static let pause = 0.001
    /// Seconds that it waits before it connects again.
    private static let pauseBeforeConnecting = 0.02

    private let state = Mutex(State())
    private let finished = DispatchSemaphore(value: 0)
    private let threads: Int

    init(_ works: [Work]) {
        threads = works.count
        for work in works {
            Thread.detachNewThread { [self] in
                work(self)
                finished.signal()
            }
        }
    }

    /// Ends all of them together, and returns what became of their calls.
    static func end(_ runs: [AttackRun]) -> Counts {
        for run in runs { run.state.withLock { $0.isOver = true } }
        for run in runs {
            for _ in 0..<run.threads { run.finished.wait() }
        }
        return runs.reduce(Counts()) { sum, run in sum + run.state.withLock { $0.counts } }
    }

    var isOver: Bool { state.withLock { $0.isOver } }

    // MARK: What the threads do

    /// Repeats a turn until the attack ends, and counts what became of each.
    func repeatTurns(_ turn: () throws -> Void) {
        while !isOver {
            do {
                try turn()
                count { $0.answered += 1 }
            } catch is ServiceError {
                count { $0.refused += 1 }
                Thread.sleep(forTimeInterval: AttackRun.pause)
            } catch {
                count { $0.broken += 1 }
                Thread.sleep(forTimeInterval: AttackRun.pauseBeforeConnecting)
            }
        }
    }

    /// Repeats a turn on one connection, and on a new one when that broke.
    func repeatTurns(
        on connect: () throws -> RawClient,
        _ turn: (RawClient) throws -> Void
    ) {
        var client: RawClient?
        repeatTurns {
            let open = try client ?? AttackRun.open(connect)
            client = open
            do {
                try turn(open)
            } catch let failure as RawClient.Failure {
                client = nil
                throw failure
            }
        }
    }

    /// Connects; a greeting that the node refuses counts as a broken connection.
    private static func open(_ connect: () throws -> RawClient) throws -> RawClient {
        do {
            return try connect()
        } catch {
            throw RawClient.Failure.closed
        }
    }

    private func count(_ change: (inout Counts) -> Void) {
        state.withLock { change(&$0.counts) }
    }

    /// Keeps so many calls in progress on a connection until the attack ends.
    func keepBusy(
        _ most: Int,
        on connect: () throws -> RawClient,
        _ method: Method,
        _ message: Bytes
    ) {
        repeatTurns(on: connect) { client in
            func sendOne() throws {
                let id = method == .recordsModify ? RawRequest.newID() : []
                try client.send(client.call(method, message, requestID: id))
            }
            for _ in 0..<most { try sendOne() }
            while !isOver {
                guard let end = try nextEnd(on: client) else { continue }
                if end.kind == .status {
                    count { $0.refused += 1 }
                    Thread.sleep(forTimeInterval: AttackRun.pause)
                } else {
                    count { $0.answered += 1 }
                }
                try sendOne()
            }
        }
    }

    /// Waits for the frame that ends a call; returns nil if no frame comes within 200 ms.
    private func nextEnd(on client: RawClient) throws -> Frame? {
        do {
            let frame = try client.nextFrame(within: 200)
            return frame.isEnd && frame.stream != 0 ? frame : nil
        } catch RawClient.Failure.silence {
            return nil
        }
    }
}
