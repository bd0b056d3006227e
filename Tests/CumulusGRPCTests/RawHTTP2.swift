// An HTTP/2 client that says what its test wants, right or wrong, and never resets a stream.
//
// It acknowledges settings, and pings if it is asked to. Header fields go out as literals, and what
// comes is read with NIO's own reader. For one task at a time; every wait has an end, and blocks no
// thread, since the server's calls are tasks of the same pool.

import CumulusModel
import CumulusTesting
import NIOCore
import NIOHPACK

final class RawHTTP2 {
    struct Frame {
        let kind: UInt8
        let flags: UInt8
        let stream: UInt32
        let payload: Bytes

        var isEnd: Bool { (kind == RawHTTP2.data || kind == RawHTTP2.headers) && flags & 1 == 1 }
    }

    /// How a stream ended.
    struct End: Equatable {
        /// gRPC's status; nil: it had none.
        var status: Int?
        /// The code of RST_STREAM; nil: none came.
        var reset: UInt32?
        /// Bytes of its answer.
        var byteCount = 0
        /// Whether a causal token came with the end.
        var hasToken = false
        /// Whether the server said all.
        var isAnswered = false
    }

    static let (data, headers, reset): (UInt8, UInt8, UInt8) = (0, 1, 3)
    static let (settings, ping, goAway, windowUpdate): (UInt8, UInt8, UInt8, UInt8) = (4, 6, 7, 8)

    private let socket: RawClient
    private var buffer: Bytes = []
    private var decoder = HPACKDecoder(allocator: ByteBufferAllocator())
    private var stream: UInt32 = 0xFFFF_FFFF
    private var ends: [UInt32: End] = [:]
    /// Whether it says that it is there.
    var answersPings = true

    /// - Parameters:
    ///   - window: What it takes on a stream before it says more.
    ///   - receiveBuffer: A small one makes a client that soon holds up its server.
    ///   - source: The address to call from; nil: the system takes one.
    init(
        _ port: Int,
        window: UInt32 = 65_535,
        receiveBuffer: Int32? = nil,
        from source: String? = nil
    ) throws {
        socket = try RawClient("127.0.0.1:\(port)", from: source, receiveBuffer: receiveBuffer)
        try socket.send(Bytes("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8))
        try send(Self.settings, payload: [0, 4] + Self.number(window))
    }

    func close() { socket.close() }

    // MARK: Sending

    private static func number(_ value: UInt32) -> Bytes {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * UInt32($0))) }
    }

    func send(_ kind: UInt8, _ flags: UInt8 = 0, on stream: UInt32 = 0, payload: Bytes) throws {
        let length = Self.number(UInt32(payload.count))
        try socket.send(length.dropFirst() + [kind, flags] + Self.number(stream) + payload)
    }

    /// Sends the head of a call, and no end; returns its stream.
    func begin(
        _ path: String,
        _ more: KeyValuePairs<String, String> = [:],
        token: String? = nil,
        container: String? = TestServer.container
    ) throws -> UInt32 {
        stream &+= 2
        var fields: [(String, String)] = [
            (":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "test"),
            ("content-type", "application/grpc"), ("te", "trailers"),
        ]
        if let token { fields.append(("authorization", "Bearer \(token)")) }
        if let container { fields.append(("cumulus-container", container)) }
        fields += more.map { ($0.key, $0.value) }
        var block: Bytes = []
        for (name, value) in fields { block += [0x10] + Self.literal(name) + Self.literal(value) }
        try send(Self.headers, 4, on: stream, payload: block)
        return stream
    }

    /// A text as HPACK has it, without Huffman's code.
    private static func literal(_ text: String) -> Bytes {
        var (rest, prefix) = (text.utf8.count, Bytes())
        if rest < 127 {
            prefix = [UInt8(rest)]
        } else {
            prefix = [127]
            rest -= 127
            while rest >= 128 {
                prefix.append(UInt8(rest & 127) | 128)
                rest >>= 7
            }
            prefix.append(UInt8(rest))
        }
        return prefix + Bytes(text.utf8)
    }

    /// Sends a message of a call.
    func message(_ message: Bytes, isEnd: Bool, on stream: UInt32) throws {
        let whole = [0] + Self.number(UInt32(message.count)) + message
        try send(Self.data, isEnd ? 1 : 0, on: stream, payload: whole)
    }

    /// Says that it takes so much more, on a stream or on the whole connection.
    func takeMore(_ byteCount: UInt32, on stream: UInt32 = 0) throws {
        try send(Self.windowUpdate, on: stream, payload: Self.number(byteCount))
    }

    // MARK: Receiving

    /// The next frame; nil at the end of the connection, and an error if none comes in time.
    func next(within patience: Duration = .seconds(5)) async throws -> Frame? {
        let end = ContinuousClock.now + patience
        while true {
            if let frame = cut() {
                try note(frame)
                // A server that has gone needs none.
                try? acknowledge(frame)
                return frame
            }
            do {
                guard let bytes = try socket.receive(within: 0) else { return nil }
                buffer += bytes
            } catch RawClient.Failure.silence where ContinuousClock.now < end {
                try await Task.sleep(for: .milliseconds(5))
            }
        }
    }

    private func cut() -> Frame? {
        guard buffer.count >= 9 else { return nil }
        let length = buffer[0..<3].reduce(0) { $0 << 8 | Int($1) }
        guard buffer.count >= 9 + length else { return nil }
        let frame = Frame(
            kind: buffer[3],
            flags: buffer[4],
            stream: buffer[5..<9].reduce(0) { $0 << 8 | UInt32($1) },
            payload: Bytes(buffer[9..<9 + length])
        )
        buffer.removeFirst(9 + length)
        return frame
    }

    private func acknowledge(_ frame: Frame) throws {
        guard frame.flags & 1 == 0 else { return }
        if frame.kind == Self.settings { try send(Self.settings, 1, payload: []) }
        if frame.kind == Self.ping, answersPings { try send(Self.ping, 1, payload: frame.payload) }
    }

    /// Reads until a stream is over: reset, or ended where its request was.
    func end(of stream: UInt32, isRequestWhole: Bool = false) async throws -> End {
        while true {
            let end = ends[stream] ?? End()
            if end.reset != nil || end.isAnswered && isRequestWhole { return end }
            guard try await next() != nil else { return end }
        }
    }

    /// Keeps what a frame says of its stream.
    private func note(_ frame: Frame) throws {
        var end = ends[frame.stream] ?? End()
        switch frame.kind {
        case Self.headers:
            var block = ByteBuffer(bytes: frame.payload)
            // Every block is read: later ones may refer to it.
            let fields = try decoder.decodeHeaders(from: &block)
            if let status = fields.first(name: "grpc-status") { end.status = Int(status) }
            if fields.contains(name: "cumulus-causal-bin") { end.hasToken = true }
        case Self.data: end.byteCount += frame.payload.count
        case Self.reset: end.reset = frame.payload.reduce(0) { $0 << 8 | UInt32($1) }
        default: return
        }
        if frame.isEnd { end.isAnswered = true }
        ends[frame.stream] = end
    }

    /// Reads until a frame of a kind comes; false if the connection ends before.
    func comes(_ kind: UInt8) async throws -> Bool {
        while let frame = try await next() {
            if frame.kind == kind { return true }
        }
        return false
    }

    /// Reads to the end of the connection; throws if it stays open and silent.
    func readToEnd() async throws {
        while try await next() != nil {}
    }
}
