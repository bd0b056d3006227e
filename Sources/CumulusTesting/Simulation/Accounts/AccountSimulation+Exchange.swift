// How the nodes of a history of accounts hear of each other: by commits, and by whole states where
// a log doesn't reach back.

import CumulusModel
import CumulusReplication
import CumulusStorage

extension AccountSimulation {
    /// Two nodes share the cluster's scope, with the accounts, and one container's, with the roles.
    var scopes: [ScopeID] { [.cluster, stores[0].scope] }

    func vector(of scope: ScopeID, at one: Int) throws -> VersionVector {
        try runs(of: scope, at: one).vector
    }

    private func runs(of scope: ScopeID, at one: Int) throws -> Runs {
        try stores[one].reader.runs(of: number(of: scope, at: one))
    }

    func number(of scope: ScopeID, at one: Int) throws -> ScopeNumber {
        guard let number = try stores[one].reader.scope(scope) else {
            throw EngineError.corrupt("a store without its scopes")
        }
        return number
    }

    /// Hands on what the other one lacks.
    ///
    /// - Parameter most: Commits of each scope.
    mutating func exchange(from: Int, to: Int, most: Int) throws {
        for scope in scopes {
            let source = StateSource(
                stores[from].reader,
                scope: try number(of: scope, at: from)
            )
            let reaches = try source.logReaches(vector(of: scope, at: to))
            if reaches, Int.random(in: 0..<12, using: &dice) != 0 {
                try takeCommits(of: scope, from: from, to: to, most: most)
            } else {
                try takeState(source, of: scope, to: to)
            }
        }
    }

    /// Commits that the other one may apply, in an order of chance.
    private mutating func takeCommits(
        of scope: ScopeID,
        from: Int,
        to: Int,
        most: Int
    ) throws {
        let (source, target) = (try number(of: scope, at: from), try number(of: scope, at: to))
        var left = most
        var isMoved = true
        while left > 0, isMoved {
            isMoved = false
            let rows = try runs(of: scope, at: from).rows.sorted { $0.key.value < $1.key.value }
            for (incarnation, row) in rows.shuffled(using: &dice) where left > 0 {
                let dot = Dot(incarnation, try vector(of: scope, at: to)[incarnation] + 1)
                guard dot.seq <= row.seq,
                    let bytes = try stores[from].reader.get(.commit(source, dot))
                else { continue }
                let commit = try Commit(bytes)
                let verdict = CommitIntake.judge(
                    commit,
                    bytes: bytes,
                    after: try runs(of: scope, at: to),
                    clock: .init(now: .max / 2)
                )
                guard verdict == .apply else { continue }
                try stores[to].change {
                    (transaction: inout WriteTransaction) throws(EngineError) in
                    try transaction.apply(commit, bytes: bytes, in: target)
                }
                left -= 1
                isMoved = true
            }
        }
    }

    /// Takes the other's state; now and then the process ends before the last step.
    private mutating func takeState(
        _ source: StateSource,
        of scope: ScopeID,
        to one: Int
    ) throws {
        let (store, number) = (stores[one], try number(of: scope, at: one))
        let base = try vector(of: scope, at: one)
        let offer = try source.offer(to: base)
        var intake = try StateIntake(offer, above: base, clock: .init(now: .max / 2))
        var begun: StateSync?
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            begun = try StateSync(offer, in: number, &transaction)
        }
        guard var sync = begun else { return }
        var pages = StatePages(source, offer)
        while let page = try pages.next(byteLimit: 2_000) {
            let read = try intake.read(page)
            try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
                try sync.take(read, &transaction)
            }
        }
        try intake.checkEnd()
        if Int.random(in: 0..<6, using: &dice) == 0 {
            count("kills", "before a state is shown", at: one)
            return try store.restart()
        }
        var isMerged = false
        while !isMerged {
            try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
                isMerged = try sync.merge(recordLimit: 100, &transaction)
            }
        }
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            isMerged = try sync.finish(&transaction)
            try transaction.dropStages()
        }
        guard isMerged else { throw SimulatedFault.disturbedMerge }
        count("states", at: one)
    }

    /// A node forgets its logs, also what others have not read.
    mutating func truncate(at one: Int) throws {
        for scope in scopes {
            let (number, vector) = (try number(of: scope, at: one), try vector(of: scope, at: one))
            try stores[one].change { (transaction: inout WriteTransaction) throws(EngineError) in
                _ = try Collection.truncateLog(of: number, through: vector, &transaction)
            }
        }
    }

    /// All links are healed, and all nodes hear everything.
    mutating func settle() throws {
        cuts = []
        for _ in 0..<20 {
            for from in stores.indices {
                for to in stores.indices where to != from {
                    try exchange(from: from, to: to, most: .max)
                }
            }
            let isSettled = try scopes.allSatisfy { scope in
                let first = try vector(of: scope, at: 0)
                return try stores.indices.allSatisfy { try vector(of: scope, at: $0) == first }
            }
            if isSettled { return }
        }
        verdict.violations.append(("A2", "the nodes don't hear of each other"))
    }
}
