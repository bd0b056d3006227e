// Where calls point: zones and records as callers name them, and how these names are looked up.
//
// Used by every operation on zones and records.

package import CumulusModel
package import CumulusStorage

package struct ZoneAddress: Hashable, Sendable {
    package var name: String
    /// User record name, the alias of the caller, or empty for the caller.
    package var owner: String

    package init(name: String = Names.defaultZone, owner: String = "") {
        self.name = name
        self.owner = owner
    }
}

package struct RecordAddress: Hashable, Sendable {
    package var zone: ZoneAddress
    package var name: String

    package init(zone: ZoneAddress, name: String) {
        self.zone = zone
        self.name = name
    }
}

/// Where a zone is, and what the caller may do in it, without how its records look.
package struct LocatedZone: Hashable, Sendable {
    package var zone: Commit.Zone
    package var capabilities: RecordZone.Capabilities
    /// The number of the zone; nil for a default zone that nothing was written to yet.
    package var number: ZoneNumber?
    /// What the caller may do in it.
    package var rights: AccessRights
}

/// A zone with what is needed to show its records, or to decide about them.
package struct FoundZone: Hashable, Sendable {
    let located: LocatedZone
    package let lens: RecordLens

    /// - Parameter lens: The lens of the same state.
    init(_ located: LocatedZone, _ lens: RecordLens) {
        self.located = located
        self.lens = lens
    }

    package var zone: Commit.Zone { located.zone }
    package var capabilities: RecordZone.Capabilities { located.capabilities }
    package var number: ZoneNumber? { located.number }
    package var rights: AccessRights { located.rights }

    /// Makes a record's view as callers see it; returns nil if they don't see the record.
    ///
    /// - Parameter keys: Sorted names of the wanted fields; nil means all.
    package func showing(
        _ keys: [String]?,
        _ make: ([String]?) throws(MalformedBytes) -> RecordView?
    ) throws(MalformedBytes) -> RecordView? {
        let view = try make(keys)
        guard let type = view?.type, lens.changes(type), let whole = try make(nil) else {
            return view
        }
        guard let keys, var shown = try lens.showing(whole) else { return try lens.showing(whole) }
        shown.fields = try RecordBody(stored: shown.fields).selecting(keys).bytes
        return shown
    }
}

extension RowReader where Self: ~Copyable {
    /// Finds a zone by its address; nil if it does not exist, or if the caller may not know of it.
    ///
    /// A zone of the shared database is found in the private database of its owner.
    package borrowing func find(
        _ address: ZoneAddress,
        in database: DatabaseID,
        of scope: ScopeNumber,
        by caller: Caller
    ) throws(EngineError) -> FoundZone? {
        guard let located = try locate(address, in: database, of: scope, by: caller) else {
            return nil
        }
        return FoundZone(located, try RecordLens(of: scope, in: self))
    }

    /// Finds where a zone is, for callers that need nothing of its records.
    package borrowing func locate(
        _ address: ZoneAddress,
        in database: DatabaseID,
        of scope: ScopeNumber,
        by caller: Caller
    ) throws(EngineError) -> LocatedZone? {
        if database.kind == .shared { return try locateShared(address, of: scope, by: caller) }
        guard caller.isOwner(named: address.owner) else { return nil }
        return try locate(address.name, in: database, of: scope)
    }

    /// Finds a zone with the rights of its owner.
    borrowing func locate(
        _ name: String,
        in database: DatabaseID,
        of scope: ScopeNumber
    ) throws(EngineError) -> LocatedZone? {
        let rights: AccessRights = database.kind == .public ? .granted : .own
        var row: ZoneRow?
        if let number = try self.database(scope, database) { row = try zone(number, name) }
        if let row, row.exists {
            return LocatedZone(
                zone: Commit.Zone(database: database, name: name, generation: row.generation),
                capabilities: RecordZone.Capabilities(rawValue: row.capabilities),
                number: row.number,
                rights: rights
            )
        }
        guard name == Names.defaultZone, let generation = Zones.nextGeneration(after: row) else {
            return nil
        }
        let zone = Commit.Zone(database: database, name: name, generation: generation)
        return LocatedZone(zone: zone, capabilities: [], number: nil, rights: rights)
    }

    /// Finds a zone that another user shares with the caller.
    private borrowing func locateShared(
        _ address: ZoneAddress,
        of scope: ScopeNumber,
        by caller: Caller
    ) throws(EngineError) -> LocatedZone? {
        guard let row = try visibleZone(address, of: scope, to: caller) else { return nil }
        let owner = DatabaseID(kind: .private, owner: address.owner)
        guard let located = try locate(address.name, in: owner, of: scope) else { return nil }
        let shares = try shares(lettingIn: caller.user, to: located, by: row)
        return try located.seen(by: shares, in: self)
    }

    /// The row that leads a user to another user's zone; nil if the user never had access to it.
    ///
    /// For a user who sees nothing of it, a zone does not exist: one read says so, whether or not
    /// the zone is there.
    borrowing func visibleZone(
        _ address: ZoneAddress,
        of scope: ScopeNumber,
        to caller: Caller
    ) throws(EngineError) -> VisibleZone? {
        guard case .user(let user) = caller.role, !caller.isOwner(named: address.owner),
            address.name != Names.defaultZone
        else { return nil }
        return try visibleZone(address.name, of: address.owner, to: user, in: scope)
    }
}

extension WriteTransaction {
    /// Finds a zone by its address, with the lens that the writer keeps.
    mutating func find(
        _ address: ZoneAddress,
        in database: DatabaseID,
        of scope: ScopeNumber,
        by caller: Caller
    ) throws(EngineError) -> FoundZone? {
        guard let located = try locate(address, in: database, of: scope, by: caller) else {
            return nil
        }
        return FoundZone(located, try lens(of: scope))
    }
}

extension ServiceError {
    /// The error for a zone that does not exist for the caller.
    ///
    /// It depends on the names in the call alone, and says what to check.
    package static func zoneNotFound(
        _ zone: ZoneAddress,
        in database: DatabaseScope
    ) -> ServiceError {
        guard database == .shared else {
            return ServiceError(
                .zoneNotFound,
                """
                Zone '\(zone.name)' does not exist, or is not shared with you any longer; check \
                its name, its owner and the database, or create it
                """
            )
        }
        guard !zone.owner.isEmpty else {
            return ServiceError(
                .zoneNotFound,
                """
                Zone '\(zone.name)' is named without its owner, and the shared database has zones \
                of other users only; name the owner by the user record name
                """
            )
        }
        return ServiceError(
            .zoneNotFound,
            """
            Zone '\(zone.name)' does not exist, or is not shared with you any longer; check its \
            name, its owner and the database
            """
        )
    }

    package static let recordNotFound = ServiceError(.unknownItem, "Record not found")

    /// The error for a stored row that can't be read.
    package static let damagedRow = ServiceError(
        .internalError,
        .corrupt,
        """
        a stored row is damaged; the node's log says where: run 'cumulus cluster verify --repair' \
        with another node, or \(EngineError.remedy)
        """
    )

    package static func tooManyItems(_ count: Int, limit: Int) -> ServiceError {
        ServiceError(
            .limitExceeded,
            .tooManyItems,
            """
            Your request contains \(count) items which is more than the maximum number of items \
            in a single request (\(limit)); send it in parts
            """
        )
    }
}
