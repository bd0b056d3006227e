// The invariants of a simulated cluster at rest: one checker per invariant, each by other means
// than the code that it checks.
//
// Folder: what must hold in a simulated cluster. Read `Checkers`, then `Outcome`, `Losses` and
// `Watch`.

import CumulusModel
import CumulusStorage

/// A check of a cluster that has settled.
package struct Checker: Sendable {
    package let name: String
    /// The violations in words; empty if there are none.
    package let violations: @Sendable (SimulatedCluster) throws -> [String]

    package static let all = [
        convergence, replay, outcome, chains, acknowledged, dependencies, closed, deaths, orphans,
        vectors, frontiers, risen, derived, changes, queries, batches, wholes, losses, cascades,
        feeds, rights,
    ]

    /// All nodes hold the same.
    package static let convergence = Checker(name: "convergence") { cluster in
        let states = try cluster.stores.map {
            try ReplicatedState.rows(of: $0.scope, in: $0.engine, forgetting: cluster.collects)
        }
        return states.dropFirst().flatMap { ReplicatedState.differences(states[0], $0) }
    }

    /// Each store equals the one that an empty node makes of its commits, in another order.
    package static let replay = Checker(name: "replay") { cluster in
        let source = cluster.stores[0]
        let fresh = try TestStore(seed: 0xF5)
        // The replay breaks the rule as well, as if production code were wrong: other checkers have
        // to notice.
        if cluster.broken == .latest { fresh.breakRules([.latest]) }
        try fresh.take(cluster.commits(within: source.vector()))
        return ReplicatedState.differences(
            try ReplicatedState.rows(
                of: source.scope,
                in: fresh.engine,
                forgetting: cluster.collects
            ),
            try ReplicatedState.rows(
                of: source.scope,
                in: source.engine,
                forgetting: cluster.collects
            )
        )
    }

    /// Each store agrees with its commits' stamps, and nothing is missing.
    package static let outcome = Checker(name: "outcome") { cluster in
        let source = cluster.stores[0]
        let commits = try cluster.commits(within: source.vector())
        let records = try StoredRecords.all(in: source.reader)
        return try Outcome(commits.values.joined().map(\.0), known: cluster.known)
            .differences(from: records)
    }

    /// No dot names two commits; each follows the one before it, later than it; logs hold them as
    /// they were made.
    package static let chains = Checker(name: "chains") { cluster in
        var wrong = cluster.twins.sorted().map { "\($0) is two commits" }
        for store in cluster.stores {
            for (commit, bytes) in try store.commits(above: [:]).values.joined()
            where cluster.archive[commit.stamp.dot] != bytes {
                wrong.append("\(commit.stamp.dot) is not what its origin made")
            }
        }
        for (incarnation, commits) in try cluster.commits(within: nil) {
            var (seq, time, hash) = (UInt64(0), HybridTime(0), Commit.noHash)
            for (commit, bytes) in commits {
                let dot = commit.stamp.dot
                let follows =
                    dot.incarnation == incarnation && dot.seq == seq + 1
                    && commit.stamp.time > time && commit.previousHash == hash
                if !follows { wrong.append("\(dot) does not follow the one before it") }
                (seq, time) = (dot.seq, commit.stamp.time)
                hash = Commit.hash(previous: hash, commit: bytes)
            }
        }
        return wrong
    }

    /// Every acknowledged write is everywhere, unless its only holder went back to a backup.
    package static let acknowledged = Checker(name: "acknowledged") { cluster in
        try cluster.stores.enumerated().flatMap { number, store in
            let vector = try store.vector()
            return cluster.acknowledged.subtracting(cluster.excused)
                .filter { !vector.covers($0) }
                .map { "node \(number) lacks \($0)" }
        }
    }

    /// The dependencies that a commit names stand for everything that its maker had.
    package static let dependencies = Checker(name: "dependencies") { cluster in
        let runs = try cluster.commits(within: nil)
        let firsts = runs.mapValues { $0[0].0.dep }
        var wrong: [String] = []
        for (incarnation, commits) in runs {
            var said = VersionVector()
            for (commit, _) in commits {
                var open = commit.dep
                while let dot = open.popLast() {
                    if said.covers(dot) { continue }
                    if said[dot.incarnation] == 0 { open += firsts[dot.incarnation] ?? [] }
                    said.cover(dot)
                }
                var others = said
                others[incarnation] = 0
                let dot = commit.stamp.dot
                if others != cluster.known[dot] { wrong.append("\(dot) depends on \(others)") }
            }
        }
        return wrong
    }

    /// At no instant does a vector name a commit and not all that its maker had.
    package static let closed = Checker(name: "closed") { $0.watch.open }

    /// A life that some commit ended is nowhere, unless it began anew after that.
    package static let deaths = Checker(name: "deaths") { cluster in
        let commits = try cluster.commits(within: cluster.stores[0].vector())
        let history = LifeHistory(commits.values.joined().map(\.0), known: cluster.known)
        return try cluster.stores.enumerated().flatMap { number, store in
            try StoredRecords.all(in: store.reader).filter { place, row in
                let life = history.lives.life(place, of: row)
                return !row.isDead && !row.births.allSatisfy { history.counts($0, in: life) }
            }.map { "node \(number) holds '\($0.place.name)' of \($0.row.birth.dot), which ended" }
        }
    }

    /// Nobody is shown whose owner died.
    package static let orphans = Checker(name: "orphans") { cluster in
        try orphans(StoredRecords.all(in: cluster.stores[0].reader))
    }

    /// A device that follows subscriptions holds what they match, on any node; nothing is told
    /// twice, and what was marked as read stays so.
    package static let feeds = Checker(name: "feeds") { $0.feeds.devices.flatMap(\.faults) }

    /// No device is told of a record that its user may not read.
    package static let rights = Checker(name: "rights") { $0.feeds.readers.flatMap(\.faults) }

    /// Nothing of a long cascade stays, also where nobody sweeps, and no node owes anything.
    package static let cascades = Checker(name: "cascades") { cluster in
        let owing = try cluster.stores.enumerated().filter { _, store in
            try store.reader.cascade(of: store.scopeNumber(), after: nil, due: .max) != nil
        }
        return cluster.unpaid + owing.map { "node \($0.offset) still owes some of a cascade" }
    }

    static func orphans(
        _ records: [(place: RecordRow.Place, row: RecordRow)]
    ) throws -> [String] {
        var births: [RecordRow.Place: Set<Dot>] = [:]
        for (place, row) in records where !row.isDead {
            births[place, default: []].formUnion(row.births)
        }
        var shown: [RecordRow.Place: RecordRow] = [:]
        for (place, row) in records where shown[place].map({ row.isShown(before: $0) }) ?? true {
            shown[place] = row
        }
        return try shown.flatMap { place, row in
            try row.backReferences().filter { reference in
                guard reference.kind == .deleteSelf, let birth = reference.birth else {
                    return false
                }
                var owner = place
                owner.name = reference.target
                return births[owner]?.contains(birth) != true
            }.map { "'\(place.name)' lives, '\($0.target)' does not" }
        }
    }

    /// At no instant is anything stored that the vector doesn't cover, nor a horizon beyond it.
    package static let vectors = Checker(name: "vectors") { $0.watch.beyond }

    /// At no instant is a life there that some commit ended which the node has.
    package static let risen = Checker(name: "risen") { $0.watch.risen }

    /// Every node's log reports every losing value, and nothing false.
    ///
    /// A node that takes state logs no conflict, so only histories without are looked at.
    package static let losses = Checker(name: "losses") { cluster in
        guard cluster.tellsLosses else { return [] }
        let commits = try cluster.commits(within: cluster.stores[0].vector())
        let losses = Losses(commits.values.joined().map(\.0), known: cluster.known)
        return try cluster.stores.enumerated().flatMap { number, store in
            (try losses.untold(by: store) + losses.untrue(of: store)).map {
                "node \(number): \($0)"
            }
        }
    }

    /// A record has at most one row per incarnation in the change index.
    package static let frontiers = Checker(name: "frontiers") { cluster in
        try cluster.stores.enumerated().flatMap { number, store in
            try frontiers(StoredRecords.all(in: store.reader)).map { "node \(number): \($0)" }
        }
    }

    static func frontiers(
        _ records: [(place: RecordRow.Place, row: RecordRow)]
    ) -> [String] {
        records.filter { _, row in
            Set(row.frontier.map(\.dot.incarnation)).count != row.frontier.count
        }.map { "the frontier of '\($0.place.name)' names one origin twice" }
    }

    /// Rows that are derived from others say what those say.
    package static let derived = Checker(name: "derived") { cluster in
        try cluster.stores.enumerated().flatMap { number, store in
            try DerivedRows.differences(in: store.engine).map { "node \(number): \($0)" }
        }
    }

    /// Batches are there whole or not at all, at every instant, and two of them never mix.
    package static let batches = Checker(name: "batches") { $0.pairs?.faults ?? [] }

    /// Pages of queries neither repeat nor skip what did not change, whichever node is asked.
    package static let queries = Checker(name: "queries") { cluster in
        cluster.queries.flatMap(\.faults)
    }

    /// Clients that fetch changes hold what the nodes show, whichever node they ask.
    package static let changes = Checker(name: "changes") { cluster in
        cluster.clients.flatMap(\.faults)
    }
}

