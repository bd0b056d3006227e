// The connection that tells `cumulusd bound writer` what to write to all the others.
//
// Made by `BareFollowers`, before the others are connected.

import CumulusModel
import CumulusWire
import Synchronization

final class BareAsker: Sendable {
    private struct State {
        var link: (any FrameLink)?
        var waiting: Bytes = []
    }

    private let state = Mutex(State())

    func handler(_ link: any FrameLink) -> any FrameHandler {
        state.withLock { $0.link = link }
        return Handler(self)
    }

    /// Asks for so many writes of so many bytes to each other connection.
    func ask(times: UInt32, bytes: UInt32) {
        let link = state.withLock { state in
            FrameEncoder.append(times, to: &state.waiting)
            FrameEncoder.append(bytes, to: &state.waiting)
            return state.link
        }
        link?.loop.execute { link?.needsTurn() }
    }

    private func take() -> Bytes {
        state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
    }

    private final class Handler: FrameHandler {
        private let asker: BareAsker

        init(_ asker: BareAsker) {
            self.asker = asker
        }

        func received(_ bytes: UnsafeRawBufferPointer, now: Instant) {}
        func turnEnded(now: Instant) -> Turn {
            Turn(output: FrameOutput(asker.take()), wake: nil, closes: false)
        }
        func timePassed(now: Instant) {}
        func writing(_ pendingBytes: Int, now: Instant) {}
        func closed() {}
    }
}
