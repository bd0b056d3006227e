// A range of keys without some of them, as ranges.
//
// A commit deletes its ranges before it writes, and both are one statement, in which PostgreSQL
// doesn't say what comes first. So the ranges leave out each key that the commit writes.

import CumulusModel
import CumulusStorage

extension KeyRange {
    /// The parts of the range between these keys, which are in order.
    func pieces(without keys: [Bytes]) -> [KeyRange] {
        guard precedes(start, end) else { return [] }
        var pieces: [KeyRange] = []
        var from = start
        for key in keys[first(in: keys)...] {
            guard precedes(key, end) else { break }
            if precedes(from, key) { pieces.append(KeyRange(start: from, end: key)) }
            // Nothing lies between a key and the same with a zero.
            from = key + [0]
        }
        if precedes(from, end) { pieces.append(KeyRange(start: from, end: end)) }
        return pieces
    }

    /// The index of the first key that doesn't come before the range.
    private func first(in keys: [Bytes]) -> Int {
        var (low, high) = (0, keys.count)
        while low < high {
            let middle = (low + high) / 2
            if precedes(keys[middle], start) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
