// What nodes of one cluster say to each other.
//
// `peers.proto`. Commits travel as the bytes that their origin made, and are not looked into here.
//
// Folder: the messages between nodes. Read `Peers+Wire`, then `State+Wire`.

package import CumulusModel

package struct PullRequest: WireMessage, Hashable {
    /// What the caller has.
    package var vector = VersionVector()
    /// The caller's incarnation: it has all commits of it.
    package var run: UInt64 = 0
    /// Incarnations whose commits the caller takes from their own nodes; ascending.
    package var elsewhere: [UInt64] = []

    package init() {}

    package init(vector: VersionVector, run: UInt64 = 0, elsewhere: [UInt64] = []) {
        self.vector = vector
        self.run = run
        self.elsewhere = elsewhere
    }

    package static var growth: Int { 16 }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.vector(1, &vector)
        try coder.fixed64(2, &run)
        try coder.packedFixed64(3, &elsewhere)
    }
}

package struct PullResponse: WireMessage, Hashable {
    package var commits: [Bytes] = []
    /// What the server has; after the first response, what it has of the incarnations that it need
    /// not send.
    package var vector = VersionVector()
    /// Somebody waits until the caller holds it durably, and says so.
    package var wantsReport = false

    package init() {}

    package init(commits: [Bytes], vector: VersionVector, wantsReport: Bool = false) {
        self.commits = commits
        self.vector = vector
        self.wantsReport = wantsReport
    }

    package var roughCount: Int { commits.reduce(256) { $0 + $1.count + 8 } }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.list(1, &commits)
        try coder.vector(2, &vector)
        try coder.flag(3, &wantsReport)
    }
}

package struct ReportRequest: WireMessage, Hashable {
    /// What the caller holds durably.
    package var vector = VersionVector()
    /// It was asked for; the server need not keep it.
    package var isAnswer = false
    /// The digest of all records at that vector, 16 bytes; empty: not told.
    package var digest: Bytes = []
    /// The sender's clock, in milliseconds since 1970 UTC; 0: it is wrong.
    package var time: Int64 = 0

    package init() {}

    package init(
        vector: VersionVector,
        isAnswer: Bool = false,
        digest: Bytes = [],
        time: Int64
    ) {
        self.vector = vector
        self.isAnswer = isAnswer
        self.digest = digest
        self.time = time
    }

    package static var growth: Int { 16 }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.vector(1, &vector)
        try coder.flag(2, &isAnswer)
        try coder.bytes(3, &digest)
        try coder.signed(4, &time)
    }
}
