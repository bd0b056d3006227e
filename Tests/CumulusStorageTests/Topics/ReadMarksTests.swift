// A user's read marks as nodes keep them: a join in any order gives the same result, it has one
// form in bytes, and it does not grow beyond its limit.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct ReadMarksTests {
    private static func id(_ number: Int) -> FeedNotification.ID {
        let high = UInt8(truncatingIfNeeded: number >> 8)
        return FeedNotification.ID(
            bytes: [high, UInt8(truncatingIfNeeded: number)] + Bytes(repeating: 7, count: 14)
        )
    }

    /// Marks of up to 300 of 900 notifications, each at one of few times.
    private static func marks(using dice: inout SeededGenerator) -> ReadMarks {
        var vector = VersionVector()
        for run in 1...3 as ClosedRange<UInt64> {
            vector[Incarnation(run)] = .random(in: 0...4, using: &dice)
        }
        var marks = ReadMarks(upTo: vector)
        for _ in 0..<3 {
            let ids = (0..<100).map { _ in id(Int.random(in: 0..<900, using: &dice)) }
            marks.join(ReadMarks(ids: ids, at: .random(in: -3...3, using: &dice)))
        }
        return marks
    }

    private static func joined(_ marks: ReadMarks...) -> ReadMarks {
        marks.dropFirst().reduce(into: marks[0]) { $0.join($1) }
    }

    @Test func theOrderOfJoiningMakesNoDifference() throws {
        var full = 0
        for seed in UInt64(1)...100 {
            var dice = SeededGenerator(seed: seed)
            let (a, b, c) = (
                Self.marks(using: &dice), Self.marks(using: &dice), Self.marks(using: &dice)
            )
            let all = Self.joined(a, b, c)
            #expect(Self.joined(a, Self.joined(b, c)) == all, "\(seed)")
            #expect(Self.joined(c, b, a) == all, "\(seed)")
            #expect(Self.joined(all, b, all) == all, "\(seed)")
            #expect(Self.joined(c, b, a).value == all.value, "\(seed)")
            let held = (0..<900).filter { all.holds(Self.id($0)) }.count
            #expect(held <= ReadMarks.mostIDs)
            if held == ReadMarks.mostIDs { full += 1 }
        }
        #expect(full > 50)
    }

    @Test func idsThatWereMarkedLastStay() {
        var marks = ReadMarks(ids: (0..<400).map(Self.id), at: 1)
        marks.join(ReadMarks(ids: [Self.id(3)], at: 2))
        marks.join(ReadMarks(ids: (400..<799).map(Self.id), at: 3))
        #expect(marks.holds(Self.id(3)) && !marks.holds(Self.id(4)))
        #expect((400..<799).allSatisfy { marks.holds(Self.id($0)) })
        #expect(marks.newest == 3)
    }

    /// What a user costs at most, but for the vector; every page of a feed reads it.
    @Test func marksAreSmall() {
        let marks = ReadMarks(ids: (0..<500).map(Self.id), at: 1_800_000_000_000)
        #expect(marks.value.count == 8_804)
    }

    @Test func aVectorMarksWhatItCovers() {
        let run = Incarnation(5)
        var marks = ReadMarks(upTo: VersionVector([run: 3]))
        #expect(marks.holds(Self.id(1), of: [Dot(run, 3)]))
        #expect(!marks.holds(Self.id(1), of: [Dot(run, 4)]))
        marks.join(ReadMarks(upTo: VersionVector([run: 2, Incarnation(6): 1])))
        #expect(marks.vector == VersionVector([run: 3, Incarnation(6): 1]))
    }

    // MARK: Bytes

    @Test func marksAreReadAsTheyWereWritten() throws {
        for seed in UInt64(1)...50 {
            var dice = SeededGenerator(seed: seed)
            let marks = Self.marks(using: &dice)
            #expect(try ReadMarks(value: marks.value) == marks)
        }
        #expect(try ReadMarks(value: ReadMarks().value) == ReadMarks())
    }

    @Test func damageIsAnErrorOrSaysSomethingElse() throws {
        let ids = (0..<5).map(Self.id)
        let marks = ReadMarks(upTo: VersionVector([Incarnation(5): 3]), ids: ids, at: 9)
        for end in marks.value.indices {
            #expect(throws: MalformedBytes.self) {
                try ReadMarks(value: Bytes(marks.value[..<end]))
            }
        }
        #expect(throws: MalformedBytes.self) { try ReadMarks(value: marks.value + [0]) }
        var (refused, others) = (0, 0)
        for seed in UInt64(1)...2_000 {
            var dice = SeededGenerator(seed: seed)
            let damaged = Damage.mutation(of: marks.value, using: &dice)
            guard damaged != marks.value else { continue }
            guard let read = try? ReadMarks(value: damaged) else {
                refused += 1
                continue
            }
            others += 1
            #expect(read != marks && read.value == damaged, "\(seed)")
        }
        #expect(refused > 100 && others > 100)
    }

    /// Pinned: they are on disks and travel between releases.
    @Test func theBytesOfOne() throws {
        let id = FeedNotification.ID(bytes: Bytes(0..<16))
        let marks = ReadMarks(upTo: VersionVector([Incarnation(7): 3]), ids: [id], at: 5)
        #expect(
            marks.value.hex
                == "01" + "01" + "0000000000000007" + "03" + "01"
                + "000102030405060708090a0b0c0d0e0f" + "0a"
        )
        #expect(ReadMarks.Reader("_a").key.map(\.hex) == ["5f61"])
    }

    @Test func aValueOfALaterReleaseSaysSo() throws {
        let error = #expect(throws: MalformedBytes.self) {
            try ReadMarks(value: [2] + ReadMarks().value.dropFirst())
        }
        #expect(error?.reason.contains("later release") == true)
    }
}
