// The time of a simulated world: what is due, in its order, one thing after the other.
//
// Everything that happens in the world happens inside `step`, on one thread, so that nothing in it
// depends on how fast the machine is. Two things of one moment happen in the order in which they
// were asked for.

import CumulusWire

final class VirtualTime: @unchecked Sendable {
    // Used by one thread.

    private struct Event {
        let time: Int64
        let order: UInt64
        let work: () -> Void

        func precedes(_ other: Event) -> Bool {
            (time, order) < (other.time, other.order)
        }
    }

    /// Milliseconds since the world began.
    private(set) var milliseconds: Int64 = 0
    private var order: UInt64 = 0
    /// A binary heap: nobody precedes its parent.
    private var events: [Event] = []

    init() {}

    var now: Instant { Instant(milliseconds: milliseconds) }

    /// Lets something happen so many milliseconds from now.
    func after(_ delay: Int64, _ work: @escaping () -> Void) {
        order += 1
        events.append(Event(time: milliseconds + max(0, delay), order: order, work: work))
        rise(events.count - 1)
    }

    /// Lets the next thing happen, unless it is due after that time.
    ///
    /// Returns false if nothing is left until then: it is that time now.
    func step(until end: Int64) -> Bool {
        guard let next = events.first, next.time <= end else {
            milliseconds = max(milliseconds, end)
            return false
        }
        events.swapAt(0, events.count - 1)
        events.removeLast()
        sink(0)
        milliseconds = next.time
        next.work()
        return true
    }

    private func rise(_ index: Int) {
        var index = index
        while index > 0, events[index].precedes(events[(index - 1) / 2]) {
            events.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private func sink(_ index: Int) {
        var index = index
        while true {
            let children = [2 * index + 1, 2 * index + 2].filter { $0 < events.count }
            let first = children.min { events[$0].precedes(events[$1]) }
            guard let first, events[first].precedes(events[index]) else { return }
            events.swapAt(index, first)
            index = first
        }
    }
}
