// Stretches that can't be read: each is found with its exact ends, and all that lies between them
// is read.

import CumulusModel
import CumulusStorage
import Testing

/// A reader with some unreadable rows, as in a damaged block of a table.
private struct WoundedReader: EngineReader {
    var keys: [Bytes]
    var wounds: [ClosedRange<Int>]

    private func isWounded(_ index: Int) -> Bool { wounds.contains { $0.contains(index) } }

    func get(_ family: Family, _ key: Bytes, reach: Reach) throws(EngineError) -> Bytes? {
        guard family == .index, let index = keys.firstIndex(of: key) else { return nil }
        if isWounded(index) { throw .corrupt("a checksum is wrong") }
        return []
    }

    func lendRows(
        _ family: Family,
        _ range: KeyRange,
        backwards: Bool,
        to visit: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool
    ) throws(EngineError) {
        guard family == .index else { return }
        for (index, key) in keys.enumerated() where !precedes(key, range.start) {
            guard precedes(key, range.end) || isWounded(index) else { return }
            if isWounded(index) { throw .corrupt("a checksum is wrong") }
            let goesOn = key.withUnsafeBytes { key in
                visit(key, UnsafeRawBufferPointer(start: nil, count: 0))
            }
            guard goesOn else { return }
        }
    }
}

@Suite struct StoreSurveyTests {
    private static let counted = (0..<600).map { Bytes("Arecord \(1_000 + $0)".utf8) }
    private static let random: [Bytes] = {
        var dice = SystemRandomNumberGenerator()
        let keys = (0..<600).map { _ -> Bytes in
            [65] + (0..<Int.random(in: 1...12)).map { _ in UInt8.random(in: 0...255, using: &dice) }
        }
        return Set(keys).sorted { precedes($0, $1) }
    }()

    private func survey(_ reader: WoundedReader, step: Int) throws -> ([StoreDamage], UInt64) {
        var survey = StoreSurvey(ReadTransaction(reader, reach: .disk))
        var damages: [StoreDamage] = []
        while !survey.isFinished { damages += try survey.step(limit: step) }
        return (damages, survey.rows)
    }

    @Test(
        arguments: [1, 10, 1_000],
        [
            [5...9], [0...0], [0...20], [599...599], [300...320, 340...345],
            [2...3, 5...6, 400...599],
        ]
    )
    func stretchesAreFound(step: Int, wounds: [ClosedRange<Int>]) throws {
        let keys = Self.counted
        let (damages, rows) = try survey(WoundedReader(keys: keys, wounds: wounds), step: step)
        #expect(damages.count == wounds.count)
        for (damage, wound) in zip(damages, wounds) {
            #expect(damage.before == (wound.lowerBound == 0 ? nil : keys[wound.lowerBound - 1]))
            #expect(damage.after == (wound.upperBound == 599 ? nil : keys[wound.upperBound + 1]))
            #expect(wound.allSatisfy { damage.range.contains(keys[$0]) })
            guard damage.before != nil, damage.after != nil else { continue }
            #expect(damage.subspaces == [.backReference])
        }
        #expect(rows == UInt64(600 - wounds.reduce(0) { $0 + $1.count }))
    }

    /// Whatever keys look like, no damaged row is left out of what is found.
    @Test func nothingDamagedIsLeftOut() throws {
        for _ in 0..<50 {
            let keys = Self.random
            let first = Int.random(in: 0..<keys.count - 40)
            let wound = first...first + Int.random(in: 0..<40)
            let (damages, _) = try survey(WoundedReader(keys: keys, wounds: [wound]), step: 100)
            let stretches = damages.filter { !$0.isRow }
            #expect(stretches.count == 1)
            #expect(wound.allSatisfy { stretches[0].range.contains(keys[$0]) })
            #expect(stretches[0].before == (first == 0 ? nil : keys[first - 1]))
        }
    }
}
