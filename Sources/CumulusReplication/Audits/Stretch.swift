// Stretches of a zone's records and their digests: two nodes find out where they differ without
// sending each other what they hold.
//
// `DigestWalk` makes the digests on the node that is asked; `DigestAudit` compares them with the
// node that asks. `StateAudit` then compares differing stretches record by record.

import Crypto
package import CumulusModel
import CumulusStorage

/// A run of a zone's records, by the order of their names.
package struct Stretch: Hashable, Sendable {
    package var database: DatabaseID
    package var zone: String
    /// It begins behind that name; nil means with the first one.
    package var after: String?
    /// Its last name; nil means it goes to the end of the zone.
    package var through: String?

    package init(
        database: DatabaseID,
        zone: String,
        after: String? = nil,
        through: String? = nil
    ) {
        self.database = database
        self.zone = zone
        self.after = after
        self.through = through
    }

    /// Approximate bytes of records in one stretch, unless a record is larger: the cost of a close
    /// look at a difference.
    package static let byteCount = 64 << 10

    /// Whether the stretches of a zone are contiguous in the list, ascend, and don't overlap.
    package static func areInOrder(_ stretches: [Stretch]) -> Bool {
        var zones: Set<Stretch> = []
        var last: Stretch?
        return stretches.allSatisfy { stretch in
            defer { last = stretch }
            guard stretch.through.map(stretch.beginsBefore) ?? true else { return false }
            if let last, last.isOfZone(of: stretch) {
                guard let end = last.through, let after = stretch.after else { return false }
                return !after.utf8.lexicographicallyPrecedes(end.utf8)
            }
            let zone = Stretch(database: stretch.database, zone: stretch.zone)
            return zones.insert(zone).inserted
        }
    }

    func isOfZone(of other: Stretch) -> Bool {
        database == other.database && zone == other.zone
    }

    func beginsBefore(_ name: String) -> Bool {
        after.map { $0.utf8.lexicographicallyPrecedes(name.utf8) } ?? true
    }

    /// Whether it goes on to that name of its zone, or further.
    func reaches(_ name: String) -> Bool {
        guard let through else { return true }
        return !through.utf8.lexicographicallyPrecedes(name.utf8)
    }
}

/// A short digest of one stretch of a zone.
package struct StretchDigest: Hashable, Sendable {
    /// Index of the zone in the offer; the stretch begins behind the previous one.
    package var zone: Int
    /// Its last name; nil means it goes to the end of the zone.
    package var through: String?
    /// Living ones.
    package var records: UInt64
    /// 32 bytes: SHA-256 over the names and lives of the records.
    ///
    /// It leaves out what nodes forget at different times: tombstones and frontiers.
    package var digest: Bytes

    package init(zone: Int, through: String?, records: UInt64, digest: Bytes) {
        self.zone = zone
        self.through = through
        self.records = records
        self.digest = digest
    }
}

/// Takes the records of a stretch, in their order.
struct StretchHash {
    private var hash = SHA256()
    private(set) var records: UInt64 = 0

    mutating func add(
        _ found: [(name: String, record: StagedRecord)],
        _ reader: ReadTransaction
    ) throws(EngineError) {
        for (name, record) in found {
            try reader.decoding(Bytes(name.utf8)) { () throws(MalformedBytes) in
                try add(name, record)
            }
        }
    }

    private mutating func add(_ name: String, _ record: StagedRecord) throws(MalformedBytes) {
        var lives: [Bytes] = []
        for row in record.rows {
            let life = try RecordRow(row)
            if !life.isDead { lives.append(life.content) }
        }
        if lives.isEmpty { return }
        var writer = CanonicalWriter(reserving: record.byteCount + name.utf8.count + 16)
        writer.delimited(name.utf8)
        writer.varint(UInt64(lives.count))
        for life in lives { writer.delimited(life) }
        hash.update(data: writer.bytes)
        records += 1
    }

    var digest: Bytes { Bytes(hash.finalize()) }
}

extension StateOffer {
    /// Stretches in the order of their records, each with the index of its zone; stretches of zones
    /// that are not offered come last.
    func placed(_ stretches: [Stretch]) -> [(zone: Int?, stretch: Stretch)] {
        var indexes: [DatabaseID: [String: Int]] = [:]
        for (index, zone) in zones.enumerated() {
            indexes[zone.database, default: [:]][zone.name] = index
        }
        return
            stretches
            .map { (zone: indexes[$0.database]?[$0.zone], stretch: $0) }
            .enumerated()
            .sorted { ($0.element.zone ?? .max, $0.offset) < ($1.element.zone ?? .max, $1.offset) }
            .map(\.element)
    }
}
