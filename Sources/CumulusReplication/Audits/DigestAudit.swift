// Finds the stretches of a scope that a node holds otherwise than another one, by the other one's
// digests.
//
// Driven by `Verification`, which reads these; `StateAudit` judges what it suspects. A record that
// only one of the nodes has read is a suspect too.

import CumulusModel
package import CumulusStorage

package struct DigestAudit: Sendable {
    /// Records of stretches that are the same.
    package private(set) var compared: UInt64 = 0
    /// Stretches that are not, disjoint, and ascending within a zone.
    package private(set) var suspects: [Stretch] = []
    private let offer: StateOffer
    private let source: StateSource
    private let mostSuspects: Int
    /// How far the walk through the offer's zones is, and through the records of that zone.
    private var zone = 0
    private var last: String?
    /// Records that were the same since the last suspect.
    private var gap: UInt64 = 0

    /// The most bytes that are read here for one digest; records of a larger stretch are compared.
    private static let mostBytes = 4 << 20

    /// - Parameters:
    ///   - reader: One snapshot of this node.
    ///   - mostSuspects: Beyond that many, two stretches of a zone and all between them become one:
    ///     so many names take a few megabytes.
    package init(
        _ offer: StateOffer,
        _ scope: ScopeNumber,
        _ reader: ReadTransaction,
        mostSuspects: Int = 4_096
    ) {
        self.offer = offer
        self.mostSuspects = mostSuspects
        source = StateSource(reader, scope: scope)
        skipGoneZones()
    }

    /// Compares the next stretch; throws `MalformedBytes` if it isn't the one whose turn it is.
    package mutating func compare(_ digest: StretchDigest) throws {
        guard digest.zone == zone, zone < offer.zones.count else {
            throw MalformedBytes("a stretch of a zone whose turn it is not")
        }
        if let last, let through = digest.through,
            !last.utf8.lexicographicallyPrecedes(through.utf8)
        {
            throw MalformedBytes("a stretch up to \(through) comes behind \(last)")
        }
        let stretch = Stretch(
            database: offer.zones[zone].database,
            zone: offer.zones[zone].name,
            after: last,
            through: digest.through
        )
        if try isReadableAndSame(stretch, digest) {
            compared += digest.records
            gap += digest.records
        } else {
            suspect(stretch)
        }
        last = digest.through
        guard last == nil else { return }
        zone += 1
        skipGoneZones()
    }

    /// Adds what the other node has no zone for; throws `MalformedBytes` if it left something out.
    package mutating func finish() throws {
        guard zone == offer.zones.count else {
            throw MalformedBytes("digests are missing; do both nodes run the same release?")
        }
        let offered = Set(
            offer.zones.filter(\.row.exists).map { Stretch(database: $0.database, zone: $0.name) }
        )
        for zone in try source.outline().zones where zone.row.exists {
            let whole = Stretch(database: zone.database, zone: zone.name)
            if !offered.contains(whole) { suspects.append(whole) }
        }
    }

    private mutating func skipGoneZones() {
        while zone < offer.zones.count, offer.zones[zone].extent == .nothing { zone += 1 }
    }

    /// A stretch with a damaged row is compared record by record.
    private func isReadableAndSame(
        _ stretch: Stretch,
        _ digest: StretchDigest
    ) throws(EngineError) -> Bool {
        do throws(EngineError) {
            return try isSame(stretch, digest)
        } catch .corrupt {
            return false
        }
    }

    private func isSame(
        _ stretch: Stretch,
        _ digest: StretchDigest
    ) throws(EngineError) -> Bool {
        guard let held = try source.zone(stretch.database, stretch.zone), held.exists else {
            return digest.records == 0
        }
        guard held.generation == offer.zones[zone].row.generation else { return false }
        var hash = StretchHash()
        var (last, room) = (stretch.after, DigestAudit.mostBytes)
        while room > 0, hash.records <= digest.records {
            let run = try source.records(
                in: held.number,
                after: last,
                through: stretch.through,
                byteLimit: Stretch.byteCount
            )
            try hash.add(run.records, source.reader)
            guard !run.isLast else {
                return hash.records == digest.records && hash.digest == digest.digest
            }
            last = run.records.last?.name
            room -= run.byteCount
        }
        return false
    }

    private mutating func suspect(_ stretch: Stretch) {
        defer { gap = 0 }
        guard let last = suspects.last, last.isOfZone(of: stretch),
            last.through == stretch.after || suspects.count >= mostSuspects
        else { return suspects.append(stretch) }
        suspects[suspects.count - 1].through = stretch.through
        compared -= gap
    }
}
