// Random histories of sharing on two or three nodes: an owner's records that hang below each other,
// shares of trees and of the zone, participants who join, write and leave, and their devices.
//
// `cumulus-sim` and `ShareHistoryTests` run it, as two histories. Each node is a store that runs
// the production requests; commits and states travel through the production intake, in any order
// that it allows. Requests are sent again to other nodes, and processes end. Tombstones, logs and
// the past of trees are forgotten, and nodes go back to backups. `ShareSimulation+Devices` has the
// invariants of each answer, `ShareSimulation+Checks` the others. A history takes some
// milliseconds. In histories of public shares the owner also opens shares to all who have the URL
// and invites people by their handles: see `ShareSimulation+Public`.
//
// Folder: histories of who sees what of a shared zone. Read `ShareSimulation`, then `ZonePicture`
// and `ShareLedger`, which say what must come of it, and the simulation's extensions.

import CumulusModel
import CumulusOperations
import CumulusStorage

struct ShareSimulation: History {
    static let usualSteps = 120
    static let endsAtViolation = true

    /// A request that may be sent again.
    struct Asked {
        let request: DrawnRequest
        /// For people.
        let text: String
    }

    let broken: Rule?
    /// Shares are opened, and people are invited by handles.
    let isPublic: Bool
    var dice: SeededGenerator
    let stores: [TestStore]
    var devices: [SharedDevice]
    /// Users who can have handles; empty unless `isPublic`.
    let people: [Users.User]
    var ledger = ShareLedger()
    /// The lives that requests shared.
    private(set) var sharedRoots: Set<ZonePicture.Root> = []
    /// The last requests, which may come again.
    private(set) var asked: [Asked] = []
    var backups: [Int: any StorageEngine] = [:]
    var directories: [Int: KnownZones] = [:]
    /// Counted up, so that each save writes something new.
    var made: Int64 = 0
    private var steps = 0
    var verdict: Verdict

    static let zone = "trees"
    static let names = ["p", "q", "r", "s", "t", "x"]
    static let owner = Caller(role: .user("_" + String(repeating: "a", count: 32)))
    static let participants = ["b", "c"].map { letter in
        Caller(role: .user("_" + String(repeating: letter, count: 32)))
    }

    init(_ plan: HistoryPlan) throws {
        broken = plan.broken
        isPublic = plan.history == .publicShares
        verdict = Verdict(isTold: plan.isTold)
        dice = SeededGenerator(seed: plan.seed)
        stores = try SimulatedStores.make(seed: plan.seed, using: &dice)
        let first = stores[0]
        people = isPublic ? try Self.addPeople(to: first) : []
        let users =
            isPublic
            ? people.map { Caller(role: .user($0.recordName(in: first.scope.container))) }
            : Array(Self.participants.prefix(Int.random(in: 1...2, using: &dice)))
        devices = users.map(SharedDevice.init)
        SimulatedStores.spreadClocks(of: stores, using: &dice)
        for store in stores {
            store.breakRules(broken?.switches ?? [])
            // Without keys nodes forget ended lives earlier.
            if plan.seed % 4 == 2 { store.leaveOutLives() }
        }
        try makeZone(at: 0)
        try ask(save([item("p", below: nil), item("q", below: "p")]), at: 0)
        for other in stores.indices.dropFirst() { try exchange(from: 0, to: other, most: .max) }
    }

    // MARK: Steps

    mutating func step() throws {
        steps += 1
        let changed = try drawStep()
        try breakRows(at: changed)
        try check(changed)
    }

    /// Returns the node whose store may have changed.
    private mutating func drawStep() throws -> Int {
        let one = Int.random(in: stores.indices, using: &dice)
        stores[one].now += Int64.random(in: 0...3, using: &dice)
        switch Int.random(in: 0..<100, using: &dice) {
        case ..<46: try act(at: one)
        case ..<70:
            let to = another(than: one)
            try exchange(from: one, to: to, most: Int.random(in: 1...6, using: &dice))
            return to
        case ..<77: return try fault(at: one)
        case ..<83: try fetchZones(anyDevice(), at: one)
        default: try fetchRecords(anyDevice(), at: one)
        }
        return one
    }

    private mutating func anyDevice() -> Int { Int.random(in: devices.indices, using: &dice) }

