// The bytes of requests that have come and that the node has not taken over yet: how many all
// callers may hold, and how many one of them.
//
// `GRPCStreamGuard` counts what comes on each stream, `GRPCDoor` says what it took, and
// `GRPCNewcomer` stops a socket. gRPC itself holds a message until it is whole, and ten messages of
// a stream: without bounds a stranger could fill the memory with halves. A message has its room
// before more of it is read than the first bytes, so halves never hold up each other. As long as
// there is room everybody has it; in a full room each address has an equal part of half of it, so
// callers that hold much hold up only themselves.

import CumulusModel
import Synchronization

final class GRPCRoom: Sendable {
    private struct State {
        var promised = Share()
        var held = Share()
        var streams: [UInt64: any GRPCStreamCount] = [:]
        var lastStream: UInt64 = 0
    }

    /// Bytes by address, and their sum.
    private struct Share {
        var all = 0
        var ofOne: [Bytes: Int] = [:]

        mutating func add(_ byteCount: Int, of address: Bytes) {
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
    private let mostBytes: Int

    init(_ limits: Limits) {
        mostBytes = limits.nodeUnansweredBytes
    }

    // MARK: Streams

    /// Enters a new stream; returns its number.
    func enter(_ stream: any GRPCStreamCount) -> UInt64 {
        state.withLock { state in
            state.lastStream += 1
            state.streams[state.lastStream] = stream
            return state.lastStream
        }
    }

    func leave(_ number: UInt64) {
        state.withLock { $0.streams[number] = nil }
    }

    /// The node has taken over a message of a stream.
    func taken(_ byteCount: Int, of number: UInt64) {
        let stream = state.withLock { $0.streams[number] }
        stream?.taken(byteCount)
    }

    // MARK: Messages

    /// Promises room for a message; returns false if there is none now.
    func promise(_ byteCount: Int, to address: Bytes) -> Bool {
        state.withLock { state in
            guard state.promised.allows(byteCount, of: address, limit: mostBytes) else {
                return false
            }
            state.promised.add(byteCount, of: address)
            return true
        }
    }

    /// Takes back what was promised.
    func release(_ byteCount: Int, of address: Bytes) {
        guard byteCount > 0 else { return }
        state.withLock { $0.promised.add(-byteCount, of: address) }
    }

    // MARK: Sockets

    /// Adds to what is in memory for an address, promised or not, or takes off.
    func hold(_ byteCount: Int, of address: Bytes) {
        guard byteCount != 0 else { return }
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