// MARK: - Merge policies

extension Checker {
    /// Fields that change as one come from one save: the latest that touched them.
    package static let wholes = Checker(name: "wholes") { cluster in
        switch cluster.policy {
        case .fields: []
        case .groups(let groups): try mixedGroups(groups, cluster)
        case .record: try mixedRecords(cluster)
        }
    }

    private static func mixedGroups(
        _ groups: [FieldGroup],
        _ cluster: SimulatedCluster
    ) throws -> [String] {
        try StoredRecords.all(in: cluster.stores[0].reader).flatMap { place, row in
            groups.filter { group in
                // A counter's sums are everybody's.
                let fields = group.fields.filter { name in
                    !row.counters.contains { $0.field == name }
                }
                let stamps = Set(fields.map { row.stamp(of: $0) })
                return stamps.count > 1 && stamps != [nil, row.birth]
            }.map { "'\(place.name)' mixes saves in its group \($0.fields)" }
        }
    }

    private static func mixedRecords(_ cluster: SimulatedCluster) throws -> [String] {
        let commits = try cluster.commits(within: cluster.stores[0].vector())
        let lives = Lives(commits.values.joined().map(\.0))
        let latest = latestPuts(commits.values.joined().map(\.0), lives)
        return try StoredRecords.all(in: cluster.stores[0].reader).compactMap { place, row in
            guard !row.isDead, row.type == RandomRequests.recordType else { return nil }
            guard let (put, stamp) = latest[lives.life(place, of: row)] else {
                return "nobody saved '\(place.name)'"
            }
            let counters = Set(row.counters.map(\.field))
            var shown: [String: Bytes] = [:]
            for (entry, set) in zip(row.body.entries, row.fieldStamps)
            where !counters.contains(row.body.name(of: entry)) {
                shown[row.body.name(of: entry)] = Bytes(row.body.bytes[entry.whole])
                if set != stamp { return "'\(place.name)' holds a field of \(set.dot)" }
            }
            var saved: [String: Bytes] = [:]
            for entry in put.fields.entries
            where entry.type != nil && !counters.contains(put.fields.name(of: entry)) {
                saved[put.fields.name(of: entry)] = Bytes(put.fields.bytes[entry.whole])
            }
            let isWhole = shown == saved && row.parent?.name ?? "" == put.parent?.recordName ?? ""
            return isWhole ? nil : "'\(place.name)' is not what \(stamp.dot) saved"
        }
    }

    /// The latest save of each life that says all of it; others only increment.
    ///
    /// Among the creations by one request the earliest counts.
    private static func latestPuts(
        _ commits: [Commit],
        _ lives: Lives
    ) -> [Life: (put: Commit.Put, stamp: Stamp)] {
        var latest: [Life: (put: Commit.Put, stamp: Stamp)] = [:]
        var created: Set<Life> = []
        for commit in commits.sorted(by: { $0.stamp < $1.stamp }) {
            guard let zone = commit.zone else { continue }
            for case .put(let put) in commit.operations where put.isFull || put.birth == nil {
                let life = lives.life(of: put, in: commit, zone)
                if put.birth == nil, !created.insert(life).inserted { continue }
                latest[life] = (put, commit.stamp)
            }
        }
        return latest
    }
}
