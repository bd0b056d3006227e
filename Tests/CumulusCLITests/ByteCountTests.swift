// Sizes as people read them.

import Testing

@testable import CumulusCLI

@Suite struct ByteCountTests {
    @Test(
        arguments: [
            (0, "0 B"), (999, "999 B"), (1_000, "1.0 KB"), (1_234_567, "1.2 MB"),
            (9_949, "9.9 KB"), (9_950, "10 KB"), (34_499, "34 KB"), (987_654_321, "988 MB"),
            (12_000_000_000_000_000, "12 PB"), (.max, "18 EB"),
        ] as [(UInt64, String)]
    )
    func bytesAreCountedInUnitsOfAThousand(bytes: UInt64, text: String) {
        #expect(ByteCount.text(bytes) == text)
    }

    /// What would round to a thousand of a unit is one of the next.
    @Test func noSizeIsAThousandOfAUnit() {
        #expect(ByteCount.text(999_499) == "999 KB")
        #expect(ByteCount.text(999_500) == "1.0 MB")
        #expect(ByteCount.text(999_999_999_999) == "1.0 TB")
        for power in 0..<64 {
            for bytes in [UInt64(1) << power, (UInt64(1) << power) - 1] {
                #expect(ByteCount.text(bytes).count <= 6, "\(bytes)")
            }
        }
    }

    @Test func noNumberIsNothing() {
        #expect(ByteCount.text(-5.0) == "0 B")
        #expect(ByteCount.text(Double.nan) == "0 B")
        #expect(ByteCount.text(Double.infinity) == "0 B")
    }
}
