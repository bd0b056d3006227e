// Forgets, in the background, data that is no longer needed: log entries that every member has
// read, or that exceed the bound, tombstones that every member has read past, old entries of the
// conflict log, tokens that expired long ago, what is left of ended push addresses. It also deletes
// orphans: children whose owner was deleted while no node could delete them.
//
// Run by `cumulusd` beside the listener until it is cancelled. It reads on the reader threads and
// gives the writer small jobs with pauses between them, so that callers hardly notice.
//
// Folder: what a node does in the background to its own data. Read `Collector`, which forgets, then
// `CascadeKeeper`, `SchemaKeeper` and `Verification`.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusWire
import Logging
import Synchronization

package struct Collector: Sendable {
    package struct Schedule: Sendable {
        /// Milliseconds between two looks at the logs, unless they outgrow `logBytes`.
        package var logMilliseconds: Int64 = 30_000
        /// Milliseconds between two looks at their size.
        package var glanceMilliseconds: Int64 = 3_000
        /// How long log entries are kept that every member has: a retry of a request that another
        /// node carried out is answered from them.
        package var keepMilliseconds: Int64 = 600_000
        /// Milliseconds between two walks through all records, in search of tombstones.
        package var purgeMilliseconds: Int64 = 3_600_000
        /// How long tombstones, conflicts, and log entries that a member lacks are kept.
        package var retentionMilliseconds: Int64 = 30 * 24 * 3_600_000
        /// How far feeds go back, by whole days.
        package var feedMilliseconds: Int64 = 30 * 24 * 3_600_000
        /// Bytes of disk for log entries.
        ///
        /// Beyond it the oldest are dropped early, entries that a member lacks first.
        package var logBytes = logBytes(onFileSystemOf: nil)
        /// Milliseconds between two walks through all assets in search of unused ones.
        package var assetMilliseconds: Int64 = 600_000
        /// Milliseconds between two steps of one walk.
        package var pauseMilliseconds: Int64 = 10

        package init() {}

        /// 8 GiB, but at most a tenth of the file system: a member that is away for a month must
        /// not fill a small disk.
        ///
        /// - Parameter bytes: The file system's size; nil if it is not known.
        package static func logBytes(onFileSystemOf bytes: UInt64?) -> UInt64 {
            min(8 << 30, (bytes ?? .max) / 10)
        }
    }

    /// Records that one step of a walk looks at.
    static let recordsAtOnce = 1_000
    /// Increments, or milestones, that one step looks at or drops.
    static let entriesAtOnce = 10_000
    /// Bytes of disk that dropped log entries may take, where there is enough of it.
    static let deadBytes: UInt64 = 64 << 20
    /// Peers have so long to report before one of them counts as missing.
    private static let settlingMilliseconds: Int64 = 60_000

    let node: Node
    let schedule: Schedule
    let missing = MissingMembers()

    package init(_ node: Node, schedule: Schedule = Schedule()) {
        self.node = node
        self.schedule = schedule
        // What is taken is known after the first round; what may be taken is known now.
        node.logBudget.withLock {
            $0.limit = schedule.logBytes
            $0.retention = schedule.retentionMilliseconds
        }
    }

    /// Returns when the task is cancelled.
    package func run() async {
        let began = node.environment.now()
        var (lastPurge, lastAssets) = (began, began)
        while (try? await waitForLogs()) != nil {
            do throws(CancellationError) {
                try await trying { try await truncateLogs() }
                try await trying { try await reclaimDeletes() }
                // Other nodes had their time for some of it.
                node.gate.cascadeNews.tell()
                node.gate.deletionNews.tell()
                let now = node.environment.now()
                node.audit?.tellLeftOut(now: now)
                if began + Collector.settlingMilliseconds <= now {
                    try await trying { try await lookForMissing() }
                }
                if lastAssets + schedule.assetMilliseconds <= now {
                    lastAssets = now
                    try await trying { try await collectAssets() }
                }
                if lastPurge + schedule.purgeMilliseconds <= now {
                    lastPurge = now
                    try await trying { try await sweep() }
                    try await trying { try await purge() }
                    try await trying { try await forgetFeeds() }
                    try await trying { try await forgetTokens() }
                    try await trying { try await forgetPushes() }
                    try await trying { try await forgetShares() }
                }
            } catch {
                return
            }
        }
    }

    /// Runs a step and logs its failure, on a damaged row or a busy store, so that the other steps
    /// still run.
    func trying(
        _ scope: ScopeID? = nil,
        _ work: () async throws -> Void
    ) async throws(CancellationError) {
        do {
            try await work()
        } catch let error as CancellationError {
            throw error
        } catch {
            node.environment.logger.error(
                "what is old could not be dropped",
                metadata: ["error": "\(error)", "container": "\(scope?.container ?? "")"]
            )
        }
    }

    func inEachScope(
        _ work: (ScopeID, ScopeNumber) async throws -> Void
    ) async throws {
        for (scope, number) in try await scopes() {
            try await trying(scope) { try await work(scope, number) }
        }
    }

    private func lookForMissing() async throws {
        let found = try await node.gate.reading { [node] reader in
            try MissingMembers.find(in: node, reader, now: node.clock)
        }
        missing.warn(of: found, now: node.environment.now(), node.environment.logger)
    }

    // MARK: Tombstones and conflicts

    /// Walks through all zones and drops the tombstones that may go.
    package func purge() async throws {
        let oldest = node.clock - schedule.retentionMilliseconds
        try await inEachScope { scope, number in
            try await node.gate.change(.housekeeping) { transaction throws(EngineError) in
                guard try transaction.scope(scope) == number else { return }
                transaction.deleteRange(.log, .conflicts(of: number, before: oldest))
            }
            try await expireIncrements(of: scope, number)
            // Ends of lives stay while another node's state is taken.
            let isQuiet = node.beginTransfer(of: scope)
            defer { if isQuiet { node.endTransfer(of: scope) } }
            let (stable, hasAll, zones) = try await node.gate.reading { [self] reader in
                let zones = try StateSource(reader, scope: number).zones()
                return (
                    try self.stable(of: number, reader), try self.hasAll(of: number, reader),
                    zones.filter(\.row.exists)
                )
            }
            let limits = Limits.standard
            let memory = limits.requestMemoryMilliseconds + limits.requestLeadMilliseconds
            // A member that is gone for good holds no tombstone up for ever.
            let purge = Collection.Purge(
                stable: stable,
                diedBefore: oldest,
                waitsSince: oldest - schedule.retentionMilliseconds,
                requestsBefore: node.clock - memory,
                hasAllReported: isQuiet && hasAll
            )
            for zone in zones {
                try await trying(scope) { try await walk(zone, of: number, purge) }
            }
        }
    }

    /// Drops what feeds don't go back to any more.
    package func forgetFeeds() async throws {
        let now = node.clock
        let oldest = now - schedule.feedMilliseconds
        try await inEachScope { scope, number in
            try await node.gate.change(.housekeeping) { transaction throws(EngineError) in
                guard try transaction.scope(scope) == number else { return }
                try ScopeFeeds(of: number).dropRows(before: oldest, &transaction)
            }
            var last: UInt64? = 0
            while let after = last {
                last = try await node.gate.change(.housekeeping) {
                    transaction throws(EngineError) in
                    try ScopeFeeds(of: number).thinMilestones(
                        after: after,
                        before: now - schedule.purgeMilliseconds,
                        limit: Collector.entriesAtOnce,
                        &transaction
                    )
                }
                if last != nil { try await pause() }
            }
        }
    }

    /// Walks through the references of all zones and deletes the orphans that this node owes.
    package func sweep() async throws {
        try await inEachScope { scope, number in
            // Damage here must not delete records elsewhere; and while another node's state is
            // taken, nothing else may change.
            guard !node.comparisons.differ(in: scope), node.beginTransfer(of: scope) else { return }
            defer { node.endTransfer(of: scope) }
            let zones = try await node.gate.reading { reader in
                try StateSource(reader, scope: number).zones().filter(\.row.exists)
            }
            for zone in zones { try await trying(scope) { try await sweep(zone, of: number) } }
        }
    }

    private func sweep(_ zone: StateOffer.Zone, of scope: ScopeNumber) async throws {
        let place = zone.commitZone
        var last: Bytes?
        repeat {
            let after = last
            let found = try await node.gate.reading { reader in
                try CascadeCompensation.findOrphans(
                    in: zone.row,
                    after: after,
                    limit: Collector.recordsAtOnce,
                    reader
                )
            }
            if !found.names.isEmpty {
                try await node.gate.change(.commits) { transaction throws(EngineError) in
                    try CascadeCompensation.run(
                        after: found.names,
                        of: place,
                        in: scope,
                        &transaction
                    )
                }
            }
            last = found.last
            if last != nil { try await pause() }
        } while last != nil
    }

    private func expireIncrements(of scope: ScopeID, _ number: ScopeNumber) async throws {
        guard node.beginTransfer(of: scope) else { return }
        defer { node.endTransfer(of: scope) }
        let (members, removal) = try await node.gate.reading { [self] reader in
            let members = try self.reports(of: number, reader)
            let removed = try Members.all(in: reader).filter(\.isRemoved)
            return (members, removed.map(\.time).max())
        }
        let now = node.clock
        var isDone = false
        while !isDone {
            isDone = try await node.gate.change(.housekeeping) { transaction throws(EngineError) in
                try Collection.expireIncrements(
                    of: number,
                    members: members,
                    removal: removal,
                    now: now,
                    entryLimit: Collector.entriesAtOnce,
                    &transaction
                )
            }
            if !isDone { try await pause() }
        }
    }

    /// The last reports of the other members; nil for a member that never reported.
    private func reports(
        of scope: ScopeNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> [ReportRow]? {
        let reports = try reader.reports(of: scope)
        let known = try Members.others(than: node.nodeID, in: reader).map { reports[$0.nodeID] }
        return known.contains(nil) ? nil : known.compactMap(\.self)
    }

    /// Whether everything that the members reported is here.
    private func hasAll(
        of scope: ScopeNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Bool {
        let vector = try reader.runs(of: scope).vector
        return try reports(of: scope, reader)?.allSatisfy { vector.covers($0.vector) } ?? false
    }

    private func walk(
        _ zone: StateOffer.Zone,
        of scope: ScopeNumber,
        _ purge: Collection.Purge
    ) async throws {
        let place = zone.commitZone
        var last: String?
        repeat {
            let after = last
            let found = try await node.gate.reading { [node] reader in
                try purge.find(
                    in: zone.row.number,
                    after: after,
                    limit: Collector.recordsAtOnce,
                    byteLimit: node.configuration.limits.storedBytesPerTurn,
                    reader
                )
            }
            if !found.names.isEmpty {
                try await node.gate.change(.housekeeping) { transaction throws(EngineError) in
                    try purge.drop(found.names, of: place, in: scope, &transaction)
                }
            }
            last = found.last
            if last != nil { try await pause() }
        } while last != nil
    }

    // MARK: Assets

    /// Gives back the space of assets that nothing has named for long.
    package func collectAssets() async throws {
        try await AssetCollector(node: node, pause: schedule.pauseMilliseconds).run()
    }

    // MARK: Parts

    private func scopes() async throws -> [(scope: ScopeID, number: ScopeNumber)] {
        try await node.gate.reading { reader in try ScopeDirectory.all(in: reader) }
    }

    func pause() async throws {
        try await node.environment.sleep(schedule.pauseMilliseconds)
    }
}
