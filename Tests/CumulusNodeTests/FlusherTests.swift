// The second half of a batch: nobody is told before the flush, in the order of the batches, and
// what was applied during a flush shares the next one.

import CumulusModel
import CumulusStorage
import CumulusTesting
import Synchronization
import Testing

@testable import CumulusNode

@Suite struct FlusherTests {
    private final class Told: Sendable {
        private let numbers = Mutex<[Int]>([])

        func add(_ number: Int) { numbers.withLock { $0.append(number) } }
        var all: [Int] { numbers.withLock { $0 } }
    }

    /// An engine whose flush waits to be let go, or fails.
    private final class HeldEngine: StorageEngine {
        private let memory = MemoryEngine()
        let gate = Mutex<Int>(0)
        let begun = Atomic<Int>(0)
        let fails = Atomic<Bool>(false)

        func letGo() { gate.withLock { $0 += 1 } }

        func flush() throws(EngineError) {
            begun.add(1, ordering: .sequentiallyConsistent)
            while !gate.withLock({ count in
                defer { count = max(0, count - 1) }
                return count > 0
            }) {}
            if fails.load(ordering: .sequentiallyConsistent) { throw .failed("as told") }
        }

        func apply(_ batch: EngineBatch) { memory.apply(batch) }
        func snapshot() -> any EngineReader { memory.snapshot() }
        func freeBytes() -> UInt64? { nil }

        func get(_ family: Family, _ key: Bytes, reach: Reach) -> Bytes? {
            memory.get(family, key, reach: reach)
        }

        func scan(
            _ family: Family,
            _ range: KeyRange,
            backwards: Bool,
            reach: Reach,
            _ visit: (_ key: Bytes, _ value: Bytes) -> Bool
        ) {
            memory.scan(family, range, backwards: backwards, reach: reach, visit)
        }
    }

    private let engine = HeldEngine()
    private let meter = NodeMeter()
    private let told = Told()
    private let failures = Told()

    private func makeFlusher() -> Flusher {
        Flusher(engine, meter) { [failures] _ in failures.add(1) }
    }

    private func batch(_ number: Int, needsFlush: Bool = true) -> Flusher.Batch {
        Flusher.Batch(needsFlush: needsFlush) { [told] in told.add(number) }
    }

    private func waitForFlushes(_ count: Int) {
        while engine.begun.load(ordering: .sequentiallyConsistent) < count {}
    }

    @Test func aBatchAloneIsFlushedInPlace() {
        let flusher = makeFlusher()
        engine.letGo()
        flusher.add(batch(1), isLast: true)
        #expect(told.all == [1])
        #expect(meter.flushes.value == 1)
        flusher.add(batch(2, needsFlush: false), isLast: true)
        #expect(told.all == [1, 2])
        #expect(meter.flushes.value == 1)
    }

    @Test(.timeLimit(.minutes(1)))
    func whatComesDuringAFlushSharesTheNext() {
        let flusher = makeFlusher()
        flusher.start()
        flusher.add(batch(1), isLast: false)
        waitForFlushes(1)
        // The third changes nothing, and rests on what the others changed.
        for number in 2...3 { flusher.add(batch(number, needsFlush: number == 2), isLast: true) }
        #expect(told.all == [])
        engine.letGo()
        waitForFlushes(2)
        #expect(told.all == [1])
        engine.letGo()
        flusher.stop()
        #expect(told.all == [1, 2, 3])
        #expect(meter.flushes.value == 2)
    }

    @Test(.timeLimit(.minutes(1)))
    func afterAFailedFlushNobodyIsTold() {
        let flusher = makeFlusher()
        flusher.start()
        engine.fails.store(true, ordering: .sequentiallyConsistent)
        flusher.add(batch(1), isLast: false)
        waitForFlushes(1)
        flusher.add(batch(2), isLast: false)
        engine.letGo()
        flusher.stop()
        #expect(told.all == [])
        #expect(failures.all == [1])
        #expect(meter.flushes.value == 0)
    }
}
