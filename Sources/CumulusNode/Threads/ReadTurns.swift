// Reads that wait for a reader thread, in which callers take turns, however many reads each of them
// has waiting.
//
// `StoreGate` fills and empties it. One caller never keeps all threads: another caller's next read
// finds a free thread. All callers without a token count as one. A long read is cut into turns by
// its code, and each turn queues behind the others' reads.

import CumulusModel
import CumulusOperations
import CumulusSystem

/// The caller for whom something is read.
enum ReadCaller: Hashable, Sendable {
    /// The node itself, and other nodes.
    case node
    case operators
    case user(Bytes)
    case anonymous
}

extension Identity {
    var readCaller: ReadCaller {
        if isPeer { return .node }
        return switch caller.role {
        case .operator: .operators
        case .user(let name), .server(let name): .user(account ?? Bytes(name.utf8))
        case .anonymous: .anonymous
        }
    }
}

final class ReadTurns: @unchecked Sendable {
    typealias Work = @Sendable () -> Void

    /// The reads of one caller.
    ///
    /// To add or to take a read moves no other one: a save may wake thousands of streams.
    private struct Line {
        /// Reads that came last, the first of them first.
        private var new: [Work] = []
        /// Reads that came before these, the first of them last.
        private var old: [Work] = []
        /// Reads that threads are doing.
        var running = 0

        var count: Int { new.count + old.count }

        mutating func append(_ work: @escaping Work) { new.append(work) }

        /// Takes the read that came first; nil if none waits.
        mutating func take() -> Work? {
            if old.isEmpty {
                old = new.reversed()
                new = []
            }
            return old.popLast()
        }
    }

    // All is touched only under `condition`.
    private let condition = Condition()
    private var lines: [ReadCaller: Line] = [:]
    /// Callers with reads that wait, the one whose turn is next first.
    private var turns: [ReadCaller] = []
    private var waiting = 0
    private var isClosed = false
    /// Threads that one caller may keep at a time.
    private var mostRunning = Int.max
    private let capacity: Int

    /// - Parameter capacity: Reads that wait; one caller may have half of them.
    init(capacity: Int) {
        self.capacity = capacity
    }

    /// Says how many threads take reads: one of them stays for other callers.
    func expect(threads: Int) {
        condition.lock()
        mostRunning = max(1, threads - 1)
        condition.unlock()
    }

    /// Returns false if too many wait, or the queue is closed.
    func append(_ work: @escaping Work, for caller: ReadCaller) -> Bool {
        condition.lock()
        defer { condition.unlock() }
        let own = lines[caller]?.count ?? 0
        let isFull = waiting >= capacity || own >= max(1, capacity / 2)
        guard !isClosed, !isFull else { return false }
        if own == 0 { turns.append(caller) }
        lines[caller, default: Line()].append(work)
        waiting += 1
        condition.signal()
        return true
    }

    /// Waits for a read and does it.
    ///
    /// Returns false when the queue is closed and empty.
    func run() -> Bool {
        guard let (work, caller) = take() else { return false }
        work()
        end(caller)
        return true
    }

    private func take() -> (work: Work, caller: ReadCaller)? {
        condition.lock()
        defer { condition.unlock() }
        while true {
            if let next = turns.firstIndex(where: { lines[$0]?.running ?? 0 < mostRunning }) {
                return take(at: next)
            }
            if isClosed, waiting == 0 { return nil }
            condition.wait()
        }
    }

    private func take(at index: Int) -> (work: Work, caller: ReadCaller)? {
        let caller = turns.remove(at: index)
        // In place: a copy of the line is a copy of all that waits in it.
        guard let work = lines[caller]?.take() else { return nil }
        lines[caller]?.running += 1
        waiting -= 1
        if lines[caller]?.count != 0 { turns.append(caller) }
        return (work, caller)
    }

    private func end(_ caller: ReadCaller) {
        condition.lock()
        defer { condition.unlock() }
        lines[caller]?.running -= 1
        if lines[caller]?.running == 0, lines[caller]?.count == 0 { lines[caller] = nil }
        // A thread may wait because this caller had enough of them.
        if waiting > 0 || isClosed { condition.signal() }
    }

    var isEmpty: Bool { count == 0 }

    var count: Int {
        condition.lock()
        defer { condition.unlock() }
        return waiting
    }

    /// No further reads; what waits is still done.
    func close() {
        condition.lock()
        isClosed = true
        condition.broadcast()
        condition.unlock()
    }
}
