// The network of a simulated world: it carries the bytes of connections between processes, late, in
// pieces, or not at all.
//
// It stands where sockets stand and drives the production handlers as a transport does: one turn
// per arrival. Each direction between two machines is like a TCP connection's: bytes arrive in
// order or wait. Where a direction is cut they wait until it is healed, so that a connection can
// be dead without anybody being told, in one direction only too.

import CumulusModel
import CumulusWire

final class SimulatedNetwork: @unchecked Sendable {
    // Used by one thread.

    private struct Direction: Hashable {
        var from: Int
        var to: Int
    }

    private struct Listener {
        let process: SimulatedProcess
        let make: MakeFrameHandler
    }

    fileprivate let time: VirtualTime
    fileprivate var dice: SeededGenerator
    /// Listeners by machine.
    private var listeners: [Int: Listener] = [:]
    private var cuts: Set<Direction> = []
    /// Milliseconds that everything takes longer.
    private var delays: [Direction: Int64] = [:]
    private var ends: [SimulatedEnd] = []
    /// How many connections were made.
    private(set) var dials = 0

    init(_ time: VirtualTime, seed: UInt64) {
        self.time = time
        dice = SeededGenerator(seed: seed)
    }

    /// The address of a machine's node.
    static func endpoint(of machine: Int) -> String { "machine-\(machine):7420" }

    func listen(
        on machine: Int,
        _ process: SimulatedProcess,
        _ make: @escaping MakeFrameHandler
    ) {
        listeners[machine] = Listener(process: process, make: make)
    }

    /// The process is gone, and its connections with it.
    ///
    /// - Parameter tells: Whether the other sides notice; they don't if the machine lost its power.
    func leave(_ machine: Int, _ process: SimulatedProcess, tells: Bool) {
        if listeners[machine]?.process === process { listeners[machine] = nil }
        for end in ends where end.process === process { end.abandon(tells: tells) }
        ends.removeAll { $0.process === process }
    }

    // MARK: Faults

    func cut(from: Int, to: Int) {
        cuts.insert(Direction(from: from, to: to))
    }

    func slow(from: Int, to: Int, by milliseconds: Int64) {
        delays[Direction(from: from, to: to)] = milliseconds
    }

    /// Breaks all connections between two machines; bytes under way are lost.
    ///
    /// Returns how many did.
    func reset(_ one: Int, _ other: Int) -> Int {
        let broken = ends.filter { $0.isBetween(one, other) }
        for end in broken { end.process.execute { end.abandon(tells: false) } }
        return broken.count / 2
    }

    /// All bytes that waited go on.
    func heal() {
        cuts = []
        delays = [:]
        for end in ends { end.deliverSoon() }
    }

    fileprivate func isCut(from: Int, to: Int) -> Bool {
        cuts.contains(Direction(from: from, to: to))
    }

    fileprivate func latency(from: Int, to: Int) -> Int64 {
        let usual = Int64.random(in: 0..<20, using: &dice) == 0 ? Int64(40) : 2
        let delay = delays[Direction(from: from, to: to)] ?? 0
        return Int64.random(in: 0...usual, using: &dice) + delay
    }

    // MARK: Connections

    fileprivate func connect(
        _ machine: Int,
        _ process: SimulatedProcess,
        to other: Int,
        _ make: @escaping MakeFrameHandler,
        _ done: @escaping @Sendable ((any Error)?) -> Void
    ) {
        guard !process.isDead else { return process.execute { done(SimulatedProblem.refused) } }
        if isCut(from: machine, to: other) || isCut(from: other, to: machine) {
            return process.after(3_000) { done(SimulatedProblem.noAnswer) }
        }
        process.after(latency(from: machine, to: other)) { [self] in
            guard let listener = listeners[other], !process.isDead else {
                return done(SimulatedProblem.refused)
            }
            dials += 1
            let near = SimulatedEnd(self, process, from: machine, to: other)
            let far = SimulatedEnd(self, listener.process, from: other, to: machine)
            near.peer = far
            far.peer = near
            ends += [near, far]
            far.begin(listener.make)
            near.begin(make)
            done(nil)
        }
    }

    fileprivate func forget(_ end: SimulatedEnd) {
        ends.removeAll { $0 === end }
    }
}

enum SimulatedProblem: Error {
    case noAnswer
    case refused
}

/// Dials for one process.
struct SimulatedDialer: FrameDialer {
    let network: SimulatedNetwork
    let machine: Int
    let process: SimulatedProcess

    init(_ network: SimulatedNetwork, _ machine: Int, _ process: SimulatedProcess) {
        self.network = network
        self.machine = machine
        self.process = process
    }

