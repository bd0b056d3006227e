// The rule by which connections share the room of the HTTP listener.
//
// It is a value without a clock, held by `OpenConnections`. There is a general room and a small
// reserve. In a full room a newcomer replaces a connection that waits for its caller: one of the
// newcomer's own caller, or of a caller with more connections. If there is none, the newcomer
// enters the reserve, where only health checks and operators are answered. The table is searched
// only when the room is full.

import CumulusModel
import CumulusNode

/// How many connections there may be.
struct ConnectionBounds: Sendable {
    /// The size of the general room.
    var most = 1_000
    /// The limit for one address, or for one caller that a proxy names.
    var ofOneCaller = 256
    /// Beyond the general room, for health checks and operators.
    var reserve = 64
}

/// The activity of a connection.
enum ConnectionPhase: Sendable {
    /// It waits for a request, or for the rest of its head.
    case idle
    /// It waits for the rest of a body.
    case body
    /// The node has the whole request, and the caller not yet the whole answer.
    case answering
}

/// The privilege that a request needs in the reserve.
enum ConnectionClaim: Sendable {
    case none
    /// A health check, or a page of operators.
    case page
    /// The same, by an operator who is signed in, or from this machine.
    case ofOperator
}

/// The decision about a newcomer.
struct ConnectionEntry<ID: Hashable & Sendable>: Equatable, Sendable {
    var isIn: Bool
    /// Is to be closed to make room; it is forgotten already.
    var victim: ID?
}

struct ConnectionTable<ID: Hashable & Sendable>: Sendable {
    /// The caller for whom a connection is counted.
    private enum Caller: Hashable {
        case network(Bytes)
        /// The connection of a proxy that speaks for nobody at the moment.
        case proxy(ID)
    }

    private enum Room { case general, reserve }

    private struct Connection {
        let isProxy: Bool
        var caller: Caller
        var room: Room
        var phase = ConnectionPhase.idle
        /// Its place in the order of changes.
        var since: UInt64
        /// An operator's request is being answered.
        var isKept = false

        /// Whether it may give way: only operators keep their place in the reserve while they are
        /// answered.
        var canGiveWay: Bool { phase != .answering || room == .reserve && !isKept }
    }

    private let bounds: ConnectionBounds
    private var connections: [ID: Connection] = [:]
    private var counts: [Room: [Caller: Int]] = [.general: [:], .reserve: [:]]
    private var sums: [Room: Int] = [.general: 0, .reserve: 0]
    private var changes: UInt64 = 0

    init(_ bounds: ConnectionBounds) {
        self.bounds = bounds
    }

    var count: Int { connections.count }

    private func count(of caller: Caller, in room: Room = .general) -> Int {
        counts[room]?[caller] ?? 0
    }

    private func isFull(_ room: Room) -> Bool {
        sums[room, default: 0] >= (room == .general ? bounds.most : bounds.reserve)
    }

    // MARK: Connections

    /// - Parameter address: The address of the other end: 4 or 16 bytes, or empty.
    mutating func enter(_ id: ID, from address: Bytes, isProxy: Bool) -> ConnectionEntry<ID> {
        let caller = isProxy ? Caller.proxy(id) : .network(CallerNetwork.of(address))
        let isCrowd = count(of: caller) >= bounds.ofOneCaller
        var victim: ID?
        var room = Room.general
        if isCrowd || isFull(.general) {
            victim = giveWay { $0.caller == caller || !isCrowd && isMore($0.caller, than: caller) }
            if victim == nil { room = .reserve }
        }
        if room == .reserve, isFull(.reserve) {
            victim = giveWay(in: .reserve) { _ in true }
            if victim == nil { return ConnectionEntry(isIn: false) }
        }
        if let victim { remove(victim) }
        changes += 1
        connections[id] = Connection(isProxy: isProxy, caller: caller, room: room, since: changes)
        add(1, caller, room)
        return ConnectionEntry(isIn: true, victim: victim)
    }

    mutating func remove(_ id: ID) {
        guard let gone = connections.removeValue(forKey: id) else { return }
        add(-1, gone.caller, gone.room)
    }

    private mutating func add(_ number: Int, _ caller: Caller, _ room: Room) {
        let count = count(of: caller, in: room) + number
        counts[room]?[caller] = count > 0 ? count : nil
        sums[room, default: 0] += number
    }

    private func isMore(_ other: Caller, than caller: Caller) -> Bool {
        count(of: other) > count(of: caller)
    }

    /// The connection that gives way in a room.
    ///
    /// It belongs to the caller with the most candidates. One without a request comes before one
    /// with a part of it, and of these the oldest is chosen.
    private func giveWay(
        in room: Room = .general,
        _ isFit: (Connection) -> Bool
    ) -> ID? {
        var best: (id: ID, rank: (Int, Int, UInt64))?
        for (id, connection) in connections {
            guard connection.room == room, connection.canGiveWay, isFit(connection) else {
                continue
            }
            let count = count(of: connection.caller, in: room)
            let rank = (count, connection.phase == .idle ? 1 : 0, .max - connection.since)
            if best.map({ $0.rank < rank }) ?? true { best = (id, rank) }
        }
        return best?.id
    }

    // MARK: Requests

    /// Judges a request.
    ///
    /// - Parameter address: The caller's address, if a proxy named it.
    mutating func begin(
        _ id: ID,
        from address: Bytes?,
        _ claim: ConnectionClaim
    ) -> ConnectionEntry<ID> {
        guard connections[id] != nil else { return ConnectionEntry(isIn: false) }
        var victim: ID?
        if let address, connections[id]?.isProxy == true {
            let caller = Caller.network(CallerNetwork.of(address))
            if count(of: caller) >= bounds.ofOneCaller, connections[id]?.caller != caller {
                victim = giveWay { $0.caller == caller }
                guard let victim else { return ConnectionEntry(isIn: false) }
                remove(victim)
            }
            move(id, to: caller)
        }
        let isIn = promote(id) || claim != .none
        connections[id]?.isKept = claim == .ofOperator
        return ConnectionEntry(isIn: isIn, victim: victim)
    }

    /// Counts a connection for another caller.
    private mutating func move(_ id: ID, to caller: Caller) {
        guard let old = connections[id] else { return }
        add(-1, old.caller, old.room)
        add(1, caller, old.room)
        connections[id]?.caller = caller
    }

    /// Takes a connection out of the reserve if there is room; returns false if it stays there.
    private mutating func promote(_ id: ID) -> Bool {
        guard let connection = connections[id], connection.room == .reserve else { return true }
        let isCrowd = count(of: connection.caller) >= bounds.ofOneCaller
        guard !isFull(.general), !isCrowd else { return false }
        add(-1, connection.caller, .reserve)
        add(1, connection.caller, .general)
        connections[id]?.room = .general
        return true
    }

    mutating func note(_ id: ID, _ phase: ConnectionPhase) {
        guard let connection = connections[id] else { return }
        changes += 1
        connections[id]?.phase = phase
        connections[id]?.since = changes
        guard phase == .idle else { return }
        connections[id]?.isKept = false
        if connection.isProxy { move(id, to: .proxy(id)) }
    }
}
