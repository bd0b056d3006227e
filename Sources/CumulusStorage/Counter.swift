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

    package init(field: String, base: Int64) {
        self.field = field
        self.base = base
    }

    /// nil if it doesn't fit into 64 bits.
    package var total: Int64? {
        var total: Int128 = Int128(retired)
        for sum in sums { total += Int128(sum.sum) }
        for void in voids { total -= Int128(void.delta) }
        return Int64(exactly: total)
    }

    /// nil if it doesn't fit into 64 bits.
    package var value: Int64? {
        guard let total else { return nil }
        let (value, overflow) = base.addingReportingOverflow(total)
        return overflow ? nil : value
    }

    /// Adds to the running sum of the incarnation that made the increment.
    ///
    /// False if a sum overflows: nothing changed.
    package mutating func add(_ delta: Int64, at dot: Dot) -> Bool {
        let before = self
        if let index = sums.firstIndex(where: { $0.dot.incarnation == dot.incarnation }) {
            let (sum, overflow) = sums[index].sum.addingReportingOverflow(delta)
            if overflow { return false }
            sums[index] = Sum(dot: dot, sum: sum)
        } else {
            sums.append(Sum(dot: dot, sum: delta))
            sums.sort { $0.dot < $1.dot }
        }
        guard value != nil else {
            self = before
            return false
        }
        return true
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
    }
}
