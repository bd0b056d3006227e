// The acts on public shares in a history: the owner opens them to all who have the URL, changes the
// public permission, and closes them; users join, write, and are removed.
//
// `ShareSimulation.act` calls it in histories of public shares. `ShareSimulation+PublicChecks` has
// the invariants, `ShareSimulation+Handles` the invitations by handle.

import CumulusModel
import CumulusOperations
import CumulusStorage

extension ShareSimulation {
    mutating func actPublicly(in picture: ZonePicture, at one: Int) throws {
        switch Int.random(in: 0..<100, using: &dice) {
        case ..<10: try share(in: picture, open: anyOpenPermission(), at: one)
        case ..<30: try setPublic(in: picture, at: one)
        case ..<52: try join(in: picture, at: one)
        case ..<60: try removeJoiner(in: picture, at: one)
        case ..<70: try writeWhatIsSeen(in: picture, at: one)
        case ..<79: try changeAddresses(in: picture, at: one)
        case ..<87: try giveAddress(at: one)
        case ..<90: try changeProfile(at: one)
        case ..<95: try fetchMetadata(in: picture, at: one)
        default: try lookUp(at: one)
        }
    }

    private mutating func anyOpenPermission() -> ShareParticipant.Permission {
        chance(50) ? .readWrite : .readOnly
    }

    /// The owner, now and then an administrator.
    mutating func anyActor() -> Caller {
        if chance(20), let device = devices.randomElement(using: &dice) { return device.caller }
        return Self.owner
    }

    /// Opens a share, changes what the public may, or closes it; now and then twice in a row.
    private mutating func setPublic(in picture: ZonePicture, at one: Int) throws {
        guard let share = anyShare(in: picture) else { return }
        let actor = anyActor()
        try setPublic(share, by: actor, at: one)
        guard chance(30), let share = try self.picture(at: one)?.shares[share.name] else { return }
        try setPublic(share, by: actor, at: one)
    }

    private mutating func setPublic(
        _ share: ZonePicture.Share,
        by actor: Caller,
        at one: Int
    ) throws {
        let others = ShareParticipant.Permission.allCases.filter { $0 != share.open }
        guard let open = others.randomElement(using: &dice) else { return }
        let text = "sets the public permission to \(open)"
        try ask(list(share.listed, of: share, open: open, by: actor, text), at: one)
    }

    /// A user who has a URL accepts: joins an open share, or takes an invitation of a handle.
    private mutating func join(in picture: ZonePicture, at one: Int) throws {
        var offers: [(share: ZonePicture.Share, caller: Caller)] = []
        for share in picture.shares.values.sorted(by: { $0.name < $1.name }) {
            let isOfHandle = share.listed.contains { $0.id.kind != .user }
            for caller in devices.map(\.caller) {
                let isOut = share.permission(of: caller.user) == 0
                let canEnter = share.open > .none || isOfHandle && chance(50)
                if isOut && canEnter || chance(5) { offers.append((share, caller)) }
            }
        }
        guard let (share, caller) = offers.randomElement(using: &dice),
            let id = picture.id(of: share)
        else { return }
        let text = "\(caller.letter) opens the URL of \(share.name)"
        try ask(asking(.acceptShare(AcceptShare(share: id)), text, caller), at: one)
    }

    private mutating func removeJoiner(in picture: ZonePicture, at one: Int) throws {
        var joined: [(share: ZonePicture.Share, who: ParticipantID)] = []
        for share in picture.shares.values.sorted(by: { $0.name < $1.name })
        where share.open > .none {
            for member in share.listed where member.role == .publicUser {
                joined.append((share, member.id))
            }
        }
        guard let (share, who) = joined.randomElement(using: &dice) else { return }
        let rest = share.listed.filter { $0.id != who }
        let text = "removes \(share.members[who.wholeBytes]?.name ?? "a user"), who joined"
        try ask(list(rest, of: share, by: anyActor(), text), at: one)
    }

    /// A participant edits a record that it sees; with the right to read only, it is refused.
    private mutating func writeWhatIsSeen(in picture: ZonePicture, at one: Int) throws {
        guard let caller = devices.randomElement(using: &dice)?.caller else { return }
        let seen = picture.readable(by: caller.user).filter { picture.shares[$0] == nil }
        guard let name = seen.sorted().randomElement(using: &dice) else { return }
        let modify = ModifyRecords(
            database: .shared,
            policy: .changedKeys,
            saves: [item(name, below: nil, in: sharedAddress)]
        )
        let text = "\(caller.letter) edits \(name), which it sees"
        let isDone = try ask(asking(.modifyRecords(modify), text, caller), at: one)
        let mayWrite = picture.readable(by: caller.user, atLeast: 2).contains(name)
        count(mayWrite ? "writes by participants" : "writes by readers", text, at: one)
        if isDone == mayWrite { return }
        let what = isDone ? "is allowed, and may only read" : "is refused, and may write"
        violate("S15", "\(text): \(what); \(picture.text)", at: one)
    }

    /// A user asks what a URL leads to.
    private mutating func fetchMetadata(in picture: ZonePicture, at one: Int) throws {
        guard let share = anyShare(in: picture), picture.isInForce(share),
            let id = picture.id(of: share),
            let caller = devices.randomElement(using: &dice)?.caller
        else { return }
        let isTold = try entrance(to: share, for: caller.user, at: one) != .closed
        let text = "\(caller.letter) asks about \(share.name)"
        let store = stores[one]
        do {
            let fetch = FetchShareMetadata(share: id)
            let metadata = try fetch.run(
                store.scope,
                store.scopeNumber(),
                by: caller,
                in: store.reader
            )
            count("metadata", text, at: one)
            checkTold(metadata.share, to: caller, picture, at: one)
            if !isTold { violate("S17", "\(text), and is told; \(picture.text)", at: one) }
        } catch ReadFailure.service(let error) {
            count("metadata refused", text, at: one)
            guard isTold else { return }
            violate("S17", "\(text), and gets \(error.message); \(picture.text)", at: one)
        }
    }
}
