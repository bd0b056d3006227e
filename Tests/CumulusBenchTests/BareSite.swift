// A site that knows two answers, over real sockets, and counts its connections.
//
// Requests without a body end with an empty line; that is all it reads.

import CumulusModel
import CumulusTransport
import CumulusWire
import Synchronization

final class BareSite: Sendable {
    private struct State {
        var connections = 0
        var waiting: [Caller] = []
    }

    private let state = Mutex(State())
    private let answersAtOnce: Int

    var connections: Int { state.withLock { $0.connections } }

    private init(_ answersAtOnce: Int) {
        self.answersAtOnce = answersAtOnce
    }

    /// Serves for the length of a body, to which it hands its address.
    ///
    /// - Parameter answersAtOnce: So many requests have to wait before they are answered.
    static func with<Value>(
        answersAtOnce: Int = 1,
        _ body: (BareSite, _ address: String) async throws -> Value
    ) async throws -> Value {
        let site = BareSite(answersAtOnce)
        let loops = EventLoops(threads: 1)
        let listener = NIOFrameListener(host: "127.0.0.1", port: 0, loops: loops)
        do {
            let address = try await listener.start { link, _ in site.accept(link) }
            let value = try await body(site, address)
            try await listener.stop()
            return value
        } catch {
            try? await listener.stop()
            throw error
        }
    }

    private func accept(_ link: any FrameLink) -> any FrameHandler {
        state.withLock { $0.connections += 1 }
        return Connection(self, Caller(link))
    }

    /// Answers all that wait, if they are as many as it answers at once.
    private func wait(_ caller: Caller) {
        let answered = state.withLock { state -> [Caller] in
            state.waiting.append(caller)
            guard state.waiting.count >= answersAtOnce else { return [] }
            defer { state.waiting = [] }
            return state.waiting
        }
        for caller in answered { caller.answer() }
    }

    /// A caller over one connection, and the answers to it.
    private final class Caller: Sendable {
        private let link: any FrameLink
        private let isBusy = Mutex(false)
        private let output = Mutex(Bytes())

        init(_ link: any FrameLink) {
            self.link = link
        }

        func ask(_ request: String) {
            isBusy.withLock { $0 = request.hasPrefix("GET /busy ") }
        }

        func answer() {
            let (status, text) = isBusy.withLock { $0 ? ("503 No", "busy") : ("200 OK", "file") }
            let head = "HTTP/1.1 \(status)\r\nContent-Length: \(text.utf8.count)\r\n\r\n"
            output.withLock { $0 = Bytes((head + text).utf8) }
            link.loop.execute { [link] in link.needsTurn() }
        }

        func take() -> Bytes {
            output.withLock { output in
                defer { output = [] }
                return output
            }
        }
    }

    private final class Connection: FrameHandler {
        private let site: BareSite
        private let caller: Caller
        private var text = ""

        init(_ site: BareSite, _ caller: Caller) {
            self.site = site
            self.caller = caller
        }

        func received(_ bytes: UnsafeRawBufferPointer, now: Instant) {
            text += String(decoding: bytes, as: UTF8.self)
            guard text.hasSuffix("\r\n\r\n") else { return }
            caller.ask(text)
            text = ""
            site.wait(caller)
        }

        func turnEnded(now: Instant) -> Turn {
            Turn(output: FrameOutput(caller.take()), wake: nil, closes: false)
        }

        func timePassed(now: Instant) {}
        func writing(_ pendingBytes: Int, now: Instant) {}
        func closed() {}
    }
}
