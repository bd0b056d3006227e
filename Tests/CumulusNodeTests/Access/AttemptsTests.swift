// How often a password may be tried, and by whom.

import CumulusModel
import CumulusWire
import Testing

@testable import CumulusNode

@Suite struct AttemptsTests {
    private static let ada = Bytes("ada".utf8)
    private static let home: Bytes = [192, 0, 2, 1]
    private static let start = Instant(milliseconds: 1_000_000)

    /// Milliseconds to wait before another attempt; nil: it was counted.
    private func wait(
        _ attempts: Attempts,
        _ user: Bytes = ada,
        from address: Bytes = home,
        after milliseconds: Int64 = 0
    ) -> Int64? {
        do throws(ServiceError) {
            try attempts.begin(user, from: address, now: Self.start + milliseconds)
            return nil
        } catch {
            #expect(error.code == .requestRateLimited)
            return error.retryAfterMilliseconds.map { Int64($0) }
        }
    }

    /// Uses up what may be tried at once.
    private func spend(_ attempts: Attempts, _ user: Bytes = ada, from address: Bytes = home) {
        for _ in 0..<10 { #expect(wait(attempts, user, from: address) == nil) }
    }

    @Test func tenAtOnceThenEverMoreSlowly() {
        let attempts = Attempts()
        spend(attempts)
        var time: Int64 = 0
        for pause: Int64 in [10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 640_000, 900_000] {
            #expect(wait(attempts, after: time) == pause)
            #expect(wait(attempts, after: time + pause - 1) == 1)
            time += pause
            #expect(wait(attempts, after: time) == nil, "after \(pause)")
        }
        #expect(wait(attempts, after: time) == 900_000)
    }

    @Test func whatRestsIsForgiven() {
        let attempts = Attempts()
        spend(attempts)
        #expect(wait(attempts, after: 25_000) == nil)
        #expect(wait(attempts, after: 25_000) == nil, "two have come back")
        #expect(wait(attempts, after: 25_000) == 20_000)
        for _ in 0..<10 { #expect(wait(attempts, after: 1_000_000) == nil) }
        #expect(wait(attempts, after: 1_000_000) == 10_000)
    }

    @Test func aNameIsNotShutOutForOthers() {
        let attempts = Attempts()
        spend(attempts)
        #expect(wait(attempts, Self.ada, from: [192, 0, 2, 2]) == nil)
        #expect(wait(attempts, Bytes("bob".utf8)) != nil, "the address is counted too")
        #expect(wait(attempts, []) != nil)
    }

    @Test func aNetworkOfIPv6IsOneAddressAndAMappedOneIsIPv4() {
        let attempts = Attempts()
        let network: Bytes = [0x20, 1, 0xD, 0xB8, 0, 0, 0, 7]
        spend(attempts, from: network + Bytes(repeating: 1, count: 8))
        #expect(wait(attempts, from: network + Bytes(repeating: 2, count: 8)) != nil)
        let other: Bytes = [0x20, 1, 0xD, 0xB8, 0, 0, 0, 8]
        #expect(wait(attempts, from: other + Bytes(repeating: 1, count: 8)) == nil)
        func mapped(_ last: UInt8) -> Bytes {
            Bytes(repeating: 0, count: 10) + [0xFF, 0xFF, 192, 0, 2, last]
        }
        spend(attempts, from: mapped(1))
        #expect(wait(attempts) != nil)
        #expect(wait(attempts, from: mapped(2)) == nil)
    }

    @Test func aSuccessIsNoGuess() {
        let attempts = Attempts()
        for _ in 0..<50 {
            #expect(wait(attempts) == nil)
            attempts.succeed(Self.ada, from: Self.home)
        }
        for _ in 0..<9 { #expect(wait(attempts, Bytes("bob".utf8)) == nil) }
        attempts.succeed(Self.ada, from: Self.home)
        for _ in 0..<2 { #expect(wait(attempts, Bytes("eve".utf8)) == nil) }
        #expect(wait(attempts, Bytes("eve".utf8)) != nil, "nine of the guesses still count")
    }

    /// A flood from many addresses does not fill the memory.
    @Test func thoseWhoTriedLongestAgoAreForgotten() {
        let attempts = Attempts(mostBuckets: 100)
        spend(attempts)
        for number in 0..<40 {
            #expect(wait(attempts, from: [10, 0, 0, UInt8(number)], after: 1) == nil)
        }
        #expect(wait(attempts, after: 1) != nil)
        for number in 0..<200 {
            #expect(wait(attempts, from: [10, 0, 1, UInt8(number)], after: 2) == nil)
        }
        #expect(wait(attempts, after: 2) == nil)
    }
}
