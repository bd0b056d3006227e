// How far a device has been told what its user's subscriptions ask for: the content of a feed token
// before it is sealed.
//
//   content  = scope · user · base · truncation · 0
//            | ... · 1 or 2 · run · first · position · seen
//
// The number behind the truncation is larger by 4 if the device asks its queries after this token.
//
// Made by `FetchFeed`; the node's `TokenMint` seals and opens it. The device holds it, and the node
// keeps nothing. The token of a page that is not the last one says how far the read has come, and
// the same run of the node goes on there. Any other run begins again at the base, once it has all
// changes that the device was told of; its tokens then have 2 in place of 1.
//
// After a first page or a reset a device asks its queries, later than the token of that page. So it
// may hold records that came since, and the next read tells it also what came and went. The token
// of the first call that begins with such a token is an ordinary one again: the device makes that
// call when it has asked.

package import CumulusModel
import CumulusStorage

package struct FeedToken: Hashable, Sendable {
    /// How far an unfinished read has come, in positions of one run of a node.
    package struct Progress: Hashable, Sendable {
        package var run: Incarnation
        /// The first position of the read.
        package var first: UInt64
        /// Everything up to this position was told.
        package var position: UInt64
        /// A vector that covers all changes that were told.
        ///
        /// It is short, see `Runs`.
        package var seen: VersionVector
        /// Whether another run told an unknown part of the read before.
        package var isCut: Bool

        package init(
            run: Incarnation,
            first: UInt64,
            position: UInt64,
            seen: VersionVector = VersionVector(),
            isCut: Bool = false
        ) {
            (self.run, self.first, self.position) = (run, first, position)
            (self.seen, self.isCut) = (seen, isCut)
        }
    }

    package var scope: ScopeID
    package var user: String
    /// A vector; all changes that it covers were told, or did not concern the device.
    ///
    /// It is short, see `Runs`.
    package var base: VersionVector
    /// The newest truncation that its maker knew, see `Truncation`.
    package var truncation: HybridTime
    /// nil if the device is up to date.
    package var progress: Progress?
    /// Whether the device asks its queries after this, so that it may hold what came since.
    package var isAsking: Bool

    /// What a node must have read to go on from here.
    package var needed: VersionVector {
        var needed = base
        if let progress { needed.merge(progress.seen) }
        return needed
    }

    package init(
        scope: ScopeID,
        user: String,
        base: VersionVector,
        truncation: HybridTime,
        progress: Progress? = nil,
        isAsking: Bool = false
    ) {
        self.scope = scope
        self.user = user
        self.base = base
        self.truncation = truncation
        self.progress = progress
        self.isAsking = isAsking
    }

    package var content: Bytes {
        var writer = CanonicalWriter(reserving: 128)
        writer.scope(scope)
        writer.delimited(user.utf8)
        writer.vector(base)
        writer.varint(truncation.value)
        let form: UInt64 = progress.map { $0.isCut ? 2 : 1 } ?? 0
        writer.varint(form + (isAsking ? 4 : 0))
        if let progress {
            writer.bigEndian(progress.run.value)
            writer.varint(progress.first)
            writer.varint(progress.position)
            writer.vector(progress.seen)
        }
        return writer.bytes
    }

    package init(content: Bytes) throws(MalformedBytes) {
        var reader = CanonicalReader(content)
        scope = try reader.scope()
        user = try reader.text()
        base = try reader.vector()
        truncation = HybridTime(try reader.varint())
        let number = try reader.count(limit: 6)
        let form = number % 4
        guard form < 3 else { throw MalformedBytes("a token of another form") }
        isAsking = number >= 4
        if form > 0 {
            progress = Progress(
                run: Incarnation(try reader.bigEndian()),
                first: try reader.varint(),
                position: try reader.varint(),
                seen: try reader.vector(),
                isCut: form == 2
            )
        }
        guard reader.isAtEnd else { throw MalformedBytes("a token is longer than what it says") }
    }

    /// Refuses a token of another container, environment or user.
    package func check(_ scope: ScopeID, _ user: String) throws(ServiceError) {
        guard self.scope.container == scope.container else { throw .tokenOfAnother("container") }
        guard self.scope == scope else { throw .tokenExpired("it is of another environment") }
        guard self.user == user else { throw .tokenOfAnother("user") }
    }

    /// Refuses to go on from a state that is older than what the device was told.
    func checkReach(_ runs: Runs, _ broken: BrokenRules) throws(ServiceError) {
        guard broken.contains(.feedBehind) || runs.covers(needed) else {
            throw ServiceError(
                .serviceUnavailable,
                .nodeBehind,
                """
                this node has not read yet what the device was told elsewhere; try again, or \
                go to another node
                """
            )
        }
    }
}
