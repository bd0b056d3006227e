// What a node counts: for its status, for `/metrics`, and for the bound on bytes that all
// connections together may hold.
//
// Written by sessions, the writer and the readers from their own threads.
//
// Folder: what a node measures, and how monitoring reads it. Read `NodeMeter`, then `CallMeter` and
// `Counters`, which are hot; `Node+Metrics` lists every metric, `MetricsText` writes them down, and
// `JSONLogHandler` writes log lines.

import CumulusModel
package import Synchronization

package final class NodeMeter: Sendable {
    package let connections = Atomic<Int>(0)
    /// Calls that began.
    package let calls = Atomic<Int>(0)
    package let callsInProgress = Atomic<Int>(0)
    /// Calls that ended.
    let endedCalls = CallMeter()
    /// Bytes of requests in progress and of answers that nobody took yet, over all connections.
    package let heldBytes = Atomic<Int>(0)
    package let commits = Atomic<Int>(0)
    package let flushes = Atomic<Int>(0)
    /// Rows of all batches that the engine took, deletions included.
    ///
    /// A range that is deleted does not count.
    package let rows = Atomic<Int>(0)
    /// Of their keys and values.
    package let rowBytes = Atomic<Int>(0)
    let flushTimes = TimeHistogram()
    /// Microseconds that the writer was at work on a batch at most, without waiting for flushes:
    /// meanwhile nobody else writes.
    package let longestTurn = Atomic<Int>(0)
    /// Commits that peers sent, also those that were here already.
    package let receivedCommits = Atomic<Int>(0)
    /// By peer, the age in milliseconds that its newest commit had when it arrived here last.
    let delays = Mutex<[Bytes: Int64]>([:])
    /// Calls that reached the engine: reads begun and writes run.
    package let engineCalls = Atomic<Int>(0)
    /// Streams that callers follow: changes and feeds.
    let followers = Atomic<Int>(0)
    /// Notifications that went to devices which follow their feeds.
    let notifications = Atomic<Int>(0)

    /// Rows that were found damaged since the start; some of them more than once.
    package let damagedRows = Atomic<Int>(0)

    /// Snapshots that are open for peers that take this node's state, or may go on with it.
    package let statesHandedOver = Atomic<Int>(0)

    package init() {}
}

/// Adding and reading counters, in one order for everybody.
extension Atomic where Value == Int {
    package func add(_ amount: Int) {
        wrappingAdd(amount, ordering: .relaxed)
    }

    package var value: Int { load(ordering: .relaxed) }
}
