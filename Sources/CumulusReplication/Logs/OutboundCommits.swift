// Reads from the log the commits that a reader of a scope lacks, in an order in which it can apply
// them.
//
// Held by a stream that serves a peer. It remembers only how far the reader is, so a slow
// one costs no memory. Synchronous: each batch is read from the snapshot that it is given.
//
// Folder: sending commits to a peer and applying what a peer sends. Read `OutboundCommits`, then
// `CommitIntake` and `PeerCommits`.

package import CumulusModel
package import CumulusStorage

package struct OutboundCommits: Sendable {
    package struct Batch: Sendable {
        /// The bytes that their origins encoded.
        package var commits: [Bytes]
        /// The vector of the snapshot.
        package var vector: VersionVector
        /// How far it has the runs that the reader takes elsewhere, where that is news.
        package var news: VersionVector
        /// There is such news, and it was left for a later batch.
        package var leavesNews = false
        /// Nothing more stands in the snapshot.
        package var isAtEnd: Bool
    }

    private let scope: ScopeNumber
    /// The reader's vector once it has taken everything so far.
    package private(set) var position: VersionVector
    /// Runs that the reader takes elsewhere, and how far it was told that this node has them.
    private var elsewhere: [Incarnation: UInt64] = [:]

    /// - Parameters:
    ///   - run: The reader's own run, whose commits it has and is not sent.
    ///   - elsewhere: Runs whose commits it takes from their own nodes, and is not sent either.
    package init(
        scope: ScopeNumber,
        position: VersionVector,
        run: Incarnation? = nil,
        elsewhere: some Sequence<Incarnation> = []
    ) {
        self.scope = scope
        self.position = position
        if let run { self.position[run] = .max }
        for run in elsewhere {
            self.elsewhere[run] = position[run]
            self.position[run] = .max
        }
    }

    /// The next commits, until they have that many bytes.
    ///
    /// Returns nil where the log doesn't reach back to the reader's position.
    ///
    /// - Parameters:
    ///   - vector: The vector of the snapshot.
    ///   - tellsNews: News of runs that the reader takes elsewhere is told even without commits;
    ///     otherwise it is left for a later batch.
    package mutating func next(
        _ reader: ReadTransaction,
        _ vector: VersionVector,
        byteLimit: Int,
        tellsNews: Bool = true
    ) throws(EngineError) -> Batch? {
        if !position.covers(vector) {
            guard try position.covers(reader.logFloors(of: scope)) else { return nil }
        }
        var batch = Batch(commits: [], vector: vector, news: VersionVector(), isAtEnd: false)
        var room = byteLimit
        while room > 0, !position.covers(vector) {
            let count = batch.commits.count
            for last in vector.dots where position[last.incarnation] < last.seq && room > 0 {
                try take(through: last, &batch, &room, reader)
            }
            guard batch.commits.count > count else {
                throw .corrupt("the log holds commits, and not what they depend on")
            }
        }
        batch.isAtEnd = position.covers(vector)
        addNews(to: &batch, tellsNews: tellsNews || !batch.commits.isEmpty)
        return batch
    }

    /// The next commits where the reader lacks these and no others.
    ///
    /// Returns nil if it lacks others, or if they have more bytes: then the log is to be read.
    ///
    /// - Parameters:
    ///   - commits: All commits of a run that the reader lacks, in order.
    ///   - vector: How far this node has all runs.
    package mutating func next(
        _ commits: [Bytes],
        of run: Incarnation,
        _ vector: VersionVector,
        byteLimit: Int,
        tellsNews: Bool
    ) -> Batch? {
        var reached = position
        reached.cover(Dot(run, vector[run]))
        let byteCount = commits.reduce(0) { $0 + $1.count }
        // What they depend on is in the vector, too.
        guard reached.covers(vector), byteCount <= byteLimit else { return nil }
        position = reached
        var batch = Batch(commits: commits, vector: vector, news: VersionVector(), isAtEnd: true)
        addNews(to: &batch, tellsNews: tellsNews || !commits.isEmpty)
        return batch
    }

    private mutating func addNews(to batch: inout Batch, tellsNews: Bool) {
        for (run, told) in elsewhere where batch.vector[run] > told {
            guard tellsNews else {
                batch.leavesNews = true
                return
            }
            batch.news[run] = batch.vector[run]
            elsewhere[run] = batch.vector[run]
        }
    }

    /// Takes commits of one incarnation, up to one that depends on what the reader lacks.
    private mutating func take(
        through last: Dot,
        _ batch: inout Batch,
        _ room: inout Int,
        _ reader: ReadTransaction
    ) throws(EngineError) {
        let first = position[last.incarnation] + 1
        let range = KeyRange.commits(scope, last.incarnation, first...last.seq)
        var position = position
        var budget = room
        var failure: MalformedBytes?
        try reader.scan(.log, range, backwards: false) { _, bytes in
            do throws(MalformedBytes) {
                let head = try CommitHead(bytes)
                guard head.dep.allSatisfy({ position.covers($0) }) else { return false }
                position[last.incarnation] = head.dot.seq
            } catch {
                failure = error
                return false
            }
            batch.commits.append(bytes)
            budget -= bytes.count
            return budget > 0
        }
        if let failure { throw .corrupt("a commit in the log is damaged: \(failure.reason)") }
        self.position = position
        room = budget
    }
}
