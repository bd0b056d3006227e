// What waits in a lane, and what failed: by the names of records.
//
// Pure. It may grow with every page, so `MigrationFile` keeps it in a file that is added to, and
// the state says how much of that file counts. Names of records that failed are kept up to a
// number; of what is beyond, the number alone.

package import CumulusModel

package struct MigrationWaiting: Hashable, Sendable {
    /// Records that are saved at the lane's end, since others must be there before, or deleted
    /// there, since others must go before.
    ///
    /// Such are children whose parent comes later, shares, and parents.
    package var deferred: [String] = []
    /// The roots of shares, by the names of the shares' records.
    package var roots: [String: String] = [:]
    /// Why records could not be taken over, by their names: they are tried again in each round.
    package var failed: [String: String] = [:]
    /// How many more failed: the next run reads their list from its beginning.
    package var unnamed = 0

    package static let mostFailed = 10_000

    package init() {}

    package var isEmpty: Bool {
        deferred.isEmpty && roots.isEmpty && failed.isEmpty && unnamed == 0
    }

    package var failures: Int { failed.count + unnamed }

    /// Notes which of the records that were tried failed.
    ///
    /// - Parameters:
    ///   - tried: Their names.
    ///   - reasons: Why, by the names of those that failed.
    package mutating func settle(_ tried: some Sequence<String>, _ reasons: [String: String]) {
        for name in tried where reasons[name] == nil { failed[name] = nil }
        for (name, reason) in reasons.sorted(by: { $0.key < $1.key }) {
            if failed[name] == nil, failed.count >= MigrationWaiting.mostFailed {
                unnamed += 1
            } else {
                failed[name] = reason
            }
        }
    }

    // MARK: Its file

    /// How much of a lane's file counts.
    package struct Mark: Hashable, Sendable {
        /// The file's number: a file is only added to, and another one begins with less.
        package var number: Int64
        package var bytes: Int64

        package init(number: Int64, bytes: Int64) {
            self.number = number
            self.bytes = bytes
        }

        var json: JSON { ["number": .integer(number), "bytes": .integer(bytes)] }

        init(_ object: SourceObject) throws(SourceProblem) {
            number = try object.integer("number") ?? 0
            bytes = try object.integer("bytes") ?? 0
            guard number >= 0, bytes >= 0 else {
                throw SourceProblem(object.place("bytes"), "must not be negative")
            }
        }
    }

    /// What has to be added to an older state to get this one; nil if something is gone.
    package func addition(to old: MigrationWaiting) -> MigrationWaiting? {
        guard deferred.starts(with: old.deferred), unnamed >= old.unnamed,
            old.roots.allSatisfy({ roots[$0.key] != nil }),
            old.failed.allSatisfy({ failed[$0.key] != nil })
        else { return nil }
        var added = MigrationWaiting()
        added.deferred = Array(deferred[old.deferred.count...])
        added.roots = roots.filter { old.roots[$0.key] != $0.value }
        added.failed = failed.filter { old.failed[$0.key] != $0.value }
        added.unnamed = unnamed - old.unnamed
        return added
    }

    package var json: JSON {
        [
            "deferred": .array(deferred.map { .string($0) }),
            "roots": MigrationState.object(roots), "failed": MigrationState.object(failed),
            "unnamed": .integer(Int64(unnamed)),
        ]
    }

    /// Adds what a line of the file says.
    package mutating func add(_ line: JSON) throws(SourceProblem) {
        try add(SourceObject(line, at: ""))
    }

    mutating func add(_ object: SourceObject) throws(SourceProblem) {
        deferred += try object.strings("deferred")
        roots.merge(try MigrationState.texts(object, "roots")) { $1 }
        failed.merge(try MigrationState.texts(object, "failed")) { $1 }
        let more = Int(clamping: try object.integer("unnamed") ?? 0)
        guard (0...1_000_000_000_000).contains(more) else {
            throw SourceProblem(object.place("unnamed"), "is no count")
        }
        unnamed += more
    }
}
