// Hybrid timestamps: the total order of all writes of a scope.
//
// Used by rows, commits and registers. A stamp names its commit too, so that one value says when
// and which.
//
// Folder: time and order: of one write, of what a reader has seen, and as text. Read `Stamp`, then
// `VersionVector`.

/// 48 bits of milliseconds since 1970 UTC and 16 bits that count within a millisecond.
package struct HybridTime: Hashable, Comparable, Sendable {
    package var value: UInt64

    package init(_ value: UInt64) {
        self.value = value
    }

    package init(milliseconds: Int64) {
        value = UInt64(max(0, milliseconds)) << 16
    }

    package var milliseconds: Int64 { Int64(value >> 16) }

    package static func < (left: HybridTime, right: HybridTime) -> Bool {
        left.value < right.value
    }
}

/// A commit's time and its dot.
///
/// Ordered by time, then incarnation; unique per commit.
package struct Stamp: Hashable, Comparable, Sendable {
    package var time: HybridTime
    package var dot: Dot

    package init(_ time: HybridTime, _ dot: Dot) {
        self.time = time
        self.dot = dot
    }

    /// Below every stamp of a commit.
    package static let zero = Stamp(HybridTime(0), Dot(Incarnation(0), 0))

    package static func < (left: Stamp, right: Stamp) -> Bool {
        (left.time, left.dot) < (right.time, right.dot)
    }
}

/// Issues hybrid times that are greater than every time seen so far, and close to the wall clock.
package struct HybridClock: Sendable {
    package private(set) var latest: HybridTime

    package init(latest: HybridTime) {
        self.latest = latest
    }

    /// The next time, given the wall clock.
    ///
    /// A wall clock that went back is followed by counting.
    package mutating func tick(now milliseconds: Int64) -> HybridTime {
        latest = max(HybridTime(milliseconds: milliseconds), HybridTime(latest.value + 1))
        return latest
    }

    /// Another node's time was seen: later ticks are greater.
    package mutating func observe(_ time: HybridTime) {
        latest = max(latest, time)
    }
}
