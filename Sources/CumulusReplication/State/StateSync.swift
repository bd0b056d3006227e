// Takes over another node's state if its log no longer reaches back: page by page into stages that
// are not read, then all of it at once.
//
// Driven by `StateTransfer`, which talks with the donor; each step runs in the writer. Until
// `finish` the store is as before, and what a crash leaves behind is dropped at the next start. All
// zones of the scope reach the donor's snapshot together with the vector: a vector raised over a
// zone that was left out would lose its commits silently. The order is `take` for every page,
// `merge` until it is done, `finish`; from the first `merge` on nothing else may change the scope.
//
// Folder: handing over whole states where logs do not reach back. Read `StateSync`, then
// `StateSource`, `StateIntake` and `RecordJoin`.

import CumulusModel
package import CumulusStorage

package struct StateSync: Sendable {
    private let scope: ScopeNumber
    package let offer: StateOffer
    /// One per zone of the offer: where a zone that comes in full stands, under a number that
    /// nothing points to yet.
    private var stages: [ZonePlace?]
    private let broken: BrokenRules
    /// How far the donor had read.
    private let theirs: VersionVector
    /// How far we had read when the merge began.
    private var ours: VersionVector?
    /// Increments of the offer, by the names of their records; indexes.
    private var increments: [String: [Int]] = [:]
    /// Whether an increment is to be entered, by its index; only if its life was joined.
    private var judged: [Int: Bool] = [:]
    /// The zone that is merged next, and the name that was merged last.
    private var next: (zone: Int, after: String?) = (0, nil)
    /// Per zone, the dots of tombstones that were dropped: incremental reads must not begin below
    /// them.
    private var dropped: [Int: VersionVector] = [:]
    /// Per zone, names of records that this node may owe deletes around.
    private var suspects: [Int: [String]] = [:]
    /// How many of the zone's suspects were looked at; nil before all of its records are merged.
    private var sifted: Int?
    private var stagedBytes = 0
    /// Bytes of changed records that may wait in memory until the end, for zones that don't come in
    /// full.
    private static let deltaLimit = 64 << 20

    /// Makes room for the zones that come in full.
    package init(
        _ offer: StateOffer,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        // There is one sync of a scope at a time, so leftovers are from an interrupted one.
        try StagedZones.drop(of: scope, &transaction)
        self.scope = scope
        self.offer = offer
        theirs = offer.vector
        broken = transaction.state.broken
        stages = []
        for zone in offer.zones {
            let isFull = zone.extent == .full
            stages.append(isFull ? try StateSync.stage(zone, in: scope, &transaction) : nil)
        }
    }

    /// Room for a zone, in the database that it will stand in: what its records name is wanted
    /// there.
    private static func stage(
        _ zone: StateOffer.Zone,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> ZonePlace {
        ZonePlace(
            scope: scope,
            database: try transaction.makeDatabase(scope, zone.database),
            number: try StagedZones.make(of: scope, &transaction),
            zone: zone.commitZone
        )
    }

    // MARK: Pages

    /// Keeps a page until the end of the sync.
    package mutating func take(
        _ page: StateIntake.Page,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        if broken.contains(.staged) { try show(page, &transaction) }
        for record in page.records {
            guard let place = stages[page.zone] else {
                stagedBytes += record.bytes.byteCount
                guard stagedBytes <= StateSync.deltaLimit else {
                    throw .exhausted("the donor sends too much as changes")
                }
                transaction.put(.stage(scope, UInt32(page.zone), record.name), record.bytes)
                continue
            }
            _ = try transaction.replace([], with: record.rows, of: record.name, at: place)
            let isOurs = try transaction.decoding(Bytes(record.name.utf8)) {
                () throws(MalformedBytes) in
                try record.rows.hasOwner(by: transaction.state)
            }
            if isOurs { suspects[page.zone, default: []].append(record.name) }
        }
    }

    /// A broken rule: what came is joined into what stands here before the rest has come.
    private mutating func show(
        _ page: StateIntake.Page,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let zone = offer.zones[page.zone]
        guard let number = try held(zone, transaction),
            let database = try transaction.database(scope, zone.database)
        else { return }
        let place = ZonePlace(
            scope: scope,
            database: database,
            number: number,
            zone: zone.commitZone
        )
        for record in page.records {
            let mine = try transaction.lives(number, record.name)
            try join(mine, record.rows, over: mine, record.name, page.zone, at: place, &transaction)
        }
    }

    // MARK: Merge

    /// Joins what this node holds into the zones that came in full, some records at a time.
    ///
    /// Returns whether that was the last of them.
    package mutating func merge(
        recordLimit: Int,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        if ours == nil {
            ours = try transaction.loadScope(scope).runs.vector
            increments = Dictionary(grouping: offer.increments.indices) {
                offer.increments[$0].recordName
            }
        }
        var room = recordLimit
        while next.zone < stages.count, room > 0 {
            if sifted == nil {
                let count = try mergeZone(recordLimit: room, &transaction)
                if count < room { sifted = 0 }
                room -= count
            } else {
                room -= try siftZone(recordLimit: room, &transaction)
            }
        }
        return next.zone == stages.count
    }

    /// Keeps only those suspects around which this node does owe a delete; returns how many it
    /// looked at.
    private mutating func siftZone(
        recordLimit: Int,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Int {
        let zone = next.zone
        let all = suspects[zone]?.count ?? 0
        guard let staged = stages[zone]?.number, let first = sifted, first < all else {
            (next, sifted) = ((zone + 1, nil), nil)
            return 0
        }
        let end = min(all, first + recordLimit)
        var kept: [String] = []
        for name in suspects[zone]?[first..<end] ?? [] {
            if try CascadeCompensation.isOwed(
                around: name,
                in: offer.zones[zone].commitZone,
                staged,
                of: scope,
                &transaction
            ) {
                kept.append(name)
            }
        }
        suspects[zone]?.replaceSubrange(first..<end, with: kept)
        sifted = first + kept.count
        return end - first
    }

    /// How much one batch may merge: a record's lives may be many and large.
    private static let mergedBytes = 16 << 20

    /// Joins the next records of a zone; returns how many, and the limit if there may be more.
    private mutating func mergeZone(
        recordLimit: Int,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Int {
        guard let staged = stages[next.zone],
            let held = try held(offer.zones[next.zone], transaction)
        else { return 0 }
        let (after, limit) = (next.after, recordLimit)
        let mine = try transaction.recordNames(in: held, after: after, limit: limit)
        let theirs = try transaction.recordNames(in: staged.number, after: after, limit: limit)
        let names = Set(mine + theirs).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        var byteCount = 0
        for name in names.prefix(recordLimit) {
            let mine = try transaction.lives(held, name)
            let theirs = try transaction.lives(staged.number, name)
            try join(mine, theirs, over: theirs, name, next.zone, at: staged, &transaction)
            next.after = name
            byteCount += (mine + theirs).reduce(0) { $0 + $1.body.bytes.count }
            if byteCount > StateSync.mergedBytes { return recordLimit }
        }
        return min(names.count, recordLimit)
    }

    /// The number under which this node holds a zone of the offer; nil if it holds no such zone.
    private func held(
        _ zone: StateOffer.Zone,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> ZoneNumber? {
        guard let database = try transaction.database(scope, zone.database),
            let row = try transaction.zone(database, zone.name),
            row.exists, row.generation == zone.row.generation
        else { return nil }
        return row.number
    }

    /// Joins two nodes' rows of a record and writes the outcome over what stands there.
    private mutating func join(
        _ mine: [RecordRow],
        _ others: [RecordRow],
        over stored: [RecordRow],
        _ name: String,
        _ zone: Int,
        at place: ZonePlace,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let ignoresDeaths = broken.contains(.knownDeaths) && offer.zones[zone].extent == .full
        let known = try knownIncrements(of: name, transaction)
        var judged: [Int: Bool] = [:]
        let joined = try transaction.decoding(Bytes(name.utf8)) { () throws(MalformedBytes) in
            try RecordJoin.join(
                .init(rows: mine, vector: ours ?? VersionVector()),
                .init(rows: others, vector: ignoresDeaths ? VersionVector() : theirs),
                doubled: { lives in doubled(known, among: lives, &judged) },
                broken: broken
            )
        }
        self.judged.merge(judged) { $1 }
        if mayLeaveOrphans(mine, joined) { suspects[zone, default: []].append(name) }
        if joined[0].isDead, joined[0].frontier.isEmpty {
            // One side had forgotten that it ever was.
            for stamp in (mine.first?.frontier ?? []) + (others.first?.frontier ?? []) {
                dropped[zone, default: VersionVector()].cover(stamp.dot)
            }
            try transaction.erase(stored, of: name, at: place)
        } else {
            _ = try transaction.replace(stored, with: joined, of: name, at: place)
        }
    }

    /// Whether a life that this node held ended, or another one than before is shown.
    ///
    /// Lives are compared by birth: a counter that began anew has the key of the one that ended.
    private func mayLeaveOrphans(_ mine: [RecordRow], _ joined: [RecordRow]) -> Bool {
        guard let shown = mine.first, !shown.isDead else { return false }
        let lives = joined.filter { !$0.isDead }
        if lives.first?.births.contains(shown.birth.dot) != true { return true }
        let births = lives.flatMap(\.births)
        return !mine.flatMap(\.births).allSatisfy(births.contains)
    }

    // MARK: Increments

    /// An increment of the offer, and what this node holds under its key.
    private typealias Increment = (index: Int, known: IncrementRow?)

    private func knownIncrements(
        of name: String,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> [Increment] {
        try (increments[name] ?? []).map { (index) throws(EngineError) in
            (index, try transaction.row(offer.increments[index].key(in: scope)))
        }
    }

    /// The later ones of increments that one request made at two nodes: they count no more.
    ///
    /// - Parameter judged: Gets which of the increments are to be entered.
    private func doubled(
        _ increments: [Increment],
        among lives: [RecordRow],
        _ judged: inout [Int: Bool]
    ) -> [DoubledIncrement] {
        var doubled: [DoubledIncrement] = []
        for (index, known) in increments {
            let increment = offer.increments[index]
            let birth = increment.row.birth ?? increment.identity
            guard let life = lives.first(where: { $0.isBorn(at: birth) }) else { continue }
            // One of an earlier life with this key says nothing of this life.
            guard let known, known.isOf(life) || broken.contains(.doubledLives) else {
                judged[index] = true
                continue
            }
            judged[index] = increment.row.stamp < known.stamp
            guard let second = known.second(beside: increment.row) else { continue }
            doubled.append(
                DoubledIncrement(
                    birth: life.birth.dot,
                    field: increment.field,
                    dot: second.stamp.dot,
                    delta: second.delta
                )
            )
        }
        return doubled
    }

    private func joinIncrements(_ transaction: inout WriteTransaction) throws(EngineError) {
        for (index, increment) in offer.increments.enumerated() {
            let key = increment.key(in: scope)
            let known: IncrementRow? = try transaction.row(key)
            if judged[index] ?? (known == nil) { transaction.put(key, increment.row) }
        }
    }

    // MARK: The end

    /// Puts everything in its place, raises the vector to the donor's, and deletes what this node
    /// owes.
    ///
    /// Returns false, and does nothing, if the scope changed after the merge began.
    package consuming func finish(
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        let known = try transaction.loadScope(scope).runs.vector
        guard known == ours else { return false }
        for register in offer.registers {
            try ScopeRegisters(of: scope).join(
                register.row,
                into: register.namespace,
                register.key,
                &transaction
            )
        }
        for index in offer.zones.indices { try place(index, &transaction) }
        try joinIncrements(&transaction)
        try ScopeIndexes.settle(&transaction)
        transaction.deleteRange(.log, .staged(of: scope))
        try ScopeLog(of: scope).raise(to: offer.vectors, &transaction)
        for (index, names) in suspects.sorted(by: { $0.key < $1.key }) {
            let zone = offer.zones[index].commitZone
            try CascadeCompensation.run(after: names, of: zone, in: scope, &transaction)
        }
        return true
    }

    private mutating func place(
        _ index: Int,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let offered = offer.zones[index]
        let held = try held(offered, transaction)
        let database = try transaction.makeDatabase(scope, offered.database)
        let known = try transaction.zone(database, offered.name)
        var row = known ?? offered.row
        row.join(offered.row)
        let isWanted =
            row.exists && row.generation == offered.row.generation && offered.row.exists
        if let known, known.exists, !row.exists || known.generation != row.generation {
            transaction.dropRows(of: known.number)
        }
        if let staged = stages[index]?.number {
            let marker: NumberRow? = try transaction.row(.stagedZone(staged))
            guard marker != nil else { throw .corrupt("the stages of a state sync are gone") }
            transaction.put(.stagedZone(staged), nil)
            if isWanted {
                row.number = staged
                // Readers may have found that number just before: its rows go a while later.
                if let held { StagedZones.keep(held, of: scope, &transaction) }
            } else {
                transaction.dropRows(of: staged)
                suspects[index] = nil
                if known == nil { row.number = try transaction.takeZoneNumber() }
            }
        } else {
            if held == nil && isWanted || known == nil {
                row.number = try transaction.takeZoneNumber()
            }
            if isWanted { try joinStaged(index, row.number, database, &transaction) }
        }
        if !broken.contains(.raisedHorizon), let dropped = dropped[index] {
            row.horizon.merge(dropped)
        }
        transaction.put(.zone(database, offered.name), row)
        if row.exists, offered.commitZone.keepsHanging {
            // Older changes of this node count too: a parent that lost against them arrived unseen.
            var known = ours ?? VersionVector()
            known.merge(Runs(offer.vectors).vector)
            try FormerParents(of: row.number).raiseFloor(to: known, &transaction)
        }
        for dot in offered.heads.dots {
            try transaction.raiseHead(database, zone: offered.name, to: dot)
        }
    }

    /// Joins what changed of a zone into what stands here.
    private mutating func joinStaged(
        _ index: Int,
        _ number: ZoneNumber,
        _ database: DatabaseNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let zone = offer.zones[index].commitZone
        let place = ZonePlace(scope: scope, database: database, number: number, zone: zone)
        for (key, value) in try transaction.rows(.log, .staged(of: scope, UInt32(index))) {
            var parts = KeyReader(key)
            _ = try parts.number(ScopeNumber.self)
            _ = try parts.number(UInt32.self)
            let name = try parts.text()
            let rows = try transaction.decoding(key) { () throws(MalformedBytes) in
                try StagedRecord(row: value).rows.map { (row) throws(MalformedBytes) in
                    try RecordRow(row)
                }
            }
            let mine = try transaction.lives(number, name)
            try join(mine, rows, over: mine, name, index, at: place, &transaction)
            suspects[index, default: []].append(name)
        }
    }
}

extension StateOffer.Increment {
    fileprivate func key(in scope: ScopeNumber) -> RowKey {
        .increment(scope, request, identity, recordName, field)
    }
}

extension [RecordRow] {
    /// Whether a run for which a node owes wrote, in one of these lives, a reference to a record
    /// with which that life goes; what waits behind another life may be shown by the merge.
    fileprivate func hasOwner(by state: WriterState) throws(MalformedBytes) -> Bool {
        for life in self {
            for owner in try life.backReferences() where owner.kind == .deleteSelf {
                guard let stamp = life.stamp(of: owner.field) else { continue }
                if state.owes(for: stamp.dot.incarnation) { return true }
            }
        }
        return false
    }
}
