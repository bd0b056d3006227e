// Reads every row of a store and finds damage, also beyond an unreadable part.
//
// Driven by the node's `Verification`, a step at a time, from one snapshot. A table is cut into
// blocks of some kilobytes, each with a checksum: one wrong bit makes all rows of its block
// unreadable, and a scan ends there. The survey looks for the next row that can be read and goes
// on behind the gap.
//
// Folder: damage on the disk: finding it, and writing over it. Read `StoreDamage`, then
// `StoreSurvey`, `Mending` and `StoreDamage+Mending`; `RowCheck` says which rows decode.

import CumulusModel

package struct StoreSurvey: Sendable {
    /// Rows that were read so far.
    package private(set) var rows: UInt64 = 0
    private let reader: ReadTransaction
    private var families = Family.allCases[...]
    private var position: Bytes = []
    /// The last key of the family that was read.
    private var last: Bytes?

    package init(_ reader: ReadTransaction) {
        self.reader = reader
    }

    package var isFinished: Bool { families.isEmpty }

    /// Reads some rows more; returns what is damaged among them.
    package mutating func step(limit: Int) throws(EngineError) -> [StoreDamage] {
        guard let family = families.first else { return [] }
        var found: [StoreDamage] = []
        var (count, last) = (0, last)
        do throws(EngineError) {
            let range = KeyRange(start: position, end: KeyRange.behindAll)
            try reader.lendRows(family, range) { key, value in
                let key = Bytes(key)
                if let reason = RowCheck.problem(key, Bytes(value)) {
                    found.append(StoreDamage(family, row: key, after: last, reason))
                }
                last = key
                count += 1
                return count < limit
            }
            self.last = last
            position = last.map { $0 + [0] } ?? []
            if count < limit { endFamily() }
        } catch .corrupt(let reason) {
            let start = count > 0 ? (last ?? []) + [0] : position
            let next = try reader.firstRow(of: family, behindDamageAt: start)
            let range = KeyRange(start: start, end: next ?? KeyRange.behindAll)
            found.append(StoreDamage(family, range, between: last, and: next, reason))
            self.last = last
            position = range.end
            if next == nil { endFamily() }
        }
        rows += UInt64(count)
        return found
    }

    private mutating func endFamily() {
        families = families.dropFirst()
        (position, last) = ([], nil)
    }
}

extension KeyRange {
    /// Greater than every key.
    static let behindAll: Bytes = [0xFF]

    /// Candidate keys behind all that begin with `prefix`, ascending, beginning close by.
    fileprivate static func starts(behind prefix: ArraySlice<UInt8>) -> [Bytes] {
        guard let last = prefix.last else { return [behindAll] }
        return (Array(1...10) + [16, 32, 64, 128]).compactMap { step in
            let byte = Int(last) + step
            return byte > 0xFF ? nil : Bytes(prefix.dropLast()) + [UInt8(byte)]
        }
    }
}

extension ReadTransaction {
    /// The next readable key after `start`, where a scan failed; nil at the end of the family.
    ///
    /// Looks close by first, so that readable rows between damaged blocks are found.
    func firstRow(
        of family: Family,
        behindDamageAt start: Bytes
    ) throws(EngineError) -> Bytes? {
        var damaged = start
        for length in stride(from: start.count, through: 0, by: -1) {
            for probe in KeyRange.starts(behind: start.prefix(length)) {
                if case .read(let key) = try look(family, from: probe) {
                    return try firstRow(of: family, damaged, probe, key)
                }
                damaged = probe
            }
        }
        return nil
    }

    /// Narrows the gap between a key where a scan fails and a key from which it works.
    ///
    /// It goes by steps first, since rows between two stretches may be readable, and then by
    /// halves.
    private func firstRow(
        of family: Family,
        _ damaged: Bytes,
        _ readable: Bytes,
        _ found: Bytes?
    ) throws(EngineError) -> Bytes? {
        var (low, high, found) = (damaged, readable, found)
        for _ in 0..<ReadTransaction.steppedBytes {
            let prefix = low
            for byte in UInt8.min...UInt8.max {
                let probe = prefix + [byte]
                guard precedes(probe, high) else { break }
                if case .read(let key) = try look(family, from: probe) {
                    (high, found) = (probe, key)
                    break
                }
                low = probe
            }
        }
        let count = max(low.count, high.count, ReadTransaction.exactBytes)
        while let middle = Bytes.middle(low, high, count: count) {
            switch try look(family, from: middle) {
            case .read(let key): (high, found) = (middle, key)
            case .damaged: low = middle
            }
        }
        return found
    }

    /// Damaged stretches whose keys share more than this many bytes are treated as one.
    private static let steppedBytes = 2
    /// Keys that differ only behind this many bytes count as damaged together.
    private static let exactBytes = 64

    private enum Look {
        case read(Bytes?)
        case damaged
    }

    private func look(_ family: Family, from start: Bytes) throws(EngineError) -> Look {
        do throws(EngineError) {
            let range = KeyRange(start: start, end: KeyRange.behindAll)
            return .read(try rows(family, range, limit: 1).first?.key)
        } catch .corrupt {
            return .damaged
        }
    }
}

extension Bytes {
    /// The middle of two keys, taken as numbers of `count` bytes; nil if nothing is between them.
    static func middle(_ low: Bytes, _ high: Bytes, count: Int) -> Bytes? {
        let (low, high) = (low.padded(to: count), high.padded(to: count))
        var (sum, carry) = (Bytes(repeating: 0, count: count), 0)
        for index in (0..<count).reversed() {
            let digits = Int(low[index]) + Int(high[index]) + carry
            sum[index] = UInt8(truncatingIfNeeded: digits)
            carry = digits >> 8
        }
        for index in 0..<count {
            let digits = carry << 8 | Int(sum[index])
            sum[index] = UInt8(truncatingIfNeeded: digits >> 1)
            carry = digits & 1
        }
        return sum == low ? nil : sum
    }

    private func padded(to count: Int) -> Bytes {
        self + Bytes(repeating: 0, count: Swift.max(0, count - self.count))
    }
}
