// The number of attempts with a password or a token, and the callers who share it.

import CumulusModel
import CumulusWire
import Testing

@testable import CumulusNode

@Suite struct AttemptsTests {
    private static let ada = Attempts.Way.password(of: Bytes("ada".utf8))
    private static let bob = Attempts.Way.password(of: Bytes("bob".utf8))
    private static let home: Bytes = [192, 0, 2, 1]
    private static let start = Instant(milliseconds: 1_000_000)

    /// Milliseconds to wait before another attempt; nil: it was counted.
    private func wait(
        _ attempts: Attempts,
        _ way: Attempts.Way = ada,
        from address: Bytes = home,
        after milliseconds: Int64 = 0
    ) -> Int64? {
        do throws(ServiceError) {
            try attempts.begin(way, from: address, now: Self.start + milliseconds)
            return nil
        } catch {
            #expect(error.code == .requestRateLimited)
            return error.retryAfterMilliseconds.map { Int64($0) }
        }
    }

    /// Uses up what may be tried at once.
    private func spend(
        _ attempts: Attempts,
        _ way: Attempts.Way = ada,
        from address: Bytes = home
    ) {
        for _ in 0..<10 { #expect(wait(attempts, way, from: address) == nil) }
    }

    /// Tries wrong passwords of names that nobody has, as many as an address has at once.
    private func spray(_ attempts: Attempts, from address: Bytes = home) {
        for number in 0..<30 {
            let name = Bytes("nobody\(number)".utf8)
            #expect(wait(attempts, .password(of: name), from: address) == nil)
        }
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
        #expect(wait(attempts, Self.bob) == nil, "nor others for it")
    }

    /// A caller that guesses at all names stops others behind its address for a minute at most.
    ///
    /// It does not stop users who have signed in from there.
    @Test func othersBehindAnAddressDoNotWaitLong() {
        let attempts = Attempts()
        #expect(wait(attempts) == nil)
        attempts.succeed(Self.ada, from: Self.home)
        spray(attempts)
        #expect(wait(attempts, Self.bob) == 10_000, "the address is counted too")
        #expect(wait(attempts, Self.bob, from: [192, 0, 2, 2]) == nil)
        #expect(wait(attempts) == nil, "she was here before")
        var time: Int64 = 0
        for pause: Int64 in [10_000, 20_000, 40_000, 60_000, 60_000] {
            #expect(wait(attempts, Self.bob, after: time) == pause)
            time += pause
            let name = Bytes("nobody at \(time)".utf8)
            #expect(wait(attempts, .password(of: name), after: time) == nil)
        }
        // Her own password is guessed no faster than before.
        for _ in 0..<9 { #expect(wait(attempts) == nil) }
        #expect(wait(attempts) == 10_000)
    }

    @Test func aWayInDoesNotCloseTheOthers() {
        let ways: [Attempts.Way] = [.registration, .idToken, .operatorToken, Self.ada]
        for closed in ways {
            let attempts = Attempts()
            for _ in 0..<30 { _ = wait(attempts, closed) }
            #expect(wait(attempts, closed) != nil, "\(closed)")
            for way in ways where way != closed {
                #expect(wait(attempts, way) == nil, "\(closed) and \(way)")
            }
        }
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
        for _ in 0..<30 {
            #expect(wait(attempts, .idToken) == nil)
            attempts.succeed(.idToken, from: Self.home)
        }
        spray(attempts)
        #expect(wait(attempts, Self.bob) == 10_000, "the first of hers was given back")
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
