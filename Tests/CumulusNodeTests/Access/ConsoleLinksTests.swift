// Links to the console: once, for a minute, and no more than the table has room for.

import CumulusModel
import CumulusWire
import Testing

@testable import CumulusNode

@Suite struct ConsoleLinksTests {
    private func link(_ time: Int64, _ nonce: UInt8 = 1) -> ConsoleLink {
        ConsoleLink(
            time: time,
            nonce: Bytes(repeating: nonce, count: ConsoleLink.nonceBytes),
            code: Bytes(repeating: 2, count: 32)
        )
    }

    @Test func aLinkIsGoodOnceAndForAMinute() {
        let links = ConsoleLinks()
        #expect(links.use(link(100_000), now: 100_000))
        #expect(!links.use(link(100_000), now: 100_001))
        #expect(!links.use(link(100_000, 2), now: 160_000))
        #expect(links.use(link(100_000, 2), now: 159_999))
        #expect(!links.use(link(300_000, 3), now: 200_000))
    }

    /// A right link that is forgotten is too old by then.
    @Test func theTableIsBounded() {
        let links = ConsoleLinks()
        for nonce in UInt8(0)..<100 { #expect(links.use(link(100_000, nonce), now: 100_000)) }
        #expect(!links.use(link(100_000, 100), now: 100_000))
        #expect(!links.use(link(100_000, 0), now: 159_999))
        #expect(links.use(link(170_000, 100), now: 170_000))
    }

    @Test func theTextIsReadAgain() throws {
        let link = link(0x0102_0304_0506_0708, 9)
        #expect(link.text.hasPrefix("0102030405060708" + "0909"))
        #expect(ConsoleLink(text: link.text) == link)
        for text in ["", "00", link.text + "00", String(link.text.dropLast()) + "g"] {
            #expect(ConsoleLink(text: text) == nil, "\(text)")
        }
    }
}
