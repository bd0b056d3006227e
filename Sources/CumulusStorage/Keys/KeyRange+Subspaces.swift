// The ranges of keys that scans ask for: all rows of a zone, a scope, an index.
//
// `Keyspace` lists the keys themselves.

package import CumulusModel

extension KeyRange {
    package static func records(of zone: ZoneNumber) -> KeyRange {
        KeyRange(prefix: RowKey(.record) { $0.add(zone) }.bytes)
    }

    /// The records of a zone after one name, up to and including another.
    ///
    /// nil means from the first, or to the last.
    package static func records(
        of zone: ZoneNumber,
        after name: String?,
        through end: String?
    ) -> KeyRange {
        var range = records(of: zone)
        if let name { range.start = RowKey.record(zone, name).bytes + [0] }
        if let end { range.end = RowKey.record(zone, end).bytes + [0] }
        return range
    }

    package static func siblings(of zone: ZoneNumber) -> KeyRange {
        KeyRange(prefix: RowKey(.sibling) { $0.add(zone) }.bytes)
    }

    package static func siblings(of zone: ZoneNumber, _ name: String) -> KeyRange {
        let prefix = RowKey(.sibling) {
            $0.add(zone)
            $0.add(name)
        }
        return KeyRange(prefix: prefix.bytes)
    }

    package static func conflicts(of scope: ScopeNumber) -> KeyRange {
        KeyRange(prefix: RowKey(.conflict) { $0.add(scope) }.bytes)
    }

    package static func increments(of scope: ScopeNumber) -> KeyRange {
        KeyRange(prefix: RowKey(.increment) { $0.add(scope) }.bytes)
    }

    /// Increments of requests that were made before a time, in milliseconds since 1970 UTC.
    package static func increments(of scope: ScopeNumber, before time: Int64) -> KeyRange {
        let start = RowKey(.increment) { $0.add(scope) }.bytes
        let milliseconds = withUnsafeBytes(of: UInt64(max(0, time)).bigEndian, Bytes.init)
        return KeyRange(start: start, end: start + milliseconds.dropFirst(2))
    }

    /// Conflicts of commits that were made before a time, in milliseconds since 1970 UTC.
    package static func conflicts(of scope: ScopeNumber, before time: Int64) -> KeyRange {
        let end = RowKey(.conflict) {
            $0.add(scope)
            $0.add(HybridTime(milliseconds: time).value)
        }
        return KeyRange(start: RowKey(.conflict) { $0.add(scope) }.bytes, end: end.bytes)
    }

    package static func changes(of zone: ZoneNumber) -> KeyRange {
        KeyRange(prefix: RowKey(.change) { $0.add(zone) }.bytes)
    }

    /// The records whose last change is by an incarnation, after one of its commits.
    package static func changes(
        of zone: ZoneNumber,
        _ incarnation: Incarnation,
        above seq: UInt64
    ) -> KeyRange {
        let prefix = RowKey(.change) {
            $0.add(zone)
            $0.add(UInt32(0))
            $0.add(incarnation.value)
        }
        let start = RowKey.change(zone, Dot(incarnation, seq + 1), "").bytes.dropLast(2)
        return KeyRange(start: Bytes(start), end: KeyRange(prefix: prefix.bytes).end)
    }

    package static func backReferences(of zone: ZoneNumber) -> KeyRange {
        KeyRange(prefix: RowKey(.backReference) { $0.add(zone) }.bytes)
    }

    package static func backReferences(
        of zone: ZoneNumber,
        to target: String,
        _ kind: BackReferenceKind
    ) -> KeyRange {
        let prefix = RowKey(.backReference) {
            $0.add(zone)
            $0.add(target)
            $0.add(kind.rawValue)
        }
        return KeyRange(prefix: prefix.bytes)
    }

    /// The indexes of a record type; nil means of all.
    package static func indexes(of scope: ScopeNumber, _ type: String? = nil) -> KeyRange {
        let prefix = RowKey(.index) {
            $0.add(scope)
            if let type { $0.add(type) }
        }
        return KeyRange(prefix: prefix.bytes)
    }

