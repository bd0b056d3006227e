// A network between nodes that can be cut, in one direction too, or made slow: a proxy in front of
// each node, which knows the dialler of a connection by its HELLO.
//
// Other nodes are told the proxy's address. Bytes on a cut link wait and continue when it is
// healed, as in a network that loses packets; connections can be broken off as well. It uses
// threads and blocking sockets, since there are few connections and speed does not matter.

import CumulusModel
import CumulusRequests
import CumulusTesting
import CumulusWire
import Foundation
import Synchronization

final class FaultyNetwork: Sendable {
    /// The direction from one node to another, whichever dialled.
    struct Link: Hashable {
        var from: Int
        var to: Int
    }

    enum State: Equatable {
        case cut
        /// So many bytes a second.
        case slow(Int)
    }

    private struct Content {
        /// What isn't here is open.
        var links: [Link: State] = [:]
        var numbers: [Bytes: Int] = [:]
        var connections: [UUID: Connection] = [:]
        var listeners: [Int32] = []
        /// Bytes that went over each link.
        var carried: [Link: Int] = [:]
        var isOver = false
        var holdsStrangers = false
    }

    private let content = Mutex(Content())

    deinit { stop() }

    // MARK: Links

    /// Says which node has that id.
    func name(_ nodeID: Bytes, _ number: Int) {
        content.withLock { $0.numbers[nodeID] = number }
    }

    /// Holds connections of nodes that have no name yet, so that nothing passes uncounted.
    func holdStrangers() {
        content.withLock { $0.holdsStrangers = true }
    }

    func set(_ state: State?, from: Int, to other: Int) {
        content.withLock { $0.links[Link(from: from, to: other)] = state }
    }

    /// Cuts both directions.
    func cut(_ one: Int, _ other: Int) {
        set(.cut, from: one, to: other)
        set(.cut, from: other, to: one)
    }

    func heal() {
        content.withLock { $0.links = [:] }
    }

    /// Breaks off the connections between two nodes.
    func disconnect(_ one: Int, _ other: Int) {
        let pair: Set = [one, other]
        let connections = content.withLock { Array($0.connections.values) }
        for connection in connections {
            let ends = [connection.number, number(of: connection.diallerID)].compactMap { $0 }
            if Set(ends) == pair { connection.close() }
        }
    }

    func carried(from: Int, to other: Int) -> Int {
        content.withLock { $0.carried[Link(from: from, to: other)] ?? 0 }
    }

    func stop() {
        let (listeners, connections) = content.withLock { content in
            content.isOver = true
            defer { content.listeners = [] }
            return (content.listeners, Array(content.connections.values))
        }
        for listener in listeners {
            shutdown(listener, Int32(SHUT_RDWR))
            close(listener)
        }
        for connection in connections { connection.close() }
    }

    // MARK: Proxies

    /// Listens on a free port for nodes that want to reach a node; returns the address.
    func proxy(of number: Int, port: Int) throws -> String {
        let listener = try FaultyNetwork.socket()
        var address = FaultyNetwork.address(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 64) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        guard bound else { throw ChildProcess.Failure("no port for a proxy") }
        content.withLock { $0.listeners.append(listener) }
        Thread.detachNewThread { [weak self] in
            while true {
                let dialled = accept(listener, nil, nil)
                guard dialled >= 0, let self else { return }
                self.connect(dialled, to: number, port)
            }
        }
        return "127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
    }

    private static func socket() throws -> Int32 {
        #if os(Linux)
            let kind = Int32(SOCK_STREAM.rawValue)
        #else
            let kind = SOCK_STREAM
        #endif
        let descriptor = Foundation.socket(AF_INET, kind, 0)
        guard descriptor >= 0 else { throw ChildProcess.Failure("no socket for a proxy") }
        return descriptor
    }

    private static func address(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return address
    }

