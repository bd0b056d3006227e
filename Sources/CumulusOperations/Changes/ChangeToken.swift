// How far a caller has fetched changes: the content of a change token before it is sealed.
//
//   content  = scope · database · subject · viewer · base · 0, or 1 · seen · truncation · progress
//   subject  = 0 | 1 · zone name · generation; 2 and 3 the same, and a viewer follows
//   viewer   = user · 0 · count · digests of zones (8 bytes each)
//            | user · 1                          who sees the whole zone
//            | user · 2 · roots, see `TreeProgress`
//            | user · 3 · digest of many roots (8 bytes)
//   progress = 0
//            | 1 · told · last dot · last name      of a zone's records
//            | 2 · last name · end                  of a database's zones
//            | 3 · see `TreeProgress`               of trees in a zone
//
// Made by the fetches of changes; the node's `TokenMint` seals and opens it with `TokenSeal`. The
// token of a page that is not the last one says how far the fetch has come. Any node that has read
// what the caller was shown so far can go on from it.

package import CumulusModel
package import CumulusStorage

package struct ChangeToken: Hashable, Sendable {
    package enum Subject: Hashable, Sendable {
        case zones(of: DatabaseID)
        case records(of: Commit.Zone)
    }

    /// How far an unfinished fetch has come.
    package enum Progress: Hashable, Sendable {
        case records(ChangeProgress)
        /// The zones up to the name `last` were told, as they were at `end` or later.
        case zones(last: String, end: VersionVector)
        case trees(TreeProgress)
    }

    /// A participant, and what of other users' zones it was told.
    package struct Viewer: Hashable, Sendable {
        package enum Seen: Hashable, Sendable {
            /// The zones of other users, ascending; see `ViewDigest`.
            case zones([UInt64])
            /// The whole of a zone.
            case wholeZone
            /// Trees in a zone.
            case roots([Root])
            /// More roots than a token can name.
            case manyRoots(digest: UInt64)
        }

        /// User record name.
        package var user: String
        package var seen: Seen

        package init(user: String, seen: Seen) {
            self.user = user
            self.seen = seen
        }
    }

    package var scope: ScopeID
    package var subject: Subject
    /// The participant; set in the shared database only.
    package var viewer: Viewer?
    /// All changes that it covers were told before this fetch began, or did not have to be told.
    ///
    /// A short vector, like `seen` (see `Runs`).
    package var base: VersionVector
    /// The vector of the state from which the last page was read; later pages must not be older.
    package var seen: VersionVector
    /// The newest truncation that its maker knew, see `Truncation`.
    package var truncation: HybridTime
    /// nil if the fetch is at its end.
    package var progress: Progress?

    package init(
        scope: ScopeID,
        subject: Subject,
        viewer: Viewer? = nil,
        base: VersionVector,
        seen: VersionVector,
        truncation: HybridTime,
        progress: Progress? = nil
    ) {
        self.scope = scope
        self.subject = subject
        self.viewer = viewer
        self.base = base
        self.seen = seen
        self.truncation = truncation
        self.progress = progress
    }

    /// What a node must have read to go on from here: everything that the caller was shown.
    package var needed: VersionVector {
        var needed = base
        needed.merge(seen)
        return needed
    }
}

/// The changes of a zone that a fetch has told.
package struct ChangeProgress: Hashable, Sendable {
    /// All changes of these commits were told.
    package var told: VersionVector
    /// The last record that was told of the commit after these; nil if none was.
    package var last: Position?

    package struct Position: Hashable, Sendable {
        package var dot: Dot
        package var name: String
    }

    package init(told: VersionVector, last: Position? = nil) {
        self.told = told
        self.last = last
    }
}

extension ChangeToken {
    package var content: Bytes {
        var writer = CanonicalWriter(reserving: 128)
        writer.scope(scope)
        switch subject {
        case .zones(let database):
            writer.database(database)
            writer.varint(viewer == nil ? 0 : 2)
        case .records(let zone):
            writer.database(zone.database)
            writer.varint(viewer == nil ? 1 : 3)
            writer.delimited(zone.name.utf8)
            writer.varint(zone.generation)
        }
        viewer?.write(to: &writer)
        writer.vector(base)
        writer.varint(seen == base ? 0 : 1)
        if seen != base { writer.vector(seen) }
        writer.varint(truncation.value)
        write(progress, to: &writer)
        return writer.bytes
    }

