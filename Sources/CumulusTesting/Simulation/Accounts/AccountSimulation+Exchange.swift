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
                try stores[to].takeCommits(of: scope, from: stores[from], most: most, using: &dice)
            } else {
                try takeState(source, of: scope, to: to)
            }
        }
    }

    /// Takes the other's state; now and then the process ends before the last step.
    private mutating func takeState(
        _ source: StateSource,
        of scope: ScopeID,
        to one: Int
    ) throws {
        let isKilled = Int.random(in: 0..<6, using: &dice) == 0
        try stores[one].takeState(source, of: scope, isKilled: isKilled)
        if isKilled {
            count("kills", "before a state is shown", at: one)
        } else {
            count("states", at: one)
        }
    }

    /// A node forgets its logs, also what others have not read.
    mutating func truncate(at one: Int) throws {
        for scope in scopes {
            let (number, vector) = (try number(of: scope, at: one), try vector(of: scope, at: one))
            try stores[one].change { (transaction: inout WriteTransaction) throws(EngineError) in
                try Collection.truncateLog(of: number, through: vector, &transaction)
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
        verdict.violate("A2", "the nodes don't hear of each other")
    }
}
