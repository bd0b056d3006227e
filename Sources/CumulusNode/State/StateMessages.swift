// A node's state as messages: the offer in parts, then the records; and back again.
//
// The session of a peer that takes or compares state holds an `OutboundState`; its other end calls
// `StateOffer.add`. `StateIntake` judges the messages as a whole.

import CumulusModel
import CumulusReplication
import CumulusStorage
import CumulusWire

/// The next part of a snapshot for a peer.
struct OutboundState: Sendable {
    private enum Contents {
        case records(StatePages)
        case digests(DigestWalk)
    }

    private let source: StateSource
    private let offer: StateOffer
    private let vectors: [(key: Incarnation, value: VectorRow)]
    private var contents: Contents
    /// Parts of the offer that were sent.
    private var sent = 0
    private var isOffered = false

    /// The state that a peer lacks if it has read as far as `base`.
    init(_ source: StateSource, to base: VersionVector) throws(EngineError) {
        let offer = try source.offer(to: base)
        self.init(source, offer, .records(StatePages(source, offer)))
    }

    /// The state that a peer needs to compare: the records of some stretches; nil means digests of
    /// everything.
    init(_ source: StateSource, comparing stretches: [Stretch]?) throws(EngineError) {
        let offer = try source.outline(of: stretches)
        if let stretches {
            self.init(source, offer, .records(StatePages(source, offer, of: stretches)))
        } else {
            self.init(source, offer, .digests(DigestWalk(source, offer)))
        }
    }

    private init(_ source: StateSource, _ offer: StateOffer, _ contents: Contents) {
        self.source = source
        self.offer = offer
        self.contents = contents
        vectors = offer.vectors.sorted { $0.key.value < $1.key.value }
    }

    /// The rest after a position; nil if the snapshot has no such position.
    func rest(behind position: StatePosition) -> OutboundState? {
        guard offer.reaches(position) else { return nil }
        let pages = StatePages(source, offer, from: position)
        var rest = OutboundState(source, offer, .records(pages))
        rest.sent = position.parts
        return rest
    }

    /// The next message: about that many bytes, or digests of as many; the last one says so.
    mutating func next(byteLimit: Int) throws(EngineError) -> StateResponse {
        guard isOffered else { return nextOfOffer(byteLimit) }
        var response = StateResponse()
        switch contents {
        case .records(var pages):
            if let page = try pages.next(byteLimit: byteLimit) {
                response.add(page)
            } else {
                response.isComplete = true
            }
            contents = .records(pages)
        case .digests(var digests):
            response.digests = try digests.next(byteLimit: byteLimit).map(StateResponse.Digest.init)
            response.isComplete = response.digests.isEmpty
            contents = .digests(digests)
        }
        return response
    }

    private mutating func nextOfOffer(_ byteLimit: Int) -> StateResponse {
        var response = StateResponse()
        var room = byteLimit
        while room > 0, let size = add(part: sent, to: &response) {
            room -= size
            sent += 1
        }
        isOffered = room > 0
        response.isOffered = isOffered
        return response
    }

    /// Adds a part of the offer; returns about how many bytes it has, nil behind the last one.
    private func add(part index: Int, to response: inout StateResponse) -> Int? {
        var index = index
        if index < vectors.count {
            let (incarnation, row) = vectors[index]
            let part = StateResponse.Vector(incarnation: incarnation.value, row: row.rowBytes)
            response.vectors.append(part)
            return part.row.count + 20
        }
        index -= vectors.count
        if index < offer.zones.count {
            let part = StateResponse.Zone(offer.zones[index])
            response.zones.append(part)
            return part.name.count + part.row.count + 20 * part.heads.dots.count + 40
        }
        index -= offer.zones.count
        if index < offer.registers.count {
            let register = offer.registers[index]
            let part = StateResponse.Register(
                namespace: Bytes(register.namespace.utf8),
                key: register.key,
                row: register.row.rowBytes
            )
            response.registers.append(part)
            return part.key.reduce(part.row.count + 20) { $0 + $1.count }
        }
        index -= offer.registers.count
        guard index < offer.increments.count else { return nil }
        let increment = offer.increments[index]
        response.increments.append(
            .init(
                request: increment.request.bytes,
                identity: increment.identity,
                recordName: Bytes(increment.recordName.utf8),
                field: Bytes(increment.field.utf8),
                row: increment.row.rowBytes
            )
        )
        return increment.recordName.utf8.count + increment.field.utf8.count + 80
    }
}

extension StateResponse {
    fileprivate mutating func add(_ page: StatePage) {
        zone = UInt32(page.zone)
        records = page.records.map { Record(name: Bytes($0.utf8), rows: $1.rows) }
        goesOn = page.goesOn
    }
}

extension StateResponse.Digest {
    fileprivate init(_ digest: StretchDigest) {
        self.init(
            zone: UInt32(digest.zone),
            through: Bytes((digest.through ?? "").utf8),
            records: digest.records,
            digest: digest.digest
        )
    }
}

