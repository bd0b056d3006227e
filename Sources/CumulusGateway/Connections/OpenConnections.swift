// The connections of the HTTP listener: whose they are, and which one gives way when the room is
// full.
//
// Held by `HTTPServer`. `ConnectionLimiter` enters a connection, `RequestWatch` says what it does,
// and `HTTPServer` asks for each request. It promises two things. A caller with fewer connections
// than another gets in, as long as one of the other's waits for its caller. And some places are
// kept for health checks and operators. `ConnectionTable` is the rule; this holds its lock.
//
// Folder: what one caller may hold of the HTTP listener, and for how long. Read `OpenConnections`,
// `ConnectionTable` and `CallerPace`; of proxies, `TrustedProxies` and `ForwardedField`.

import CumulusModel
import Synchronization

final class OpenConnections: Sendable {
    /// The identity of a channel.
    typealias ID = ObjectIdentifier

    private struct State {
        var table: ConnectionTable<ID>
        var closes: [ID: @Sendable () -> Void] = [:]
    }

    private let state: Mutex<State>

    init(_ bounds: ConnectionBounds) {
        state = Mutex(State(table: ConnectionTable(bounds)))
    }

    /// Takes a new connection in; returns false if there is no room for it.
    ///
    /// - Parameters:
    ///   - address: The address of the other end: 4 or 16 bytes, or empty.
    ///   - isProxy: The other end is a proxy, which speaks for many callers.
    ///   - close: Closes it, on any thread.
    func enter(
        _ id: ID,
        from address: Bytes,
        isProxy: Bool,
        close: @escaping @Sendable () -> Void
    ) -> Bool {
        change { state in
            let entry = state.table.enter(id, from: address, isProxy: isProxy)
            if entry.isIn { state.closes[id] = close }
            return entry
        }
    }

    /// Judges a request; returns false if it is not to be answered now.
    ///
    /// - Parameter address: The caller's address, if a proxy named it.
    func begin(_ id: ID, from address: Bytes?, _ claim: ConnectionClaim) -> Bool {
        change { $0.table.begin(id, from: address, claim) }
    }

    func note(_ id: ID, _ phase: ConnectionPhase) {
        state.withLock { $0.table.note(id, phase) }
    }

    func leave(_ id: ID) {
        state.withLock { state in
            state.table.remove(id)
            state.closes[id] = nil
        }
    }

    /// Closes what gives way, outside of the lock.
    private func change(_ body: (inout State) -> ConnectionEntry<ID>) -> Bool {
        let (entry, close) = state.withLock { state in
            let entry = body(&state)
            return (entry, entry.victim.flatMap { state.closes.removeValue(forKey: $0) })
        }
        close?()
        return entry.isIn
    }
}
