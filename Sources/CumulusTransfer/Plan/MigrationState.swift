// How far a migration is: what the state file holds.
//
// Pure. A migration is made of lanes: the records of a type in a default zone, or the changes of a
// custom zone. A lane's token is kept only once everything before it is saved here, so a migration
// that was interrupted does the last page again, which changes nothing.

package import CumulusModel

/// One list of records of the source.
package struct MigrationLane: Hashable, Sendable {
    /// User record name at the source of who asks; empty: a server, by its key.
    package var caller: String
    package var database: DatabaseScope
    package var zone: SourceZone
    /// The type that is listed; nil: all changes of the zone.
    package var type: String?

    package init(
        caller: String,
        database: DatabaseScope,
        zone: SourceZone,
        type: String? = nil
    ) {
        self.caller = caller
        self.database = database
        self.zone = zone
        self.type = type
    }

    /// How messages name it.
    package var text: String {
        let place = "the \(database.name) database"
        if let type { return "type \(type) of \(place)" }
        return "zone \(zone.text) of \(place)"
    }
}

package struct MigrationProgress: Hashable, Sendable {
    /// A query's marker, or a zone's change token; nil: from the beginning.
    package var token: String?
    /// Queries: only what was modified then or later, in milliseconds; nil: everything.
    package var since: Int64?
    /// The newest modification that was seen.
    package var newest: Int64?
    /// Queries: when the first page of this pass was read, by the source's clock.
    package var start: Int64?
    /// Whether the lane was read to its end in this round.
    package var isDone = false
    /// The names that wait, and those that failed.
    package var waiting = MigrationWaiting()
    /// Where `waiting` is, in a file of its own; nil: nothing waits.
    package var mark: MigrationWaiting.Mark?
    /// Records that were deleted before a lost token are found by comparing.
    package var mustSweep = false
    /// Records and deletions that were taken over.
    package var count: Int64 = 0

    package init() {}

    /// A query's index may lag behind: each round begins so many milliseconds before the last one
    /// began, or before its newest record.
    package static let overlap: Int64 = 60_000

    package func request(of lane: MigrationLane) -> SourceRequest {
        guard let type = lane.type else {
            return .zoneChanges(lane.zone, of: lane.database, token: token)
        }
        return .query(type, in: lane.zone, of: lane.database, since: since, marker: token)
    }

    /// Goes on behind a page, which is saved here.
    ///
    /// Pages come by names, so a record may change after its page was read while a newer one is
    /// still to come. What changed since the pass began is in the next one, then.
    ///
    /// - Parameter time: When the source read the page, by its clock.
    package mutating func take(
        _ page: MigrationPage,
        deferring names: [String],
        at time: Int64
    ) {
        if token == nil, page.isOfQuery { start = time }
        let times = page.entries.compactMap { $0.record?.modified?.time }
        newest = (times + [newest].compactMap(\.self)).max()
        for record in page.entries.compactMap(\.record) {
            if let share = record.shareName { waiting.roots[share] = record.name }
        }
        waiting.deferred += names
        count += Int64(page.entries.count)
        token = page.token
        isDone = page.isLast
        if page.isLast, page.isOfQuery {
            token = nil
            since = newest.map { max(0, min($0, start ?? $0)) - MigrationProgress.overlap }
            start = nil
        }
    }

    /// Begins again after the service refused the token; false if there was none.
    package mutating func forgetToken(of lane: MigrationLane) -> Bool {
        guard token != nil else { return false }
        token = nil
        if lane.type == nil { mustSweep = true }
        return true
    }

    /// Begins again if more failed than has names here: only the whole list has them.
    package mutating func readAgainWhatIsLost(of lane: MigrationLane) {
        guard waiting.unnamed > 0 else { return }
        waiting.unnamed = 0
        (token, since, isDone) = (nil, nil, false)
        if lane.type == nil { mustSweep = true }
    }
}

/// A page of a lane.
package struct MigrationPage: Sendable {
    package var entries: [SourceEntry]
    package var token: String?
    package var isLast: Bool
    package var isOfQuery: Bool

    package init(entries: [SourceEntry], token: String?, isLast: Bool, isOfQuery: Bool) {
        self.entries = entries
        self.token = token
        self.isLast = isLast
        self.isOfQuery = isOfQuery
    }

    /// - Throws: `SourceRefusalError` if the service refused the zone; `SourceProblem`.
    package init(_ json: JSON, of lane: MigrationLane) throws {
        if lane.type != nil {
            let page = try SourceQueryPage(json, in: lane.zone.name)
            self.init(
                entries: page.entries,
                token: page.marker,
                isLast: page.marker == nil,
                isOfQuery: true
            )
            return
        }
        let page = try SourceZoneChanges.read(json, in: lane.zone.name).get()
        self.init(
            entries: page.entries,
            token: page.token,
            isLast: !page.moreComing,
            isOfQuery: false
        )
    }
}

/// A user here.
package struct MigratedUser: Hashable, Sendable {
    /// The name by which operators know it.
    package var name: String
    /// Its record name in the container here.
    package var recordName: String

    package init(name: String, recordName: String) {
        self.name = name
        self.recordName = recordName
    }
}

package struct MigrationState: Hashable, Sendable {
    /// Where the records come from and go to; a state file is of no other pair.
    package var source: String
    package var target: String
    /// By the record names of users at the source.
    package var users: [String: MigratedUser] = [:]
    package var lanes: [MigrationLane: MigrationProgress] = [:]
    /// Change tokens of databases: by the caller and the database's name, with a slash between.
    package var databases: [String: String] = [:]
    /// Digests of the subscriptions that were saved here, by `key`, a slash and their ids.
    package var subscriptions: [String: String] = [:]
    /// Ids of the access tokens that were made here for saving as a user, by the user's name:
    /// revoked at the end.
    package var sessions: [String: [String]] = [:]

    package init(source: String, target: String) {
        self.source = source
        self.target = target
    }

    package static func key(_ caller: String, _ database: DatabaseScope) -> String {
        "\(caller)/\(database.name)"
    }

    /// The user here who stands for one there; the name itself if there is none yet.
    package func mapped(_ user: String) -> String { users[user]?.recordName ?? user }

    /// Records of a caller that failed, and were not taken over since.
    package func failures(of caller: String) -> Int {
        lanes.filter { $0.key.caller == caller }.values.reduce(0) { $0 + $1.waiting.failures }
    }

    /// A new round: all lists of a caller are read again, and zones that changed.
    package mutating func beginRound(of caller: String) {
        for lane in lanes.keys where lane.caller == caller && lane.type != nil {
            if lanes[lane]?.isDone == true { lanes[lane]?.isDone = false }
        }
    }

    /// The lanes that are to be read on, of a caller, in a fixed order.
    package func openLanes(of caller: String) -> [MigrationLane] {
        lanes.filter { $0.key.caller == caller && (!$0.value.isDone || $0.value.needsEnd) }
            .map(\.key)
            .sorted { $0.order < $1.order }
    }
}

extension MigrationProgress {
    /// Whether something is left to do once all pages are read.
    package var needsEnd: Bool {
        !waiting.deferred.isEmpty || !waiting.failed.isEmpty || mustSweep
    }
}

extension MigrationLane {
    /// Default zones before custom zones, own zones before others'.
    fileprivate var order: (UInt8, Int, String, String, String) {
        (database.rawValue, type == nil ? 1 : 0, zone.owner, zone.name, type ?? "")
    }
}
