// Lists and fetches zones.
//
// Read on the event loop or a reader thread, like records.

package import CumulusModel
package import CumulusStorage

package struct ListZones: Sendable {
    package var database: DatabaseScope

    package init(database: DatabaseScope) {
        self.database = database
    }

    /// All zones of the database, the default zone among them, in the order of their names.
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
    /// An address, or why it can't be one.
    package var ids: [Result<ZoneAddress, ServiceError>]

    package init(database: DatabaseScope, ids: [Result<ZoneAddress, ServiceError>]) {
        self.database = database
        self.ids = ids
    }

    /// One result per id, in their order.
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
    /// All zones of a database, the default zone among them, in the order of their names; of the
    /// shared one by owner and name.
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

    /// Finds all zones of a database, with how their records look.
    borrowing func findZones(
        of database: DatabaseID,
        _ scope: ScopeNumber,
        by caller: Caller
    ) throws(EngineError) -> [FoundZone] {
        let lens = try RecordLens(of: scope, in: self)
        return try locateZones(of: database, scope, by: caller).map { FoundZone($0, lens) }
    }
}
