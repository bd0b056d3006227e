// Maintains the set of indexes: which ones follow from the schema, and how late ones are built.
//
// `ScopeIndexes+Rows` writes the rows of each changed record, also into indexes that are being
// built. A walk through the older records completes such an index, a bounded step at a time.

package import CumulusModel

// MARK: - Which indexes there are

/// The indexes of a scope, as the writer keeps them.
package struct ScopeIndexes: Sendable {
    let scope: ScopeNumber

    package init(of scope: ScopeNumber) { self.scope = scope }

    /// The indexes of a type as the schema wants them now.
    func settled(
        _ type: String,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> [NumberedIndex] {
        let key = WriterState.SchemaKey(scope: scope, type: type)
        if transaction.state.unsettled[key] != nil { try settle(key, &transaction) }
        if let known = transaction.state.indexes[key] { return known }
        let found = try transaction.indexes(of: type, scope)
        transaction.state.indexes[key] = found
        return found
    }

    /// Makes and drops the indexes of all scopes to match their changed schemas.
    ///
    /// Every schema change calls it in its own batch, so a register that can't be read fails the
    /// change.
    package static func settle(_ transaction: inout WriteTransaction) throws(EngineError) {
        let changed = transaction.state.unsettled.keys
        for key in changed.sorted(by: { ($0.scope, $0.type) < ($1.scope, $1.type) }) {
            try ScopeIndexes(of: key.scope).settle(key, &transaction)
        }
    }

    private func settle(
        _ key: WriterState.SchemaKey,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let isNew = transaction.state.unsettled.removeValue(forKey: key) ?? false
        transaction.state.indexes[key] = nil
        let schema = try transaction.schema(scope, StoredName.shown(key.type))
        var missing: Set<IndexDefinition> = []
        // A dropped type gets no indexes.
        if schema.name == key.type {
            missing = schema.indexDefinitions(in: try transaction.environment(of: scope))
        }
        let known = try transaction.indexRows(of: key.type, scope)
        for (number, row) in known where row.state != .dropped {
            if missing.remove(row.definition) == nil {
                transaction.state.schemaWorkVersion += 1
                setState(.dropped, of: number, row.definition, key, &transaction)
            }
        }
        if missing.isEmpty { return }
        let isReady = isNew ? try !transaction.hasStages() : false
        if !isReady { transaction.state.schemaWorkVersion += 1 }
        for definition in missing.sorted(by: { $0.precedes($1) }) {
            let number = try transaction.takeNumber(\.nextIndex, "index")
            let state = isReady ? IndexRow.State.ready : .building(.start, looked: 0)
            setState(state, of: number, definition, key, &transaction)
        }
    }

    private func setState(
        _ state: IndexRow.State,
        of number: IndexNumber,
        _ definition: IndexDefinition,
        _ key: WriterState.SchemaKey,
        _ transaction: inout WriteTransaction
    ) {
        let row = IndexRow(definition: definition, state: state)
        transaction.put(.index(scope, key.type, number), row)
        transaction.state.indexes[key] = nil
        transaction.state.schemaVersion += 1
    }
}

extension IndexDefinition {
    /// The order in which every node hands out numbers.
    fileprivate func precedes(_ other: IndexDefinition) -> Bool {
        (field, form.rawValue) < (other.field, other.form.rawValue)
    }
}

// MARK: - Rows of a record

extension Candidate {
    /// The rows of this record in an index.
    package func rows(
        in zone: ZoneNumber,
        _ index: NumberedIndex
    ) throws(EngineError) -> [(key: RowKey, value: Bytes)] {
        do {
            return try indexRows(in: zone, index)
        } catch {
            throw .corrupt("the record '\(name)' is damaged: \(error)")
        }
    }
}

// MARK: - Building and dropping

/// The indexes of a scope that wait for work.
package struct IndexWork: Sendable {
    /// An index that is being built, with its type.
    package struct Build: Hashable, Sendable {
        package var type: String
        package var index: NumberedIndex
        /// How many records were visited for it.
        package var looked: UInt64
    }

    /// Indexes at the same position, which is the one furthest behind.
    package var building: [Build] = []
    package var position = IndexPosition.start
    package var dropped: [(type: String, number: IndexNumber)] = []

    package var isEmpty: Bool { building.isEmpty && dropped.isEmpty }
}

extension RowReader where Self: ~Copyable {
    /// The indexes to drop, and the indexes to build that are furthest behind.
    package borrowing func indexWork(of scope: ScopeNumber) throws(EngineError) -> IndexWork {
        var work = IndexWork()
        for (type, number, row) in try indexRows(of: scope) {
            switch row.state {
            case .ready: break
            case .dropped: work.dropped.append((type, number))
            case .building(let position, let looked):
                if work.building.isEmpty || position.precedes(work.position) {
                    (work.position, work.building) = (position, [])
                }
                guard position == work.position else { continue }
                let definition = row.definition
                let index = NumberedIndex(number: number, definition: definition, isReady: false)
                work.building.append(.init(type: type, index: index, looked: looked))
            }
        }
        return work
    }

    /// The numbers of all zones of a scope, including staged ones, ascending.
    package borrowing func zoneNumbers(
        of scope: ScopeNumber
    ) throws(EngineError) -> [ZoneNumber] {
        var numbers: Set<ZoneNumber> = []
        for (_, database) in try databases(of: scope) {
            numbers.formUnion(try zoneRows(of: database).map(\.row.number))
        }
        for (key, value) in try rows(.meta, .all(.stagedZone)) {
            let owner = try decoding(key) { () throws(MalformedBytes) in
                try NumberRow(row: value).number
            }
            var parts = KeyReader(key)
            if owner == UInt32(scope) { numbers.insert(try parts.number()) }
        }
        return numbers.sorted()
    }
}

/// The next records for indexes that are being built, restricted to the indexes' types.
package struct IndexPage: Sendable {
    package fileprivate(set) var records: [(position: IndexPosition, looked: UInt64)] = []
    /// The bytes of these records.
    fileprivate var bytes = 0
    /// How far the walk came, and how many records it visited.
    fileprivate var end: IndexPosition
    fileprivate var looked: UInt64 = 0
    /// True if nothing follows.
    fileprivate var isLast = false
}

extension RowReader where Self: ~Copyable {
    /// Finds the next records that need rows in the indexes being built.
    ///
    /// Records that were written after the index was made have their rows, so any later state will
    /// do.
    ///
    /// - Parameters:
    ///   - zones: All zones that were there when the indexes were made, ascending.
    ///   - limit: Records to find, at most.
    ///   - byteLimit: No record is found behind so many bytes of found ones.
    ///   - lookLimit: Records and zones to look at, at most; a large record counts for each 4 KB.
    package borrowing func indexPage(
        for work: IndexWork,
        in zones: [ZoneNumber],
        limit: Int,
        byteLimit: Int = .max,
        lookLimit: Int
    ) throws(EngineError) -> IndexPage {
        let types = Set(work.building.map(\.type))
        var page = IndexPage(end: work.position)
        var rest = zones.drop { $0 < work.position.zone }
        var room = lookLimit
        while let zone = rest.first, room > 0, page.records.count < limit, page.bytes < byteLimit {
            if page.end.zone != zone { page.end = IndexPosition(zone: zone, name: "") }
            let before = room
            let isWhole = try look(for: types, in: zone, &page, limit, byteLimit, &room)
            if isWhole { rest.removeFirst() }
            // A zone without records costs something too.
            if room == before { room -= 1 }
        }
        if let zone = rest.first, page.end.zone != zone {
            page.end = IndexPosition(zone: zone, name: "")
        }
        page.isLast = rest.isEmpty
        return page
    }

    /// Visits records of a zone after the end of the page; returns false if there may be more.
    private borrowing func look(
        for types: Set<String>,
        in zone: ZoneNumber,
        _ page: inout IndexPage,
        _ limit: Int,
        _ byteLimit: Int,
        _ room: inout Int
    ) throws(EngineError) -> Bool {
        var range = KeyRange.records(of: zone)
        if !page.end.name.isEmpty { range.start = RowKey.record(zone, page.end.name).bytes + [0] }
        var isWhole = true
        var failure: EngineError?
        try scan(.records, range, backwards: false) { key, row in
            do throws(EngineError) {
                var parts = KeyReader(key)
                _ = try parts.number(ZoneNumber.self)
                page.end.name = try parts.text()
                let type = try decoding(key) { () throws(MalformedBytes) in
                    try RecordRow.livingType(in: row)
                }
                page.looked += 1
                room -= 1 + row.count / 4_096
                if let type, types.contains(type) {
                    page.records.append((page.end, page.looked))
                    page.bytes += row.count
                }
            } catch {
                failure = error
            }
            isWhole =
                failure == nil && room > 0 && page.records.count < limit
                && page.bytes < byteLimit
            return isWhole
        }
        if let failure { throw failure }
        return isWhole
    }
}

extension IndexPosition {
    fileprivate func precedes(_ other: IndexPosition) -> Bool {
        if zone != other.zone { return zone < other.zone }
        return CumulusModel.precedes(Bytes(name.utf8), Bytes(other.name.utf8))
    }
}

extension ScopeIndexes {
    /// Writes rows into indexes that are being built and notes the progress; behind the last record
    /// they become ready.
    ///
    /// - Parameters:
    ///   - page: The page that was found for the work, in this state of the store or an earlier
    ///     one.
    ///   - rowLimit: No further record is looked at behind so many rows.
    /// Returns what is left of the work.
    package func build(
        _ work: IndexWork,
        with page: IndexPage,
        rowLimit: Int = .max,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> IndexWork {
        var next = work
        next.building = try stillBuilding(work, transaction)
        if next.building.isEmpty { return next }
        var (rows, built) = (0, 0)
        try transaction.readAhead(
            page.records.map { .record($0.position.zone, $0.position.name) }
        )
        for record in page.records where rows < rowLimit {
            let position = record.position
            rows += try buildRows(of: position.name, in: position.zone, next.building, &transaction)
            built += 1
        }
        let isWhole = built == page.records.count
        next.position = isWhole ? page.end : page.records[built - 1].position
        let looked = isWhole ? page.looked : page.records[built - 1].looked
        for index in next.building.indices { next.building[index].looked += looked }
        return advance(next, isDone: isWhole && page.isLast, &transaction)
    }

    /// Returns the number of rows.
    private func buildRows(
        of name: String,
        in zone: ZoneNumber,
        _ builds: [IndexWork.Build],
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Int {
        guard let row = try transaction.record(zone, name), !row.isDead else { return 0 }
        // Indexes that are not ready get all rows of owed records later.
        if try owesRows(of: name, in: zone, transaction) { return 0 }
        let candidate = Candidate(row, named: name)
        var count = 0
        for build in builds where build.type == row.type {
            for entry in try candidate.rows(in: zone, build.index) {
                transaction.put(entry.key, entry.value)
                count += 1
            }
        }
        return count
    }

    private func advance(
        _ work: IndexWork,
        isDone: Bool,
        _ transaction: inout WriteTransaction
    ) -> IndexWork {
        for build in work.building {
            let key = WriterState.SchemaKey(scope: scope, type: build.type)
            let state =
                isDone ? .ready : IndexRow.State.building(work.position, looked: build.looked)
            let index = build.index
            setState(state, of: index.number, index.definition, key, &transaction)
        }
        var next = work
        if isDone { next.building = [] }
        return next
    }

    /// The indexes that were not dropped, advanced or restarted meanwhile.
    private func stillBuilding(
        _ work: IndexWork,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> [IndexWork.Build] {
        var found: [IndexWork.Build] = []
        for build in work.building {
            let row: IndexRow? = try transaction.row(.index(scope, build.type, build.index.number))
            if case .building(work.position, _) = row?.state { found.append(build) }
        }
        return found
    }

    /// Deletes the rows of a dropped index in some zones.
    package func dropRows(
        of index: IndexNumber,
        in zones: some Sequence<ZoneNumber>,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        for zone in zones {
            let range = KeyRange.indexRows(of: zone, index)
            if try transaction.rows(.index, range, limit: 1).isEmpty { continue }
            transaction.deleteRange(.index, range)
        }
    }

    /// Forgets a dropped index whose rows are deleted.
    package func forget(
        _ index: IndexNumber,
        of type: String,
        _ transaction: inout WriteTransaction
    ) {
        transaction.put(.index(scope, type, index), nil)
    }

    /// Restarts an index under another number.
    package func rebuild(
        _ index: NumberedIndex,
        of type: String,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let key = WriterState.SchemaKey(scope: scope, type: type)
        let number = try transaction.takeNumber(\.nextIndex, "index")
        transaction.state.schemaWorkVersion += 1
        setState(.dropped, of: index.number, index.definition, key, &transaction)
        setState(.building(.start, looked: 0), of: number, index.definition, key, &transaction)
    }
}
