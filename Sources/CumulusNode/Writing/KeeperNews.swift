// Calls a keeper of the node to its work, after each batch of writes that left it some.
//
// Held by `StoreGate`; `ScopeWork` waits for the calls.

struct KeeperNews: Sendable {
    /// For one listener: calls that come while it works are one.
    let stream: AsyncStream<Void>
    private let source: AsyncStream<Void>.Continuation

    init() {
        (stream, source) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func tell() { source.yield() }
}
