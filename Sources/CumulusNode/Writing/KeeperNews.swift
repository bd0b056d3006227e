// Wakes a background worker of the node after each batch of writes that left it work.
//
// Held by `StoreGate`; `ScopeWork` waits for the signals.

struct KeeperNews: Sendable {
    /// The signals, for one listener; signals that come while it works become one.
    let stream: AsyncStream<Void>
    private let source: AsyncStream<Void>.Continuation

    init() {
        (stream, source) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func tell() { source.yield() }
}
