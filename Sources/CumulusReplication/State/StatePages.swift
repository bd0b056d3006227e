// The records of a node's state, page by page.
//
// Read by the node that hands them over: all that an offer names, or what the other one asked
// for to compare it.

import CumulusModel
package import CumulusStorage

/// Some records of one zone of an offer.
package struct StatePage: Sendable {
    /// Index of the zone in the offer.
    package var zone: Int
    package var records: [(name: String, record: StagedRecord)] = []
    /// The next page begins with more rows of the last record, under its name.
    package var goesOn = false

    package init(zone: Int) {
        self.zone = zone
    }

    /// The same rows in pages of `byteLimit` bytes and a row at most: the lives of one record may
    /// be more than a message can hold.
    fileprivate func parts(byteLimit: Int) -> [StatePage] {
        var (parts, size) = ([StatePage(zone: zone)], 0)
        for (name, record) in records {
            var rows: [Bytes] = []
            for row in record.rows {
                if size >= byteLimit {
                    if !rows.isEmpty { parts[parts.count - 1].add(name, rows, goesOn: true) }
                    parts.append(StatePage(zone: zone))
                    (rows, size) = ([], 0)
                }
                rows.append(row)
                size += row.count
            }
            parts[parts.count - 1].add(name, rows)
        }
        return parts
    }

    private mutating func add(_ name: String, _ rows: [Bytes], goesOn: Bool = false) {
        records.append((name, StagedRecord(rows: rows)))
        self.goesOn = goesOn
    }
}

/// A walk through records: zones in the order of an offer, records ascending by name.
package struct StatePages: Sendable {
    /// A part of the state that is read before the next one.
    private enum Part {
        /// The changed records of a zone.
        case changes(zone: Int)
        /// The records after one name and up to another.
        case run(zone: Int, after: String?, through: String?)
    }

    private let source: StateSource
    private let offer: StateOffer
    private let parts: [Part]
    /// The part that is read.
    private var part = 0
    /// For a part that consists of changes: the names that are left; nil before they are listed.
    private var changed: ArraySlice<String>?
    /// The last record so far.
    private var last: String?
    /// A record whose first rows are already read.
    private var begun: (zone: Int, name: String, rows: Int)?
    /// Pages that were read and come next, the last first.
    private var waiting: [StatePage] = []

    /// Everything that an offer names, from behind a position.
    package init(_ source: StateSource, _ offer: StateOffer, from position: StatePosition = .init())
    {
        let zones = offer.zones.indices.dropFirst(position.zone)
        self.init(
            source,
            offer,
            zones.compactMap { index in
                switch offer.zones[index].extent {
                case .nothing: nil
                case .delta: .changes(zone: index)
                case .full: .run(zone: index, after: nil, through: nil)
                }
            }
        )
        guard let record = position.record else { return }
        last = record
        if position.rows > 0 { begun = (position.zone, record, position.rows) }
    }

    /// Reads the part of an offer that lies in one of these stretches.
    package init(_ source: StateSource, _ offer: StateOffer, of stretches: [Stretch]) {
        self.init(
            source,
            offer,
            offer.placed(stretches).compactMap { index, stretch in
                guard let index, offer.zones[index].extent != .nothing else { return nil }
                return .run(zone: index, after: stretch.after, through: stretch.through)
            }
        )
    }

    private init(_ source: StateSource, _ offer: StateOffer, _ parts: [Part]) {
        self.source = source
        self.offer = offer
        self.parts = parts
    }

    /// The next rows, until the page has that many bytes; nil at the end.
    package mutating func next(byteLimit: Int) throws(EngineError) -> StatePage? {
        if waiting.isEmpty {
            var page = try restOfBegun()
            if page == nil { page = try records(byteLimit) }
            waiting = page?.parts(byteLimit: byteLimit).reversed() ?? []
        }
        return waiting.popLast()
    }

    /// The other rows of a record that was begun; nil if there is no such record.
    private mutating func restOfBegun() throws(EngineError) -> StatePage? {
        guard let (zone, name, count) = begun else { return nil }
        begun = nil
        guard let record = try source.record(name, in: offer.zones[zone]) else { return nil }
        let rows = Array(record.rows.dropFirst(count))
        if rows.isEmpty { return nil }
        var page = StatePage(zone: zone)
        page.records = [(name, StagedRecord(rows: rows))]
        return page
    }

    /// The next records, whole.
    private mutating func records(_ byteLimit: Int) throws(EngineError) -> StatePage? {
        while part < parts.count {
            let page =
                switch parts[part] {
                case .changes(let zone): try changes(of: zone, byteLimit)
                case .run(let zone, let name, let end):
                    try run(of: zone, after: last ?? name, through: end, byteLimit)
                }
            if !page.records.isEmpty { return page }
        }
        return nil
    }

    private mutating func endPart() {
        part += 1
        (changed, last) = (nil, nil)
    }

    private mutating func run(
        of zone: Int,
        after name: String?,
        through end: String?,
        _ byteLimit: Int
    ) throws(EngineError) -> StatePage {
        let run = try source.records(
            in: offer.zones[zone].row.number,
            after: name,
            through: end,
            byteLimit: byteLimit
        )
        last = run.records.last?.name
        if run.isLast { endPart() }
        var page = StatePage(zone: zone)
        page.records = run.records
        return page
    }

    private mutating func changes(
        of zone: Int,
        _ byteLimit: Int
    ) throws(EngineError) -> StatePage {
        var names = changed ?? []
        if changed == nil {
            let last = last?.utf8
            names = try source.names(in: offer.zones[zone], above: offer.base).drop { name in
                last.map { !$0.lexicographicallyPrecedes(name.utf8) } ?? false
            }
        }
        var page = StatePage(zone: zone)
        var byteCount = 0
        while byteCount < byteLimit, let name = names.popFirst() {
            guard let record = try source.record(name, in: offer.zones[zone]) else { continue }
            byteCount += record.byteCount + name.utf8.count
            page.records.append((name, record))
        }
        changed = names
        if names.isEmpty { endPart() }
        return page
    }
}