    private func write(_ progress: Progress?, to writer: inout CanonicalWriter) {
        switch progress {
        case nil: writer.varint(0)
        case .records(let progress):
            writer.varint(1)
            progress.write(to: &writer)
        case .trees(let progress):
            writer.varint(3)
            progress.write(to: &writer)
        case .zones(let last, let end):
            writer.varint(2)
            writer.delimited(last.utf8)
            writer.vector(end)
        }
    }

    package init(content: Bytes) throws(MalformedBytes) {
        var reader = CanonicalReader(content)
        scope = try reader.scope()
        (subject, viewer) = try ChangeToken.subject(&reader)
        base = try reader.vector()
        seen = try reader.varint() == 0 ? base : try reader.vector()
        truncation = HybridTime(try reader.varint())
        progress = try ChangeToken.progress(&reader)
        guard reader.isAtEnd else { throw MalformedBytes("a token is longer than what it says") }
    }

    private static func subject(
        _ reader: inout CanonicalReader
    ) throws(MalformedBytes) -> (Subject, Viewer?) {
        let database = try reader.database()
        let kind = try reader.varint()
        var subject = Subject.zones(of: database)
        switch kind {
        case 0, 2: break
        case 1, 3:
            let (name, generation) = (try reader.text(), try reader.varint())
            subject = .records(
                of: Commit.Zone(database: database, name: name, generation: generation)
            )
        default: throw MalformedBytes("a token of another kind")
        }
        return (subject, kind > 1 ? try Viewer(reading: &reader) : nil)
    }

    private static func progress(
        _ reader: inout CanonicalReader
    ) throws(MalformedBytes) -> Progress? {
        switch try reader.varint() {
        case 0: return nil
        case 1: return .records(try ChangeProgress(reading: &reader))
        case 2: return .zones(last: try reader.text(), end: try reader.vector())
        case 3: return .trees(try TreeProgress(reading: &reader))
        default: throw MalformedBytes("progress of another kind")
        }
    }
}

extension ChangeToken.Viewer {
    fileprivate func write(to writer: inout CanonicalWriter) {
        writer.delimited(user.utf8)
        switch seen {
        case .zones(let digests):
            writer.varint(0)
            writer.varint(UInt64(digests.count))
            for digest in digests { writer.bigEndian(digest) }
        case .wholeZone: writer.varint(1)
        case .roots(let roots):
            writer.varint(2)
            ChangeToken.Root.write(roots, to: &writer)
        case .manyRoots(let digest):
            writer.varint(3)
            writer.bigEndian(digest)
        }
    }

    fileprivate init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        user = try reader.text()
        switch try reader.varint() {
        case 0:
            seen = .zones(
                try reader.list { (reader: inout CanonicalReader) throws(MalformedBytes) in
                    try reader.bigEndian()
                }
            )
        case 1: seen = .wholeZone
        case 2: seen = .roots(try ChangeToken.Root.read(&reader))
        case 3: seen = .manyRoots(digest: try reader.bigEndian())
        default: throw MalformedBytes("a token of somebody who saw something unknown")
        }
    }
}

// MARK: - Judgement

extension ChangeToken {
    /// Refuses a token of another container or environment.
    package func check(_ scope: ScopeID) throws(ServiceError) {
        guard self.scope.container == scope.container else { throw .tokenOfAnother("container") }
        guard self.scope == scope else { throw .tokenExpired("it is of another environment") }
    }

    /// Refuses to go on from a state that is older than one the caller was shown.
    func checkReach(_ runs: Runs, _ broken: BrokenRules) throws(ServiceError) {
        let needed = broken.contains(.seen) ? base : needed
        guard broken.contains(.nodeBehind) || runs.covers(needed) else {
            throw ServiceError(
                .serviceUnavailable,
                .nodeBehind,
                "this node has not got what the caller was told elsewhere; try again, or that one"
            )
        }
    }
}

extension ServiceError {
    /// - Parameter why: The reason, as a clause.
    package static func tokenExpired(_ why: String) -> ServiceError {
        ServiceError(
            .changeTokenExpired,
            "the change token has expired: \(why); forget what was fetched, and fetch without one"
        )
    }

    static func tokenOfAnother(_ what: String) -> ServiceError {
        ServiceError(
            .invalidArguments,
            .invalidValue,
            "the change token is of another \(what); keep a token for each"
        )
    }

    static func keepsNoChanges(_ zone: String, _ database: DatabaseID) -> ServiceError {
        ServiceError(
            .invalidArguments,
            .invalidValue,
            """
            Zone '\(zone)' of the \(database.kind.name) database keeps no changes, as in \
            CloudKit; follow the zone, or fetch changes from a custom zone of the private database
            """
        )
    }
}
