// Why writes are refused: for a while, where the node is leaving, a state is merged in or the disk
// is full; for good where the node only shows what it has.
//
// Set by work that writes would disturb; asked by the writer before each request.

package import CumulusModel
import Synchronization

package final class WriteStops: Sendable {
    private let stop = Mutex<ServiceError?>(nil)
    private let held = Mutex<Set<ScopeID>>([])
    private let diskLevel = Atomic<DiskLevel>(.all)
    private let hasDeletes = Atomic<Bool>(false)
    /// Nothing is taken but tokens, for those who are to look.
    let isReadOnly: Bool

    init(isReadOnly: Bool = false) {
        self.isReadOnly = isReadOnly
    }

    /// Refuses what callers want to write, until `resume`; peers' commits are taken.
    ///
    /// Returns false if they are refused already.
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

    /// Lets nothing change a scope until `release`, but what its holder does.
    func hold(_ scope: ScopeID) {
        held.withLock { _ = $0.insert(scope) }
    }

    func release(_ scope: ScopeID) {
        held.withLock { _ = $0.remove(scope) }
    }

    package func isHeld(_ scope: ScopeID) -> Bool {
        held.withLock { !$0.isEmpty && $0.contains(scope) }
    }

    /// Why commits that an operator brings are not to be applied to a scope now; nil means they may
    /// be.
    func refusal(of scope: ScopeID) -> ServiceError? {
        if isReadOnly { return WriteStops.readOnly }
        return stop.withLock { $0 } ?? (isHeld(scope) ? WriteStops.merging : nil)
    }

    /// Why a change that a caller asks for is not to be made now; nil means it may be.
    func refusal(of terms: StoreGate.Terms) -> ServiceError? {
        if isReadOnly { return terms.isMadeReadOnly ? nil : WriteStops.readOnly }
        return stop.withLock { $0 } ?? (isHeld(terms) ? WriteStops.merging : nil)
    }

    private func isHeld(_ terms: StoreGate.Terms) -> Bool {
        guard let scope = terms.scope else { return held.withLock { !$0.isEmpty } }
        return isHeld(scope)
    }

    /// What the disk had room for when something was written last.
    package var disk: DiskLevel { diskLevel.load(ordering: .relaxed) }

    /// Returns what was noted before.
    func noteDisk(_ level: DiskLevel) -> DiskLevel {
        diskLevel.exchange(level, ordering: .relaxed)
    }

    /// A delete was taken on a disk that takes nothing else.
    func noteDelete() { hasDeletes.store(true, ordering: .relaxed) }

    /// Whether one was since the last time that this was asked.
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

    /// Refuses all but deletes.
    package static let diskFull = ServiceError(
        .serviceUnavailable,
        .diskFull,
        """
        the node's disk is nearly full, so it takes no writes but deletes; delete records, zones \
        or assets, or free space on the disk, and try again
        """
    )

    /// Refuses deletes too.
    package static let diskExhausted = ServiceError(
        .serviceUnavailable,
        .diskFull,
        """
        the node's disk is full, so it takes no writes and no deletes; free space on the disk, or \
        make it larger, and try again
        """
    )

    /// Why a disk with room for so little doesn't take something.
    static func refusal(at level: DiskLevel) -> ServiceError {
        level == .nothing ? diskExhausted : diskFull
    }
}
