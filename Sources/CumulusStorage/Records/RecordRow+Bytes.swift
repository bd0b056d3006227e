// Reads and writes the bytes of a record row, and computes its tag and digest.
//
// `RecordRow` says what the parts mean. hot: once per record that is saved.

import Crypto
package import CumulusModel

// MARK: - Tag and digest

extension RecordRow {
    /// The place of a record in names that are the same on every node.
    package struct Place: Hashable, Sendable {
        package var database: DatabaseID
        package var zone: String
        package var generation: UInt64
        package var name: String

        package init(database: DatabaseID, zone: String, generation: UInt64, name: String) {
            self.database = database
            self.zone = zone
            self.generation = generation
            self.name = name
        }
    }

    /// Sets tag and digest after a change and returns the row's bytes.
    package mutating func seal(at place: Place) throws(MalformedBytes) -> Bytes {
        tag = try computeTag()
        let stamps = stamps
        var head = headUpToCounters(stamps)
        digest = computeDigest(at: place, head: head.bytes)
        writeCounters(to: &head)
        writeFrontier(to: &head, stamps)
        writeEnded(to: &head)
        return bytes(&head)
    }

    /// The row's bytes without its frontier and ended lives, with the current tag and digest.
    ///
    /// They are the same on all nodes that have read as much about the record.
    package var content: Bytes {
        var head = headUpToCounters(stamps)
        writeCounters(to: &head)
        return bytes(&head)
    }

    private func bytes(_ head: inout CanonicalWriter) -> Bytes {
        head.raw(tag)
        head.raw(digest)
        var row = CanonicalWriter(reserving: head.bytes.count + body.bytes.count + 3)
        row.delimited(head.bytes)
        row.raw(body.bytes)
        return row.bytes
    }

    /// The first 8 bytes of SHA-256 over birth, `modified` and every (name, stamp).
    ///
    /// A shown counter also counts with its value. A creation by a request counts by the life's
    /// key, so every node that carried out the request computes the same tag.
    private func computeTag() throws(MalformedBytes) -> Bytes {
        let (body, counters) = (body, counters)
        let (key, births) = (requestKey, births)
        var writer = CanonicalWriter(reserving: 256)
        func add(_ stamp: Stamp) {
            if let key, births.contains(stamp.dot) { writer.key(key) } else { writer.stamp(stamp) }
        }
        add(birth)
        add(modified)
        for (entry, stamp) in zip(body.entries, fieldStamps) {
            writer.delimited(body.bytes[entry.name])
            add(stamp)
            if !counters.isEmpty,
                counters.contains(where: { $0.field == body.name(of: entry) }),
                let value = try body.int64(entry)
            {
                writer.varint(zigzag(value))
            }
        }
        writer.varint(UInt64(absent.count))
        for absence in absent {
            writer.delimited(absence.name.utf8)
            add(absence.stamp)
        }
        for target in [parent, share] {
            add(target?.stamp ?? .zero)
        }
        if !access.isEmpty { access.write(to: &writer) }
        return SHA256.hash(data: writer.bytes).first(8)
    }

    private func computeDigest(at place: Place, head: Bytes) -> Bytes {
        var writer = CanonicalWriter(reserving: 64)
        writer.varint(UInt64(place.database.kind.rawValue))
        writer.delimited(place.database.owner.utf8)
        writer.delimited(place.zone.utf8)
        writer.varint(place.generation)
        writer.delimited(place.name.utf8)
        var hash = SHA256()
        hash.update(data: writer.bytes)
        hash.update(data: head)
        hash.update(data: body.bytes)
        return hash.finalize().first(16)
    }
}

// MARK: - Writing

extension RecordRow {
    private struct Flags {
        static let dead: UInt64 = 1
        static let siblings: UInt64 = 2
        static let counters: UInt64 = 4
        static let access: UInt64 = 8
        static let key: UInt64 = 16
        static let twins: UInt64 = 32
    }

