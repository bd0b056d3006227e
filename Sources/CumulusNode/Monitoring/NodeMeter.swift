// Counters of a node: for its status, for `/metrics`, and for the bound on the bytes of all
// connections together.
//
// Written by sessions, the writer and the readers from their own threads. Events go through handles
// of swift-metrics, to a registry of the node's own and to the embedder's factory where there is
// one. Numbers that decide what the node does are plain atomics here.
//
// Folder: what a node measures, and how monitoring reads it. Read `NodeMeter`, then `CallMeter` and
// `MetricCells`, which are hot; `PrometheusRegistry` keeps what is recorded, `Node+Metrics` lists
// the other metrics, `MetricsText` writes them down, and `JSONLogHandler` writes log lines.

package import CoreMetrics
import CumulusModel
package import Synchronization

package final class NodeMeter: Sendable {
    /// All events.
    let registry = PrometheusRegistry([
        .callsStarted, .callsEnded, .callTimes, .commits, .flushes, .flushTimes, .engineCalls,
        .damagedRows, .receivedCommits, .notifications,
    ])

    package let connections = Atomic<Int>(0)
    /// Connections that doors in this process opened; they count above, too.
    let localConnections = Atomic<Int>(0)
    /// Calls that began.
    package let calls: EventCount
    package let callsInProgress = Atomic<Int>(0)
    /// Calls that ended.
    let endedCalls: CallMeter
    /// Bytes of requests in progress and of untaken answers, over all connections.
    package let heldBytes = Atomic<Int>(0)
    package let commits: EventCount
    package let flushes: EventCount
    /// Rows of all batches that the engine took, deletions included.
    ///
    /// A range that is deleted does not count.
    package let rows = Atomic<Int>(0)
    /// Bytes of the rows' keys and values.
    package let rowBytes = Atomic<Int>(0)
    let flushTimes: Timer
    /// The longest time in which the writer worked on a batch, in microseconds, without waiting for
    /// flushes: other writes wait meanwhile.
    package let longestTurn = Atomic<Int>(0)
    /// Commits that peers sent, including commits that were here already.
    package let receivedCommits: EventCount
    /// By peer, the age of its newest commit when one last arrived, in milliseconds.
    let delays = Mutex<[Bytes: Int64]>([:])
    /// Calls that reached the engine: reads begun and writes run.
    package let engineCalls: EventCount
    /// Streams that callers follow: changes and feeds.
    let followers = Atomic<Int>(0)
    /// Notifications that went to devices which follow their feeds.
    let notifications: EventCount

    /// Rows that were found damaged since the start; some of them more than once.
    package let damagedRows: EventCount

    /// Snapshots that are open for peers that take this node's state, or may go on with it.
    package let statesHandedOver = Atomic<Int>(0)

    /// - Parameter other: Gets all events, too.
    package init(telling other: (any MetricsFactory)? = nil) {
        let factory = registry.and(other)
        calls = EventCount(.callsStarted, registry, factory)
        endedCalls = CallMeter(factory)
        commits = EventCount(.commits, registry, factory)
        flushes = EventCount(.flushes, registry, factory)
        flushTimes = Timer(label: MetricDescription.flushTimes.name, factory: factory)
        engineCalls = EventCount(.engineCalls, registry, factory)
        damagedRows = EventCount(.damagedRows, registry, factory)
        receivedCommits = EventCount(.receivedCommits, registry, factory)
        notifications = EventCount(.notifications, registry, factory)
    }
}

/// An event that is counted, and whose count the node reads for its status.
package struct EventCount: Sendable {
    private let counter: Counter
    private let cell: CountCell

    /// - Parameter factory: Makes its handles in the registry, or there and elsewhere.
    fileprivate init(
        _ description: MetricDescription,
        _ registry: PrometheusRegistry,
        _ factory: any MetricsFactory
    ) {
        counter = Counter(label: description.name, factory: factory)
        cell = registry.count(description.name)
    }

    package func add(_ amount: Int) { counter.increment(by: amount) }

    package var value: Int { cell.value }
}

extension MetricDescription {
    static let callsStarted = MetricDescription(
        "cumulus_calls_started_total",
        .counter,
        "Calls that began."
    )
    static let callsEnded = MetricDescription(
        "cumulus_calls_total",
        .counter,
        "Calls that ended, by method and code; the code of answered calls is ok."
    )
    static let callTimes = MetricDescription(
        "cumulus_call_duration_seconds",
        .histogram,
        "Time from a call's first frame to its last, without streams that callers follow."
    )
    fileprivate static let commits = MetricDescription(
        "cumulus_commits_total",
        .counter,
        "Changes that are durable: requests, and messages with commits of other nodes."
    )
    fileprivate static let flushes = MetricDescription(
        "cumulus_flushes_total",
        .counter,
        "Batches of commits that were flushed to disk."
    )
    fileprivate static let flushTimes = MetricDescription(
        "cumulus_flush_duration_seconds",
        .histogram,
        "Time of a flush to disk; all changes of a batch wait for one."
    )
    fileprivate static let engineCalls = MetricDescription(
        "cumulus_engine_calls_total",
        .counter,
        "Reads and writes that reached the store."
    )
    fileprivate static let damagedRows = MetricDescription(
        "cumulus_damaged_rows_total",
        .counter,
        "Rows that were found damaged."
    )
    fileprivate static let receivedCommits = MetricDescription(
        "cumulus_received_commits_total",
        .counter,
        "Commits that other nodes sent."
    )
    fileprivate static let notifications = MetricDescription(
        "cumulus_notifications_total",
        .counter,
        "Notifications that went to devices which follow their feeds."
    )
}

/// Adding and reading counters, in one order for everybody.
extension Atomic where Value == Int {
    package func add(_ amount: Int) {
        wrappingAdd(amount, ordering: .relaxed)
    }

    package var value: Int { load(ordering: .relaxed) }
}
