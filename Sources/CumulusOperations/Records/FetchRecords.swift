// Fetches records by name.
//
// Tried on the event loop with `Reach.memory` first. hot: once per fetch.

package import CumulusModel
package import CumulusStorage

package struct FetchRecords: Sendable {
    package var database: DatabaseScope
    /// The addresses of the records; an error takes the place of an invalid one.
    package var ids: [Result<RecordAddress, ServiceError>]
    /// Sorted names of the wanted fields; nil means all.
    package var keys: [String]?

    package init(
        database: DatabaseScope,
        ids: [Result<RecordAddress, ServiceError>],
        keys: [String]?
    ) {
        self.database = database
        self.ids = ids
        self.keys = keys
    }

    /// Returns one result per id from `start` on, in their order, until the records have
    /// `byteLimit` bytes.
    ///
    /// At least one result is returned, if an id is left. If a record can't be read, only its own
    /// result is an error.
    ///
    /// - Parameter damage: Called with what couldn't be read, and why.
    package func run(
        _ scope: ScopeNumber,
        by caller: Caller,
        in reader: ReadTransaction,
        zones directory: ZoneDirectory = ZoneDirectory(),
        schemas: SchemaDirectory = SchemaDirectory(),
        from start: Int = 0,
        byteLimit: Int = .max,
        damage: (String) -> Void = { _ in }
    ) throws(ReadFailure) -> [Result<RecordView, ServiceError>] {
        let database: DatabaseID
        do {
            database = try Authorisation.database(self.database, for: caller)
        } catch {
            throw .service(error)
        }
        do {
            var zones: [ZoneAddress: Opened?] = [:]
            var results: [Result<RecordView, ServiceError>] = []
            results.reserveCapacity(ids.count - start)
            var byteCount = 0
            var (reader, ahead) = (reader, start)
            for index in ids.indices[start...] where byteCount < byteLimit {
                switch ids[index] {
                case .failure(let error): results.append(.failure(error))
                case .success(let address):
                    let zone: Opened?
                    if let known = zones[address.zone] {
                        zone = known
                    } else {
                        zone = try directory.find(
                            address.zone,
                            in: database,
                            of: scope,
                            by: caller,
                            reader
                        ).map { found throws(EngineError) in
                            let access = try AccessReader(
                                to: found,
                                of: scope,
                                by: caller,
                                schemas,
                                reader
                            )
                            return Opened(zone: found, access: access)
                        }
                        zones[address.zone] = .some(zone)
                    }
                    if index >= ahead, reader.readsAhead {
                        let next = ids[index...].prefix(ReadTransaction.stretch)
                        let room = min(byteLimit - byteCount, Limits.standard.answerBytes)
                        try reader.readAhead(stored(next, in: zones), byteLimit: room)
                        ahead = next.endIndex
                    }
                    let result: Result<RecordView, ServiceError>
                    do throws(EngineError) {
                        result = try fetch(address, in: zone, by: caller, reader)
                    } catch .corrupt(let what) {
                        damage(what)
                        result = .failure(.damagedRow)
                    }
                    if case .success(let record) = result { byteCount += record.fields.count }
                    results.append(result)
                }
            }
            return results
        } catch {
            throw .engine(error)
        }
    }

    /// A zone, and what the caller may read in it.
    private struct Opened {
        let zone: FoundZone
        let access: AccessReader
    }

    private func fetch(
        _ address: RecordAddress,
        in opened: Opened?,
        by caller: Caller,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Result<RecordView, ServiceError> {
        guard let zone = opened?.zone, let access = opened?.access else {
            return .failure(.zoneNotFound(address.zone, in: database))
        }
        let view =
            try stored(address.name, in: zone, reader)
            ?? UserRecords.unsaved(named: address.name, in: zone, of: caller)
        guard let view else { return .failure(.recordNotFound) }
        if let refusal = try access.refusal(of: view, reader) { return .failure(refusal) }
        return .success(try reader.completed(view, in: zone, for: caller))
    }

    /// The keys of records, as far as their zones were opened already.
    private func stored(
        _ ids: ArraySlice<Result<RecordAddress, ServiceError>>,
        in zones: [ZoneAddress: Opened?]
    ) -> [RowKey] {
        ids.compactMap { id in
            guard case .success(let address) = id,
                let number = zones[address.zone]??.zone.number
            else { return nil }
            return .record(number, address.name)
        }
    }

    private func stored(
        _ name: String,
        in zone: FoundZone,
        _ reader: ReadTransaction
    ) throws(EngineError) -> RecordView? {
        guard let number = zone.number else { return nil }
        let key = RowKey.record(number, name)
        guard let row = try reader.get(key) else { return nil }
        return try reader.decoding(key.bytes) { () throws(MalformedBytes) in
            try zone.showing(keys) { (keys) throws(MalformedBytes) in
                try RecordView(row: row, name: name, keys: keys)
            }
        }
    }
}
