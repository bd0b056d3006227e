// How the nodes of a history of sharing hear of each other, what they forget, and what befalls
// them.
//
// Called by `ShareSimulation`. The rules of what is kept of the past are broken here.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage

extension ShareSimulation {
    /// Hands on what the other one lacks.
    mutating func exchange(from: Int, to: Int, most: Int) throws {
        let (source, target) = (stores[from], stores[to])
        // The registers of handles travel separately.
        if isPublic, most == .max || chance(60) {
            try target.takeCommits(of: .cluster, from: source, most: most, using: &dice)
        }
        let state = StateSource(source.reader, scope: try source.scopeNumber())
        let reaches = try state.logReaches(target.vector())
        if reaches, !chance(7) {
            try target.takeCommits(of: source.scope, from: source, most: most, using: &dice)
            return count("exchanges", "hears of node \(from)", at: to)
        }
        let isKilled = chance(15)
        try target.takeState(state, of: source.scope, isKilled: isKilled)
        if isKilled { return count("kills", "before a state is shown", at: to) }
        count("states", "of node \(from)", at: to)
        if broken == .break, let zone = try picture(at: to)?.number {
            // A broken rule: what was before is taken for known.
            try target.change { (transaction: inout WriteTransaction) throws(EngineError) in
                transaction.put(.hangFloor(zone), nil)
            }
        }
    }

    /// All nodes hear everything.
    mutating func settle() throws {
        for _ in 0..<20 {
            for from in stores.indices {
                for to in stores.indices where to != from {
                    try exchange(from: from, to: to, most: .max)
                    try breakRows(at: to)
                }
            }
            let first = try stores[0].vector()
            if try stores.allSatisfy({ try $0.vector() == first }) { return }
        }
        violate("S3", "the nodes don't hear of each other", at: 0)
    }

    // MARK: Faults

    /// A fault happens to a node; returns which one.
    mutating func fault(at one: Int) throws -> Int {
        let store = stores[one]
        switch Int.random(in: 0..<14, using: &dice) {
        case ..<2:
            try store.restart()
            count("kills", at: one)
        case ..<4:
            let (scope, vector) = (try store.scopeNumber(), try store.vector())
            try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
                try Collection.truncateLog(of: scope, through: vector, &transaction)
            }
            count("truncations", at: one)
        case ..<6:
            backups[one] = try store.backup()
            count("backups", at: one)
        case ..<7:
            guard let one = backups.keys.sorted().randomElement(using: &dice),
                let backup = backups.removeValue(forKey: one)
            else { return one }
            try stores[one].restore(backup)
            count("restores", at: one)
            return one
        case ..<11: try purge(at: one)
        default: try forgetPast(at: one)
        }
        return one
    }

    /// Forgets tombstones that all nodes have read past, and now and then others.
    private mutating func purge(at one: Int) throws {
        count("purges", at: one)
        let isEarly = chance(15)
        let vector = try stores[one].vector()
        var stable = vector
        for store in stores where !isEarly { stable = stable.minimum(try store.vector()) }
        // Clocks are up to 20 ms apart. A request that may come again holds up what it created.
        let oldest = asked.compactMap { $0.request.asker.requestID?.milliseconds }.min()
        let purge = Collection.Purge(
            stable: stable,
            diedBefore: .max,
            endsBefore: oldest.map { $0 - 25 } ?? .max,
            hasAllReported: try !isEarly && stores.allSatisfy { try vector.covers($0.vector()) }
        )
        try stores[one].purge(purge, limit: 1_000)
    }

    /// Forgets the former parents of records, and zones of users who left long ago.
    private mutating func forgetPast(at one: Int) throws {
        let time = stores[one].now - Int64.random(in: 0...60, using: &dice)
        count("past forgotten", "before \(time)", at: one)
        let (scope, zone) = (try stores[one].scopeNumber(), try picture(at: one)?.number)
        try stores[one].change { (transaction: inout WriteTransaction) throws(EngineError) in
            if let zone {
                _ = try FormerParents(of: zone).forget(
                    before: time,
                    after: nil,
                    limit: 1_000,
                    &transaction
                )
            }
            _ = try ScopeShares(of: scope).forgetVisibleZones(
                before: time,
                after: nil,
                limit: 1_000,
                &transaction
            )
            _ = try ScopeShares(of: scope).forgetIDRows(after: nil, limit: 1_000, &transaction)
        }
    }

    // MARK: Broken rules

    /// Takes out of a node's rows what it would not have kept without a rule.
    mutating func breakRows(at one: Int) throws {
        guard broken == .always || broken == .reusedNames, let picture = try picture(at: one) else {
            return
        }
        if broken == .always {
            guard picture.shares.isEmpty else { return }
            try stores[one].change { (transaction: inout WriteTransaction) throws(EngineError) in
                transaction.deleteRange(.log, .hanging(of: picture.number))
            }
            return
        }
        let reader = stores[one].reader
        for name in picture.records.keys.sorted() {
            let births = picture.records[name]?.births ?? []
            let events = try reader.hangEvents(of: name, in: picture.number)
            let rows = try reader.rows(.log, .hanging(of: picture.number, name))
            for (event, row) in zip(events, rows) where !births.contains(event.birth.dot) {
                try stores[one].change {
                    (transaction: inout WriteTransaction) throws(EngineError) in
                    transaction.put(RowKey(.hang, bytes: row.key), nil)
                }
            }
        }
    }
}