    mutating func another(than one: Int) -> Int {
        (one + Int.random(in: 1..<stores.count, using: &dice)) % stores.count
    }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &dice) < percent }

    func picture(at one: Int) throws -> ZonePicture? {
        try ZonePicture(of: Self.zone, ownedBy: Self.owner.user, in: stores[one])
    }

    // MARK: Requests

    /// Sends a request to a node, and notes what it did to shares; returns false if it changed
    /// nothing.
    @discardableResult
    mutating func ask(_ asked: Asked, at one: Int) throws -> Bool {
        let store = stores[one]
        let (before, heard) = (try picture(at: one), try store.vector())
        let answer = try store.run(asked.request)
        let known = self.asked.suffix(5).filter {
            $0.request.asker.requestID != asked.request.asker.requestID
        }
        self.asked = known + [asked]
        let caller = asked.request.asker.caller
        let seen = seen(by: caller, in: before, heard)
        check(answer, to: caller, seen, at: one)
        checkRefusal(answer, to: asked, in: before, at: one)
        if isPublic { try checkAcceptance(answer, to: asked, in: before, at: one) }
        note(answer, to: asked)
        guard let dot = try newest(at: one, since: heard) else {
            count("requests without effect", "\(asked.text): \(Self.text(of: answer))", at: one)
            return false
        }
        count("changes", asked.text, at: one)
        try checkCommit(dot, of: asked, seen, at: one)
        let after = try picture(at: one)
        checkKinds(before, after, at: one)
        if isPublic {
            try checkWrites(dot, of: asked, in: before, heard, at: one)
            checkOpening(before, after, at: one)
        }
        note(before, after, heard, by: dot)
        return true
    }

    /// The node's last commit, if it was made since.
    func newest(at one: Int, since heard: VersionVector) throws -> Dot? {
        let run = stores[one].state.incarnation
        let dot = Dot(run, try stores[one].vector()[run])
        return heard.covers(dot) ? nil : dot
    }

    /// The data that a participant may see by everything that a node had heard; nil for the owner.
    private func seen(
        by caller: Caller,
        in picture: ZonePicture?,
        _ heard: VersionVector
    ) -> Set<String>? {
        if caller == Self.owner { return nil }
        return picture?.readable { ledger.isIn($0, caller.user, heard) } ?? []
    }

    /// Notes how shares differ from before.
    private mutating func note(
        _ before: ZonePicture?,
        _ after: ZonePicture?,
        _ heard: VersionVector,
        by dot: Dot
    ) {
        for share in (after?.shares ?? [:]).values {
            var old = before?.shares[share.name]
            if old?.lives.isDisjoint(with: share.lives) == true { old = nil }
            if old == nil, let root = share.root { sharedRoots.insert(root) }
            for event in share.events(since: old) {
                ledger.note(event, of: [], old, share, heard, by: dot)
            }
            for (who, member) in share.members {
                let known = old?.members[who] ?? ZonePicture.Member()
                for event in member.events(since: known) {
                    ledger.note(event, of: who, old, share, heard, by: dot)
                }
            }
        }
    }

    // MARK: The story

    mutating func count(_ what: String, _ text: String = "", at one: Int) {
        verdict.count(what)
        verdict.tell("step \(steps), node \(one): \(what) \(text)")
    }

    mutating func violate(_ checker: String, _ text: String, at one: Int) {
        verdict.violate(checker, "step \(steps), node \(one): \(text)")
    }

    private static func text(of answer: DrawnRequest.Answer) -> String {
        switch answer {
        case .failure(let error): "\(error.code): \(error.message)"
        case .success(let outcome?):
            (outcome.saves + outcome.deletes).map { item in
                if case .failure(let failure) = item { failure.message } else { "done" }
            }.joined(separator: "; ")
        case .success: "done"
        }
    }
}

extension Caller {
    var participant: ParticipantID { ParticipantID(user: user) }

    /// The letter of the name, for people.
    var letter: String { String(user.suffix(1)) }
}

extension ZonePicture.Member {
    /// The events since then that made the member what it is.
    fileprivate func events(since known: ZonePicture.Member) -> [ShareLedger.Event] {
        var events: [ShareLedger.Event] = []
        if invitation > known.invitation {
            events.append(
                isPublic
                    ? .joined(permission: permission, by: user ?? "")
                    : .invited(permission: permission)
            )
        } else if (version, permission) != (known.version, known.permission) {
            events.append(.set(permission: permission))
        }
        if invitation == known.invitation, roleVersion > known.roleVersion {
            events.append(.appointed)
        }
        let isNew = accepted > known.accepted || user != known.user
        // A user who joins by the URL accepts at once.
        if let user, isNew, !isPublic || invitation == known.invitation {
            events.append(.accepted(by: user))
        }
        if removed > known.removed { events.append(.removed) }
        if left > known.left { events.append(.left) }
        return events
    }
}

extension ZonePicture.Share {
    /// The events since then about its public permission.
    fileprivate func events(since known: ZonePicture.Share?) -> [ShareLedger.Event] {
        var events: [ShareLedger.Event] = []
        if publicEra > known?.publicEra ?? 0 {
            events.append(.opened(permission: publicPermission))
        } else if let known, publicVersion > known.publicVersion {
            events.append(.setPublic(permission: publicPermission))
        }
        if closedEra > known?.closedEra ?? 0 { events.append(.closed) }
        return events
    }
}