    func connect(to endpoint: String, _ make: @escaping MakeFrameHandler) async throws {
        let digits = endpoint.dropFirst("machine-".count).prefix { $0 != ":" }
        guard let other = Int(digits) else { throw SimulatedProblem.refused }
        try await withCheckedThrowingContinuation {
            (waiting: CheckedContinuation<Void, any Error>) in
            network.connect(machine, process, to: other, make) { problem in
                if let problem { waiting.resume(throwing: problem) } else { waiting.resume() }
            }
        }
    }
}

/// One end of a connection.
private final class SimulatedEnd: FrameLink, @unchecked Sendable {
    private enum Arrival {
        case bytes(Bytes)
        case end
    }

    let process: SimulatedProcess
    private let network: SimulatedNetwork
    private let (from, to): (Int, Int)
    weak var peer: SimulatedEnd?
    private var handler: (any FrameHandler)?
    /// Arrivals on their way to this end, with their times.
    private var arrivals: [(time: Int64, what: Arrival)] = []
    /// The arrival of the last message that this end sent.
    private var lastArrival: Int64 = 0
    private var pendingBytes = 0
    private var isReading = true
    private var isTurnDue = false
    private var isOver = false
    private var wake: Instant?

    init(_ network: SimulatedNetwork, _ process: SimulatedProcess, from: Int, to: Int) {
        self.network = network
        self.process = process
        self.from = from
        self.to = to
    }

    func isBetween(_ one: Int, _ other: Int) -> Bool {
        (from, to) == (one, other) || (from, to) == (other, one)
    }

    // MARK: FrameLink

    var loop: any FrameLoop { process }
    var isLoopback: Bool { true }
    var remoteAddress: Bytes { [] }
    var certificate: Bytes { [] }

    func needsTurn() {
        guard !isTurnDue, !isOver else { return }
        isTurnDue = true
        process.execute { [self] in
            if isTurnDue { endTurn() }
        }
    }

    // MARK: Life

    func begin(_ make: @escaping MakeFrameHandler) {
        process.execute { [self] in
            guard !isOver else { return }
            handler = make(self, network.time.now)
            endTurn()
            deliverSoon()
        }
    }

    /// The process of this end is gone.
    func abandon(tells: Bool) {
        guard !isOver else { return }
        if tells { send(.end) }
        over()
    }

    private func over() {
        isOver = true
        arrivals = []
        network.forget(self)
        let handler = handler
        self.handler = nil
        handler?.closed()
    }

    // MARK: Turns

    private func endTurn() {
        isTurnDue = false
        guard let handler, !isOver else { return }
        let turn = handler.turnEnded(now: network.time.now)
        if !turn.output.isEmpty { write(turn.output.bytes, handler) }
        if turn.closes {
            send(.end)
            return over()
        }
        if turn.isReading != isReading {
            isReading = turn.isReading
            if isReading { deliverSoon() }
        }
        if let time = turn.wake { schedule(time) }
    }

    private func schedule(_ time: Instant) {
        if let wake, wake <= time { return }
        wake = time
        process.after(time.milliseconds - network.time.milliseconds) { [self] in
            guard wake == time, !isOver, let handler else { return }
            wake = nil
            handler.timePassed(now: network.time.now)
            endTurn()
        }
    }

    private func write(_ bytes: Bytes, _ handler: any FrameHandler) {
        pendingBytes += bytes.count
        var rest = bytes[...]
        // A network cuts where it likes.
        if Int.random(in: 0..<8, using: &network.dice) == 0 {
            let end = Int.random(in: 0...rest.count, using: &network.dice)
            send(.bytes(Bytes(rest.prefix(end))))
            rest = rest.dropFirst(end)
        }
        send(.bytes(Bytes(rest)))
        handler.writing(pendingBytes, now: network.time.now)
        needsTurn()
    }

    private func wrote(_ count: Int) {
        guard !isOver, let handler else { return }
        pendingBytes -= count
        handler.writing(pendingBytes, now: network.time.now)
        if !isReading { needsTurn() }
    }

    // MARK: Arrivals

    private func send(_ what: Arrival) {
        // An end that is over may be there or not: that says who still holds it, which compilers
        // decide.
        guard let peer, !peer.isOver else { return }
        let delay = network.latency(from: from, to: to)
        lastArrival = max(lastArrival, network.time.milliseconds + delay)
        peer.arrivals.append((lastArrival, what))
        peer.deliver(in: lastArrival - network.time.milliseconds)
    }

    func deliverSoon() { deliver(in: 0) }

    private func deliver(in delay: Int64) {
        process.after(delay) { [self] in
            while let next = arrivals.first, next.time <= network.time.milliseconds,
                !network.isCut(from: to, to: from), let handler, !isOver
            {
                if case .bytes(let bytes) = next.what {
                    guard isReading else { return }
                    arrivals.removeFirst()
                    bytes.withUnsafeBytes { handler.received($0, now: network.time.now) }
                    let sender = peer
                    sender?.process.execute { sender?.wrote(bytes.count) }
                    endTurn()
                } else {
                    over()
                }
            }
        }
    }
}