    private func connect(_ dialled: Int32, to number: Int, _ port: Int) {
        guard let node = try? FaultyNetwork.socket() else {
            _ = close(dialled)
            return
        }
        var address = FaultyNetwork.address(port)
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Foundation.connect(node, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        let connection = Connection(dialled, node, to: number)
        let isOver = content.withLock { content in
            content.connections[connection.id] = connection
            return content.isOver
        }
        if !isConnected || isOver { connection.close() }
        for isFromDialler in [true, false] {
            Thread.detachNewThread { [weak self] in
                self?.carry(connection, isFromDialler)
                connection.end()
                self?.forget(connection)
            }
        }
    }

    private func forget(_ connection: Connection) {
        content.withLock { _ = $0.connections.removeValue(forKey: connection.id) }
    }

    /// Moves bytes in one direction until a side closes.
    private func carry(_ connection: Connection, _ isFromDialler: Bool) {
        let (source, target) =
            isFromDialler
            ? (connection.dialled, connection.node) : (connection.node, connection.dialled)
        var buffer = Bytes(repeating: 0, count: 16 << 10)
        while true {
            let room = isFromDialler && connection.diallerID.isEmpty ? 4 << 10 : buffer.count
            let count = recv(source, &buffer, room, 0)
            guard count > 0 else { return connection.close() }
            if isFromDialler { connection.look(at: buffer[..<count]) }
            var sent = 0
            while sent < count {
                guard let part = pass(count - sent, connection, isFromDialler) else { return }
                let step = buffer[sent..<(sent + part)].withUnsafeBytes {
                    send(target, $0.baseAddress, part, FaultyNetwork.noSignal)
                }
                guard step > 0 else { return connection.close() }
                sent += step
            }
        }
    }

    #if os(Linux)
        private static let noSignal = Int32(MSG_NOSIGNAL)
    #else
        private static let noSignal: Int32 = 0
    #endif

    private func number(of nodeID: Bytes) -> Int? {
        content.withLock { $0.numbers[nodeID] }
    }

    /// Waits until bytes may go on; returns how many, nil when the connection is closed.
    private func pass(_ count: Int, _ connection: Connection, _ isFromDialler: Bool) -> Int? {
        while !connection.isClosed {
            guard let dialler = number(of: connection.diallerID) else {
                let isHeld = content.withLock { $0.holdsStrangers }
                if connection.diallerID.isEmpty || !isHeld { return count }
                usleep(2_000)
                continue
            }
            let ends = (dialler, connection.number)
            let link =
                isFromDialler
                ? Link(from: ends.0, to: ends.1) : Link(from: ends.1, to: ends.0)
            let state = content.withLock { $0.links[link] }
            switch state {
            case .cut: usleep(2_000)
            case .slow(let rate):
                let part = min(count, max(1, rate / 20))
                // Twenty parts a second, or as many more as a fast link carries whole buffers.
                let isFast = part < rate / 20
                usleep(isFast ? UInt32(part * 1_000_000 / rate) : 50_000)
                return note(part, link)
            case nil: return note(count, link)
            }
        }
        return nil
    }

    private func note(_ count: Int, _ link: Link) -> Int {
        content.withLock { $0.carried[link, default: 0] += count }
        return count
    }

    /// A connection through the proxy of one node.
    private final class Connection: Sendable {
        let id = UUID()
        let dialled: Int32
        let node: Int32
        /// The node that listens.
        let number: Int

        private struct State {
            var diallerID: Bytes = []
            /// What the dialler sent until it said who it is.
            var greeting: FrameDecoder? = FrameDecoder(frameLimit: 1 << 20)
            var isClosed = false
            var ended = 0
        }

        private let state = Mutex(State())

        init(_ dialled: Int32, _ node: Int32, to number: Int) {
            (self.dialled, self.node, self.number) = (dialled, node, number)
        }

        /// Empty: it didn't say yet, or is no node.
        var diallerID: Bytes { state.withLock { $0.diallerID } }
        var isClosed: Bool { state.withLock { $0.isClosed } }

        func look(at bytes: ArraySlice<UInt8>) {
            state.withLock { state in
                guard var decoder = state.greeting else { return }
                bytes.withUnsafeBytes { decoder.append($0) }
                state.greeting = decoder
                guard let frame = try? decoder.next() else { return }
                state.greeting = nil
                guard frame.kind == .hello, let hello = try? Hello(wire: frame.payload) else {
                    return
                }
                state.diallerID = hello.nodeID
            }
        }

        /// Both sides learn of it.
        func close() {
            state.withLock { state in
                state.isClosed = true
                if state.ended == 2 { return }
                shutdown(dialled, Int32(SHUT_RDWR))
                shutdown(node, Int32(SHUT_RDWR))
            }
        }

        /// A direction is done with the sockets; the second one gives them back.
        func end() {
            close()
            state.withLock { state in
                state.ended += 1
                guard state.ended == 2 else { return }
                Foundation.close(dialled)
                Foundation.close(node)
            }
        }
    }
}
