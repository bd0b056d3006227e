// The states of zones that the writer has read: every save counts a record into one.
//
// Belongs to the writer. Holds committed values only: what a batch changes is in its `WriterState`
// and dropped here when the batch is made. A copy of that state, as each request's save point is
// one, must not copy what is known of all zones.

final class ZoneCache: @unchecked Sendable {
    // Only the thread that runs write transactions touches it; there is one at a time.

    private var states: [ZoneNumber: ZoneState] = [:]
    private static let capacity = 10_000

    /// The state of a zone; read from the engine if it is not here.
    func get(
        _ zone: ZoneNumber,
        orRead read: () throws(EngineError) -> ZoneState
    ) throws(EngineError) -> ZoneState {
        if let known = states[zone] { return known }
        let state = try read()
        if states.count >= ZoneCache.capacity { states = [:] }
        states[zone] = state
        return state
    }

    func drop(_ zone: ZoneNumber) {
        states[zone] = nil
    }
}
