// The access lease: how long a node goes on letting users in without knowing which users other
// nodes have locked out meanwhile.
//
// It is off unless `cumulusd --access-lease` is given. Each other member reports how far it has
// read, even if nothing changed. Once this node has read as far as a report, it knows what was
// revoked there before the report was made. If a listed member sends no such report within the
// lease, users are refused, except for their own private databases, for signing in, and for calls
// that take access away. `RequestParser` asks it when a call names its database, and streams ask
// before each page. hot: a comparison per call.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire
import Synchronization

final class AccessLease: Sendable {
    let milliseconds: Int64
    /// An expired lease closes private databases too.
    let closesAll: Bool

    private struct Key: Hashable {
        let nodeID: Bytes
        let scope: ScopeID
    }

    private struct Report {
        let vector: VersionVector
        let time: Instant
    }

    /// The reports of a member about a scope.
    private struct Heard {
        /// The arrival of its newest report whose commits this node has read.
        var covered: Instant?
        /// The first and the last report that this node may not have read yet.
        var first: Report?
        var last: Report?

        mutating func settle(_ isRead: (VersionVector) -> Bool) {
            if let report = last, isRead(report.vector) {
                (covered, first, last) = (report.time, nil, nil)
            } else if let report = first, isRead(report.vector) {
                (covered, first) = (report.time, last)
            }
        }
    }

    private struct State {
        var heard: [Key: Heard] = [:]
        /// The end of a scope's lease, and the member whose report is the oldest.
        var terms: [ScopeID: (until: Instant, oldest: String)] = [:]
        var isLooking = false
    }

    private let state = Mutex(State())
    /// How errors name members that this node does not know yet.
    fileprivate static let others = "the other nodes"

    /// - Parameter milliseconds: How old reports may be.
    init(milliseconds: Int64, closesAll: Bool) {
        self.milliseconds = milliseconds
        self.closesAll = closesAll
    }

    /// nil if the node has none.
    ///
    /// A read-only node has none: it connects to no member, so none would ever report to it.
    convenience init?(_ configuration: Node.Configuration) {
        guard configuration.accessLeaseMilliseconds > 0, !configuration.isReadOnly
        else { return nil }
        self.init(
            milliseconds: configuration.accessLeaseMilliseconds,
            closesAll: configuration.accessLeaseClosesAll
        )
    }

    /// A member has reported; its node may have read as far already, or will.
    func note(_ vector: VersionVector, of nodeID: Bytes, _ scope: ScopeID, now: Instant) {
        let report = Report(vector: vector, time: now)
        let key = Key(nodeID: nodeID, scope: scope)
        state.withLock { state in
            var heard = state.heard[key] ?? Heard()
            heard.first = heard.first ?? report
            heard.last = report
            state.heard[key] = heard
        }
    }

    /// Looks until when users are let in.
    ///
    /// - Parameters:
    ///   - members: Other listed nodes, with the names that users are told.
    ///   - scopes: The cluster's own scope and the scopes of containers.
    ///   - isRead: Whether this node has read that far in a scope.
    func renew(
        _ members: [(nodeID: Bytes, name: String)],
        _ scopes: [ScopeID],
        isRead: (ScopeID, VersionVector) -> Bool
    ) {
        state.withLock { state in
            for scope in scopes {
                var term = (until: Instant.distant, oldest: "")
                for (nodeID, name) in members {
                    let key = Key(nodeID: nodeID, scope: scope)
                    // Members don't report on a container without commits.
                    if state.heard[key] == nil, scope != .cluster { continue }
                    state.heard[key]?.settle { isRead(scope, $0) }
                    let end = state.heard[key]?.covered.map { $0 + milliseconds }
                    let until = end ?? Instant(milliseconds: .min)
                    if until < term.until { term = (until, name) }
                }
                state.terms[scope] = term
            }
        }
    }

    /// The member that has not reported for too long; nil if users are let in to a scope.
    func missing(in scope: ScopeID, now: Instant) -> String? {
        state.withLock { state in
            for scope in [.cluster, scope] {
                guard let term = state.terms[scope] else {
                    if scope == .cluster { return AccessLease.others }
                    continue
                }
                if now > term.until { return term.oldest }
            }
            return nil
        }
    }

