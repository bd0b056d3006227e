// Lists and fetches zones.
//
// These reads run on the event loop or a reader thread, like reads of records.

package import CumulusModel
package import CumulusStorage

package struct ListZones: Sendable {
    package var database: DatabaseScope

    package init(database: DatabaseScope) {
        self.database = database
    }

    /// Returns all zones of the database with the default zone, in the order of their names.
    package func run(
        _ scope: ScopeNumber,
        by caller: Caller,
        in reader: ReadTransaction
    ) throws(ReadFailure) -> [LocatedZone] {
        let database: DatabaseID
        do {
            database = try Authorisation.database(self.database, for: caller)
        } catch {
            throw .service(error)
        }
        do {
            return try reader.locateZones(of: database, scope, by: caller)
        } catch {
            throw .engine(error)
        }
    }
}

package struct FetchZones: Sendable {
    package var database: DatabaseScope
    /// The addresses of the zones; an error takes the place of an invalid one.
    package var ids: [Result<ZoneAddress, ServiceError>]

    package init(database: DatabaseScope, ids: [Result<ZoneAddress, ServiceError>]) {
        self.database = database
        self.ids = ids
    }

    /// Returns one result per id, in their order.
    package func run(
        _ scope: ScopeNumber,
        by caller: Caller,
        in reader: ReadTransaction
    ) throws(ReadFailure) -> [Result<LocatedZone, ServiceError>] {
        let database: DatabaseID
        do {
            database = try Authorisation.database(self.database, for: caller)
        } catch {
            throw .service(error)
        }
        var results: [Result<LocatedZone, ServiceError>] = []
        for id in ids {
            do throws(EngineError) {
                switch id {
                case .failure(let error): results.append(.failure(error))
                case .success(let address):
                    let zone = try reader.locate(address, in: database, of: scope, by: caller)
                    results.append(
                        zone.map { .success($0) }
                            ?? .failure(.zoneNotFound(address, in: self.database))
                    )
                }
            } catch {
                throw .engine(error)
            }
        }
        return results
    }
}

extension RowReader where Self: ~Copyable {
    /// Finds all zones of a database with the default zone, in the order of their names.
    ///
    /// Zones of the shared database are in the order of owners and names.
    borrowing func locateZones(
        of database: DatabaseID,
        _ scope: ScopeNumber,
        by caller: Caller
    ) throws(EngineError) -> [LocatedZone] {
        guard database.kind != .shared else {
            return try locateZones(sharedWith: caller, in: scope)
        }
        var names: Set<String> = [Names.defaultZone]
        if let number = try self.database(scope, database) {
            names.formUnion(try zoneRows(of: number).map(\.name))
        }
        var located: [LocatedZone] = []
        for name in names.sorted() {
            if let zone = try locate(name, in: database, of: scope) { located.append(zone) }
        }
        return located
    }

    /// Finds all zones of a database, with what is needed to show their records.
    borrowing func findZones(
        of database: DatabaseID,
        _ scope: ScopeNumber,
        by caller: Caller
    ) throws(EngineError) -> [FoundZone] {
        let lens = try RecordLens(of: scope, in: self)
        return try locateZones(of: database, scope, by: caller).map { FoundZone($0, lens) }
    }
}
