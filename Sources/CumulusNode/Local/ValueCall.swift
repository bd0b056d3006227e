// A call of a caller in this process: its request is a value, and its answer comes as values.
//
// `LocalConnection` makes it, and `OpenCalls` opens it like a call in a frame, with the same
// budgets, rights, deadlines, causality and audit lines. No message is sent, so it needs no credit.

import CumulusModel
import Synchronization

struct ValueCall: Sendable {
    /// The message, of a method whose requests have no form as a value; empty for others.
    let message: Bytes
    /// About what its request would take in a message.
    let byteCount: Int
    /// Takes the place of the handler that reads a message.
    let begin: MethodEntry.Handler
    let end: End

    /// Tells how the call ended, on the loop; nil means that it was answered.
    typealias End = @Sendable (ServiceError?) -> Void
}

/// A part of an answer on its way to a caller in this process.
struct PartOfValue: Sendable {
    /// About what it takes in memory.
    let byteCount: Int
    /// Hands it over, on the loop.
    let deliver: @Sendable () -> Void
}

/// Gathers the parts of an answer.
final class ValueSink<Content: Sendable>: Sendable {
    private let contents = Mutex<[Content]>([])
    private let size: @Sendable (Content) -> Int

    /// - Parameter size: About what a part takes in memory.
    init(_ size: @escaping @Sendable (Content) -> Int = { _ in 0 }) {
        self.size = size
    }

    func part(_ content: Content) -> PartOfValue {
        PartOfValue(byteCount: size(content)) { [self] in put(content) }
    }

    func put(_ content: Content) { contents.withLock { $0.append(content) } }

    /// The parts that were handed over, in their order.
    var all: [Content] { contents.withLock { $0 } }
}
