// A field that `increment` wrote: a base that sets it, and sums that add up, whichever node they
// came from.
//
//   value = base + total,   total = Σ sums + retired − Σ voids
//
// Part of a record row. Each incarnation's running sum since the life's birth joins by its larger
// seq, so that increments of several nodes never overwrite each other.

package import CumulusModel

package struct Counter: Hashable, Sendable {
    package struct Sum: Hashable, Sendable {
        /// The incarnation's latest commit that added to this counter.
        package var dot: Dot
        package var sum: Int64
    }

    /// An increment that was counted twice and counts no more.
    package struct Void: Hashable, Sendable {
        package var dot: Dot
        package var delta: Int64
    }

    package var field: String
    package var base: Int64
    /// Ascending by incarnation.
    package var sums: [Sum] = []
    /// What the retired incarnations added.
    package var retired: Int64 = 0
    /// Ascending.
    package var voids: [Void] = []
    /// The newest increment, counted or not: a removal before it doesn't hide the field.
    package var latest = Stamp.zero

    package init(field: String, base: Int64) {
        self.field = field
        self.base = base
    }

    private var exactTotal: Int128 {
        var total = Int128(retired)
        for sum in sums { total += Int128(sum.sum) }
        for void in voids { total -= Int128(void.delta) }
        return total
    }

    /// nil if it doesn't fit into 64 bits.
    package var total: Int64? { Int64(exactly: exactTotal) }

    /// Whether the value fits into 64 bits.
    package var fits: Bool { Int64(exactly: Int128(base) + exactTotal) != nil }

    /// What the field shows.
    ///
    /// Each increment was within bounds where it was made; where several nodes together left them,
    /// the bound is shown.
    package var value: Int64 { Int64(clamping: Int128(base) + exactTotal) }

    /// Adds to the running sum of the incarnation that made the increment.
    ///
    /// False if that sum overflows: nothing changed.
    package mutating func add(_ delta: Int64, at stamp: Stamp) -> Bool {
        let dot = stamp.dot
        let index = sums.firstIndex { $0.dot.incarnation == dot.incarnation }
        let before = index.map { sums[$0].sum } ?? 0
        let (sum, overflow) = before.addingReportingOverflow(delta)
        if overflow { return false }
        if let index {
            sums[index] = Sum(dot: dot, sum: sum)
        } else {
            sums.append(Sum(dot: dot, sum: sum))
            sums.sort { $0.dot < $1.dot }
        }
        latest = max(latest, stamp)
        return true
    }

    /// An increment counts no more: it was made twice.
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
