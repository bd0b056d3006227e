// How the writer keeps indexes: which ones follow from the schema, the rows of each record that is
// written, and the building of those that came late.
//
// Rows are written with their record, in indexes that are building too: a walk through the records
// that were there before makes such an index ready, a bounded step at a time.

package import CumulusModel

// MARK: - Which indexes there are

extension WriteTransaction {
    /// The indexes of a type as the schema wants them by now.
    mutating func settledIndexes(
        of type: String,
        _ scope: ScopeNumber
    ) throws(EngineError) -> [NumberedIndex] {
        let key = WriterState.SchemaKey(scope: scope, type: type)
        if state.unsettled[key] != nil { try settleIndexes(of: key) }
        if let known = state.indexes[key] { return known }
        let found = try indexes(of: type, scope)
        state.indexes[key] = found
        return found
    }

    /// Makes and drops indexes, so that they are what the changed schema asks for.
    mutating func settleIndexes() throws(EngineError) {
        for key in state.unsettled.keys.sorted(by: { ($0.scope, $0.type) < ($1.scope, $1.type) }) {
            try settleIndexes(of: key)
        }
    }

    private mutating func settleIndexes(of key: WriterState.SchemaKey) throws(EngineError) {
        let isNew = state.unsettled.removeValue(forKey: key) ?? false
        state.indexes[key] = nil
        var missing = try schema(key.scope, key.type)
            .indexDefinitions(in: try environment(of: key.scope))
        for (number, row) in try indexRows(of: key.type, key.scope) where row.state != .dropped {
            if missing.remove(row.definition) == nil {
                state.indexesVersion += 1
                setState(.dropped, of: number, row.definition, key)
            }
        }
        if missing.isEmpty { return }
        let isReady = isNew ? try !hasStages : false
        if !isReady { state.indexesVersion += 1 }
        for definition in missing.sorted(by: { $0.precedes($1) }) {
            let number = state.node.nextIndex
            state.node.nextIndex += 1
            setState(isReady ? .ready : .building(.start), of: number, definition, key)
        }
    }

    private mutating func setState(
        _ state: IndexRow.State,
        of number: IndexNumber,
        _ definition: IndexDefinition,
        _ key: WriterState.SchemaKey
    ) {
        let row = IndexRow(definition: definition, state: state)
        put(.index(key.scope, key.type, number), row)
        self.state.indexes[key] = nil
    }

    /// Records of a state sync may be here whose types are not known yet.
    private var hasStages: Bool {
        get throws(EngineError) { try !rows(.meta, .all(.stagedZone), limit: 1).isEmpty }
    }

    private mutating func environment(of scope: ScopeNumber) throws(EngineError) -> Environment {
        if let known = state.environments[scope] { return known }
        for (scope, number) in try ScopeDirectory.all(in: self) {
            state.environments[number] = scope.environment
        }
        guard let environment = state.environments[scope] else {
            throw .corrupt("scope \(scope) has no name")
        }
        return environment
    }
}

extension IndexDefinition {
    /// An order in which every node hands out numbers.
    fileprivate func precedes(_ other: IndexDefinition) -> Bool {
        (field, form.rawValue) < (other.field, other.form.rawValue)
    }
}

// MARK: - Rows of a record

extension WriteTransaction {
    /// Writes what became of a record into the indexes of its type; nil: it is not there.
    mutating func storeIndexRows(
        of name: String,
        _ old: RecordRow?,
        _ new: RecordRow?,
        at place: ZonePlace
    ) throws(EngineError) {
        var gone: [Bytes: Bytes] = [:]
        if let old, !old.isDead {
            for row in try indexRows(of: old, name, place) { gone[row.key.bytes] = row.value }
        }
        if let new, !new.isDead {
            for row in try indexRows(of: new, name, place) {
                if gone.removeValue(forKey: row.key.bytes) == row.value { continue }
                put(row.key, row.value)
            }
        }
        for key in gone.keys { put(RowKey(.indexRow, bytes: key), nil) }
    }

    private mutating func indexRows(
        of row: RecordRow,
        _ name: String,
        _ place: ZonePlace
    ) throws(EngineError) -> [(key: RowKey, value: Bytes)] {
        let indexes = try settledIndexes(of: row.type, place.scope)
        if indexes.isEmpty { return [] }
        let candidate = Candidate(row, named: name)
        var found: [(key: RowKey, value: Bytes)] = []
        for index in indexes { found += try candidate.rows(in: place.number, index) }
        return found
    }
}

extension Candidate {
    /// The rows of this record in an index.
    package func rows(
        in zone: ZoneNumber,
        _ index: NumberedIndex
    ) throws(EngineError) -> [(key: RowKey, value: Bytes)] {
        do {
            return try indexRows(in: zone, index)
        } catch {
            throw .corrupt("the record '\(view.name)' is damaged: \(error)")
        }
    }
}

// MARK: - Building and dropping

/// Which indexes of a scope wait for work.
package struct IndexWork: Sendable {
    /// Those that are at the same place, with their types.
    package var building: [(type: String, index: NumberedIndex)] = []
    package var place = IndexPlace.start
    package var dropped: [(type: String, number: IndexNumber)] = []

    package var isEmpty: Bool { building.isEmpty && dropped.isEmpty }
}

