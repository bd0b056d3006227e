// How far a device has been told what its user's subscriptions ask for: what a feed token says
// before it is sealed.
//
//   content  = scope · user · base · truncation · 0
//            | ... · 1 or 2 · run · first · position · seen
//
// Made by `FetchFeed`; the node's `TokenMint` seals and opens it. The device holds it, and the node
// keeps nothing. Inside a page that is not the last one it says how far the reader is: there the
// same run of the node goes on. Any other begins again at the base, once it has all that the device
// was told of; 2 says that one did.

package import CumulusModel
import CumulusStorage

package struct FeedToken: Hashable, Sendable {
    /// How far a read has come that is not at its end, in positions of one run of a node.
    package struct Progress: Hashable, Sendable {
        package var run: Incarnation
        /// Where the read began.
        package var first: UInt64
        /// Everything up to here was told.
        package var position: UInt64
        /// What was told is among these changes.
        ///
        /// Short, see `Runs`.
        package var seen: VersionVector
        /// Another run had told some of it before, and nobody knows how much.
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
    /// All changes that it covers were told, or did not concern the device.
    ///
    /// Short, see `Runs`.
    package var base: VersionVector
    /// The newest mark of what is lost that its maker knew, see `Truncation`.
    package var truncation: HybridTime
    package var progress: Progress?

    /// What a node must have to go on.
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
        progress: Progress? = nil
    ) {
        self.scope = scope
        self.user = user
        self.base = base
        self.truncation = truncation
        self.progress = progress
    }

    package var content: Bytes {
        var writer = CanonicalWriter(reserving: 128)
        writer.scope(scope)
        writer.delimited(user.utf8)
        writer.vector(base)
        writer.varint(truncation.value)
        writer.varint(progress.map { $0.isCut ? 2 : 1 } ?? 0)
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
        let form = try reader.count(limit: 2)
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
}