    /// The rows of an index of a zone; nil means of all its indexes.
    package static func indexRows(of zone: ZoneNumber, _ index: IndexNumber? = nil) -> KeyRange {
        let prefix = RowKey(.indexRow) {
            $0.add(zone)
            if let index { $0.add(index) }
        }
        return KeyRange(prefix: prefix.bytes)
    }

    package static func databases(of scope: ScopeNumber) -> KeyRange {
        KeyRange(prefix: RowKey(.database) { $0.add(scope) }.bytes)
    }

    package static func zones(of database: DatabaseNumber) -> KeyRange {
        KeyRange(prefix: RowKey(.zone) { $0.add(database) }.bytes)
    }

    package static func vectors(of scope: ScopeNumber) -> KeyRange {
        KeyRange(prefix: RowKey(.vector) { $0.add(scope) }.bytes)
    }

    package static func reports(of scope: ScopeNumber) -> KeyRange {
        KeyRange(prefix: RowKey(.report) { $0.add(scope) }.bytes)
    }

    package static func logFloors(of scope: ScopeNumber) -> KeyRange {
        KeyRange(prefix: RowKey(.logFloor) { $0.add(scope) }.bytes)
    }

    package static func staged(of scope: ScopeNumber) -> KeyRange {
        KeyRange(prefix: RowKey(.stage) { $0.add(scope) }.bytes)
    }

    package static func staged(of scope: ScopeNumber, _ zone: UInt32) -> KeyRange {
        let prefix = RowKey(.stage) {
            $0.add(scope)
            $0.add(zone)
        }
        return KeyRange(prefix: prefix.bytes)
    }

    package static func zoneHeads(of database: DatabaseNumber) -> KeyRange {
        KeyRange(prefix: RowKey(.zoneHead) { $0.add(database) }.bytes)
    }

    /// The commits of an incarnation, from `first` to `last`.
    package static func commits(
        _ scope: ScopeNumber,
        _ incarnation: Incarnation,
        _ seqs: ClosedRange<UInt64>
    ) -> KeyRange {
        let start = RowKey.commit(scope, Dot(incarnation, seqs.lowerBound)).bytes
        let last = RowKey.commit(scope, Dot(incarnation, seqs.upperBound)).bytes
        return KeyRange(start: start, end: last + [0])
    }

    /// All registers of a scope.
    package static func registers(of scope: ScopeNumber) -> KeyRange {
        KeyRange(prefix: RowKey(.register) { $0.add(scope) }.bytes)
    }

    /// All commits of a scope.
    package static func commits(of scope: ScopeNumber) -> KeyRange {
        KeyRange(prefix: RowKey(.commit) { $0.add(scope) }.bytes)
    }

    /// The unfinished deletions of a scope's cascades.
    package static func cascadeDebts(of scope: ScopeNumber) -> KeyRange {
        KeyRange(prefix: RowKey(.cascadeDebt) { $0.add(scope) }.bytes)
    }

    /// The unfinished deletions of one cascade.
    package static func cascadeDebts(of scope: ScopeNumber, _ cascade: Dot) -> KeyRange {
        let prefix = RowKey(.cascadeDebt) {
            $0.add(scope)
            $0.add(cascade)
        }
        return KeyRange(prefix: prefix.bytes)
    }

    package static func registers(
        _ scope: ScopeNumber,
        _ namespace: String,
        _ key: [Bytes] = []
    ) -> KeyRange {
        KeyRange(prefix: RowKey.register(scope, namespace, key).bytes)
    }

    /// All rows of a subspace.
    package static func all(_ subspace: Subspace) -> KeyRange {
        KeyRange(prefix: [subspace.rawValue])
    }

    /// Request rows whose ids were made before that time.
    package static func requests(before milliseconds: Int64) -> KeyRange {
        let bound = UInt64(max(0, milliseconds)) << 16
        let end = KeyRange.timed(.request, bound)
        return KeyRange(start: [Subspace.request.rawValue], end: end)
    }

    private static func timed(_ subspace: Subspace, _ bound: UInt64) -> Bytes {
        var writer = KeyWriter(subspace)
        writer.add(bound)
        return Bytes(writer.bytes.prefix(7))
    }
}
