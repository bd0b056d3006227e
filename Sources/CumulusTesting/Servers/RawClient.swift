// A client that speaks bytes and frames over a blocking socket, right or wrong as its test wants.
//
// Tests of sessions and of bad input use it. It hides nothing: bytes leave as they are, and
// received bytes are cut into frames and returned in order. Every wait has an end. It is for one
// thread at a time.

package import CumulusModel
package import CumulusWire
import Foundation

package final class RawClient {
    package enum Failure: Error, Equatable {
        case badEndpoint(String)
        case system(String)
        /// Nothing came in time.
        case silence
        /// The server closed the connection.
        case closed
    }

    private let descriptor: Int32
    private var decoder = FrameDecoder(frameLimit: 64 << 20)
    private var nextStream: UInt32 = 1
    private var isClosed = false
    /// How long an answer may take, in milliseconds.
    package var patience: Int32 = 10_000
    /// Everything that was received, for tests that expect no frames.
    package private(set) var received: Bytes = []
    /// Whether `received` is kept.
    package var keepsBytes = false

    // MARK: Life

    /// Connects to "127.0.0.1:PORT" and says nothing.
    ///
    /// A small `receiveBuffer` makes a client that soon holds up its server.
    ///
    /// - Parameter source: An address of this machine to call from; nil: the system takes one.
    package init(
        _ endpoint: String,
        from source: String? = nil,
        receiveBuffer: Int32? = nil
    ) throws {
        let parts = endpoint.split(separator: ":")
        guard parts.count == 2, let port = UInt16(parts[1]) else {
            throw Failure.badEndpoint(endpoint)
        }
        #if canImport(Glibc)
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        guard descriptor >= 0 else { throw RawClient.lastError("socket") }
        // Processes that other tests start must not keep the connection open.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        var noDelay: Int32 = 1
        setsockopt(
            descriptor,
            Int32(IPPROTO_TCP),
            TCP_NODELAY,
            &noDelay,
            socklen_t(MemoryLayout<Int32>.size)
        )
        if var size = receiveBuffer {
            setsockopt(
                descriptor,
                SOL_SOCKET,
                SO_RCVBUF,
                &size,
                socklen_t(MemoryLayout<Int32>.size)
            )
        }
        if let source {
            let status = RawClient.withAddress(source, 0) { bind(descriptor, $0, $1) }
            guard status == 0 else { throw RawClient.lastError("bind") }
        }
        let status = RawClient.withAddress(String(parts[0]), port) { connect(descriptor, $0, $1) }
        guard status == 0 else { throw RawClient.lastError("connect") }
    }

    private static func withAddress(
        _ host: String,
        _ port: UInt16,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        inet_pton(AF_INET, host, &address.sin_addr)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    deinit { close() }

    package func close() {
        guard !isClosed else { return }
        isClosed = true
        #if canImport(Glibc)
            _ = Glibc.close(descriptor)
        #else
            _ = Darwin.close(descriptor)
        #endif
    }

    /// Says that nothing more will be sent; what comes back can still be read.
    package func finishSending() {
        #if canImport(Glibc)
            shutdown(descriptor, Int32(SHUT_WR))
        #else
            shutdown(descriptor, SHUT_WR)
        #endif
    }

    private static func lastError(_ what: String) -> Failure {
        .system("\(what): \(String(cString: strerror(errno)))")
    }

    // MARK: Bytes

    /// Sends bytes as they are; `.closed` if the server is gone, `.silence` if it takes none.
    package func send(_ bytes: some Collection<UInt8>) throws {
        var rest = Bytes(bytes)[...]
        while !rest.isEmpty {
            try wait(for: Int16(POLLOUT), milliseconds: patience)
            let count = rest.withUnsafeBytes { buffer in
                #if canImport(Glibc)
                    Glibc.send(
                        descriptor,
                        buffer.baseAddress,
                        buffer.count,
                        Int32(MSG_NOSIGNAL | MSG_DONTWAIT)
                    )
                #else
                    Darwin.send(descriptor, buffer.baseAddress, buffer.count, MSG_DONTWAIT)
                #endif
            }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EAGAIN && errno != EINTR {
                throw Failure.closed
            }
        }
    }

    /// Returns received bytes, at least one and at most a given number; nil at the end of the
    /// connection.
    package func receive(
        within milliseconds: Int32? = nil,
        atMost most: Int = 64 << 10
    ) throws -> Bytes? {
        try wait(for: Int16(POLLIN), milliseconds: milliseconds ?? patience)
        var buffer = Bytes(repeating: 0, count: most)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return nil }
        buffer.removeLast(buffer.count - count)
        if keepsBytes { received += buffer }
        return buffer
    }

    /// All bytes until the server closes.
    package func receiveAll() throws -> Bytes {
        var all: Bytes = []
        while let bytes = try receive() { all += bytes }
        return all
    }

    /// Sends a text as it is, and returns all that comes until the server closes or is silent.
    package static func exchange(_ endpoint: String, _ text: String) throws -> String {
        let client = try RawClient(endpoint)
        defer { client.close() }
        try client.send(Bytes(text.utf8))
        var answer = HTTPAnswerText(isToHead: text.hasPrefix("HEAD "))
        // After a whole answer, further bytes arrive soon or not at all.
        while let bytes = try? client.receive(within: answer.isWhole ? 300 : 10_000) {
            answer.append(bytes)
        }
        return answer.text
    }

    private func wait(for events: Int16, milliseconds: Int32) throws {
        var poller = pollfd(fd: descriptor, events: events, revents: 0)
        let count = poll(&poller, 1, milliseconds)
        if count == 0 { throw Failure.silence }
        if count < 0 && errno != EINTR { throw RawClient.lastError("poll") }
    }

    // MARK: Frames

    package func send(_ frames: Frame...) throws {
        try send(frames)
    }

    /// Sends frames in one piece.
    package func send(_ frames: [Frame]) throws {
        var bytes: Bytes = []
        for frame in frames { FrameEncoder.append(frame, to: &bytes) }
        try send(bytes)
    }

    /// The next frame; `.closed` at the end, `.silence` if none comes in time.
    package func nextFrame(within milliseconds: Int32? = nil) throws -> Frame {
        while true {
            if let frame = try decoder.next() { return frame }
            guard let bytes = try receive(within: milliseconds) else { throw Failure.closed }
            bytes.withUnsafeBytes { decoder.append($0) }
        }
    }

    /// Takes one byte of what has arrived, for the frame that comes next.
    package func takeByte() throws {
        guard let bytes = try receive(atMost: 1) else { throw Failure.closed }
        bytes.withUnsafeBytes { decoder.append($0) }
    }

    /// Whether the server says nothing for so long.
    package func isSilent(for milliseconds: Int32) throws -> Bool {
        do {
            _ = try nextFrame(within: milliseconds)
            return false
        } catch Failure.silence {
            return true
        }
    }

    /// Reads to the end of the connection and returns the error that the server named before it.
    package func refusal() throws -> ServiceError? {
        var last: ServiceError?
        do {
            while true {
                let frame = try nextFrame()
                if frame.kind == .status, frame.stream == 0 {
                    last = try ServiceError(wire: frame.payload)
                }
            }
        } catch Failure.closed {
            return last
        }
    }

    // MARK: Calls

    /// Preface and HELLO, without waiting for an answer.
    package static func greeting(
        token: String = "",
        container: String = TestServer.container
    ) -> Bytes {
        var hello = Hello()
        hello.container = Bytes(container.utf8)
        hello.environment = UInt32(Environment.development.rawValue)
        hello.token = Bytes(token.utf8)
        return greeting(hello)
    }

    package static func greeting(_ hello: Hello) -> Bytes {
        var bytes = Frame.preface
        FrameEncoder.append(Frame(.hello, payload: hello.encoded()), to: &bytes)
        return bytes
    }

    /// Connects and greets; throws the server's refusal.
    package convenience init(
        greeting endpoint: String,
        token: String = "",
        from source: String? = nil,
        receiveBuffer: Int32? = nil
    ) throws {
        try self.init(endpoint, from: source, receiveBuffer: receiveBuffer)
        try send(RawClient.greeting(token: token))
        _ = try readHello()
    }

    /// The server's HELLO; throws its refusal.
    @discardableResult
    package func readHello() throws -> ServerHello {
        while true {
            let frame = try nextFrame()
            switch frame.kind {
            case .hello: return try ServerHello(wire: frame.payload)
            case .status: throw try ServiceError(wire: frame.payload)
            default: continue
            }
        }
    }

    /// A CALL frame on the next stream.
    package func call(
        _ method: Method,
        _ message: Bytes = [],
        milliseconds: UInt32 = 0,
        requestID: Bytes = []
    ) -> Frame {
        var header = CallHeader(method)
        header.timeout = milliseconds
        header.requestID = requestID
        return call(header, message)
    }

    /// The frame of a call, on the next stream.
    package func call(_ header: CallHeader, _ message: Bytes) -> Frame {
        defer { nextStream += 2 }
        let payload = header.encoded(before: message)
        return Frame(.call, isEnd: true, stream: nextStream, payload: payload)
    }

    /// The messages of a call's answer; throws the STATUS that ends it.
    ///
    /// Frames of other calls are left out.
    package func answer(to call: Frame) throws -> [Bytes] {
        var messages: [Bytes] = []
        while true {
            let frame = try nextFrame()
            if frame.kind == .status, frame.stream == call.stream || frame.stream == 0 {
                throw try ServiceError(wire: frame.payload)
            }
            guard frame.stream == call.stream, frame.kind == .message else { continue }
            messages.append(frame.payload)
            if frame.isEnd { return messages }
        }
    }

    /// Sends a call and waits for its answer.
    package func perform(
        _ method: Method,
        _ message: Bytes = [],
        milliseconds: UInt32 = 0,
        requestID: Bytes = []
    ) throws -> [Bytes] {
        let call = call(method, message, milliseconds: milliseconds, requestID: requestID)
        try send(call)
        return try answer(to: call)
    }

    package func perform(_ header: CallHeader, _ message: Bytes) throws -> [Bytes] {
        let call = call(header, message)
        try send(call)
        return try answer(to: call)
    }

    package func credit(_ byteCount: UInt32, on call: Frame) throws {
        var payload: Bytes = []
        FrameEncoder.append(byteCount, to: &payload)
        try send(Frame(.credit, stream: call.stream, payload: payload))
    }
}
