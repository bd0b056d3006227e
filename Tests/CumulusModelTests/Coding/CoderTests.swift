// What one coder writes the others read: messages at random, whole and damaged.

import CumulusModel
import CumulusTesting
import Testing

@Suite struct CoderTests {
    static func sample(_ seed: UInt64) -> CodedSample {
        var dice = SeededGenerator(seed: seed)
        return CodedSample(using: &dice)
    }

    @Test func bothReadersReadWhatIsWritten() throws {
        for seed in UInt64(1)...1_000 {
            let sample = Self.sample(seed)
            let bytes = sample.encoded()
            #expect(try CodedSample(strict: bytes) == sample, "\(seed)")
            #expect(try CodedSample(tolerant: bytes, growth: 16) == sample, "\(seed)")
        }
    }

    @Test func whatIsLeftOutAndWhatIsNot() {
        #expect(CodedSample().encoded() == [0x92, 1, 0])
        var sample = CodedSample()
        sample.sometimes = CodedSample.Part()
        sample.choice = .text("")
        sample.maybeShort = 0
        #expect(sample.encoded().hex == "9201009a0100ca0100c00c00")
    }

    @Test func slicesThatAreKeptApartStandInTheirPlaces() {
        struct Chunks: Coded {
            var chunks: [CodedSlice] = []

            mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
                try coder.list(1, &chunks)
            }
        }
        for count in [0, 1, 100, 127, 128, 20_000] {
            let slice = Bytes(repeating: 7, count: count)[...]
            var chunks = Chunks()
            chunks.chunks = [CodedSlice(slice, 1), CodedSlice([], 0), CodedSlice(slice, 5)]
            var writer = CanonicalWriter(keepingSlicesApart: 0)
            chunks.write(to: &writer)
            var joined: Bytes = []
            var rest = writer.bytes[...]
            for (place, slice) in writer.apart ?? [] {
                joined += rest[..<place] + slice
                rest = rest[place...]
            }
            #expect(joined + rest == chunks.encoded(), "\(count)")
            #expect(writer.bytes.count < 40)
        }
    }

    /// A message cut off everywhere, with every byte changed, and with several changes.
    private static func damaged(_ bytes: Bytes, _ seed: UInt64) -> [Bytes] {
        var dice = SeededGenerator(seed: seed)
        let changed = bytes.indices.map { index in
            var changed = bytes
            changed[index] ^= UInt8.random(in: 1...255, using: &dice)
            return changed
        }
        let mutated = (0..<200).map { _ in Damage.mutation(of: bytes, using: &dice) }
        return Damage.truncations(of: bytes) + changed + mutated
    }

    /// Whatever the strict reader takes is what the writer would have written.
    @Test func theStrictReaderTakesNothingButCanonicalBytes() throws {
        for seed in UInt64(1)...8 {
            let bytes = Self.sample(seed).encoded()
            for damaged in Self.damaged(bytes, seed) {
                guard let sample = try? CodedSample(strict: damaged) else { continue }
                let isCanonical = sample.encoded() == damaged
                #expect(isCanonical, "\(seed)")
            }
        }
    }

    /// Whatever the tolerant reader takes it reads the same from canonical bytes.
    @Test func theTolerantReaderSurvivesDamage() throws {
        var taken = 0
        for seed in UInt64(1)...8 {
            let bytes = Self.sample(seed).encoded()
            for damaged in Self.damaged(bytes, seed) {
                guard let sample = try? CodedSample(tolerant: damaged, growth: 16) else { continue }
                taken += 1
                let again = try CodedSample(tolerant: sample.encoded(), growth: 16)
                let isSame = again.encoded() == sample.encoded()
                #expect(isSame, "\(seed)")
            }
        }
        #expect(taken > 100)
    }
}

/// A message with a slice between numbers.
private struct CodedSlice: Coded {
    var slice: ArraySlice<UInt8> = []
    var number: UInt64 = 0

    init() {}

    init(_ slice: ArraySlice<UInt8>, _ number: UInt64) {
        (self.slice, self.number) = (slice, number)
    }

    mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &number)
        try coder.slice(2, &slice)
        try coder.number(3, &number)
    }
}
