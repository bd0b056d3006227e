// Several stores of one scope that work by themselves and exchange commits: replication without
// peers, sockets or time.
//
// Used by tests of convergence. Every store runs the production operations; commits travel as their
// bytes, through the production intake, in any order that it allows.

package import CumulusModel
import CumulusOperations
import CumulusReplication
package import CumulusStorage

package struct Replicas {
    package private(set) var works: [RandomWork] = []
    private var dice: SeededGenerator
    /// How often each verdict of the intake was met; a history in which nothing waited shows
    /// little.
    package private(set) var verdicts: [String: Int] = [:]

    package init(_ count: Int, seed: UInt64) throws {
        dice = SeededGenerator(seed: seed)
        for number in 0..<count {
            works.append(try RandomWork(seed: seed &* 64 &+ UInt64(number) &+ 1))
        }
    }

    package var stores: [TestStore] { works.map(\.store) }

    // MARK: Work

    /// Each step is a few requests at one store, or a part of what one store lacks of another's.
    package mutating func run(steps: Int) throws {
        for _ in 0..<steps {
            let one = Int.random(in: works.indices, using: &dice)
            let skew = Int64.random(in: 0...40, using: &dice)
            stores[one].now += skew
            switch Int.random(in: 0..<40, using: &dice) {
            case 0: try stores[one].restart()
            case 1..<26: try edit(one)
            default:
                let other = Int.random(in: works.indices, using: &dice)
                try pull(one, from: other, limit: Int.random(in: 1...12, using: &dice))
            }
        }
    }

    /// Runs requests; now and then a caller who got no answer tries again elsewhere.
    private mutating func edit(_ one: Int) throws {
        let requests = try works[one].edit(requests: Int.random(in: 1...3, using: &dice))
        guard Int.random(in: 0..<4, using: &dice) == 0 else { return }
        let other = Int.random(in: works.indices, using: &dice)
        stores[other].now = max(stores[other].now, stores[one].now - 1_000)
        try stores[other].run(requests)
    }

    /// Lets everybody have everything.
    package mutating func settle() throws {
        for _ in works.indices {
            for one in works.indices {
                for other in works.indices { try pull(one, from: other, limit: .max) }
            }
        }
    }

    /// Takes commits that `one` lacks, in a random order of the incarnations.
    package mutating func pull(_ one: Int, from other: Int, limit: Int) throws {
        guard one != other else { return }
        let store = stores[one]
        var queues = try stores[other].commits(above: try store.vectors())
        var taken = 0
        var blocked: Set<Incarnation> = []
        while taken < limit {
            let open = queues.keys.filter { !blocked.contains($0) }.sorted()
            guard let incarnation = open.randomElement(using: &dice),
                let (commit, bytes) = queues[incarnation]?.first
            else { return }
            let vectors = try store.vectors()
            let verdict = CommitIntake.judge(
                commit,
                bytes: bytes,
                after: vectors,
                now: store.now + 1_000_000
            )
            note(verdict)
            switch verdict {
            case .apply:
                try store.apply(commit, bytes: bytes)
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

    private mutating func note(_ verdict: CommitIntake.Verdict) {
        let name =
            switch verdict {
            case .apply: "apply"
            case .known: "known"
            case .waits: "waits"
            case .refused: "refused"
            }
        verdicts[name, default: 0] += 1
    }

    // MARK: Checks

    /// Where the stores differ; empty if they hold the same.
    package func differences() throws -> [String] {
        let scope = stores[0].scope
        let first = try ReplicatedState.rows(of: scope, in: stores[0].engine)
        return try stores.dropFirst().flatMap { store in
            ReplicatedState.differences(
                first,
                try ReplicatedState.rows(of: scope, in: store.engine)
            )
        }
    }
}

extension TestStore {
    /// How far each incarnation's commits are applied.
    package func vectors() throws -> [Incarnation: VectorRow] {
        var vectors: [Incarnation: VectorRow] = [:]
        for (key, value) in try reader.rows(.meta, .vectors(of: try scopeNumber())) {
            var parts = KeyReader(key)
            _ = try parts.number(ScopeNumber.self)
            vectors[Incarnation(try parts.number())] = try VectorRow(row: value)
        }
        return vectors
    }

    /// The commits that a reader at those vectors lacks, per incarnation in their order.
    package func commits(
        above vectors: [Incarnation: VectorRow]
    ) throws -> [Incarnation: [(Commit, Bytes)]] {
        let scope = try scopeNumber()
        var found: [Incarnation: [(Commit, Bytes)]] = [:]
        for (incarnation, row) in try self.vectors() {
            let first = (vectors[incarnation]?.seq ?? 0) + 1
            guard first <= row.seq else { continue }
            found[incarnation] = try (first...row.seq).map { seq in
                guard let bytes = try reader.get(.commit(scope, Dot(incarnation, seq))) else {
                    throw EngineError.corrupt("a commit is missing")
                }
                return (try Commit(bytes), bytes)
            }
        }
        return found
    }

    /// Applies all that another store has and this one lacks.
    package func take(from other: TestStore) throws {
        var queues = try other.commits(above: vectors())
        while !queues.isEmpty {
            for (incarnation, commits) in queues {
                var rest = commits[...]
                while let (commit, bytes) = rest.first {
                    let verdict = CommitIntake.judge(
                        commit,
                        bytes: bytes,
                        after: try vectors(),
                        now: .max / 2
                    )
                    guard verdict == .apply else { break }
                    try apply(commit, bytes: bytes)
                    rest = rest.dropFirst()
                }
                queues[incarnation] = rest.isEmpty ? nil : Array(rest)
            }
        }
    }

    /// Applies a commit of another store.
    package func apply(_ commit: Commit, bytes: Bytes) throws {
        let scope = try scopeNumber()
        try change { (transaction: inout WriteTransaction) throws(EngineError) in
            _ = try transaction.apply(commit, bytes: bytes, in: scope)
        }
    }
}
