// Why writes are refused: for a while, if the node is leaving, a state is merged in or the disk is
// full; for good, if the node is read-only.
//
// Set by work that writes would disturb; the writer asks before each request.

package import CumulusModel
import Synchronization

package final class WriteStops: Sendable {
    private let stop = Mutex<ServiceError?>(nil)
    private let held = Mutex<Set<ScopeID>>([])
    private let diskLevel = Atomic<DiskLevel>(.all)
    private let hasDeletes = Atomic<Bool>(false)
    /// Refuses everything except new access tokens, which people need to look at the data.
    let isReadOnly: Bool

    init(isReadOnly: Bool = false) {
        self.isReadOnly = isReadOnly
    }

    /// Refuses callers' writes until `resume`; peers' commits are still taken.
    ///
    /// Returns false if callers' writes were refused already.
    func begin(_ why: ServiceError) -> Bool {
        stop.withLock { stop in
            guard stop == nil else { return false }
            stop = why
            return true
        }
    }

    func resume() {
        stop.withLock { $0 = nil }
    }

    /// Whether callers' writes are refused until `resume`.
    var hasBegun: Bool { stop.withLock { $0 != nil } }

    /// Refuses changes of a scope until `release`, except those by the holder.
    func hold(_ scope: ScopeID) {
        held.withLock { _ = $0.insert(scope) }
    }

    func release(_ scope: ScopeID) {
        held.withLock { _ = $0.remove(scope) }
    }

    package func isHeld(_ scope: ScopeID) -> Bool {
        held.withLock { !$0.isEmpty && $0.contains(scope) }
    }

    /// Why an operator's commits must not be applied to a scope now; nil if they may be.
    func refusal(of scope: ScopeID) -> ServiceError? {
        if isReadOnly { return WriteStops.readOnly }
        return stop.withLock { $0 } ?? (isHeld(scope) ? WriteStops.merging : nil)
    }

    /// Why a caller's change is refused now; nil if it is not.
    func refusal(of terms: StoreGate.Terms) -> ServiceError? {
        if isReadOnly { return terms.isMadeReadOnly ? nil : WriteStops.readOnly }
        return stop.withLock { $0 } ?? (isHeld(terms) ? WriteStops.merging : nil)
    }

    private func isHeld(_ terms: StoreGate.Terms) -> Bool {
        guard let scope = terms.scope else { return held.withLock { !$0.isEmpty } }
        return isHeld(scope)
    }

    /// What the disk had room for at the last check.
    package var disk: DiskLevel { diskLevel.load(ordering: .relaxed) }

    /// Notes what the disk has room for, and returns what was noted before.
    func noteDisk(_ level: DiskLevel) -> DiskLevel {
        diskLevel.exchange(level, ordering: .relaxed)
    }

    /// Notes that a delete was taken on a disk that takes nothing else.
    func noteDelete() { hasDeletes.store(true, ordering: .relaxed) }

    /// Whether such a delete was taken since this was last called.
    func takeDeletes() -> Bool { hasDeletes.exchange(false, ordering: .relaxed) }

    package static let merging: ServiceError = {
        var error = ServiceError(
            .zoneBusy,
            "this node is taking in another node's state; try again in a moment, or elsewhere"
        )
        error.retryAfterMilliseconds = 500
        return error
    }()

    package static let readOnly = ServiceError(
        .permissionFailure,
        """
        this node was started with --read-only: it shows what its store holds, and takes no \
        changes and no part in its cluster
        """
    )

    /// The refusal while the disk takes only deletes.
    package static let diskFull = ServiceError(
        .serviceUnavailable,
        .diskFull,
        """
        the node's disk is nearly full, so it takes no writes but deletes; delete records, zones \
        or assets, or free space on the disk, and try again
        """
    )

    /// The refusal while the disk takes no deletes either.
    package static let diskExhausted = ServiceError(
        .serviceUnavailable,
        .diskFull,
        """
        the node's disk is full, so it takes no writes and no deletes; free space on the disk, or \
        make it larger, and try again
        """
    )

    /// The refusal by a disk that has only so much room.
    static func refusal(at level: DiskLevel) -> ServiceError {
        level == .nothing ? diskExhausted : diskFull
    }
}
