// The line of a progress bar.

import CumulusTerminal
import Testing

@Suite struct ProgressBarTests {
    @Test func aProgressLineSaysHowFarAndHowLong() {
        #expect(
            ProgressBar.line(250, of: 1_000, records: 100, seconds: 2)
                == "[######------------------] 25 %  100 records  50/s  6 s left"
        )
        #expect(ProgressBar.line(250, of: nil, records: 3, seconds: 0) == "3 records  0/s")
        #expect(ProgressBar.line(9, of: nil, records: 1, seconds: 1) == "1 record  1/s")
    }
}
