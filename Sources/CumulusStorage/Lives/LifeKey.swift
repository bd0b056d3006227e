// The key that makes several creations of a record one life: they carry out one request, or
// increments began them.
//
// A request that is repeated at another node creates its records a second time, and two nodes may
// begin the same counter. Such creations share a key. `ApplyCommit` computes it, so every node
// gives a creation the same key; `SavePlanner` says in the commit which creations have one.

import Crypto
package import CumulusModel

package struct LifeKey: Hashable, Comparable, Sendable {
    /// The lowest bit is set if increments began the life.
    package let value: UInt64

    package init(_ value: UInt64) { self.value = value }

    /// Whether increments began the life: their callers saw no record and did not ask to create
    /// one.
    package var isBlind: Bool { value & 1 == 1 }

    /// A dot that names the life instead of a birth; it is the same whichever birth came first.
    package var dot: Dot { Dot(Incarnation(value), 0) }

    package static func < (left: LifeKey, right: LifeKey) -> Bool { left.value < right.value }
}

extension LifeKey {
    /// The key of records that a user's request creates in a zone.
    package init(request: Bytes, of user: String, in zone: Commit.Zone) {
        let hash = LifeKey.hash(.request, zone) {
            $0.delimited(request)
            $0.delimited(user.utf8)
        }
        self.init(hash & ~1)
    }

    /// The key of counters that increments begin in a zone.
    package init(counterOf type: String, in zone: Commit.Zone) {
        self.init(LifeKey.hash(.increments, zone) { $0.delimited(type.utf8) } | 1)
    }

    /// The first 8 bytes of SHA-256 over the parts.
    private static func hash(
        _ origin: Commit.Origin,
        _ zone: Commit.Zone,
        _ rest: (inout CanonicalWriter) -> Void
    ) -> UInt64 {
        var writer = CanonicalWriter(reserving: 128)
        writer.varint(UInt64(origin.rawValue))
        writer.varint(UInt64(zone.database.kind.rawValue))
        writer.delimited(zone.database.owner.utf8)
        writer.delimited(zone.name.utf8)
        writer.varint(zone.generation)
        rest(&writer)
        return SHA256.hash(data: writer.bytes).first(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}

extension Commit {
    /// The key of the life that a put creates; nil if it creates none, or a life without a key.
    package func key(of put: Put) -> LifeKey? {
        guard put.birth == nil, let zone else { return nil }
        return switch put.origin {
        case .request: LifeKey(request: requestID, of: user, in: zone)
        case .increments: LifeKey(counterOf: put.type, in: zone)
        case nil: nil
        }
    }
}

extension WriterState {
    /// The key of the life that a put creates, by the rules that a simulation has left on.
    func key(of put: Commit.Put, in commit: Commit) -> LifeKey? {
        switch put.origin {
        case .request where broken.contains(.keys): nil
        case .increments where broken.contains(.zeroKeys): nil
        default: commit.key(of: put)
        }
    }
}

/// The end of a life with a key.
///
/// It is kept for as long as a creation that did not know it may arrive.
package struct EndedLife: Hashable, Comparable, Sendable {
    package var key: LifeKey
    /// The commit that ended it.
    package var end: Stamp

    package init(key: LifeKey, end: Stamp) {
        self.key = key
        self.end = end
    }

    package static func < (left: EndedLife, right: EndedLife) -> Bool {
        (left.key, left.end) < (right.key, right.end)
    }
}

extension CanonicalWriter {
    mutating func key(_ key: LifeKey) { bigEndian(key.value) }
}

extension CanonicalReader {
    mutating func key() throws(MalformedBytes) -> LifeKey { LifeKey(try bigEndian()) }
}
