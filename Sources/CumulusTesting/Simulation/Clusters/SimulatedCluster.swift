// A cluster in one process: stores that work by themselves, lose each other, fail, go back to old
// backups, and exchange commits.
//
// `cumulus-sim` and tests run it; some tests only use its stores. Every store runs the production
// operations; commits travel as their bytes, through the production intake, in any order that it
// allows. The events are kept for the checkers.
//
// Folder: simulated clusters of stores. Read `SimulatedCluster`, then `SimulatedCluster+History`;
// their clients are in the folder Roaming, and what must hold in the folder Checkers.

package import CumulusModel
import CumulusOperations
import CumulusReplication
package import CumulusStorage

package struct SimulatedCluster {
    package internal(set) var works: [RandomWork] = []
    var dice: SeededGenerator
    var indexDice: SeededGenerator
    /// Dice for connections that break under a state sync.
    var linkDice: SeededGenerator
    var cascadeDice: SeededGenerator
    /// Records that a cascade deletes at a time; nil: as many as in a node, so that none is long.
    let cascadeRecords: Int?
    var comparisonDice: SeededGenerator
    /// Steps that a batch takes to compare changes with topics; nil: as many as in a node, so that
    /// none is left to be compared later.
    let comparisonSteps: Int?
    /// Rows of indexes that a request writes; nil: as many as in a node, so that none is owed.
    let indexRows: Int?
    /// Debts of cascades that were left when all should have been paid.
    package internal(set) var unpaid: [String] = []
    package let broken: Rule?
    /// The merge policy of the records.
    package let policy: MergePolicy
    /// The first node gives a field another type than the others.
    private let isMixed: Bool
    /// Logs are truncated, tombstones purged, and state is handed over.
    package let collects: Bool
    /// Creations have keys; without, a member is listed whose release doesn't know them.
    private let keys: Bool
    /// State syncs under way, by the node that takes the state.
    var syncs: [Int: SimulatedSync] = [:]
    /// Clients that fetch changes, from any node.
    package private(set) var clients: [RoamingClient] = []
    /// Callers that ask queries, of any node.
    package private(set) var queries: [RoamingQuery] = []
    /// Devices that follow subscriptions, at any node.
    package private(set) var feeds: RoamingFeeds
    /// Every commit that was made, as its bytes.
    package private(set) var archive: [Dot: Bytes] = [:]
    /// The vector of each commit's maker when it made the commit.
    package private(set) var known: [Dot: VersionVector] = [:]
    /// Requests whose callers got no answer and ask again, at any node.
    var unanswered: [(requests: [DrawnRequest], made: Int64)] = []
    var repeatDice: SeededGenerator
    package internal(set) var verdict: Verdict
    /// Pairs that don't reach each other.
    private var cuts: Set<Set<Int>> = []
    private var backups: [Int: any StorageEngine] = [:]
    /// Nodes that lost their disks: their heir is the node with the lowest id.
    private var gone: Set<UInt64> = []
    /// The time of the last loss, by the slowest clock.
    private(set) var lastLoss: Int64?
    private var incarnations: [Set<Incarnation>]
    /// Dots that name two commits.
    package private(set) var twins: Set<Dot> = []
    /// Commits whose makers were told that they are durable.
    package private(set) var acknowledged: Set<Dot> = []
    /// The commits that stood in one store only when it went back to a backup.
    package private(set) var excused: Set<Dot> = []

    /// The checks after every step.
    package private(set) var watch = Watch()
    /// Whether every node has to tell every losing value: values merge by field, and travel by
    /// commits alone.
    var tellsLosses: Bool { !collects && !isMixed && policy == .fields }

    /// nil means nobody writes pairs.
    package var pairs: Pairs?

    package init(
        _ count: Int,
        seed: UInt64,
        breaking broken: Rule? = nil,
        collecting collects: Bool = false,
        keying keys: Bool = true,
        pairing: Bool = false,
        merging policy: MergePolicy = .fields,
        mixing isMixed: Bool = false,
        isTold: Bool = false
    ) throws {
        pairs = pairing ? Pairs(dice: SeededGenerator(seed: ~seed)) : nil
        dice = SeededGenerator(seed: seed)
        indexDice = SeededGenerator(seed: seed &+ 0x1DE)
        linkDice = SeededGenerator(seed: seed &+ 0x114C)
        repeatDice = SeededGenerator(seed: seed &+ 0x4EA7)
        cascadeDice = SeededGenerator(seed: seed &+ 0xCA5)
        comparisonDice = SeededGenerator(seed: seed &+ 0x70C)
        comparisonSteps = SimulatedCluster.comparisonSteps(seed: seed)
        indexRows = SimulatedCluster.indexRows(seed: seed)
        feeds = RoamingFeeds(seed: seed, breaking: broken?.switches ?? [])
        cascadeRecords = seed % 3 == 1 ? 1 + Int(seed / 3 % 2) : nil
        self.broken = broken
        self.collects = collects
        self.keys = keys
        self.policy = policy
        self.isMixed = isMixed
        verdict = Verdict(isTold: isTold)
        incarnations = Array(repeating: [], count: count)
        for number in 0..<count {
            let seed = seed &* 64 &+ UInt64(number) &+ 1
            works.append(try work(of: number, seed: seed))
            prepare(number)
            try acknowledge(number, since: [:])
        }
        for user in ["_alice", "_bob"] {
            for zone in ["x", "y"] {
                clients.append(RoamingClient(user, zone: zone, breaking: broken?.switches ?? []))
                queries.append(
                    RoamingQuery(
                        user,
                        seed: seed &+ UInt64(queries.count),
                        breaking: broken?.switches ?? []
                    )
                )
            }
        }
    }

    private func prepare(_ one: Int) {
        stores[one].breakRules(broken?.switches ?? [])
        if !keys { stores[one].leaveOutLives() }
        limitTurns(of: stores[one])
    }

    package var stores: [TestStore] { works.map(\.store) }

    /// The commits that a vector covers, per incarnation in their order.
    package func commits(
        within vector: VersionVector?
    ) throws -> [Incarnation: [(Commit, Bytes)]] {
        let dots = archive.keys.filter { vector?.covers($0) ?? true }.sorted()
        let commits = try dots.map { (try Commit(archive[$0] ?? []), archive[$0] ?? []) }
        return Dictionary(grouping: commits) { $0.0.stamp.dot.incarnation }
    }

    mutating func tell(_ line: String) { verdict.tell(line) }

    // MARK: Running

    package mutating func step() throws {
        let one = Int.random(in: works.indices, using: &dice)
        let other = Int.random(in: works.indices, using: &dice)
        stores[one].now += pick([0, 0, 1, 1, 3, 40])
        switch Int.random(in: 0..<100, using: &dice) {
        case 0..<2: try restart(one)
        case 2..<5: try keepBackup(one)
        case 5..<7: try restore(one)
        case 8 where Int.random(in: 0..<4, using: &dice) == 0: try sweep(one)
        case 7 where Int.random(in: 0..<4, using: &dice) == 0: try loseDisk(one)
        case 7..<12: toggleLink(one, other)
        case 12..<20 where collects: try collect(one)
        case 12..<25: try fetchChanges(from: one)
        case 25..<70: try edit(one, retryingAt: other)
        default: try pull(one, from: other, limit: pick([1, 2, 5, 12, .max]))
        }
        try stepPairs(one, other)
        try stepIndexes(one)
        try stepCascades(one)
        try stepComparisons(one)
        try stepRepeats(one)
        if !feeds.isEmpty { try stepFeeds(one) }
        for node in Set([one, other]) { try watch.look(at: node, stores[node]) }
    }

    /// Takes so many steps, and looks at nothing in the end.
    package mutating func run(steps: Int) throws {
        for _ in 0..<steps { try step() }
    }

    /// Heals all links and lets everybody have everything.
    package mutating func settle() throws {
        cuts = []
        tell("all links are healed")
        if cascadeRecords != nil { try settleCascades() }
        // The sweeps of heirs pay the debts of nodes that are gone; all else must converge by the
        // exchange alone. Commits that pay debts travel too.
        for _ in 0..<20 {
            let before = acknowledged.count
            for one in works.indices {
                while syncs[one] != nil { try goOn(one) }
                try pay(one, due: .max)
                try sweep(one)
            }
            try exchange()
            // A node may have restarted whenever it began to take state.
            if acknowledged.count == before, try holdTheSame() { break }
        }
        for one in feeds.settlingTurns(works.count) { try stepFeeds(one, isSettling: true) }
        for _ in 0..<200 { try fetchChanges(from: Int.random(in: works.indices, using: &dice)) }
        try settleIndexes()
        let scope = try stores[0].scopeNumber()
        verdict.counts["types of mixed fields"] =
            try stores[0].reader.registers(scope, SchemaRegister.mixedNamespace).count
    }

    private func holdTheSame() throws -> Bool {
        let vectors = try stores.map { try $0.vector() }
        return vectors.allSatisfy { $0 == vectors[0] }
    }

    /// Everybody takes everything from everybody.
    mutating func exchange() throws {
        for _ in works.indices {
            for one in works.indices {
                for other in works.indices {
                    repeat {
                        try pull(one, from: other, limit: .max)
                    } while syncs[one] != nil
                    try watch.look(at: one, stores[one])
                }
            }
        }
    }

    mutating func pick<Element>(_ choices: [Element]) -> Element {
        choices[Int.random(in: choices.indices, using: &dice)]
    }

    // MARK: Work

    /// Remembers what a node committed.
    mutating func acknowledge(_ one: Int, since before: [Incarnation: VectorRow]) throws {
        let incarnation = stores[one].state.incarnation
        let first = (before[incarnation]?.seq ?? 0) + 1
        guard let last = try stores[one].vectors()[incarnation]?.seq, first <= last else { return }
        incarnations[one].insert(incarnation)
        for seq in first...last { acknowledged.insert(Dot(incarnation, seq)) }
        tell("node \(one) commits \(Dot(incarnation, first)) to \(last)")
        var others = try stores[one].vector()
        others[incarnation] = 0
        for seq in first...last { known[Dot(incarnation, seq)] = others }
        let commits = try stores[one].commits(above: before)[incarnation] ?? []
        for (commit, bytes) in commits {
            let dot = commit.stamp.dot
            tell("  \(dot): \(commit.story)")
            if let other = archive[dot], other != bytes { twins.insert(dot) }
            if archive[dot] == nil { watch.note(commit, after: others, knowing: others) }
            archive[dot] = bytes
        }
    }

    /// A client asks a node for a page or two of changes.
    private mutating func fetchChanges(from one: Int) throws {
        let client = Int.random(in: clients.indices, using: &dice)
        tell("client \(client) fetches changes from node \(one)")
        for _ in 0..<pick([1, 1, 1, 4]) {
            if Int.random(in: 0..<4, using: &dice) == 0 {
                try clients[client].fetchZones(from: stores[one], limit: pick([1, 9]))
            } else {
                try clients[client].fetchRecords(from: stores[one], limit: pick([1, 1, 2, 9]))
            }
        }
        try queries[client].step(on: stores[one])
    }

    /// A device goes on with its feed.
    private mutating func stepFeeds(_ one: Int, isSettling: Bool = false) throws {
        if isSettling { try payComparisons(one) }
        let before = try stores[one].vectors()
        for line in try feeds.step(on: stores[one], isSettling: isSettling) {
            tell("\(line), node \(one)")
        }
        try acknowledge(one, since: before)
    }

    // MARK: Faults

    mutating func restart(_ one: Int) throws {
        tell("node \(one) restarts")
        syncs[one] = nil
        if broken == .incarnations {
            try stores[one].restore(stores[one].backup(), isNewRun: false)
        } else {
            try stores[one].restart()
        }
    }

    private mutating func keepBackup(_ one: Int) throws {
        tell("node \(one) is backed up")
        backups[one] = try stores[one].backup()
    }

    private mutating func restore(_ one: Int) throws {
        guard let backup = backups[one] else { return }
        tell("node \(one) goes back to its backup")
        syncs[one] = nil
        let before = try stores[one].vectors()
        try stores[one].restore(backup, isNewRun: broken != .incarnations)
        stores[one].isRestored = true
        try excuse(one, before)
    }

    private func work(of node: Int, seed: UInt64) throws -> RandomWork {
        try RandomWork(seed: seed, merging: policy, title: isMixed && node == 0 ? 0 : "")
    }

    /// A node's disk is gone; a new one takes its place and has nothing.
    private mutating func loseDisk(_ one: Int) throws {
        tell("node \(one) loses its disk; a new one takes its place")
        verdict.count("lost disks")
        lastLoss = slowestClock
        syncs[one] = nil
        backups[one] = nil
        let before = try stores[one].vectors()
        let now = stores[one].now
        gone.insert(stores[one].state.node.runPrefix)
        let seed = UInt64.random(in: 0...(.max), using: &dice)
        works[one] = try work(of: one, seed: seed)
        stores[one].now = now
        // A new node would take nothing at all before it has caught up.
        stores[one].isRestored = true
        prepare(one)
        try acknowledge(one, since: [:])
        try excuse(one, before)
        let ids = stores.map(\.state.node.nodeID)
        let heir = ids.indices.min { ids[$0].lexicographicallyPrecedes(ids[$1]) }
        for (number, store) in stores.enumerated() {
            store.inherit(from: number == heir ? gone : [])
        }
    }

    /// A node looks for what should have gone with its owner.
    private mutating func sweep(_ one: Int) throws {
        tell("node \(one) looks for orphans")
        let before = try stores[one].vectors()
        try stores[one].sweep(limit: pick([1, 3, 1_000]))
        try acknowledge(one, since: before)
    }

    /// Excuses the commits that only this node had and that are gone.
    private mutating func excuse(_ one: Int, _ before: [Incarnation: VectorRow]) throws {
        let held = try stores[one].vector()
        let others = try stores.indices.filter { $0 != one }.map {
            try stores[$0].vector()
        }
        for (incarnation, row) in before where row.seq > held[incarnation] {
            for seq in held[incarnation] + 1...row.seq {
                let dot = Dot(incarnation, seq)
                if !others.contains(where: { $0.covers(dot) }) { excused.insert(dot) }
            }
        }
    }

    private mutating func toggleLink(_ one: Int, _ other: Int) {
        guard one != other else { return }
        let pair: Set = [one, other]
        let isCut = cuts.remove(pair) == nil && cuts.insert(pair).inserted
        tell("the link of \(one) and \(other) is \(isCut ? "cut" : "healed")")
    }

    // MARK: Replication

    /// Takes what `one` lacks: commits, or state where the log doesn't reach.
    mutating func pull(_ one: Int, from other: Int, limit: Int) throws {
        if syncs[one] != nil, Int.random(in: 0..<10, using: &dice) < 6 { return try goOn(one) }
        guard one != other, !cuts.contains([one, other]) else { return }
        if collects { try report(one, other) }
        let source = StateSource(stores[other].reader, scope: try stores[other].scopeNumber())
        if try source.logReaches(stores[one].vector()) {
            try takeCommits(one, from: other, limit: limit)
        } else if syncs[one] == nil {
            try begin(one, from: other)
        }
        if try stores[one].vector().covers(stores[other].vector()) {
            stores[one].isRestored = false
        }
    }

    /// Takes commits that `one` lacks, in a random order of the incarnations.
    private mutating func takeCommits(_ one: Int, from other: Int, limit: Int) throws {
        let store = stores[one]
        var queues = try stores[other].commits(above: try store.vectors())
        if broken == .ownCommits {
            for own in incarnations[one] { queues[own] = nil }
        }
        var taken = 0
        var blocked: Set<Incarnation> = []
        while taken < limit {
            let open = queues.keys.filter { !blocked.contains($0) }.sorted()
            guard !open.isEmpty else { return }
            let incarnation = pick(open)
            guard let (commit, bytes) = queues[incarnation]?.first else { return }
            var verdict = CommitIntake.judge(
                commit,
                bytes: bytes,
                after: try store.runs(),
                clock: .init(now: .max / 2)
            )
            note(verdict)
            if broken == .causality, case .waits(let missing) = verdict,
                !missing.contains(where: { $0.incarnation == incarnation })
            {
                verdict = .apply
            }
            switch verdict {
            case .apply:
                try apply(commit, bytes: bytes, at: one)
                taken += 1
                blocked = []
                fallthrough
            case .known:
                queues[incarnation]?.removeFirst()
                if queues[incarnation]?.isEmpty == true { queues[incarnation] = nil }
            case .waits, .refused: blocked.insert(incarnation)
            }
        }
    }

    private mutating func apply(_ commit: Commit, bytes: Bytes, at one: Int) throws {
        tell("node \(one) applies \(commit.stamp.dot)")
        let losesData = broken == .vector && Int.random(in: 0..<100, using: &dice) == 0
        if losesData {
            let scope = try stores[one].scopeNumber()
            try stores[one].change { (transaction: inout WriteTransaction) throws(EngineError) in
                _ = try transaction.log(commit, bytes: bytes, in: scope)
            }
        } else {
            let before = try stores[one].vectors()
            try stores[one].apply(commit, bytes: bytes, isCompensating: true)
            try acknowledge(one, since: before)
        }
    }

    private mutating func note(_ verdict: CommitIntake.Verdict) {
        let name =
            switch verdict {
            case .apply: "apply"
            case .known: "known"
            case .waits: "waits"
            case .refused: "refused"
            }
        self.verdict.count("commits: \(name)")
    }
}
