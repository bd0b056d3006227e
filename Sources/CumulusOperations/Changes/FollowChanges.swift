// A stream of the changes of a zone or a database: the pages that a caller would fetch, a
// checkpoint, and then a page of each later change.
//
// The node holds one such value for each follower: where the next page begins, and whether the
// follower is up to date. The node calls `begin` on a reader thread, once when the follower begins
// and again when its scope has news; the page takes turns there, and `take` then says whether it is
// sent. Tests read a page at once, with `run`.

package import CumulusModel
package import CumulusStorage

package struct FollowChanges: Sendable {
    /// What is followed.
    package enum Fetch: Sendable {
        case zone(FetchZoneChanges)
        case database(FetchDatabaseChanges)
    }

    package enum Page: Sendable {
        case zone(FetchZoneChanges.Page)
        case database(FetchDatabaseChanges.Page)
    }

    /// Everything that decides the bytes of a page that is read from one state of the store.
    ///
    /// Personal pages depend on the caller too, see `FetchZoneChanges.Page`.
    package struct Question: Hashable, Sendable {
        var token: ChangeToken
        var roles: Roles
        var keys: [String]?
        var items: Int
        var bytes: Int
    }

    /// The roles of a caller, which decide the record types that it may read.
    enum Roles: Hashable, Sendable {
        case anonymous
        /// A signed-in caller, with the roles of the schema that it was given.
        case signedIn(Set<String>)
        case `operator`

        init(_ caller: Caller, _ roles: UserRoles) {
            self =
                switch caller.role {
                case .anonymous: .anonymous
                case .user, .server: .signedIn(roles.names)
                case .operator: .operator
                }
        }
    }

    package private(set) var fetch: Fetch
    /// Whether the last message said that the follower has everything.
    package private(set) var isUpToDate = false
    /// The caller's roles when the last page was read; nil if there was none.
    private var roles: UserRoles?

    package init(_ fetch: Fetch) {
        switch fetch {
        case .zone(var fetch):
            fetch.includesDefaultZones = true
            self.fetch = .zone(fetch)
        case .database(var fetch):
            fetch.includesDefaultZones = true
            self.fetch = .database(fetch)
        }
    }

    /// Whether the roles that the caller was given may decide what it is told.
    package var dependsOnRoles: Bool {
        if case .zone(let zone) = fetch { zone.database == .public } else { false }
    }

    /// A question whose answer followers share; nil before the first page, which checks that this
    /// caller may follow, and before the first page after its roles changed.
    ///
    /// - Parameter roles: The roles in the state that is read; empty if nothing depends on them.
    package func question(by caller: Caller, with roles: UserRoles) -> Question? {
        guard self.roles == roles else { return nil }
        let roles = Roles(caller, roles)
        switch fetch {
        case .zone(let fetch):
            return fetch.token.map {
                let limit = fetch.limit
                return Question(
                    token: $0,
                    roles: roles,
                    keys: fetch.keys,
                    items: limit.items,
                    bytes: limit.bytes
                )
            }
        case .database(let fetch):
            return fetch.token.map {
                Question(token: $0, roles: roles, items: fetch.limit, bytes: 0)
            }
        }
    }

    // MARK: Pages

    /// The next page; throws if the zone is gone.
    package func run(
        _ scope: ScopeID,
        _ number: ScopeNumber,
        by caller: Caller,
        in reader: ReadTransaction,
        schemas: SchemaDirectory = SchemaDirectory()
    ) throws(ReadFailure) -> Page {
        var reading = try begin(scope, number, by: caller, in: reader, schemas: schemas)
        while true {
            if let page = try reading.turn() { return page }
        }
    }

    /// Begins the next page; throws if the zone is gone.
    package func begin(
        _ scope: ScopeID,
        _ number: ScopeNumber,
        by caller: Caller,
        in reader: ReadTransaction,
        schemas: SchemaDirectory = SchemaDirectory()
    ) throws(ReadFailure) -> Reading {
        switch fetch {
        case .database(let fetch):
            return .database(try fetch.begin(scope, number, by: caller, in: reader))
        case .zone(let fetch):
            do throws(ReadFailure) {
                return .zone(
                    try fetch.begin(scope, number, by: caller, in: reader, schemas: schemas)
                )
            } catch {
                guard case .service(let refusal) = error, refusal.code == .zoneNotFound else {
                    throw error
                }
                throw try FollowChanges.end(of: fetch, number, by: caller, in: reader) ?? error
            }
        }
    }

    /// A page in the making, over one snapshot.
    package enum Reading: Sendable {
        case zone(FetchZoneChanges.Reading)
        case database(FetchDatabaseChanges.Reading)

        /// Goes on for one turn on a reader thread; returns the page if it is done.
        package mutating func turn() throws(ReadFailure) -> Page? {
            switch self {
            case .zone(var reading):
                let page = try reading.turn()
                self = .zone(reading)
                return page.map { .zone($0) }
            case .database(var reading):
                let page = try reading.turn()
                self = .database(reading)
                return page.map { .database($0) }
            }
        }
    }

    /// Takes note of the page that was read, and goes on after it.
    ///
    /// Returns whether the page is sent. An empty page is not, unless it is the first one with
    /// which the follower is up to date.
    ///
    /// - Parameter roles: The roles with which `question` was asked.
    package mutating func take(isEmpty: Bool, token: ChangeToken, with roles: UserRoles) -> Bool {
        self.roles = roles
        switch fetch {
        case .zone(var zone):
            zone.token = token
            fetch = .zone(zone)
        case .database(var database):
            database.token = token
            fetch = .database(database)
        }
        let isLast = token.progress == nil
        guard !isEmpty || (isLast && !isUpToDate) else { return false }
        isUpToDate = isLast
        return true
    }

    // MARK: Ends

    /// The error that says why a zone is gone; nil if there never was such a zone.
    private static func end(
        of fetch: FetchZoneChanges,
        _ number: ScopeNumber,
        by caller: Caller,
        in reader: ReadTransaction
    ) throws(ReadFailure) -> ReadFailure? {
        do {
            let database = try Authorisation.database(fetch.database, for: caller)
            let name = fetch.zone.name
            guard caller.isOwner(named: fetch.zone.owner),
                let databaseNumber = try reader.database(number, database),
                let row = try reader.zone(databaseNumber, name), row.deleted != nil
            else { return nil }
            return .service(ServiceError.zoneGone(name, reason: row.reason))
        } catch {
            throw ReadFailure(error)
        }
    }
}

