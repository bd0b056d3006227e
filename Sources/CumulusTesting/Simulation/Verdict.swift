// The findings of a history: its faults, counts of events, the story line by line, and a digest of
// the story, by which two runs of a seed are compared.
//
// Kept by each `History` while it runs.

package struct Verdict {
    package typealias Violation = (checker: String, text: String)

    package var violations: [Violation] = []
    /// How often what happened; histories in which little did show little.
    package var counts: [String: Int] = [:]
    /// A line for each thing that happened; empty unless the story is kept.
    package private(set) var story: [String] = []
    /// Digest of all lines, kept or not; FNV-1a.
    package private(set) var digest: UInt64 = 0xCBF2_9CE4_8422_2325
    private let isTold: Bool

    init(isTold: Bool) {
        self.isTold = isTold
    }

    mutating func violate(_ checker: String, _ text: String) {
        violations.append((checker, text))
    }

    mutating func count(_ what: String) {
        counts[what, default: 0] += 1
    }

    mutating func tell(_ line: String) {
        for byte in line.utf8 { add(byte) }
        add(0x0A)
        if isTold { story.append(line) }
    }

    private mutating func add(_ byte: UInt8) {
        digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3
    }
}
