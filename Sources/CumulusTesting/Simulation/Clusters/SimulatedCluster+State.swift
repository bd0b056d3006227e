// Simulated nodes that forget, and hand over state where their logs don't reach.
//
// Each step of a sync is a step of the history: others write, restart and go back in between.

import CumulusModel
import CumulusReplication
import CumulusStorage

/// Faults that no history may show.
enum SimulatedFault: Error {
    /// Something changed a scope between the merge of a state and its end.
    case disturbedMerge
    /// A received part of a state has no place in its offer.
    case lostPosition
}

/// A state sync under way.
struct SimulatedSync {
    var sync: StateSync
    var intake: StateIntake
    let offer: StateOffer
    var source: StateSource
    var pages: StatePages
    let donor: Int
}

extension SimulatedCluster {
    // MARK: State

    mutating func begin(_ one: Int, from other: Int) throws {
        tell("node \(one) begins to take state from node \(other)")
        let store = stores[one]
        // A broken rule: the pages are read while the donor goes on.
        let source = try source(of: other, isSnapshot: broken != .snapshot)
        let base = try store.vector()
        let offer = try source.offer(
            to: base,
            broken: store.state.broken,
            isLarge: { _ in Int.random(in: 0..<7, using: &dice) == 0 }
        )
        let intake = try StateIntake(offer, above: base, clock: .init(now: store.now))
        let scope = try store.scopeNumber()
        var begun: StateSync?
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            begun = try StateSync(offer, in: scope, &transaction)
        }
        guard let begun else { return }
        for zone in offer.zones { verdict.count("\(zone.extent)") }
        syncs[one] = SimulatedSync(
            sync: begun,
            intake: intake,
            offer: offer,
            source: source,
            pages: StatePages(source, offer),
            donor: other
        )
    }

    private func source(of node: Int, isSnapshot: Bool = true) throws -> StateSource {
        let engine = stores[node].engine
        let reader: any EngineReader = isSnapshot ? try engine.snapshot() : engine
        let scope = try stores[node].scopeNumber()
        return StateSource(ReadTransaction(reader, reach: .disk), scope: scope)
    }

    /// The connection breaks with a page on its way, and the sync goes on over another one.
    ///
    /// Nothing else comes of it: the history is what it would be without.
    private mutating func breakOff(_ session: inout SimulatedSync, _ byteLimit: Int) throws {
        guard try session.pages.next(byteLimit: byteLimit) != nil else { return }
        verdict.count("broken connections")
        // A broken rule: the page that was sent counts as taken.
        if broken == .resumedPosition { return }
        // A broken rule: the donor reads on in what it holds now.
        if broken == .resumedSnapshot { session.source = try source(of: session.donor) }
        let position = session.intake.position
        guard session.offer.reaches(position) else { throw SimulatedFault.lostPosition }
        session.pages = StatePages(session.source, session.offer, from: position)
    }

    /// Takes the next page, or ends the sync.
    mutating func goOn(_ one: Int) throws {
        guard var session = syncs.removeValue(forKey: one) else { return }
        let byteLimit = pick([1, 200, 2_000])
        if Int.random(in: 0..<5, using: &linkDice) == 0 { try breakOff(&session, byteLimit) }
        if let page = try session.pages.next(byteLimit: byteLimit) {
            let read = try session.intake.read(page)
            try stores[one].change { (transaction: inout WriteTransaction) throws(EngineError) in
                try session.sync.take(read, &transaction)
            }
            syncs[one] = session
            return
        }
        try session.intake.checkEnd()
        try finish(one, session)
    }

    /// Now and then the process ends in the middle of it.
    private mutating func finish(_ one: Int, _ session: SimulatedSync) throws {
        var session = session
        var isMerged = false
        while !isMerged {
            if Int.random(in: 0..<40, using: &dice) == 0 { return try restart(one) }
            let limit = pick([1, 3, 1_000])
            try stores[one].change { (transaction: inout WriteTransaction) throws(EngineError) in
                isMerged = try session.sync.merge(recordLimit: limit, &transaction)
            }
        }
        tell("node \(one) has taken the state of node \(session.donor)")
        verdict.count("syncs")
        let before = try stores[one].vectors()
        try stores[one].change { (transaction: inout WriteTransaction) throws(EngineError) in
            isMerged = try session.sync.finish(&transaction)
            try StagedZones.drop(&transaction)
        }
        guard isMerged else { throw SimulatedFault.disturbedMerge }
        try acknowledge(one, since: before)
    }

    // MARK: Forgetting

    /// Two nodes that meet tell each other how far they are.
    mutating func report(_ one: Int, _ other: Int) throws {
        for (from, to) in [(one, other), (other, one)] {
            let vector = try stores[from].vector()
            let nodeID = stores[from].state.node.nodeID
            let scope = try stores[to].scopeNumber()
            let now = slowestClock
            try stores[to].change { (transaction: inout WriteTransaction) throws(EngineError) in
                Collection.note(vector, of: nodeID, in: scope, at: now, &transaction)
            }
        }
    }

    /// A lower bound for the time in every later request.
    var slowestClock: Int64 { stores.map(\.now).min() ?? 0 }

    /// Forgets what all have read, and now and then what they haven't.
    mutating func collect(_ one: Int) throws {
        // Only a node that has all that others reported forgets the ends of lives.
        if Int.random(in: 0..<3, using: &dice) > 0 {
            for other in works.indices { try pull(one, from: other, limit: .max) }
        }
        let store = stores[one]
        let scope = try store.scopeNumber()
        let vector = try store.vector()
        let reports = try store.reader.reports(of: scope)
        let others = stores.indices.filter { $0 != one }.map {
            reports[stores[$0].state.node.nodeID]
        }
        let stable = Collection.stable(vector, reports: others.map { $0?.vector })
        let isEarly = Int.random(in: 0..<6, using: &dice) == 0
        let isFull = Int.random(in: 0..<8, using: &dice) == 0
        let diedBefore = store.now + pick([-20, 0, 1_000])
        tell("node \(one) forgets")
        verdict.count("collections")
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            try Collection.truncateLog(
                of: scope,
                through: isFull ? vector : stable,
                &transaction
            )
        }
        let hasAll = others.allSatisfy { $0.map { vector.covers($0.vector) } ?? false }
        let purge = Collection.Purge(
            stable: isEarly ? vector : stable,
            diedBefore: diedBefore,
            endsBefore: slowestClock - SimulatedCluster.requestMemory,
            hasAllReported: hasAll && !isEarly && syncs[one] == nil
        )
        try store.purge(purge, limit: 3)
        if syncs[one] == nil { try expireIncrements(one, others.contains(nil) ? nil : others) }
    }

    /// Forgets which requests made increments, as if they were repeated for a day: here they are
    /// for `requestMemory`.
    private mutating func expireIncrements(_ one: Int, _ reports: [ReportRow?]?) throws {
        let limits = Limits.standard
        let memory = limits.requestMemoryMilliseconds + limits.requestLeadMilliseconds
        var members = reports.map { $0.compactMap(\.self) }
        let passed = memory - SimulatedCluster.requestMemory
        for index in members?.indices ?? 0..<0 { members?[index].time += passed }
        // A broken rule: nobody is asked.
        if broken == .repeats { members = [] }
        let now = slowestClock + (broken == .repeats ? memory + 1_000 : passed)
        let scope = try stores[one].scopeNumber()
        let known = try stores[one].reader.rows(.log, .increments(of: scope)).count
        let removal = lastLoss.map { $0 + passed - limits.requestLeadMilliseconds }
        try stores[one].change { (transaction: inout WriteTransaction) throws(EngineError) in
            _ = try Collection.expireIncrements(
                of: scope,
                members: members,
                removal: removal,
                now: now,
                entryLimit: .max,
                &transaction
            )
        }
        let left = try stores[one].reader.rows(.log, .increments(of: scope)).count
        verdict.counts["increments forgotten", default: 0] += known - left
    }
}
