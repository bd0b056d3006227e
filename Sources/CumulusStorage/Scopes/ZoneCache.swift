// The states of zones and scopes that the writer has read: every save counts a record into one, and
// its commit into another.
//
// Belongs to the writer. Holds what batches left that are written or on their way: what a batch
// changes is in its `WriterState`. Zones are dropped here when the batch is made, scopes are
// entered when the next one begins. If a batch could not be written, all is dropped. A copy of that
// state, as each request's save point is one, must not copy what is known of all.

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

    func dropAll() { states = [:] }
}

final class ScopeCache: @unchecked Sendable {
    // As above.

    private var states: [ScopeNumber: ScopeState] = [:]

    subscript(scope: ScopeNumber) -> ScopeState? { states[scope] }

    /// Takes what the batch before made of scopes.
    func enter(_ scopes: [ScopeNumber: ScopeState]) {
        for (number, scope) in scopes {
            states[number] = scope
            states[number]?.touched = []
            states[number]?.isRaised = false
            states[number]?.isCompared = false
        }
    }

    func dropAll() { states = [:] }
}
