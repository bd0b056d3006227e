// Digests of all that a node holds of a scope, stretch by stretch, for another one to compare.
//
// Read by the session of a peer, a few at a time, from one snapshot.

package import CumulusStorage

package struct DigestWalk: Sendable {
    private let source: StateSource
    private let zones: [StateOffer.Zone]
    private var zone = 0
    /// The last name of the zone so far.
    private var last: String?

    /// About what a digest takes on its way.
    private static let digestBytes = 100

    package init(_ source: StateSource, _ offer: StateOffer) {
        self.source = source
        zones = offer.zones
    }

    /// The next digests, until that many bytes were read for them; none at the end.
    package mutating func next(
        byteLimit: Int,
        stretchBytes: Int = Stretch.byteCount
    ) throws(EngineError) -> [StretchDigest] {
        var digests: [StretchDigest] = []
        var room = byteLimit
        while room > 0, zone < zones.count {
            if zones[zone].extent == .nothing {
                zone += 1
                continue
            }
            let run = try source.records(
                in: zones[zone].row.number,
                after: last,
                byteLimit: stretchBytes
            )
            digests.append(try digest(of: run))
            room -= run.byteCount + DigestWalk.digestBytes
        }
        return digests
    }

    private mutating func digest(of run: StateSource.Run) throws(EngineError) -> StretchDigest {
        var hash = StretchHash()
        try hash.add(run.records, source.reader)
        last = run.isLast ? nil : run.records.last?.name
        let digest = StretchDigest(
            zone: zone,
            through: last,
            records: hash.records,
            digest: hash.digest
        )
        if run.isLast { zone += 1 }
        return digest
    }
}
