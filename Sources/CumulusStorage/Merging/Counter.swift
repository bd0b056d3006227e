// A field that `increment` wrote: a base that a save set, and running sums of all nodes.
//
//   value = base + total,   total = Σ sums + retired − Σ voids
//
// All arithmetic is modulo 2^64, so a set value is shown exactly, however large the sums are. The
// counter is part of a record row. Each incarnation's running sum since the life's birth joins by
// its larger seq, so increments of several nodes never overwrite each other.

package import CumulusModel

package struct Counter: Hashable, Sendable {
    package struct Sum: Hashable, Sendable {
        /// The incarnation's latest commit that added to this counter.
        package var dot: Dot
        package var sum: Int64
    }

    /// An increment that was applied twice and no longer counts.
    package struct Void: Hashable, Sendable {
        package var dot: Dot
        package var delta: Int64
    }

    package var field: String
    package var base: Int64
    /// Ordered by incarnation.
    package var sums: [Sum] = []
    /// Sums that were merged into one; nothing merges sums yet, so it is 0.
    package var retired: Int64 = 0
    /// The voids ascend.
    package var voids: [Void] = []
    /// The newest increment, even if it does not count: an older removal doesn't hide the field.
    package var latest = Stamp.zero

    package init(field: String, base: Int64) {
        self.field = field
        self.base = base
    }

    /// The sum of the increments.
    package var total: Int64 {
        voids.reduce(sums.reduce(retired) { $0 &+ $1.sum }) { $0 &- $1.delta }
    }

    /// The value that the field shows.
    ///
    /// Each increment was checked against the bounds where it was made, if its caller may read the
    /// record. The value wraps around if several nodes together, or a caller who may not read,
    /// exceeded them.
    package var value: Int64 { base &+ total }

    /// Adds to the running sum of the incarnation that made the increment.
    package mutating func add(_ delta: Int64, at stamp: Stamp) {
        let dot = stamp.dot
        if let index = sums.firstIndex(where: { $0.dot.incarnation == dot.incarnation }) {
            sums[index] = Sum(dot: dot, sum: sums[index].sum &+ delta)
        } else {
            sums.append(Sum(dot: dot, sum: delta))
            sums.sort { $0.dot < $1.dot }
        }
        latest = max(latest, stamp)
    }

    /// Voids an increment that was applied twice.
    package mutating func void(_ delta: Int64, at dot: Dot) {
        guard !voids.contains(where: { $0.dot == dot }) else { return }
        voids.append(Void(dot: dot, delta: delta))
        voids.sort { $0.dot < $1.dot }
    }
}

// MARK: - Stored form

extension Counter {
    func write(to writer: inout CanonicalWriter) {
        writer.delimited(field.utf8)
        writer.varint(zigzag(base))
        writer.varint(UInt64(sums.count))
        for sum in sums {
            writer.dot(sum.dot)
            writer.varint(zigzag(sum.sum))
        }
        writer.varint(zigzag(retired))
        writer.varint(UInt64(voids.count))
        for void in voids {
            writer.dot(void.dot)
            writer.varint(zigzag(void.delta))
        }
        writer.stamp(latest)
    }

    init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        field = try reader.text()
        base = try reader.signed()
        sums = try reader.list { (reader: inout CanonicalReader) throws(MalformedBytes) in
            Sum(dot: try reader.dot(), sum: try reader.signed())
        }
        retired = try reader.signed()
        voids = try reader.list { (reader: inout CanonicalReader) throws(MalformedBytes) in
            Void(dot: try reader.dot(), delta: try reader.signed())
        }
        latest = try reader.stamp()
    }
}
