// Takes over another node's state where its log no longer reaches: page by page into stages that
// nobody reads, then all of it at once.
//
// Driven by whoever holds the session with the donor; each step runs in the writer. Until `finish`
// the store is as before, and what a crash leaves behind is dropped at the next start. All zones
// of the scope come to the donor's snapshot together with the vector: a vector raised over a zone
// that was left out would lose its commits silently.

package import CumulusModel
package import CumulusStorage

package struct StateSync {
    /// What of a zone is taken over.
    package enum Wish: Equatable, Sendable {
        /// There is nothing to take.
        case nothing
        /// Records that changed since our vector.
        case delta
        case full
    }

    /// How a zone is taken over.
    fileprivate enum Mode {
        case nothing
        /// What comes waits in the stage.
        case delta
        /// What comes stands where it will stay, under a number that nothing points to yet.
        case full(ZoneNumber)

        var wish: Wish {
            switch self {
            case .nothing: .nothing
            case .delta: .delta
            case .full: .full
            }
        }
    }

    private let scope: ScopeNumber
    package let offer: StateOffer
    /// How far we had read when the sync began: deltas begin there.
    package let base: VersionVector
    /// One per zone of the offer.
    private var modes: [Mode]
    private let broken: BrokenRules

    /// Decides how each zone is taken over, and makes room for those that come in full.
    ///
    /// `isLarge`: so much of the zone changed that all of it is cheaper.
    package init(
        _ offer: StateOffer,
        in scope: ScopeNumber,
        isLarge: (StateOffer.Zone) -> Bool = { _ in false },
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        // There is one sync of a scope at a time: what is left is of one that broke off.
        try transaction.dropStages(of: scope)
        self.scope = scope
        self.offer = offer
        broken = transaction.state.broken
        base = VersionVector(try transaction.loadScope(scope).vectors.mapValues(\.seq))
        modes = []
        for zone in offer.zones {
            guard zone.row.exists else {
                modes.append(.nothing)
                continue
            }
            let isBehind = !base.covers(zone.row.horizon) && !broken.contains(.peerHorizon)
            let isFull = isBehind || isLarge(zone)
            modes.append(isFull ? .full(transaction.makeStagedZone(of: scope)) : .delta)
        }
    }

    /// What the donor is to hand over, zone by zone of its offer.
    package var wishes: [Wish] { modes.map(\.wish) }

    /// Keeps a page until the end of the sync.
    package func take(
        _ page: StatePage,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let index = page.zone
        for (name, record) in page.records {
            switch modes[index] {
            case .nothing: return
            case .delta:
                transaction.put(.stage(scope, UInt32(index), name), record)
            case .full(let number):
                let place = ZonePlace(
                    database: 0,
                    number: number,
                    zone: commitZone(offer.zones[index])
                )
                let rows = try decode(record, named: name, transaction)
                _ = try transaction.replace([], with: rows, of: name, at: place)
            }
        }
    }

    private func commitZone(_ zone: StateOffer.Zone) -> Commit.Zone {
        Commit.Zone(database: zone.database, name: zone.name, generation: zone.row.generation)
    }

    private func decode(
        _ record: StagedRecord,
        named name: String,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> [RecordRow] {
        try transaction.decoding(Bytes(name.utf8)) { () throws(MalformedBytes) in
            try record.rows.map { (row) throws(MalformedBytes) in try RecordRow(row) }
        }
    }

    // MARK: The end

    /// Joins everything into the store, and raises the vector to the donor's.
    ///
    /// Returns the zones and records that may have changed.
    package consuming func finish(
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> [(zone: Commit.Zone, names: [String])] {
        let ours = VersionVector(try transaction.loadScope(scope).vectors.mapValues(\.seq))
        let doubled = try joinIncrements(&transaction)
        for register in offer.registers {
            try transaction.join(
                register.row,
                into: register.namespace,
                register.key,
                of: scope
            )
        }
        var changed: [(zone: Commit.Zone, names: [String])] = []
        for (index, zone) in offer.zones.enumerated() {
            let ignoresDeaths = broken.contains(.knownDeaths) && modes[index].wish == .full
            var join = ZoneJoin(
                zone: commitZone(zone),
                mode: modes[index],
                ours: ours,
                theirs: ignoresDeaths ? VersionVector() : offer.vector,
                doubled: doubled
            )
            let names = try join.run(
                zone,
                stage: .staged(of: scope, UInt32(index)),
                in: scope,
                &transaction
            )
            if !names.isEmpty { changed.append((commitZone(zone), names)) }
        }
        transaction.deleteRange(.log, .staged(of: scope))
        try transaction.raise(to: offer.vectors, in: scope)
        return changed
    }

    /// Keeps the earlier of two increments that one request made, and returns the later ones, which
    /// count no more.
    private func joinIncrements(
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> [String: [DoubledIncrement]] {
        var doubled: [String: [DoubledIncrement]] = [:]
        for increment in offer.increments {
            let key = RowKey.increment(
                increment.request,
                increment.birth,
                increment.recordName,
                increment.field
            )
            let known: IncrementRow? = try transaction.row(key)
            if let second = known?.second(beside: increment.row) {
                doubled[increment.recordName, default: []].append(
                    DoubledIncrement(
                        birth: increment.birth,
                        field: increment.field,
                        dot: second.stamp.dot,
                        delta: second.delta
                    )
                )
            }
            if let known, known.stamp <= increment.row.stamp { continue }
            transaction.put(key, increment.row)
        }
        return doubled
    }
}

/// The end of a state sync for one zone.
private struct ZoneJoin {
    let zone: Commit.Zone
    let mode: StateSync.Mode
    /// How far we had read, and how far the donor had.
    let ours: VersionVector
    let theirs: VersionVector
    let doubled: [String: [DoubledIncrement]]
    /// Commits of tombstones that were dropped: nobody may read incrementally from below them.
    private var dropped = VersionVector()

    init(
        zone: Commit.Zone,
        mode: StateSync.Mode,
        ours: VersionVector,
        theirs: VersionVector,
        doubled: [String: [DoubledIncrement]]
    ) {
        self.zone = zone
        self.mode = mode
        self.ours = ours
        self.theirs = theirs
        self.doubled = doubled
    }

    /// Returns the names of the records that may have changed.
    mutating func run(
        _ offered: StateOffer.Zone,
        stage: KeyRange,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> [String] {
        let database = try transaction.makeDatabase(scope, zone.database)
        let known = try transaction.zone(database, zone.name)
        var row = known ?? offered.row
        row.join(offered.row)
        let isWanted = row.exists && row.generation == zone.generation && offered.row.exists
        let holdsSame = known?.exists == true && known?.generation == row.generation
        if let known, known.exists, !row.exists || !holdsSame {
            transaction.dropRows(of: known.number)
        }
        var names: [String] = []
        switch mode {
        case .full(let number) where !isWanted:
            transaction.dropRows(of: number)
            transaction.put(.stagedZone(number), nil)
        case .full(let number):
            names = try joinAll(
                holdsSame ? known?.number : nil,
                into: ZonePlace(database: database, number: number, zone: zone),
                &transaction
            )
            row.number = number
            transaction.put(.stagedZone(number), nil)
        case .delta where isWanted:
            if !holdsSame { row.number = transaction.nextZoneNumber() }
            let place = ZonePlace(database: database, number: row.number, zone: zone)
            names = try joinStaged(stage, into: place, &transaction)
        case .delta, .nothing:
            if known == nil { row.number = transaction.nextZoneNumber() }
        }
        if !transaction.state.broken.contains(.raisedHorizon) { row.horizon.merge(dropped) }
        transaction.put(.zone(database, zone.name), row)
        for dot in offered.heads.dots {
            try transaction.raiseHead(database, zone: zone.name, to: dot)
        }
        return names
    }

    /// Joins what we hold of a zone into all that the donor holds of it.
    private mutating func joinAll(
        _ number: ZoneNumber?,
        into place: ZonePlace,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> [String] {
        var names = try transaction.recordNames(in: place.number)
        if let number { names.formUnion(try transaction.recordNames(in: number)) }
        // Of a zone that we knew nothing about, everything stands as it came.
        if number == nil && ours.isEmpty { return names.sorted() }
        for name in names.sorted() {
            let mine = try number.map { (number) throws(EngineError) in
                try transaction.lives(number, name)
            }
            let others = try transaction.lives(place.number, name)
            try join(mine ?? [], others, over: others, name, at: place, &transaction)
        }
        if let number { transaction.dropRows(of: number) }
        return names.sorted()
    }

    private mutating func joinStaged(
        _ stage: KeyRange,
        into place: ZonePlace,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> [String] {
        var names: [String] = []
        for (key, value) in try transaction.rows(.log, stage) {
            var parts = KeyReader(key)
            _ = try parts.number(ScopeNumber.self)
            _ = try parts.number(UInt32.self)
            let name = try parts.text()
            let rows = try transaction.decoding(key) { () throws(MalformedBytes) in
                try StagedRecord(row: value).rows.map { (row) throws(MalformedBytes) in
                    try RecordRow(row)
                }
            }
            let mine = try transaction.lives(place.number, name)
            try join(mine, rows, over: mine, name, at: place, &transaction)
            names.append(name)
        }
        return names
    }

    /// Joins two nodes' rows of a record and writes the outcome over what stands there.
    private mutating func join(
        _ mine: [RecordRow],
        _ others: [RecordRow],
        over stored: [RecordRow],
        _ name: String,
        at place: ZonePlace,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let joined = try transaction.decoding(Bytes(name.utf8)) { () throws(MalformedBytes) in
            try RecordJoin.join(
                .init(rows: mine, vector: ours),
                .init(rows: others, vector: theirs),
                doubled: doubled[name] ?? []
            )
        }
        if joined[0].isDead, joined[0].frontier.isEmpty {
            // One side had forgotten that it ever was.
            for stamp in (mine.first?.frontier ?? []) + (others.first?.frontier ?? []) {
                let dot = stamp.dot
                dropped[dot.incarnation] = max(dropped[dot.incarnation], dot.seq)
            }
            try transaction.erase(stored, of: name, at: place)
        } else {
            _ = try transaction.replace(stored, with: joined, of: name, at: place)
        }
    }
}
