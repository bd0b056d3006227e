// What happened in a simulated world, line by line, and a digest of it, by which two runs of a seed
// are compared.
//
// Kept by `SimulatedWorld`.

struct Story {
    /// Empty unless the story is kept.
    private(set) var lines: [String] = []
    /// Of all lines; FNV-1a.
    private(set) var digest: UInt64 = 0xCBF2_9CE4_8422_2325
    private let isKept: Bool

    init(isKept: Bool) {
        self.isKept = isKept
    }

    mutating func add(_ line: String) {
        for byte in line.utf8 { add(byte) }
        add(0x0A)
        if isKept { lines.append(line) }
    }

    private mutating func add(_ byte: UInt8) {
        digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3
    }
}