extension StateResponse.Zone {
    fileprivate init(_ zone: StateOffer.Zone) {
        self.init(
            database: UInt32(zone.database.kind.rawValue),
            owner: Bytes(zone.database.owner.utf8),
            name: Bytes(zone.name.utf8),
            row: zone.row.rowBytes,
            heads: zone.heads,
            extent: UInt32(zone.extent.rawValue)
        )
    }
}

// MARK: - Taking

extension StateOffer {
    /// Adds what a message holds of the offer.
    mutating func add(_ response: StateResponse) throws(MalformedBytes) {
        heldBytes += StateOffer.heldBytes(response)
        for vector in response.vectors {
            let row = try VectorRow(row: vector.row)
            vectors[Incarnation(vector.incarnation)] = row
        }
        for zone in response.zones { zones.append(try Zone(zone)) }
        for register in response.registers {
            registers.append(
                Register(
                    namespace: try text(register.namespace),
                    key: register.key,
                    row: try RegisterRow(row: register.row)
                )
            )
        }
        for increment in response.increments {
            guard let request = RequestID(increment.request) else {
                throw MalformedBytes("a request id has 16 bytes")
            }
            increments.append(
                Increment(
                    request: request,
                    identity: increment.identity,
                    recordName: try text(increment.recordName),
                    field: try text(increment.field),
                    row: try IncrementRow(row: increment.row)
                )
            )
        }
    }
}

extension StateOffer.Zone {
    fileprivate init(_ zone: StateResponse.Zone) throws(MalformedBytes) {
        guard let extent = StateOffer.Extent(rawValue: UInt8(clamping: zone.extent)) else {
            throw MalformedBytes("a zone of an unknown kind")
        }
        self.init(
            database: try databaseID(zone.database, zone.owner),
            name: try text(zone.name),
            row: try ZoneRow(row: zone.row),
            heads: zone.heads
        )
        self.extent = extent
    }
}

extension StatePage {
    init(_ response: StateResponse) throws(MalformedBytes) {
        self.init(zone: Int(response.zone))
        for record in response.records {
            records.append((try recordName(record.name), StagedRecord(rows: record.rows)))
        }
        goesOn = response.goesOn
    }
}

extension StretchDigest {
    init(_ digest: StateResponse.Digest) throws(MalformedBytes) {
        self.init(
            zone: Int(digest.zone),
            through: digest.through.isEmpty ? nil : try recordName(digest.through),
            records: digest.records,
            digest: digest.digest
        )
    }
}

extension Stretch {
    init(_ stretch: StateRequest.Stretch) throws(MalformedBytes) {
        self.init(
            database: try databaseID(stretch.database, stretch.owner),
            zone: try text(stretch.zone),
            after: stretch.after.isEmpty ? nil : try recordName(stretch.after),
            through: stretch.through.isEmpty ? nil : try recordName(stretch.through)
        )
    }
}

extension StatePosition {
    init(_ position: StateRequest.Position) throws(MalformedBytes) {
        self.init(
            parts: Int(position.parts),
            zone: Int(position.zone),
            record: position.record.isEmpty ? nil : try recordName(position.record),
            rows: Int(position.rows)
        )
    }
}

extension StateRequest.Position {
    init(_ position: StatePosition) {
        self.init(
            parts: UInt32(clamping: position.parts),
            zone: UInt32(clamping: position.zone),
            record: Bytes((position.record ?? "").utf8),
            rows: UInt32(clamping: position.rows)
        )
    }
}

extension StateRequest.Stretch {
    init(_ stretch: Stretch) {
        self.init(
            database: UInt32(stretch.database.kind.rawValue),
            owner: Bytes(stretch.database.owner.utf8),
            zone: Bytes(stretch.zone.utf8),
            after: Bytes((stretch.after ?? "").utf8),
            through: Bytes((stretch.through ?? "").utf8)
        )
    }
}

private func databaseID(_ kind: UInt32, _ owner: Bytes) throws(MalformedBytes) -> DatabaseID {
    guard let kind = DatabaseScope(rawValue: UInt8(clamping: kind)) else {
        throw MalformedBytes("a database of an unknown kind")
    }
    return DatabaseID(kind: kind, owner: owner.isEmpty ? "" : try text(owner))
}

/// Names of other characters could be equal though their bytes aren't.
private func recordName(_ bytes: Bytes) throws(MalformedBytes) -> String {
    try checked { () throws(ServiceError) in
        try Names.checkRecordName(bytes[...], "a record name")
    }
}

/// A name as every node accepts it.
private func text(_ bytes: Bytes) throws(MalformedBytes) -> String {
    try checked { () throws(ServiceError) in try Names.checkText(bytes[...], "a name") }
}

private func checked(
    _ name: () throws(ServiceError) -> String
) throws(MalformedBytes) -> String {
    do {
        return try name()
    } catch {
        throw MalformedBytes(error.message)
    }
}
