// Which notifications a user has read: a register of the scope for each user that marked any. And
// which ones a webhook was told on behalf of a user: a register for each user and webhook.
//
// Written by `MarkRead`, read with each page of a feed. A commit holds only what it marks. The node
// that applies it joins that with what the register holds, so marks that two nodes take at the same
// time both count, in either order. A notification's id does not name its changes, so an id stays
// in the register, even if the vector covers it, until later ids need its room.

package import CumulusModel

package struct ReadMarks: Hashable, Sendable {
    /// Notifications of changes that it covers are read.
    ///
    /// Short, see `Runs`.
    package var vector: VersionVector
    /// Notifications that are read, and when each was marked, in milliseconds since 1970 UTC.
    private var times: [FeedNotification.ID: Int64]

    /// How many ids are kept: those marked last.
    ///
    /// All nodes must use the same number to converge.
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

    /// Whether a notification is read.
    ///
    /// - Parameter dots: The changes that the notification tells. A short vector may miss some.
    package func holds(_ id: FeedNotification.ID, of dots: [Dot]) -> Bool {
        holds(id) || dots.allSatisfy { vector.covers($0) }
    }

    /// Whether a notification was marked by its id.
    package func holds(_ id: FeedNotification.ID) -> Bool { times[id] != nil }

    /// When the last id was marked; nil if no id is marked.
    package var newest: Int64? { times.values.max() }

    // MARK: Joining

    /// Adds other marks; the order of several joins makes no difference.
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

    /// By the time of marking, then by id.
    private var ordered: [(key: FeedNotification.ID, value: Int64)] {
        times.sorted {
            $0.value != $1.value
                ? $0.value < $1.value : $0.key.bytes.lexicographicallyPrecedes($1.key.bytes)
        }
    }

    // MARK: Registers

    /// Whose marks a register holds.
    package struct Reader: Hashable, Sendable {
        /// User record name.
        package var user: String
        /// The webhook that is told on behalf of the user; nil means the user.
        package var webhook: String?

        package init(_ user: String, webhook: String? = nil) {
            self.user = user
            self.webhook = webhook
        }

        package var namespace: String {
            webhook == nil ? ReadMarks.namespace : ReadMarks.webhookNamespace
        }

        package var key: [Bytes] { ([user] + (webhook.map { [$0] } ?? [])).map { Bytes($0.utf8) } }
    }

    /// The namespace of users' registers; the key is the user.
    package static let namespace = "read"
    /// The namespace of webhooks' registers; the key is the user and the webhook's name.
    package static let webhookNamespace = "webhook"

    package static let namespaces = [namespace, webhookNamespace]

    static func isNamespace(_ name: String) -> Bool {
        name == namespace || name == webhookNamespace
    }

    /// The form of values that this release writes.
    private static let form: UInt64 = 1

    /// The value of the register; equal marks have equal bytes.
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
    /// The joined marks of both rows.
    ///
    /// A value that can't be decoded marks nothing. If neither can, the later row stays.
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
    /// The marks of a user or a webhook in a scope.
    ///
    /// Reads the row itself, since the writer keeps what `register` returns in memory.
    package borrowing func readMarks(
        of marker: ReadMarks.Reader,
        in scope: ScopeNumber
    ) throws(EngineError) -> ReadMarks {
        let registers = try registers(scope, marker.namespace, below: marker.key)
        guard let (_, value) = registers.first else { return ReadMarks() }
        return try decoding(value) { () throws(MalformedBytes) in try ReadMarks(value: value) }
    }
}
