// Replays the logs of a store into an empty one and compares what comes out, byte for byte.
//
// Shows that a commit says everything that applying it needs: what a peer will hold is what the
// origin holds. Also checks the chain on the way: no number left out, hashes linked, stamps
// ascending, dependencies complete. One node made the commits, in the order of their stamps.
// Numbers in keys are handed out in that order, so at most one of the scopes may hold databases.

import CumulusModel
package import CumulusStorage

package struct LogReplay {
    private let source: ReadTransaction
    private let engine = MemoryEngine()
    private var differences: [String] = []

    private init(_ source: any EngineReader) {
        self.source = ReadTransaction(source, reach: .disk)
    }

    /// The faults of the logs, and the differences after the replay; empty if there are none.
    package static func differences(in source: any EngineReader) throws -> [String] {
        var replay = LogReplay(source)
        try replay.run()
        return replay.differences
    }

    private mutating func run() throws {
        var dice = SeededGenerator(seed: 0xC0)
        let state = try OpenStore.open(engine, using: &dice)
        var transaction = WriteTransaction(engine: engine, state: state)
        for scope in try scopes() { _ = try transaction.makeScope(scope) }
        for scope in try scopes() {
            guard let number = try source.scope(scope) else { continue }
            try replay(number, into: &transaction)
        }
        let (rows, _) = transaction.finish()
        engine.commit(rows.batch())
        try compare()
    }

    /// All scopes, in the order of their numbers.
    private func scopes() throws -> [ScopeID] {
        var found: [(number: UInt32, scope: ScopeID)] = []
        for (key, value) in try source.rows(.meta, .all(.scope)) {
            var parts = KeyReader(key)
            let container = try parts.text()
            guard let environment = Environment(rawValue: try parts.number(UInt8.self)) else {
                throw EngineError.corrupt("an unknown environment")
            }
            let scope = ScopeID(container: container, environment: environment)
            found.append((try NumberRow(row: value).number, scope))
        }
        return found.sorted { $0.number < $1.number }.map(\.scope)
    }

    private mutating func replay(
        _ scope: ScopeNumber,
        into transaction: inout WriteTransaction
    ) throws {
        var chain = CommitChain()
        let commits = try source.rows(.log, .commits(of: scope)).map { key, bytes in
            (dot: try LogReplay.dot(key), commit: try Commit(bytes), bytes: bytes)
        }
        for (dot, commit, bytes) in commits.sorted(by: { $0.commit.stamp < $1.commit.stamp }) {
            if commit.encoded() != bytes { differences.append("\(dot) is not canonical") }
            differences += chain.append(commit, bytes, named: dot)
            try transaction.apply(commit, bytes: bytes, in: scope)
        }
    }

    private static func dot(_ key: Bytes) throws(EngineError) -> Dot {
        var parts = KeyReader(key)
        _ = try parts.number(ScopeNumber.self)
        return try parts.dot()
    }

    /// The rows that must be the same in both stores.
    ///
    /// The position in the row of a run depends on which commits shared a batch.
    private static func rows(
        _ subspace: Subspace,
        _ reader: ReadTransaction
    ) throws -> [StoredRow] {
        try reader.rows(subspace.family, .all(subspace)).map { key, value in
            StoredRow((key, subspace == .vector ? try RunRow(row: value).end.rowBytes : value))
        }
    }

    private mutating func compare() throws {
        let replayed = ReadTransaction(engine, reach: .disk)
        let subspaces: [Subspace] = [
            .scope, .database, .zone, .zoneState, .zoneHead, .vector, .register, .record, .sibling,
            .change, .backReference, .assetUse, .conflict, .commit, .increment,
        ]
        for subspace in subspaces {
            let before = try LogReplay.rows(subspace, source)
            let after = try LogReplay.rows(subspace, replayed)
            guard before != after else { continue }
            let onlyBefore = Set(before).subtracting(after).map { "source \($0.key.hex)" }
            let onlyAfter = Set(after).subtracting(before).map { "replay \($0.key.hex)" }
            differences.append("\(subspace): \((onlyBefore + onlyAfter).sorted().prefix(6))")
        }
    }
}

/// The ends of the chains of one scope, as its commits pass by in the order in which one node made
/// them.
private struct CommitChain {
    private var runs = Runs()
    private var latest = HybridTime(0)

    /// The faults of the next commit.
    mutating func append(_ commit: Commit, _ bytes: Bytes, named dot: Dot) -> [String] {
        var wrong: [String] = []
        let link = runs[dot.incarnation] ?? .none
        if commit.stamp.dot != dot { wrong.append("\(dot) says it is \(commit.stamp.dot)") }
        if dot.seq != link.seq + 1 { wrong.append("\(dot) follows \(link.seq)") }
        if commit.previousHash != link.hash { wrong.append("\(dot) breaks the hash chain") }
        if commit.stamp.time <= latest { wrong.append("\(dot) is not later than the one before") }
        var applied = runs.shortVector
        applied[dot.incarnation] = 0
        let dep = applied.changes(since: link.dep)
        if commit.dep != dep { wrong.append("\(dot) depends on \(commit.dep), not \(dep)") }
        runs.enter(link.next(commit, bytes), of: dot.incarnation)
        latest = commit.stamp.time
        return wrong
    }
}
