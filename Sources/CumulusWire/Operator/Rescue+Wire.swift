// What an operator hands a node of the directory of a node that was removed.
//
// `operator.proto`.

package import CumulusAssets
package import CumulusModel

/// `RescueRequest`: commits, or parts of the assets that commits to come name.
package struct RescueRequest: Coded, Hashable {
    /// As their origins encoded them.
    package var commits: [Bytes] = []
    /// The database of the lists and chunks: `DatabaseScope`, or a number that this release
    /// doesn't know.
    package var database: UInt32 = 0
    /// The owner of a private or shared database.
    package var owner: Bytes = []
    package var lists: [Bytes] = []
    package var chunks: [Chunk] = []

    package init() {}

    package init(commits: [Bytes]) {
        self.commits = commits
    }

    package init(database: DatabaseID, lists: [Bytes] = [], chunks: [Chunk] = []) {
        self.database = UInt32(database.kind.rawValue)
        owner = Bytes(database.owner.utf8)
        self.lists = lists
        self.chunks = chunks
    }

    package var roughCount: Int {
        let parts = (commits + lists).reduce(256) { $0 + $1.count + 8 }
        return chunks.reduce(parts) { $0 + $1.content.count + 64 }
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.list(1, &commits)
        try coder.number(2, &database)
        try coder.bytes(3, &owner)
        try coder.list(4, &lists)
        try coder.list(5, &chunks)
    }
}

package struct RescueResponse: WireMessage, Hashable {
    /// How far the node has applied the scope's commits.
    package var vector = VersionVector()
    /// Commits of the request that were new to the node.
    package var applied: UInt64 = 0
    /// Per list, indexes of the chunks that the node lacks.
    package var missing: [[Int]] = []

    package init() {}

    package init(vector: VersionVector, applied: UInt64 = 0, missing: [[Int]] = []) {
        self.vector = vector
        self.applied = applied
        self.missing = missing
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.vector(1, &vector)
        try coder.number(2, &applied)
        var lists = missing.map { MissingChunks($0) }
        try coder.list(3, &lists)
        missing = lists.map(\.chunks)
    }
}