extension RowReader where Self: ~Copyable {
    /// What is to be built or dropped: of those that are being built, the ones that are behind.
    package borrowing func indexWork(of scope: ScopeNumber) throws(EngineError) -> IndexWork {
        var work = IndexWork()
        for (type, number, row) in try indexRows(of: scope) {
            switch row.state {
            case .ready: break
            case .dropped: work.dropped.append((type, number))
            case .building(let place):
                if !work.building.isEmpty, work.place.precedes(place) { continue }
                if place != work.place { work.building = [] }
                work.place = place
                let index = NumberedIndex(
                    number: number,
                    definition: row.definition,
                    isReady: false
                )
                work.building.append((type, index))
            }
        }
        return work
    }

    /// The numbers of all zones of a scope, of those that are being filled too; ascending.
    package borrowing func zoneNumbers(
        of scope: ScopeNumber
    ) throws(EngineError) -> [ZoneNumber] {
        var numbers: Set<ZoneNumber> = []
        for (key, value) in try rows(.meta, .databases(of: scope)) {
            let database = try decoding(key) { () throws(MalformedBytes) in
                try NumberRow(row: value).number
            }
            for (key, value) in try rows(.meta, .zones(of: database)) {
                let row = try decoding(key) { () throws(MalformedBytes) in
                    try ZoneRow(row: value)
                }
                numbers.insert(row.number)
            }
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

extension IndexPlace {
    fileprivate func precedes(_ other: IndexPlace) -> Bool {
        if zone != other.zone { return zone < other.zone }
        return CumulusModel.precedes(Bytes(name.utf8), Bytes(other.name.utf8))
    }
}

extension WriteTransaction {
    /// Looks at the next records on behalf of indexes that are being built, and notes how far they
    /// are; behind the last record they are ready.
    ///
    /// - Parameters:
    ///   - zones: All zones that were there when the indexes were made, ascending; what is written
    ///     into later ones has its rows.
    /// Returns how many records it looked at.
    package mutating func buildIndexes(
        _ work: IndexWork,
        of scope: ScopeNumber,
        zones: [ZoneNumber],
        limit: Int
    ) throws(EngineError) -> Int {
        let wanted = try stillBuilding(work, scope)
        var rest = zones.drop { $0 < work.place.zone }
        guard !wanted.isEmpty, let zone = rest.popFirst() else {
            advance(wanted, to: nil, scope)
            return 0
        }
        let after = work.place.zone == zone && !work.place.name.isEmpty ? work.place.name : nil
        let names = try recordNames(in: zone, after: after, limit: limit)
        for name in names {
            guard let row = try record(zone, name), !row.isDead else { continue }
            let candidate = Candidate(row, named: name)
            for (type, index) in wanted where type == row.type {
                for entry in try candidate.rows(in: zone, index) { put(entry.key, entry.value) }
            }
        }
        let looked = work.place.looked + UInt64(names.count)
        var place = rest.first.map { IndexPlace(zone: $0, name: "", looked: looked) }
        if names.count == limit, let last = names.last {
            place = IndexPlace(zone: zone, name: last, looked: looked)
        }
        advance(wanted, to: place, scope)
        return names.count
    }

    private mutating func advance(
        _ indexes: [(type: String, index: NumberedIndex)],
        to place: IndexPlace?,
        _ scope: ScopeNumber
    ) {
        for (type, index) in indexes {
            let key = WriterState.SchemaKey(scope: scope, type: type)
            let state = place.map(IndexRow.State.building) ?? .ready
            setState(state, of: index.number, index.definition, key)
        }
    }

    /// Those that nobody dropped, moved on or began anew meanwhile.
    private borrowing func stillBuilding(
        _ work: IndexWork,
        _ scope: ScopeNumber
    ) throws(EngineError) -> [(type: String, index: NumberedIndex)] {
        var found: [(type: String, index: NumberedIndex)] = []
        for (type, index) in work.building {
            let row: IndexRow? = try row(.index(scope, type, index.number))
            if row?.state == .building(work.place) { found.append((type, index)) }
        }
        return found
    }

    /// Deletes the rows of a dropped index in some zones.
    package mutating func dropIndexRows(
        of index: IndexNumber,
        in zones: some Sequence<ZoneNumber>
    ) throws(EngineError) {
        for zone in zones {
            let range = KeyRange.indexRows(of: zone, index)
            if try !rows(.index, range, limit: 1).isEmpty { deleteRange(.index, range) }
        }
    }

    /// Forgets a dropped index whose rows are deleted.
    package mutating func forgetIndex(
        _ index: IndexNumber,
        of type: String,
        in scope: ScopeNumber
    ) {
        put(.index(scope, type, index), nil)
    }

    /// Begins an index anew, under another number.
    package mutating func rebuildIndex(
        _ index: NumberedIndex,
        of type: String,
        in scope: ScopeNumber
    ) {
        let key = WriterState.SchemaKey(scope: scope, type: type)
        state.indexesVersion += 1
        setState(.dropped, of: index.number, index.definition, key)
        let number = state.node.nextIndex
        state.node.nextIndex += 1
        setState(.building(.start), of: number, index.definition, key)
    }
}
