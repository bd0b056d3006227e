// The bytes of calls that are in memory: requests that have come and whose calls go on, and answers
// that are not on the wire. How many all callers may hold, and how many one of them.
//
// `GRPCStreamGuard` counts what comes and goes on each stream, `GRPCDoor` says what it took and
// what it gathers, and `GRPCConnection` stops a socket. gRPC itself holds a message until it is
// whole, ten messages of a stream, and answers without a bound: a stranger could fill the memory
// with them. A message has its room before more of it is read than the first bytes, so halves never
// hold up each other. As long as there is room everybody has it; in a full room each address has an
// equal part of half of it, so callers that hold much hold up only themselves. An address is what
// `CallerNetwork` leaves of it.
//
// An answer that the door gathers can't wait for room of its own: the answers of many calls would
// wait for each other. In a full room one call at a time goes on with it, and only if its caller
// takes what was written for it.

import CumulusModel
import CumulusNode
import Synchronization

final class GRPCRoom: Sendable {
    private struct State {
        /// Requests that have room.
        var promised = Share()
        /// Answers that were written, or will be at once, and are not on the wire.
        var unsent = Share()
        /// Answers that the door gathers, and the stream whose answer goes on in a full room.
        var gathering = 0
        var gatherer: UInt64?
        /// Bytes of requests in memory, promised or not.
        var held = Share()
        var streams: [UInt64: Stream] = [:]
        var lastStream: UInt64 = 0
        var answersDue = 0

        var kept: Int { promised.all + unsent.all + gathering }
    }

    private struct Stream {
        let count: any GRPCStreamCount
        let address: Bytes
        let restraint: SharedRestraint
        /// Bytes of an answer that are not written: those that are being gathered, and those that
        /// count as unsent already.
        var gathered = 0
        var reserved = 0
    }

    /// Bytes by address, and their sum.
    private struct Share {
        var all = 0
        var ofOne: [Bytes: Int] = [:]

        mutating func add(_ byteCount: Int, of address: Bytes) {
            guard byteCount != 0 else { return }
            all += byteCount
            let own = ofOne[address, default: 0] + byteCount
            ofOne[address] = own > 0 ? own : nil
        }

        func allows(_ byteCount: Int, of address: Bytes, limit: Int) -> Bool {
            if all + byteCount <= limit { return true }
            guard let own = ofOne[address] else { return true }
            return own + byteCount <= limit / 2 / max(1, ofOne.count)
        }
    }

    private let state = Mutex(State())
    let limits: Limits

    init(_ limits: Limits) {
        self.limits = limits
    }

    private var mostBytes: Int { limits.nodeUnansweredBytes }

    /// Whether so much is held that nobody may keep any for long.
    var isCrowded: Bool { state.withLock { $0.kept >= mostBytes / 2 } }

    /// Requests that have come whole, and whose answers are not on the wire.
    var answersDue: Int { state.withLock(\.answersDue) }

    /// Bytes of requests that have room, and of answers, of all callers.
    var keptBytes: Int { state.withLock(\.kept) }

    // MARK: Streams

    /// Enters a new stream; returns its number.
    ///
    /// - Parameter restraint: The one of its connection.
    func enter(
        _ stream: any GRPCStreamCount,
        from address: Bytes,
        _ restraint: SharedRestraint
    ) -> UInt64 {
        state.withLock { state in
            state.lastStream += 1
            let entry = Stream(count: stream, address: address, restraint: restraint)
            state.streams[state.lastStream] = entry
            return state.lastStream
        }
    }

    func leave(_ number: UInt64) {
        state.withLock { state in
            guard let stream = state.streams.removeValue(forKey: number) else { return }
            state.gathering -= stream.gathered
            state.unsent.add(-stream.reserved, of: stream.address)
            if state.gatherer == number { state.gatherer = nil }
        }
    }

    /// A request is whole, or its answer is on the wire.
    func owe(_ count: Int) { state.withLock { $0.answersDue += count } }

    // MARK: The door

    /// What holds up the caller of a stream.
    func restraint(of number: UInt64) -> SharedRestraint? {
        state.withLock { $0.streams[number]?.restraint }
    }

    /// The node has taken over a message of a stream.
    func taken(_ byteCount: Int, of number: UInt64) {
        let stream = state.withLock { $0.streams[number] }
        stream?.count.taken(byteCount)
    }

    /// Whether more of an answer may be made, which is kept until it is whole.
    func mayGather(for number: UInt64) -> Bool {
        state.withLock { state in
            guard let stream = state.streams[number] else { return true }
            guard state.unsent.allows(0, of: stream.address, limit: mostBytes) else {
                return false
            }
            // The first part may take the node long, and so does not hold up others.
            if state.kept <= mostBytes || stream.gathered == 0 { return true }
            if state.gatherer == nil { state.gatherer = number }
            return state.gatherer == number
        }
    }

    /// More of an answer is kept.
    func gathered(_ byteCount: Int, for number: UInt64) {
        state.withLock { state in
            guard state.streams[number] != nil else { return }
            state.streams[number]?.gathered += byteCount
            state.gathering += byteCount
        }
    }

    /// Takes room for an answer that will be written at once; returns false if there is none now.
    func reserve(_ byteCount: Int, for number: UInt64) -> Bool {
        state.withLock { state in
            guard let stream = state.streams[number] else { return true }
            guard state.unsent.allows(byteCount, of: stream.address, limit: mostBytes) else {
                return false
            }
            state.streams[number]?.reserved += byteCount
            state.unsent.add(byteCount, of: stream.address)
            return true
        }
    }

    // MARK: Messages

    /// Promises room for a message; returns false if there is none now.
    func promise(_ byteCount: Int, to address: Bytes) -> Bool {
        state.withLock { state in
            guard state.promised.allows(byteCount, of: address, limit: mostBytes),
                state.unsent.allows(0, of: address, limit: mostBytes)
            else { return false }
            state.promised.add(byteCount, of: address)
            return true
        }
    }

    /// Takes back what was promised.
    func release(_ byteCount: Int, of address: Bytes) {
        guard byteCount > 0 else { return }
        state.withLock { $0.promised.add(-byteCount, of: address) }
    }

    /// Bytes of an answer were written, and are not on the wire.
    func wrote(_ byteCount: Int, of number: UInt64, from address: Bytes) {
        state.withLock { state in
            let reserved = min(byteCount, state.streams[number]?.reserved ?? 0)
            state.streams[number]?.reserved -= reserved
            state.unsent.add(byteCount - reserved, of: address)
            let known = min(byteCount - reserved, state.streams[number]?.gathered ?? 0)
            state.streams[number]?.gathered -= known
            state.gathering -= known
            if state.gatherer == number { state.gatherer = nil }
        }
    }

    /// They are on the wire, or dropped.
    func sent(_ byteCount: Int, of address: Bytes) {
        state.withLock { $0.unsent.add(-byteCount, of: address) }
    }

    // MARK: Sockets

    /// Adds to what is in memory for an address, promised or not, or takes off.
    func hold(_ byteCount: Int, of address: Bytes) {
        state.withLock { $0.held.add(byteCount, of: address) }
    }

    /// Whether more may be read from the sockets of an address.
    func isOpen(to address: Bytes) -> Bool {
        state.withLock { $0.held.allows(0, of: address, limit: mostBytes * 4) }
    }
}

/// Told by the door, on any thread, that bytes of a stream were taken over.
protocol GRPCStreamCount: AnyObject, Sendable {
    func taken(_ byteCount: Int)
}
