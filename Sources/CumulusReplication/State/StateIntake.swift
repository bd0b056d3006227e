// Whether what a donor hands over fits together: nothing is written before it does.
//
// Asked by `StateTransfer`, which talks with the donor: for the offer once, then for each page.
// Nothing may stand beyond the donor's vector, or it would never be taken back; records come in
// order, so that none comes twice.

package import CumulusModel
package import CumulusStorage

package struct StateIntake: Sendable {
    private let offer: StateOffer
    private var zone = 0
    /// The last record of the zone so far.
    private var name: String?
    /// Rows of that record, if more of them follow.
    private var begun: [Bytes] = []

    /// No scope has more commits, of all runs together: their numbers can be added up.
    private static let mostCommits: UInt64 = 1 << 48

    /// Throws what is wrong with the offer.
    ///
    /// - Parameters:
    ///   - base: How far this node had read when it asked.
    ///   - clock: The clock by which the times of the donor's commits are judged.
    package init(
        _ offer: StateOffer,
        above base: VersionVector,
        clock: CommitIntake.Clock
    ) throws(MalformedBytes) {
        self.offer = offer
        // Made of all its parts each time.
        let vector = offer.vector
        guard offer.base == base else { throw MalformedBytes("it was made for another reader") }
        var room = StateIntake.mostCommits
        for (incarnation, row) in offer.vectors.sorted(by: { $0.key < $1.key }) {
            if let lead = clock.excess(of: row.time) {
                throw MalformedBytes("commits of \(incarnation) are \(lead) ms ahead of our clock")
            }
            guard row.hash.count == Commit.noHash.count, row.seq > 0, row.seq <= room else {
                throw MalformedBytes("the end of the log of \(incarnation) can't be")
            }
            room -= row.seq
            guard vector.covers(row.first), vector.covers(row.dep) else {
                throw MalformedBytes("\(incarnation) depends on what the donor lacks")
            }
        }
        var names: Set<[String]> = []
        for zone in offer.zones {
            try check(zone, vector)
            let name = ["\(zone.database.kind.rawValue)", zone.database.owner, zone.name]
            guard names.insert(name).inserted else { throw MalformedBytes("a zone comes twice") }
        }
        for register in offer.registers { try check(register.row.stamp) }
        for increment in offer.increments { try check(increment.row.stamp) }
    }

    private func check(
        _ zone: StateOffer.Zone,
        _ vector: VersionVector
    ) throws(MalformedBytes) {
        try check(zone.row.created)
        if let deleted = zone.row.deleted { try check(deleted) }
        guard max(zone.row.generation, zone.row.deadThrough) <= Zones.lastGeneration else {
            throw MalformedBytes("zone \(zone.name) has a generation that no zone comes to")
        }
        guard vector.covers(zone.heads), vector.covers(zone.row.horizon) else {
            throw MalformedBytes("zone \(zone.name) is ahead of the donor's vector")
        }
        guard zone.row.exists == (zone.extent != .nothing) else {
            throw MalformedBytes("zone \(zone.name) is gone and has records")
        }
    }

    private func check(_ stamp: Stamp) throws(MalformedBytes) {
        if stamp == .zero { return }
        guard let last = offer.vectors[stamp.dot.incarnation],
            stamp.dot.seq <= last.seq, stamp.time <= last.time
        else { throw MalformedBytes("\(stamp.dot) is ahead of the donor's vector") }
    }

    // MARK: Pages

    /// A page that fits, its rows read.
    package struct Page: Sendable {
        package var zone: Int
        package var records: [Record] = []

        package init(zone: Int) {
            self.zone = zone
        }
    }

    package struct Record: Sendable {
        package var name: String
        /// The shown life or the tombstone, then the lives behind it.
        package var rows: [RecordRow]
        package var bytes: StagedRecord
    }

    /// Bounds the rows of one record that come in several pages, in bytes: their content, and an
    /// overhead for each.
    private static let (recordBytes, rowBytes) = (64 << 20, 1 << 10)

    /// The records that are whole with the page that comes next; throws what is wrong with it.
    package mutating func read(_ page: StatePage) throws(MalformedBytes) -> Page {
        guard page.zone >= zone, page.zone < offer.zones.count,
            offer.zones[page.zone].extent != .nothing
        else { throw MalformedBytes("a page of a zone whose turn it is not") }
        if page.zone > zone {
            try checkEnd()
            (zone, name) = (page.zone, nil)
        }
        var read = Page(zone: zone)
        for (index, (name, record)) in page.records.enumerated() {
            let bytes = StagedRecord(rows: try takeBegun(of: name) + record.rows)
            if page.goesOn, index == page.records.count - 1 {
                try begin(bytes)
            } else {
                let rows = try bytes.rows.map { (row) throws(MalformedBytes) in try RecordRow(row) }
                try check(rows)
                read.records.append(Record(name: name, rows: rows, bytes: bytes))
            }
        }
        return read
    }

    /// How far the state has come.
    package var position: StatePosition {
        StatePosition(parts: offer.partCount, zone: zone, record: name, rows: begun.count)
    }

    /// Throws if the last record isn't whole.
    package func checkEnd() throws(MalformedBytes) {
        guard begun.isEmpty else { throw MalformedBytes("a record breaks off") }
    }

    /// The rows of the next record that are there already.
    private mutating func takeBegun(of name: String) throws(MalformedBytes) -> [Bytes] {
        defer { (self.name, begun) = (name, []) }
        if !begun.isEmpty, name == self.name { return begun }
        try checkEnd()
        if let last = self.name, !last.utf8.lexicographicallyPrecedes(name.utf8) {
            throw MalformedBytes("record \(name) comes behind \(last)")
        }
        return []
    }

    private mutating func begin(_ record: StagedRecord) throws(MalformedBytes) {
        let size = record.byteCount + record.rows.count * StateIntake.rowBytes
        guard !record.rows.isEmpty, size <= StateIntake.recordBytes else {
            throw MalformedBytes("the rows of a record take too much, or none are there")
        }
        begun = record.rows
    }

    private func check(_ rows: [RecordRow]) throws(MalformedBytes) {
        guard let shown = rows.first else { throw MalformedBytes("a record without a row") }
        let others = rows.dropFirst()
        let hasBirths = rows.allSatisfy { row in
            (row.key != nil || row.twins.isEmpty)
                && zip(row.creations, row.twins).allSatisfy { $0 < $1 }
        }
        let isWhole =
            hasBirths && shown.hasSiblings == !others.isEmpty
            && !(shown.isDead && shown.hasSiblings)
            && others.allSatisfy {
                !$0.isDead && !$0.hasSiblings && $0.frontier.isEmpty && $0.ended.isEmpty
            }
            && others.allSatisfy { shown.isShown(before: $0) }
            && zip(others, others.dropFirst()).allSatisfy { $0.birth.dot < $1.birth.dot }
        guard isWhole else { throw MalformedBytes("a record's rows don't belong together") }
        for row in rows {
            try check(row.birth)
            for twin in row.twins { try check(twin) }
            for life in row.ended { try check(life.end) }
            try check(row.modified)
            for stamp in row.frontier { try check(stamp) }
            try check(row.floor)
            let named = [row.parent, row.share].compactMap { $0?.stamp }
            for stamp in row.fieldStamps + row.absent.map(\.stamp) + named { try check(stamp) }
            for counter in row.counters {
                try check(counter.latest)
                guard !counter.field.isEmpty else { throw MalformedBytes("a counter has no name") }
            }
        }
    }
}
