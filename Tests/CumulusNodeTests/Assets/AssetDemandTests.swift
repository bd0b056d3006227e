// The memory of assets that could not be delivered.

import CumulusModel
import CumulusWire
import Testing

@testable import CumulusNode

@Suite struct AssetDemandTests {
    private func key(_ number: Int) -> AssetKey {
        AssetKey(database: 1, asset: Bytes("\(number)".utf8))
    }

    /// A caller who waits for an asset learns of the newest failure, however many there were
    /// before.
    @Test func theNewestFailureIsTold() {
        let demand = AssetDemand()
        let now = Instant(milliseconds: 1_000)
        for number in 0..<10_002 {
            #expect(demand.begin(key(number), isUrgent: false, now: now))
            demand.end(key(number), .failed, now: now)
        }
        #expect(!demand.wait(for: key(10_001), since: now))
    }
}
