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
    ) throws(ReadFailure) -> [FoundZone] {
        let database: DatabaseID
        do {
            database = try Authorisation.database(self.database, for: caller)
        } catch {
            throw .service(error)
        }
        do {
            return try reader.findZones(of: database, scope, by: caller)
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
    ) throws(ReadFailure) -> [Result<FoundZone, ServiceError>] {
        let database: DatabaseID
        do {
            database = try Authorisation.database(self.database, for: caller)
        } catch {
            throw .service(error)
        }
        var results: [Result<FoundZone, ServiceError>] = []
        for id in ids {
            do throws(EngineError) {
                switch id {
                case .failure(let error): results.append(.failure(error))
                case .success(let address):
                    let zone = try reader.find(address, in: database, of: scope, by: caller)
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
    borrowing func findZones(
        of database: DatabaseID,
        _ scope: ScopeNumber,
        by caller: Caller
    ) throws(EngineError) -> [FoundZone] {
        guard database.kind != .shared else {
            return try findZones(sharedWith: caller, in: scope)
        }
        var names: Set<String> = [Names.defaultZone]
        if let number = try self.database(scope, database) {
            names.formUnion(try zoneRows(of: number).map(\.name))
        }
        var found: [FoundZone] = []
        for name in names.sorted() {
            let address = ZoneAddress(name: name)
            if let zone = try find(address, in: database, of: scope, by: caller) {
                found.append(zone)
            }
        }
        return found
    }

    /// All zones of a database, whose records are to be shown.
    borrowing func findAllShown(
        of database: DatabaseID,
        _ scope: ScopeNumber,
        by caller: Caller
    ) throws(EngineError) -> [FoundZone] {
        let lens = try RecordLens(of: scope, in: self)
        return try findZones(of: database, scope, by: caller).map { zone in
            var zone = zone
            zone.lens = lens
            return zone
        }
    }
}
