// Callers take turns on the reader threads.

import CumulusOperations
import Foundation
import Synchronization
import Testing

@testable import CumulusNode

@Suite struct ReadTurnsTests {
    private let one = ReadCaller.user([1])
    private let other = ReadCaller.user([2])

    private func add(
        _ work: @escaping ReadTurns.Work,
        to turns: ReadTurns,
        for caller: ReadCaller
    ) {
        let isIn = turns.append(work, for: caller)
        #expect(isIn)
    }

    /// Adds a read that does nothing; returns whether it is in.
    private func append(to turns: ReadTurns, for caller: ReadCaller) -> Bool {
        turns.append({}, for: caller)
    }

    /// A caller with many waiting reads does not come first because of that.
    @Test func callersTakeTurns() {
        let turns = ReadTurns(capacity: 100)
        let done = Mutex<[String]>([])
        for number in 0..<3 {
            add({ done.withLock { $0.append("one \(number)") } }, to: turns, for: one)
        }
        add({ done.withLock { $0.append("other") } }, to: turns, for: other)
        #expect(turns.count == 4)
        while !turns.isEmpty { #expect(turns.run()) }
        #expect(done.withLock { $0 } == ["one 0", "other", "one 1", "one 2"])
    }

    /// Reads that come while others are done come after these.
    @Test func aCallersReadsKeepTheirOrder() {
        let turns = ReadTurns(capacity: 100)
        let done = Mutex<[Int]>([])
        for number in 0..<20 {
            add({ done.withLock { $0.append(number) } }, to: turns, for: one)
            if number % 3 == 0 { #expect(turns.run()) }
        }
        while !turns.isEmpty { #expect(turns.run()) }
        #expect(done.withLock { $0 } == Array(0..<20))
    }

    /// Another caller's read begins while one caller's reads keep all threads that they may.
    @Test func aThreadStaysForOthers() {
        let turns = ReadTurns(capacity: 100)
        let isOver = DispatchSemaphore(value: 0)
        let isDone = DispatchSemaphore(value: 0)
        turns.expect(threads: 3)
        let threads = (0..<3).map { _ in Worker(named: "reads") { while turns.run() {} } }
        for _ in 0..<10 { add({ isOver.wait() }, to: turns, for: one) }
        add({ isDone.signal() }, to: turns, for: other)
        isDone.wait()
        // Two of the first caller's are begun; the third thread leaves the others alone.
        for _ in 0..<1_000 where turns.count != 8 { usleep(1_000) }
        #expect(turns.count == 8)
        for _ in 0..<10 { isOver.signal() }
        turns.close()
        for thread in threads { thread.join() }
        #expect(turns.isEmpty)
        #expect(!append(to: turns, for: one))
    }

    @Test func oneCallerTakesHalfOfTheRoom() {
        let turns = ReadTurns(capacity: 4)
        for caller in [one, other] {
            let areIn = (0..<4).map { _ in append(to: turns, for: caller) }
            #expect(areIn == [true, true, false, false])
        }
        while !turns.isEmpty { #expect(turns.run()) }
        #expect(append(to: turns, for: one))
    }

    /// Callers without a token are one caller.
    @Test func callersAreKnownByTheirUsers() {
        var identity = Identity()
        #expect(identity.readCaller == .anonymous)
        identity.caller.role = .user("_ada")
        #expect(identity.readCaller == .user(Array("_ada".utf8)))
        identity.account = [7]
        #expect(identity.readCaller == .user([7]))
        identity.peer = [1]
        #expect(identity.readCaller == .node)
    }
}
