// A bounded queue and the threads that empty it.
//
// The store blocks, so it has threads of its own, which `StoreGate` owns: two writers, and readers
// of two kinds.
//
// Folder: what waits for a thread. Read `WorkQueue`, then `ReadTurns`, in which callers share the
// threads of readers.

import CumulusModel
import CumulusSystem
import CumulusWire
import Synchronization

final class WorkQueue<Item: Sendable>: @unchecked Sendable {
    // `items`, `isHeld` and `isClosed` are touched only under `condition`.
    private let condition = Condition()
    private var items: [Item] = []
    /// One thread took all, and no other takes any until it releases the queue.
    private var isHeld = false
    private var isClosed = false
    private let capacity: Int

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// Returns false if the queue is full or closed.
    func append(_ item: Item) -> Bool {
        condition.lock()
        defer { condition.unlock() }
        guard !isClosed, items.count < capacity else { return false }
        items.append(item)
        if !isHeld { condition.signal() }
        return true
    }

    /// Waits for items and takes all of them; nil when the queue is closed and empty.
    ///
    /// - Parameter holding: Whether others have to wait until `release`.
    func takeAll(holding: Bool = false) -> [Item]? {
        condition.lock()
        defer { condition.unlock() }
        while isHeld || (items.isEmpty && !isClosed) { condition.wait() }
        guard !items.isEmpty else { return nil }
        isHeld = holding
        defer { items = [] }
        return items
    }

    /// Others may take what came meanwhile.
    func release() {
        condition.lock()
        defer { condition.unlock() }
        isHeld = false
        if isClosed { condition.broadcast() } else if !items.isEmpty { condition.signal() }
    }

    /// Waits for one item; nil when the queue is closed and empty.
    func take() -> Item? {
        condition.lock()
        defer { condition.unlock() }
        while items.isEmpty && !isClosed { condition.wait() }
        return items.isEmpty ? nil : items.removeFirst()
    }

    /// Puts items back in front that were taken and are not yet due.
    func putBack(_ rest: ArraySlice<Item>) {
        guard !rest.isEmpty else { return }
        condition.lock()
        defer { condition.unlock() }
        items.insert(contentsOf: rest, at: 0)
    }

    var isEmpty: Bool { count == 0 }

    var count: Int {
        condition.lock()
        defer { condition.unlock() }
        return items.count
    }

    /// Accepts no further items; queued ones are still taken.
    func close() {
        condition.lock()
        isClosed = true
        condition.broadcast()
        condition.unlock()
    }
}

/// A thread that can be waited for.
final class Worker: Sendable {
    private let finished = DispatchSemaphore(value: 0)

    init(named name: String, _ body: @escaping @Sendable () -> Void) {
        let finished = finished
        let body = Body(body)
        startThread(named: name) {
            body.run()
            finished.signal()
        }
    }

    /// The work of the thread, done once.
    ///
    /// Its captures are released before other threads go on: a store must not be closed while the
    /// process ends.
    private final class Body: Sendable {
        private let work: Mutex<(@Sendable () -> Void)?>

        init(_ work: @escaping @Sendable () -> Void) {
            self.work = Mutex(work)
        }

        func run() { take()?() }

        private func take() -> (@Sendable () -> Void)? {
            work.withLock { work in
                defer { work = nil }
                return work
            }
        }
    }

    /// Blocks until the body returned.
    ///
    /// Called once.
    func join() {
        finished.wait()
    }
}

/// Calls back at once, on the writer's own thread: for jobs of the node itself.
final class InPlaceLoop: FrameLoop {
    static let shared = InPlaceLoop()

    func execute(_ work: @escaping @Sendable () -> Void) {
        work()
    }
}
