// What the couriers of pushes ask a node for: the addresses to push to, how far each was told, and
// which members of the cluster could push in this node's place.
//
// Called by the gateway's couriers, which run in the same process.

package import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire
import Synchronization

/// The addresses of all scopes that are pushed to.
package struct PushAddresses: Sendable {
    /// A device, in a container's environment.
    package struct Target: Hashable, Sendable {
        package let scope: ScopeID
        let push: StoredPush

        init(_ push: StoredPush, in scope: ScopeID) {
            (self.scope, self.push) = (scope, push)
        }

        /// - Parameters:
        ///   - user: User record name.
        ///   - session: SHA-256 of the token of the session that registered it.
        ///   - registered: Milliseconds since 1970 UTC.
        package init(
            _ address: PushAddress,
            of user: String,
            in scope: ScopeID,
            device: Bytes = [],
            session: Bytes,
            registered: Int64
        ) {
            self.scope = scope
            push = StoredPush(
                user: user,
                address,
                device: device,
                session: session,
                registered: registered
            )
        }

        /// User record name.
        package var user: String { push.user }
        package var address: PushAddress { push.address }
        /// Names it in lists and in the log: 32 hexadecimal digits.
        package var id: String { push.id.bytes.hex }
        /// Milliseconds since 1970 UTC.
        package var registered: Int64 { push.registered }
    }

    package var targets: Set<Target> = []
    /// Addresses that are to be ended: another user has registered the device since, or the session
    /// has been over for `kept`.
    package var over: Set<Target> = []
    /// How often addresses were read.
    package private(set) var reads = 0
    /// Addresses whose session is over, or not known here yet, each with when this node first saw
    /// that, in milliseconds of a clock that never goes back.
    private var asleep: [Target: Int64] = [:]
    /// When they were read last, by the same clock.
    private var read: Int64 = 0
    /// What was read last; nil means that it is to be read again.
    private var epochs: [UInt64]?
    /// Whether nothing more is known until an address or an account changes.
    package var isComplete: Bool { epochs != nil }

    /// How long an address may be known without its session, in milliseconds: nodes hear of the two
    /// separately.
    package static let patience: Int64 = 300_000
    /// How long the address of a session that is over is kept, in milliseconds: another node may
    /// still make the session longer.
    package static let kept: Int64 = 3_600_000
    /// Sessions expire without a word: after so many milliseconds addresses are read again.
    private static let longest: Int64 = 600_000

    package init() {}

    /// Lets the next call read them again.
    package mutating func expire() { epochs = nil }

    /// Whether they are as they were read.
    package func holds(_ epochs: [UInt64], now: Int64) -> Bool {
        self.epochs == epochs && now - read < PushAddresses.longest
    }

    /// What a reading has found, after this one.
    ///
    /// - Parameter asleep: Addresses without a session.
    package func followed(
        by targets: Set<Target>,
        over: Set<Target>,
        asleep: Set<Target>,
        _ epochs: [UInt64],
        now: Int64
    ) -> PushAddresses {
        var next = PushAddresses()
        (next.targets, next.over, next.reads, next.read) = (targets, over, reads + 1, now)
        var isComplete = true
        for target in asleep {
            let first = self.asleep[target] ?? now
            next.asleep[target] = first
            if now - first >= PushAddresses.kept { next.over.insert(target) }
            if now - first < PushAddresses.patience { isComplete = false }
        }
        next.epochs = isComplete ? epochs : nil
        return next
    }
}

/// The other members of a cluster, as a node sees them.
package struct PushMembers: Hashable, Sendable {
    /// A run of another member's process.
    package struct Peer: Hashable, Sendable {
        package var nodeID: Bytes
        package var run: Incarnation?

        package init(_ nodeID: Bytes, run: Incarnation? = nil) {
            self.nodeID = nodeID
            self.run = run
        }
    }

    /// Whether the cluster has no other members.
    package var isAlone: Bool
    /// Members with a lower id that it is connected to.
    package var lower: Set<Peer>
    /// Members with a higher id that it is connected to.
    package var higher: Set<Peer>

    package init(isAlone: Bool = true, lower: Set<Peer> = [], higher: Set<Peer> = []) {
        self.isAlone = isAlone
        self.lower = lower
        self.higher = higher
    }
}

extension Node {
    /// The addresses of all users of all scopes.
    ///
    /// - Parameter known: What an earlier call returned; it is returned again unless an address or
    ///   an account has changed, or it is old.
    package func pushAddresses(
        after known: PushAddresses
    ) async throws(ServiceError) -> PushAddresses {
        let epochs = [gate.epochs.pushes, gate.epochs.accounts]
        let moment = environment.now().milliseconds
        if known.holds(epochs, now: moment) { return known }
        return try await look(.bulk(.node)) { [self] reach in
            let reader = gate.latest(reach: reach)
            let now = environment.wallClock()
            var targets: Set<PushAddresses.Target> = []
            var (over, asleep) = (targets, targets)
            for (scope, number) in try ScopeDirectory.all(in: reader) where scope != .cluster {
                let all = try Pushes.all(in: number, now: now, reader)
                targets.formUnion(all.valid.map { .init($0, in: scope) })
                over.formUnion(all.over.map { .init($0, in: scope) })
                asleep.formUnion(all.asleep.map { .init($0, in: scope) })
            }
            return known.followed(by: targets, over: over, asleep: asleep, epochs, now: moment)
        }
    }

    /// Whether an address is still what it was, and the session lasts that registered it.
    package func isPushed(_ target: PushAddresses.Target) async throws(ServiceError) -> Bool {
        try await look { [self] reach in
            let reader = gate.latest(reach: reach)
            let push = target.push
            guard let number = try reader.scope(target.scope),
                try reader.register(number, StoredPush.namespace, push.key)?.value == push.value
            else { return false }
            let now = environment.wallClock()
            return try Sessions.find(push.session, now: now, in: reader) != nil
        }
    }

    /// Ends addresses, unless they were registered anew meanwhile.
    package func end(_ targets: [PushAddresses.Target]) async throws {
        try await gate.change(.housekeeping) { transaction throws(EngineError) in
            for (scope, targets) in Dictionary(grouping: targets, by: \.scope) {
                guard let number = try transaction.scope(scope) else { continue }
                try Pushes.end(targets.map(\.push), in: number, &transaction)
            }
        }
    }

    /// The token of a user's feed behind everything that a device was told.
    package func feedAfterMarks(
        of target: PushAddresses.Target
    ) async throws(ServiceError) -> Bytes {
        try await feed(after: target.push.marker, of: target.push.user, in: target.scope)
    }

    /// The other members; those that are joining don't count as connected.
    package func pushMembers() async throws(ServiceError) -> PushMembers {
        try await look { [self] reach in
            let others = try Members.others(than: nodeID, in: gate.latest(reach: reach))
            let newcomers = newcomers.withLock(\.self)
            var members = PushMembers(isAlone: others.isEmpty)
            for member in others
            where peerRuns.isConnected(member.nodeID) && !newcomers.contains(member.nodeID) {
                let peer = PushMembers.Peer(
                    member.nodeID,
                    run: peerRuns.latestRun(of: member.nodeID)
                )
                if member.nodeID.lexicographicallyPrecedes(nodeID) {
                    members.lower.insert(peer)
                } else {
                    members.higher.insert(peer)
                }
            }
            return members
        }
    }
}