extension FollowChanges.Page {
    package var token: ChangeToken {
        switch self {
        case .zone(let page): page.token
        case .database(let page): page.token
        }
    }

    /// Whether another caller with the same roles may be told something else.
    package var isPersonal: Bool {
        if case .zone(let page) = self { page.isPersonal } else { false }
    }

    package var isEmpty: Bool {
        switch self {
        case .zone(let page): page.records.isEmpty && page.deletions.isEmpty
        case .database(let page): page.changed.isEmpty && page.deletions.isEmpty
        }
    }
}

extension ServiceError {
    /// - Parameter reason: The number in `ZoneRow.reason`.
    fileprivate static func zoneGone(_ name: String, reason: UInt8) -> ServiceError {
        switch reason {
        case 1:
            ServiceError(
                .userDeletedZone,
                """
                Zone '\(name)' was purged: its user removed the app's data; forget it here too, \
                and ask the user before anything is uploaded again
                """
            )
        case 2:
            ServiceError(
                .zoneNotFound,
                """
                Zone '\(name)' is gone: its user's keys were reset, and nothing in it can be read \
                any more; make it again, and upload what this device has
                """
            )
        default:
            ServiceError(.zoneNotFound, "Zone '\(name)' was deleted; forget what was fetched of it")
        }
    }
}
