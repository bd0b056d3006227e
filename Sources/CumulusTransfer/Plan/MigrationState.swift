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
    /// Whether the lane was read to its end in this round.
    package var isDone = false
    /// Records that are saved at the lane's end, since others must be there before: children whose
    /// parent comes later, and shares.
    package var deferred: [String] = []
    /// The roots of shares, by the names of the shares' records.
    package var roots: [String: String] = [:]
    /// Records that were deleted before a lost token are found by comparing.
    package var mustSweep = false
    /// Records and deletions that were taken over.
    package var count: Int64 = 0

    package init() {}

    /// A query's index may lag behind: each round begins so many milliseconds before the newest
    /// record of the last one.
    package static let overlap: Int64 = 60_000

    package func request(of lane: MigrationLane) -> SourceRequest {
        guard let type = lane.type else {
            return .zoneChanges(lane.zone, of: lane.database, token: token)
        }
        return .query(type, in: lane.zone, of: lane.database, since: since, marker: token)
    }

    /// Goes on behind a page, which is saved here.
    package mutating func take(_ page: MigrationPage, deferring names: [String]) {
        let times = page.entries.compactMap { $0.record?.modified?.time }
        newest = (times + [newest].compactMap(\.self)).max()
        for record in page.entries.compactMap(\.record) {
            if let share = record.shareName { roots[share] = record.name }
        }
        let known = Set(deferred)
        deferred += names.filter { !known.contains($0) }
        count += Int64(page.entries.count)
        token = page.token
        isDone = page.isLast
        if page.isLast, page.isOfQuery {
            token = nil
            since = newest.map { max(0, $0) - MigrationProgress.overlap }
        }
    }

    /// Begins again after the service refused the token; false if there was none.
    package mutating func forgetToken(of lane: MigrationLane) -> Bool {
        guard token != nil else { return false }
        token = nil
        if lane.type == nil { mustSweep = true }
        return true
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
    /// Tokens of users at the source as the service renewed them last, by the SHA-256 of the token
    /// with which it began.
    package var userTokens: [String: String] = [:]
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
    package var needsEnd: Bool { !deferred.isEmpty || mustSweep }
}

extension MigrationLane {
    /// Default zones before custom zones, own zones before others'.
    fileprivate var order: (UInt8, Int, String, String, String) {
        (database.rawValue, type == nil ? 1 : 0, zone.owner, zone.name, type ?? "")
    }
}
