// Decides from another node's records what replaces damaged records here.
//
// `Verification` drives it and reads the other node. It takes a record only if the other node has
// read everything that this node knows of it, and nothing that this node has not read: the store is
// then as it was before the damage. A stretch is mended as a whole or not at all.

package import CumulusModel
package import CumulusStorage

package struct RecordMending: Sendable {
    /// The outcome for a damaged stretch or row.
    package enum Outcome: Sendable {
        case mended(by: Mending)
        /// One of the nodes has read more about it than the other, or the other lacks it.
        case unsettled
        /// More is to be fetched than is held in memory at a time.
        case tooLarge
        /// The stretch may hold other rows than records, or the state of a node is being taken
        /// over.
        case notOnlyRecords
    }

    /// The other node's answer about a part of one damage.
    private struct Answer: Sendable {
        var zone: StateOffer.Zone?
        var vector = VersionVector()
        var records: [String: [RecordRow]] = [:]
    }

    private let damages: [RecordDamage]
    private var answers: [[Answer]]
    private var room: Int

    /// - Parameter mostBytes: Bytes of records that are held until they are written.
    package init(_ damages: [RecordDamage], mostBytes: Int = 64 << 20) {
        self.damages = damages
        answers = damages.map { $0.parts.map { _ in Answer() } }
        room = mostBytes
    }

    /// The scopes with damaged records, in a fixed order.
    package var scopes: [ScopeID] {
        var scopes: [ScopeID] = []
        for part in damages.flatMap(\.parts) where !scopes.contains(part.scope) {
            scopes.append(part.scope)
        }
        return scopes
    }

    /// The stretches of a scope to ask the other node for, in order and without overlaps.
    package func stretches(of scope: ScopeID) -> [Stretch] {
        let all = damages.flatMap(\.parts).filter { $0.scope == scope }.flatMap(\.stretches)
        return Stretch.joined(all)
    }

    /// Takes what the other node says of its zones.
    package mutating func begin(_ offer: StateOffer, of scope: ScopeID) {
        forEachPart(of: scope) { part, answer in
            answer.vector = offer.vector
            answer.zone = offer.zones.first { $0.commitZone == part.place.zone && $0.row.exists }
        }
    }

    /// Takes records of a zone.
    package mutating func take(
        _ page: StateIntake.Page,
        of zone: Commit.Zone,
        in scope: ScopeID
    ) {
        var taken = 0
        forEachPart(of: scope) { part, answer in
            guard part.place.zone == zone else { return }
            for record in page.records where part.isInside(record.name) {
                answer.records[record.name] = record.rows
                taken += record.bytes.byteCount
            }
        }
        room -= taken
    }

    /// There is no room for more.
    package var isFull: Bool { room < 0 }

    private mutating func forEachPart(
        of scope: ScopeID,
        _ body: (RecordDamage.Part, inout Answer) -> Void
    ) {
        for index in damages.indices {
            for (number, part) in damages[index].parts.enumerated() where part.scope == scope {
                body(part, &answers[index][number])
            }
        }
    }

    // MARK: Judging

    /// The outcome for the damage with that index.
    package func outcome(of index: Int) -> Outcome {
        let damage = damages[index]
        guard damage.holdsOnlyRecords else { return .notOnlyRecords }
        if isFull { return .tooLarge }
        var records: [String: Mending.Record] = [:]
        for (part, answer) in zip(damage.parts, answers[index]) {
            guard let found = RecordMending.records(of: part, answer) else { return .unsettled }
            for record in found { records["\(record.place.number) \(record.name)"] = record }
        }
        return .mended(
            by: Mending(
                damage.damage,
                records: records.values.sorted { $0.name < $1.name },
                zones: damage.parts.map { ($0.place, $0.vector) }
            )
        )
    }

    /// The records that replace a part; nil if that can't be decided.
    private static func records(of part: RecordDamage.Part, _ answer: Answer) -> [Mending.Record]? {
        guard let zone = answer.zone, part.vector.covers(zone.row.horizon) else { return nil }
        var known = part.known ?? [:]
        if part.known == nil {
            guard answer.vector.covers(part.vector) else { return nil }
            known = answer.records.mapValues { _ in [] }
        }
        // A tombstone that is not known here was forgotten.
        for (name, rows) in answer.records where known[name] == nil && rows.first?.isDead == false {
            known[name] = []
        }
        var records: [Mending.Record] = []
        for (name, dots) in known {
            let rows = answer.records[name] ?? []
            let isSettled =
                dots.allSatisfy(answer.vector.covers)
                && (rows.first?.frontier ?? []).allSatisfy { part.vector.covers($0.dot) }
            guard isSettled else { return nil }
            records.append(.init(place: part.place, name: name, rows: rows, known: dots))
        }
        return records
    }
}

extension RecordDamage {
    /// The names of the records, with their zones, that are damaged as far as this node knows.
    package var names: [(part: Part, name: String)] {
        parts.flatMap { part in (part.known ?? [:]).keys.sorted().map { (part, $0) } }
    }
}

extension Stretch {
    /// The stretches in an order in which they may be asked for; overlapping ones are joined.
    static func joined(_ stretches: [Stretch]) -> [Stretch] {
        var zones: [Stretch: [Stretch]] = [:]
        for stretch in stretches {
            let zone = Stretch(database: stretch.database, zone: stretch.zone)
            zones[zone, default: []].append(stretch)
        }
        return zones.sorted { $0.key.order < $1.key.order }.flatMap { joinedOfZone($0.value) }
    }

    private var order: [String] { ["\(database.kind.rawValue)", database.owner, zone] }

    private static func joinedOfZone(_ stretches: [Stretch]) -> [Stretch] {
        let ordered = stretches.sorted { one, other in
            guard let second = other.after else { return false }
            return one.after.map { $0.utf8.lexicographicallyPrecedes(second.utf8) } ?? true
        }
        var joined: [Stretch] = []
        for stretch in ordered {
            guard let last = joined.last, stretch.after.map(last.reachesBehind) ?? true else {
                joined.append(stretch)
                continue
            }
            let isLonger = last.through.map { !stretch.reachesNoFurther(than: $0) } ?? false
            if isLonger { joined[joined.count - 1].through = stretch.through }
        }
        return joined
    }

    /// Whether it goes on behind that name.
    private func reachesBehind(_ name: String) -> Bool {
        through.map { name.utf8.lexicographicallyPrecedes($0.utf8) } ?? true
    }

    private func reachesNoFurther(than name: String) -> Bool {
        through.map { !name.utf8.lexicographicallyPrecedes($0.utf8) } ?? false
    }
}

extension [String] {
    fileprivate static func < (left: [String], right: [String]) -> Bool {
        left.lexicographicallyPrecedes(right)
    }
}