    /// Every commit that the row names outside the frontier, ascending, each once.
    var stamps: [Stamp] {
        var all = [birth, floor, modified] + twins + fieldStamps + absent.map(\.stamp)
        if let parent { all.append(parent.stamp) }
        if let share { all.append(share.stamp) }
        all.sort()
        var unique: [Stamp] = []
        for stamp in all where unique.last != stamp { unique.append(stamp) }
        return unique
    }

    private func headUpToCounters(_ stamps: [Stamp]) -> CanonicalWriter {
        func index(_ stamp: Stamp) -> UInt64 {
            UInt64(stamps.firstIndex(of: stamp) ?? 0)
        }
        var head = CanonicalWriter(reserving: 192)
        head.varint(RecordRow.version)
        var flags = isDead ? Flags.dead : 0
        if hasSiblings { flags |= Flags.siblings }
        if !counters.isEmpty { flags |= Flags.counters }
        if !access.isEmpty { flags |= Flags.access }
        if key != nil { flags |= Flags.key }
        if !twins.isEmpty { flags |= Flags.twins }
        head.varint(flags)
        head.delimited(type.utf8)
        head.varint(UInt64(stamps.count))
        for stamp in stamps { head.stamp(stamp) }
        for stamp in [birth, floor, modified] { head.varint(index(stamp)) }
        head.delimited(createdBy.utf8)
        head.delimited(modifiedBy.utf8)
        head.delimited(device)
        head.varint(UInt64(fieldStamps.count))
        for stamp in fieldStamps { head.varint(index(stamp)) }
        head.varint(UInt64(absent.count))
        for absence in absent {
            head.delimited(absence.name.utf8)
            head.varint(index(absence.stamp))
        }
        head.varint(UInt64(targets.count))
        for target in targets {
            head.delimited(target.field.utf8)
            head.varint(UInt64(target.element))
            head.dot(target.birth)
        }
        for target in [parent, share] {
            head.varint(target == nil ? 0 : target?.birth == nil ? 1 : 2)
            guard let target else { continue }
            head.delimited((target.name ?? "").utf8)
            head.varint(index(target.stamp))
            if let birth = target.birth { head.dot(birth) }
        }
        if !access.isEmpty { access.write(to: &head) }
        if let key { head.key(key) }
        if !twins.isEmpty {
            head.varint(UInt64(twins.count))
            for twin in twins { head.varint(index(twin)) }
        }
        return head
    }

    private func writeCounters(to head: inout CanonicalWriter) {
        head.varint(UInt64(counters.count))
        for counter in counters { counter.write(to: &head) }
    }

    /// Writes each stamp as 1 + its index, or as 0 and the stamp itself.
    private func writeFrontier(to head: inout CanonicalWriter, _ stamps: [Stamp]) {
        head.varint(UInt64(frontier.count))
        for stamp in frontier {
            if let index = stamps.firstIndex(of: stamp) {
                head.varint(UInt64(index + 1))
            } else {
                head.varint(0)
                head.stamp(stamp)
            }
        }
    }
}

extension RecordRow {
    private func writeEnded(to head: inout CanonicalWriter) {
        if ended.isEmpty { return }
        head.varint(UInt64(ended.count))
        for life in ended {
            head.key(life.key)
            head.stamp(life.end)
        }
    }

    /// Bytes of tag and digest at the end of a head.
    private static let sealBytes = 24
}

// MARK: - Reading

