// Fetches from other nodes the bytes that this one lacks of assets that its records name: by
// itself, in the background, and at once if a caller waits.
//
// It runs beside the links to peers. In the background small assets are fetched concurrently, and
// large ones beside them, one after the other. Rows of the store say which assets are wanted
// (`wantedAsset`), so a restart forgets nothing. A failed fetch is repeated after a growing pause.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire
import Synchronization

/// An asset of a database of this node.
struct AssetKey: Hashable, Sendable {
    let database: DatabaseNumber
    let asset: Bytes
}

/// The name of a database on other nodes.
struct ScopedDatabase: Hashable, Sendable {
    let scope: ScopeID
    let database: DatabaseID
}

/// The assets that callers wait for, and the results of earlier tries; shared by sessions and the
/// fetcher.
final class AssetDemand: Sendable {
    private struct State {
        /// Fetches that are running, and whether a caller waits for them.
        var running: [AssetKey: Bool] = [:]
        var failures: [AssetKey: Failure] = [:]
        /// The databases behind the numbers, which never change.
        var names: [DatabaseNumber: ScopedDatabase] = [:]
    }

    private struct Failure {
        var when: Instant
        var pause: Int64
    }

    private static let firstPause: Int64 = 1_000
    private static let longestPause: Int64 = 30_000
    /// Failures that are remembered; with one more, another one is forgotten.
    private static let mostFailures = 10_000

    private let state = Mutex(State())
    let calls: AsyncStream<AssetKey>
    private let source: AsyncStream<AssetKey>.Continuation

    init() {
        (calls, source) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1_000))
    }

    /// Notes that a caller waits for an asset.
    ///
    /// - Parameter since: When they began to wait.
    /// - Returns: false if it was tried since, in vain.
    func wait(for key: AssetKey, since: Instant) -> Bool {
        let (isRunning, failure) = state.withLock { state in
            let isRunning = state.running[key] != nil
            if isRunning { state.running[key] = true }
            return (isRunning, state.failures[key])
        }
        if isRunning { return true }
        if let failure, failure.when >= since { return false }
        source.yield(key)
        return true
    }

    /// Returns false if it is being fetched already, or was in vain a moment ago.
    ///
    /// - Parameter isUrgent: Tries it again nevertheless.
    func begin(_ key: AssetKey, isUrgent: Bool, now: Instant) -> Bool {
        state.withLock { state in
            if state.running[key] != nil { return false }
            if !isUrgent, let failure = state.failures[key], now < failure.when + failure.pause {
                return false
            }
            state.running[key] = isUrgent
            return true
        }
    }

    /// Whether a caller waits for an asset that is being fetched.
    func isUrgent(_ key: AssetKey) -> Bool {
        state.withLock { $0.running[key] ?? false }
    }

    func name(of database: DatabaseNumber) -> ScopedDatabase? {
        state.withLock { $0.names[database] }
    }

    func note(_ names: [DatabaseNumber: ScopedDatabase]) {
        state.withLock { $0.names = names }
    }

    func end(_ key: AssetKey, _ outcome: AssetFetch.Outcome, now: Instant) {
        state.withLock { state in
            state.running[key] = nil
            if outcome == .notMine { return }
            let last = state.failures.removeValue(forKey: key)
            if outcome == .done { return }
            // Waiting callers learn of the failure from here.
            if state.failures.count >= AssetDemand.mostFailures { _ = state.failures.popFirst() }
            let pause = last.map { min(2 * $0.pause, AssetDemand.longestPause) }
            state.failures[key] = Failure(when: now, pause: pause ?? AssetDemand.firstPause)
        }
    }
}

struct AssetFetcher: Sendable {
    let node: Node
    private static let walkPause: Int64 = 500
    private static let assetsAtOnce = 1_000
    private static let urgentAtOnce = 8
    private static let smallAtOnce = 8

    init(_ node: Node) {
        self.node = node
    }

    /// Returns when the task is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await walk(.small, lanes: AssetFetcher.smallAtOnce) }
            group.addTask { await walk(.large, lanes: 1) }
            for _ in 0..<AssetFetcher.urgentAtOnce {
                group.addTask {
                    for await key in node.demand.calls { await fetch(key, .all, isUrgent: true) }
                }
            }
        }
    }

    /// Goes through all wanted assets, over and over.
    private func walk(_ sizes: AssetFetch.Sizes, lanes: Int) async {
        while !Task.isCancelled {
            var last: Bytes? = []
            while let after = last, !Task.isCancelled {
                guard let (keys, next) = try? await wanted(after: after) else { break }
                await fetch(keys, sizes, lanes: lanes)
                last = next
            }
            try? await node.environment.sleep(AssetFetcher.walkPause)
        }
    }

    /// Fetches several at once: a small one mostly waits for the peer.
    private func fetch(_ keys: [AssetKey], _ sizes: AssetFetch.Sizes, lanes: Int) async {
        await withDiscardingTaskGroup { group in
            for lane in 0..<lanes {
                group.addTask {
                    for index in stride(from: lane, to: keys.count, by: lanes)
                    where !Task.isCancelled {
                        await fetch(keys[index], sizes, isUrgent: false)
                    }
                }
            }
        }
    }

    private func wanted(after: Bytes) async throws -> (keys: [AssetKey], next: Bytes?) {
        try await node.gate.reading { reader in
            var range = KeyRange.all(.wantedAsset)
            if !after.isEmpty { range.start = after + [0] }
            let rows = try reader.rows(.log, range, limit: AssetFetcher.assetsAtOnce)
            let keys = try rows.map { key, _ in
                var parts = KeyReader(key)
                return AssetKey(database: try parts.number(), asset: try parts.bytes(32))
            }
            return (keys, rows.count < AssetFetcher.assetsAtOnce ? nil : rows.last?.key)
        }
    }

    private func fetch(_ key: AssetKey, _ sizes: AssetFetch.Sizes, isUrgent: Bool) async {
        guard node.demand.begin(key, isUrgent: isUrgent, now: node.environment.now()) else {
            return
        }
        let fetch = AssetFetch(node: node, key: key, sizes: sizes)
        let outcome = (try? await fetch.run()) ?? .failed
        node.demand.end(key, outcome, now: node.environment.now())
    }
}
