// Moments as HTTP's field Date has them.

import Testing

@testable import CumulusGateway

@Suite struct HTTPDateTests {
    @Test(
        arguments: [
            (-1, "Thu, 01 Jan 1970 00:00:00 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777_000, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_868_799_999, "Tue, 29 Feb 2000 23:59:59 GMT"),
            (1_700_000_000_123, "Tue, 14 Nov 2023 22:13:20 GMT"),
            (4_102_444_800_000, "Fri, 01 Jan 2100 00:00:00 GMT"),
        ] as [(Int64, String)]
    )
    func aMomentIsWrittenInGMT(milliseconds: Int64, text: String) {
        #expect(HTTPDate.text(milliseconds) == text)
    }

    @Test func theLatestSecondIsToldWhicheverWayTheClockGoes() {
        let latest = HTTPDate.Latest()
        for milliseconds in [-1, 0, 999, 1_000, 1_999, 5_000, 4_999, 0] as [Int64] {
            #expect(latest.text(milliseconds) == HTTPDate.text(milliseconds), "\(milliseconds)")
        }
    }
}