extension RecordRow {
    package init(_ row: Bytes) throws(MalformedBytes) {
        var reader = CanonicalReader(row)
        var head = try reader.message()
        let bodyRange = reader.position..<row.count
        guard try head.varint() == RecordRow.version else {
            throw MalformedBytes("a record row of an unknown version")
        }
        let flags = try head.varint()
        let type = try head.text()
        let stamps = try head.list { (head: inout CanonicalReader) throws(MalformedBytes) in
            try head.stamp()
        }
        func stamp(_ head: inout CanonicalReader) throws(MalformedBytes) -> Stamp {
            let index = try head.count()
            guard index < stamps.count else { throw MalformedBytes("a stamp is missing") }
            return stamps[index]
        }
        var parts = Parts(
            type: type,
            birth: try stamp(&head),
            floor: try stamp(&head),
            modified: try stamp(&head),
            createdBy: try head.text(),
            modifiedBy: try head.text()
        )
        parts.isDead = flags & Flags.dead != 0
        parts.hasSiblings = flags & Flags.siblings != 0
        parts.device = try head.delimitedBytes()
        parts.fieldStamps = try head.list(stamp)
        parts.absent = try head.list { (head: inout CanonicalReader) throws(MalformedBytes) in
            Absence(name: try head.text(), stamp: try stamp(&head))
        }
        parts.targets = try head.list { (head: inout CanonicalReader) throws(MalformedBytes) in
            ReferenceTarget(
                field: try head.text(),
                element: try head.count(),
                birth: try head.dot()
            )
        }
        func target(_ head: inout CanonicalReader) throws(MalformedBytes) -> NamedTarget? {
            let form = try head.varint()
            guard form > 0 else { return nil }
            let name = try head.text()
            let set = try stamp(&head)
            let birth = form == 2 ? try head.dot() : nil
            return NamedTarget(name: name.isEmpty ? nil : name, birth: birth, stamp: set)
        }
        parts.parent = try target(&head)
        parts.share = try target(&head)
        if flags & Flags.access != 0 { parts.access = try AccessEntries(reading: &head) }
        if flags & Flags.key != 0 { parts.key = try head.key() }
        if flags & Flags.twins != 0 { parts.twins = try head.list(stamp) }
        parts.counters = try head.list(Counter.init(reading:))
        parts.frontier = try head.list { (head: inout CanonicalReader) throws(MalformedBytes) in
            let index = try head.count(limit: stamps.count)
            return index == 0 ? try head.stamp() : stamps[index - 1]
        }
        if head.end - head.position > RecordRow.sealBytes {
            parts.ended = try head.list { (head: inout CanonicalReader) throws(MalformedBytes) in
                EndedLife(key: try head.key(), end: try head.stamp())
            }
        }
        parts.tag = Bytes(row[try head.take(8)])
        parts.digest = Bytes(row[try head.take(16)])
        parts.body = try RecordBody(stored: row, bodyRange)
        guard head.isAtEnd, parts.body.entries.count == parts.fieldStamps.count
        else {
            throw MalformedBytes("head and body of a record row don't fit")
        }
        self.init(parts)
    }
}

extension CanonicalWriter {
    package mutating func stamp(_ stamp: Stamp) {
        bigEndian(stamp.time.value)
        dot(stamp.dot)
    }

    package mutating func dot(_ dot: Dot) {
        bigEndian(dot.incarnation.value)
        varint(dot.seq)
    }
}

extension CanonicalWriter {
    package mutating func vector(_ vector: VersionVector) {
        let dots = vector.dots
        varint(UInt64(dots.count))
        for dot in dots { self.dot(dot) }
    }
}

extension CanonicalReader {
    package mutating func vector() throws(MalformedBytes) -> VersionVector {
        let dots = try list { (reader: inout CanonicalReader) throws(MalformedBytes) in
            try reader.dot()
        }
        var vector = VersionVector()
        for dot in dots { vector[dot.incarnation] = dot.seq }
        return vector
    }

    package mutating func stamp() throws(MalformedBytes) -> Stamp {
        Stamp(HybridTime(try bigEndian()), try dot())
    }

    package mutating func dot() throws(MalformedBytes) -> Dot {
        Dot(Incarnation(try bigEndian()), try varint())
    }

    /// A count and that many elements.
    package mutating func list<Element>(
        _ element: (inout CanonicalReader) throws(MalformedBytes) -> Element
    ) throws(MalformedBytes) -> [Element] {
        let count = try count(limit: end - position)
        var elements: [Element] = []
        elements.reserveCapacity(count)
        for _ in 0..<count { elements.append(try element(&self)) }
        return elements
    }
}
