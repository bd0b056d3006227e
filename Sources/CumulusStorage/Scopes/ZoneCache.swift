// The states of zones and scopes that the writer has read; every save changes one of each.
//
// The caches belong to the writer. They hold what earlier batches left, written or on the way; the
// current batch's changes are in `WriterState`. Zones are dropped here when the batch is made;
// scopes are entered when the next batch begins. If a batch could not be written, everything is
// dropped. The caches are classes, so that a copy of the state, such as a save point, does not copy
// all that is known.

final class ZoneCache: @unchecked Sendable {
    // Only the thread that runs write transactions touches it, and there is one such thread at a
    // time.

    private var states: [ZoneNumber: ZoneState] = [:]
    private static let capacity = 10_000

    /// Returns the state of a zone, from the engine if it is not cached.
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
    // The writer's thread alone touches it, as above.

    private var states: [ScopeNumber: ScopeState] = [:]

    subscript(scope: ScopeNumber) -> ScopeState? { states[scope] }

    /// Enters the scopes' states that the previous batch left.
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
