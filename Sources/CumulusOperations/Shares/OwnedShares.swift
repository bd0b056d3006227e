// How operators list the shares of a user, and stop one.
//
// Reads run `all`, and the writer runs `StopShare`. Operators are told names and rights, but no
// fields of records.

package import CumulusModel
package import CumulusStorage

package enum OwnedShares {
    /// The record of a share without its fields, and where it is.
    package struct Entry: Hashable, Sendable {
        package var zone: ZoneAddress
        package var share: RecordView
    }

    /// The shares in force in a user's private database, by zones and names.
    ///
    /// This reads the ids of all shares of the scope, since nothing else says which of them are
    /// the user's.
    package static func all(
        of user: String,
        in container: String,
        _ scope: ScopeNumber,
        _ reader: ReadTransaction
    ) throws -> [Entry] {
        guard let known = try Users.find(user, in: reader) else { throw Users.unknown(user) }
        let owner = known.recordName(in: container)
        let database = DatabaseID(kind: .private, owner: owner)
        var places: Set<Place> = []
        var last: Bytes?
        repeat {
            let page = try reader.shareIDRows(in: scope, after: last, limit: rowsAtOnce)
            for row in page.rows where row.zone.database == database {
                for name in row.recordNames {
                    places.insert(Place(zone: row.zone.name, share: name))
                }
            }
            last = page.next
        } while last != nil
        return try places.sorted { ($0.zone, $0.share) < ($1.zone, $1.share) }.compactMap {
            try entry($0, database, scope, reader)
        }
    }

    private struct Place: Hashable {
        let zone: String
        let share: String
    }

    private static let rowsAtOnce = 1_000

    private static func entry(
        _ place: Place,
        _ database: DatabaseID,
        _ scope: ScopeNumber,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Entry? {
        guard let found = try reader.locate(place.zone, in: database, of: scope),
            let number = found.number,
            let share = try reader.shareInForce(place.share, in: number)
        else { return nil }
        var view = try reader.decoding(Bytes(place.share.utf8)) { () throws(MalformedBytes) in
            RecordView(share.row, name: share.name)
        }
        view.fields = []
        view.add(share, in: found.zone, for: database.owner)
        return Entry(zone: ZoneAddress(name: place.zone, owner: database.owner), share: view)
    }
}

/// Ends a share as its owner would.
package struct StopShare: Hashable, ContainerChange {
    /// The name of the owner.
    package var user: String
    package var zone: String
    /// The name of the share's record.
    package var share: String

    package init(user: String, zone: String, share: String) {
        self.user = user
        self.zone = zone
        self.share = share
    }

    package static var isOperators: Bool { true }
    package var onlyDeletes: Bool { true }

    package func keeps(_ existed: Bool) -> Bool { existed }

    /// Ends the share; the outcome is false if there is no such share.
    package func run(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<Bool, ServiceError> {
        guard let known = try Users.find(user, in: transaction) else {
            return .failure(Users.unknown(user))
        }
        let owner = known.recordName(in: asker.scope.container)
        let database = DatabaseID(kind: .private, owner: owner)
        guard let number = try transaction.locate(zone, in: database, of: scope)?.number,
            try transaction.share(share, in: number) != nil
        else { return .success(false) }
        let address = RecordAddress(zone: ZoneAddress(name: zone), name: share)
        let delete = ModifyRecords(database: .private, deletes: [DeleteItem(address: address)])
        let owners = Asker(scope: asker.scope, caller: Caller(role: .user(owner)))
        switch try delete.run(for: owners, in: scope, &transaction) {
        case .failure(let error): return .failure(error)
        case .success(.needsSurvey), .success(.needsTargets): return .failure(StopShare.tooMuch)
        case .success(.modified(let outcome)):
            guard case .failure(let failure)? = outcome.deletes.first else { return .success(true) }
            return .failure(failure.error)
        }
    }

    private static let tooMuch = ServiceError(
        .limitExceeded,
        "too many records would be deleted with this share; let its owner delete it"
    )
}
