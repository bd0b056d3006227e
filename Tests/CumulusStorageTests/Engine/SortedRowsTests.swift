// Rows in pieces are the rows of a dictionary, in the order of their keys.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct SortedRowsTests {
    private static func key(_ number: Int) -> Bytes {
        [UInt8(number >> 8), UInt8(number & 0xFF)]
    }

    /// With several pieces that grow, are cut and vanish.
    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func theyAreWhatADictionaryHolds(seed: UInt64) {
        var dice = SeededGenerator(seed: seed)
        var rows = SortedRows()
        var model: [Bytes: Bytes?] = [:]
        // First they mostly come, then they mostly go.
        for round in 0..<40_000 {
            let key = Self.key(.random(in: 0..<6_000, using: &dice))
            if Int.random(in: 0..<10, using: &dice) < (round < 20_000 ? 1 : 8) {
                rows.remove(key)
                model[key] = nil
            } else {
                let value: Bytes? = Bool.random(using: &dice) ? key : nil
                #expect(rows.put(key, value) == model[key])
                model[key] = .some(value)
            }
            if round % 1_000 == 0 { expectEqual(rows, model, &dice) }
        }
        for key in model.keys { rows.remove(key) }
        #expect(rows.isEmpty && rows.all.isEmpty)
    }

    private func expectEqual(
        _ rows: SortedRows,
        _ model: [Bytes: Bytes?],
        _ dice: inout SeededGenerator
    ) {
        let sorted = model.sorted { precedes($0.key, $1.key) }
        #expect(rows.all.map(\.key) == sorted.map(\.key))
        #expect(rows.all.map(\.value) == sorted.map(\.value))
        for _ in 0..<20 {
            let numbers = (0..<2).map { _ in Int.random(in: 0..<6_000, using: &dice) }.sorted()
            let range = KeyRange(start: Self.key(numbers[0]), end: Self.key(numbers[1]))
            let expected = sorted.filter { range.contains($0.key) }
            #expect(rows.rows(in: range).map(\.key) == expected.map(\.key))
            #expect(rows.get(range.start) == model[range.start])
        }
    }
}
