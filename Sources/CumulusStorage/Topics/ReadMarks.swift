// Which notifications a user has read: a register of a scope, one for each user that marked any.
//
// Written by `MarkRead`, read with each page of a feed. A commit holds what it marks and nothing
// else; where it is applied that is joined with what the register holds. So marks that two nodes
// take at the same time both count, in whichever order they arrive. A notification's id does not
// say which change it is of, so ids stay beside a vector that covers them, until later ones take
// their room.

package import CumulusModel

package struct ReadMarks: Hashable, Sendable {
    /// All changes that it covers are read.
    ///
    /// Short, see `Runs`.
    package var vector: VersionVector
    /// Notifications that are read, and when each was marked, in milliseconds since 1970 UTC.
    private var times: [FeedNotification.ID: Int64]

    /// Ids that are kept, those marked last: nodes that disagreed about it would not converge.
    package static let mostIDs = FeedNotification.ID.mostMarked

    package init(
        upTo vector: VersionVector = VersionVector(),
        ids: [FeedNotification.ID] = [],
        at time: Int64 = 0
    ) {
        self.vector = vector
        times = Dictionary(ids.map { ($0, time) }) { first, _ in first }
        limit()
    }

    /// - Parameter dots: Of the changes that it tells; if the vector is short, this may miss some.
    package func holds(_ id: FeedNotification.ID, of dots: [Dot]) -> Bool {
        holds(id) || dots.allSatisfy { vector.covers($0) }
    }

    package func holds(_ id: FeedNotification.ID) -> Bool { times[id] != nil }

    /// When the last id was marked; nil if no id is marked.
    package var newest: Int64? { times.values.max() }

    // MARK: Joining

    /// Adds others: the order in which marks are joined makes no difference.
    package mutating func join(_ other: ReadMarks) {
        vector.merge(other.vector)
        times.merge(other.times) { max($0, $1) }
        limit()
    }

    private mutating func limit() {
        guard times.count > ReadMarks.mostIDs else { return }
        let kept = ordered.suffix(ReadMarks.mostIDs)
        times = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
    }

    /// Those that were marked first, first.
    private var ordered: [(key: FeedNotification.ID, value: Int64)] {
        times.sorted {
            $0.value != $1.value
                ? $0.value < $1.value : $0.key.bytes.lexicographicallyPrecedes($1.key.bytes)
        }
    }

    // MARK: Registers

    /// Of registers: (user) → the value.
    package static let namespace = "read"

    package static func key(_ user: String) -> [Bytes] { [Bytes(user.utf8)] }

    /// The form of values that this release writes.
    private static let form: UInt64 = 1

    /// Equal marks have equal bytes.
    package var value: Bytes {
        var writer = CanonicalWriter(reserving: 64 + times.count * 24)
        writer.varint(ReadMarks.form)
        writer.vector(vector)
        writer.varint(UInt64(times.count))
        for (id, time) in ordered {
            writer.raw(id.bytes)
            writer.varint(zigzag(time))
        }
        return writer.bytes
    }

    package init(value: Bytes) throws(MalformedBytes) {
        var reader = CanonicalReader(value)
        guard try reader.varint() == ReadMarks.form else {
            throw MalformedBytes("marks of what is read were written by a later release")
        }
        vector = try reader.vector()
        times = [:]
        for _ in 0..<(try reader.count(limit: ReadMarks.mostIDs)) {
            let range = try reader.take(FeedNotification.ID.byteCount)
            times[FeedNotification.ID(bytes: Bytes(value[range]))] = try reader.signed()
        }
        guard self.value == value else {
            throw MalformedBytes("marks of what is read are not in their canonical form")
        }
    }
}

extension RegisterRow {
    /// What either of two rows marks as read.
    ///
    /// One that can't be read marks nothing; of two such the later one stays.
    func joiningMarks(of other: RegisterRow) -> RegisterRow {
        let later = stamp < other.stamp ? other : self
        let known = [self, other].compactMap { row in
            row.value.flatMap { try? ReadMarks(value: $0) }
        }
        guard var marks = known.first else { return later }
        for more in known.dropFirst() { marks.join(more) }
        return RegisterRow(stamp: later.stamp, value: marks.value)
    }
}

extension RowReader where Self: ~Copyable {
    /// What a user has read in a scope.
    ///
    /// Not by `register`: the writer would keep each user's in memory.
    package borrowing func readMarks(
        of user: String,
        in scope: ScopeNumber
    ) throws(EngineError) -> ReadMarks {
        let key = ReadMarks.key(user)
        guard let (_, value) = try registers(scope, ReadMarks.namespace, below: key).first else {
            return ReadMarks()
        }
        return try decoding(value) { () throws(MalformedBytes) in try ReadMarks(value: value) }
    }
}
