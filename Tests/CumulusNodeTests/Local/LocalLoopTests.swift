// The loop of a local connection: one piece of work at a time, in order, on the caller's thread
// where nothing else runs.

import Synchronization
import Testing

@testable import CumulusNode

@Suite struct LocalLoopTests {
    private final class Log: Sendable {
        private let entries = Mutex<[String]>([])

        func add(_ entry: String) { entries.withLock { $0.append(entry) } }

        var all: [String] { entries.withLock { $0 } }
    }

    private final class Counts: Sendable {
        let running = Atomic(0)
        let done = Atomic(0)
    }

    /// What work leads to runs behind it, and before its caller goes on.
    @Test func workIsDoneWhenItsCallerGoesOn() {
        let (loop, log) = (LocalLoop(), Log())
        for round in 0..<3 {
            loop.perform {
                log.add("begins \(round)")
                loop.execute { log.add("follows \(round)") }
                loop.perform { log.add("last \(round)") }
                log.add("ends \(round)")
            }
        }
        let expected = (0..<3).flatMap { round in
            ["begins", "ends", "follows", "last"].map { "\($0) \(round)" }
        }
        #expect(log.all == expected)
    }

    /// A caller goes on after a while, also if there is always more work.
    @Test(.timeLimit(.minutes(1))) func longWorkIsLeftToAnotherThread() async {
        let loop = LocalLoop()
        let hasReturned = Atomic(false)
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            @Sendable func goOn() {
                if hasReturned.load(ordering: .relaxed) {
                    continuation.resume()
                } else {
                    loop.execute(goOn)
                }
            }
            loop.perform(goOn)
            hasReturned.store(true, ordering: .relaxed)
        }
        // The loop takes work again.
        await withCheckedContinuation { continuation in loop.perform { continuation.resume() } }
    }

    /// Many tasks, one at a time.
    @Test func nothingRunsBesideOtherWork() async {
        let loop = LocalLoop()
        let counts = Counts()
        let (tasks, turns) = (8, 500)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<tasks {
                group.addTask {
                    for turn in 0..<turns {
                        await withCheckedContinuation {
                            (continuation: CheckedContinuation<Void, Never>) in
                            let work: @Sendable () -> Void = {
                                let before = counts.running.add(1, ordering: .relaxed).oldValue
                                #expect(before == 0)
                                counts.done.add(1, ordering: .relaxed)
                                counts.running.subtract(1, ordering: .relaxed)
                                continuation.resume()
                            }
                            if turn.isMultiple(of: 2) {
                                loop.perform(work)
                            } else {
                                loop.execute(work)
                            }
                        }
                    }
                }
            }
        }
        #expect(counts.done.load(ordering: .relaxed) == tasks * turns)
    }
}