    /// Returns false if a look is already running.
    fileprivate func beginLook() -> Bool {
        state.withLock { state in
            defer { state.isLooking = true }
            return !state.isLooking
        }
    }

    fileprivate func endLook() {
        state.withLock { $0.isLooking = false }
    }
}

extension Node {
    /// Notes which nodes the settings name, and looks at the lease; for use before callers connect.
    ///
    /// A node without other members lets users in from its first call on.
    package func expectPeers(_ endpoints: [String]) {
        catchUp.expect(endpoints)
        if let lease = accessLease { try? lookAtAccessLease(lease) }
    }

    /// Returns the check that streams make before each page.
    func mayUse(by identity: Identity) -> @Sendable (DatabaseScope) -> ServiceError? {
        { [self] database in accessLeaseRefusal(of: identity, in: database) }
    }

    /// Why a caller is not let in to a database for lack of other nodes' reports; nil if it is.
    func accessLeaseRefusal(of identity: Identity, in database: DatabaseScope) -> ServiceError? {
        guard let lease = accessLease, identity.credential != nil, let scope = identity.scope,
            database != .private || lease.closesAll,
            let missing = lease.missing(in: scope, now: environment.now())
        else { return nil }
        renewAccessLease()
        var error = ServiceError(
            .serviceUnavailable,
            .nodeBehind,
            """
            this node has no report of \(missing) from the last \(lease.milliseconds / 1_000) \
            seconds and may not know who was shut out; try another node, or if that one is gone \
            for good, have it taken off the list ('cumulus cluster remove')
            """
        )
        error.retryAfterMilliseconds = UInt32(clamping: configuration.reportMilliseconds)
        return error
    }

    /// A member has reported how far it has read a scope.
    func noteForAccessLease(_ report: ReportRequest, of nodeID: Bytes, _ scope: ScopeID) {
        guard let lease = accessLease, !report.vector.isEmpty else { return }
        lease.note(report.vector, of: nodeID, scope, now: environment.now())
        renewAccessLease()
    }

    /// Looks again until when users are let in, on a reader thread.
    ///
    /// Called when a member has reported, and every second, since the list of members grows without
    /// a report.
    func renewAccessLease() {
        guard let lease = accessLease, lease.beginLook() else { return }
        let isQueued = gate.read(.prompt) { [self] in
            lease.endLook()
            try? lookAtAccessLease(lease)
        }
        if !isQueued { lease.endLook() }
    }

    private func lookAtAccessLease(_ lease: AccessLease) throws(EngineError) {
        let reader = gate.latest(reach: .disk)
        let others = try Members.all(in: reader).filter { $0.nodeID != nodeID }
        var members = others.filter { !$0.isRemoved }.map { member in
            let name = member.endpoint.isEmpty ? "node \(member.nodeID.hex)" : member.endpoint
            return (nodeID: member.nodeID, name: name)
        }
        // A new node has read nothing from the nodes that its settings name, and none of them
        // reports.
        if others.isEmpty, catchUp.expectsOthers {
            members = [(nodeID: [], name: AccessLease.others)]
        }
        let scopes = try ScopeDirectory.all(in: reader)
        let numbers = Dictionary(uniqueKeysWithValues: scopes.map { ($0.scope, $0.number) })
        // The lease of the cluster's scope is known before that scope exists.
        let named = Set(scopes.map(\.scope)).union([ScopeID.cluster])
        lease.renew(members, Array(named)) { scope, vector in
            numbers[scope].map { gate.visible.covers(vector, $0) } ?? false
        }
    }

    /// How often peers are told how far this node has read, though nothing changed.
    ///
    /// Often enough for their leases, which are set to the same.
    var reportAgainMilliseconds: Int64 {
        guard let lease = accessLease else { return PeerConnection.oldReportMilliseconds }
        return min(lease.milliseconds / 3, PeerConnection.oldReportMilliseconds)
    }
}
