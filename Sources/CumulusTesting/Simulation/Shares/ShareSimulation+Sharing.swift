// The acts on shares in a history: the owner shares, and changes with whom; participants accept and
// leave.
//
// `ShareSimulation.act` calls it. Rules of writing are broken here: it then writes what a node
// would write without the rule.

import CumulusModel
import CumulusOperations
import CumulusStorage

extension ShareSimulation {
    /// - Parameter open: The permission of all who have the URL; with `none` some users are
    ///   invited.
    mutating func share(
        in picture: ZonePicture,
        open: ShareParticipant.Permission = .none,
        at one: Int
    ) throws {
        let isZone = chance(12)
        var root: String?
        if !isZone {
            // Now and then the root is made with its share.
            root = chance(20) ? Self.names.randomElement(using: &dice) : anyone(in: picture)
            if root == nil { return }
        }
        let ending = chance(50) ? "\(one)" : "same"
        let name = root.map { "\($0).\(ending)" } ?? Names.zoneShare
        if picture.shares[name] != nil { return }
        var members: [WantedShare.Member] = []
        for device in devices where open == .none && (members.isEmpty || chance(60)) {
            members.append(member(device.caller))
        }
        let parts = WantedShare(root: root, publicPermission: open, members: members)
        var items = [shareItem(name, parts)]
        if let root { items.insert(item(root, below: nil), at: 0) }
        var people = members.map(\.name).joined(separator: ", ")
        if open > .none { people = "the public, \(open)" }
        var asked = save(items)
        asked = Asked(
            request: asked.request,
            text: "the owner shares \(root ?? "the zone") as \(name) with \(people)"
        )
        try askTwice(asked, percent: 40, at: one)
    }

    mutating func stop(in picture: ZonePicture, at one: Int) throws {
        guard let share = anyShare(in: picture) else { return }
        let delete = DeleteItem(share.name, in: address)
        let modify = ModifyRecords(database: .private, deletes: [delete])
        try ask(owners(.modifyRecords(modify), "the owner stops \(share.name)"), at: one)
    }

    /// The owner or an administrator saves the list of participants as it should be.
    mutating func changeMembers(in picture: ZonePicture, at one: Int) throws {
        guard let share = anyShare(in: picture), let user = devices.randomElement(using: &dice)
        else { return }
        let who = user.caller
        var actor = Self.owner
        if chance(25), let other = devices.randomElement(using: &dice) { actor = other.caller }
        var members = share.listed
        let known = share.members[who.participant.wholeBytes]
        let index = members.firstIndex { $0.name == who.user }
        let what: String
        if let index {
            switch Int.random(in: 0..<4, using: &dice) {
            case 0:
                what = "gives \(who.letter) another role"
                members[index].role =
                    members[index].role == .administrator ? .privateUser : .administrator
            case 1:
                what = "removes \(who.letter)"
                if broken == .removal {
                    return try forbid(who, members, index, share, picture, at: one)
                }
                members.remove(at: index)
            default:
                // A broken rule: who was removed is still in the list, and may nothing.
                if members[index].permission == .none { return }
                let isReader = members[index].permission == .readOnly
                what = "lets \(who.letter) \(isReader ? "write" : "read")"
                let permission: ShareParticipant.Permission = isReader ? .readWrite : .readOnly
                if broken == .numbers {
                    return try grant(permission, to: who, share, picture, at: one)
                }
                members[index].permission = permission
            }
        } else {
            what = "invites \(who.letter)"
            members.append(member(who))
        }
        let isDone = try ask(list(members, of: share, by: actor, what), at: one)
        if broken == .answer, isDone, index == nil, let user = known?.user {
            // A broken rule: who accepted once has accepted.
            let entry = try entry(4, of: who, share.name, at: one) { $0.invitation }
            let accepted = AccessEntries.Entry(key: entry.key, value: entry.value + user.utf8)
            try write(accepted, to: share, in: picture, by: user, at: one)
        }
    }

    /// - Parameter open: The public permission; nil: as it is.
    func list(
        _ members: [WantedShare.Member],
        of share: ZonePicture.Share,
        open: ShareParticipant.Permission? = nil,
        by actor: Caller,
        _ what: String
    ) -> Asked {
        var root: String?
        if case .record(let name, _) = share.root { root = name }
        let isOwner = actor == Self.owner
        let item = shareItem(
            share.name,
            WantedShare(root: root, publicPermission: open ?? share.open, members: members),
            in: isOwner ? address : sharedAddress,
            tag: share.tag
        )
        let modify = ModifyRecords(database: isOwner ? .private : .shared, saves: [item])
        return asking(.modifyRecords(modify), "\(actor.letter) \(what) in \(share.name)", actor)
    }

    mutating func accept(in picture: ZonePicture, at one: Int) throws {
        var offers: [(share: ZonePicture.Share, caller: Caller)] = []
        for share in picture.shares.values.sorted(by: { $0.name < $1.name }) {
            for device in devices {
                let member = share.members[device.caller.participant.wholeBytes]
                let isOpen = member.map { $0.isInvited && !$0.hasAccepted } ?? false
                if isOpen || chance(10) { offers.append((share, device.caller)) }
            }
        }
        guard let (share, caller) = offers.randomElement(using: &dice),
            let id = picture.id(of: share)
        else { return }
        let text = "\(caller.letter) accepts \(share.name)"
        let accept = asking(.acceptShare(AcceptShare(share: id)), text, caller)
        let member = share.members[caller.participant.wholeBytes]
        let isOpen = member.map { $0.isInvited && !$0.hasAccepted } ?? false
        guard try !ask(accept, at: one), isOpen, picture.isInForce(share), share.open == .none,
            share.permission(of: caller.user) == 0
        else { return }
        violate("S6", "\(text), and is refused; \(picture.text)", at: one)
    }

    mutating func leave(in picture: ZonePicture, at one: Int) throws {
        guard let caller = devices.randomElement(using: &dice)?.caller else { return }
        let shares = picture.shares.values.sorted { $0.name < $1.name }.filter { share in
            picture.isInForce(share)
                && share.members.values.contains { $0.user == caller.user && $0.hasAccepted }
        }
        guard let share = shares.randomElement(using: &dice) else { return }
        if broken == .left { return try answerAnew(caller, share, picture, at: one) }
        if chance(30) {
            let modify = ModifyZones(database: .shared, deletes: [.success(sharedAddress)])
            try ask(
                asking(.modifyZones(modify), "\(caller.letter) leaves the zone", caller),
                at: one
            )
        } else {
            let delete = DeleteItem(share.name, in: sharedAddress)
            let modify = ModifyRecords(database: .shared, deletes: [delete])
            let text = "\(caller.letter) leaves \(share.name)"
            try ask(asking(.modifyRecords(modify), text, caller), at: one)
        }
    }

    // MARK: Broken rules

    /// Instead of removing: a permission like others.
    private mutating func forbid(
        _ who: Caller,
        _ members: [WantedShare.Member],
        _ index: Int,
        _ share: ZonePicture.Share,
        _ picture: ZonePicture,
        at one: Int
    ) throws {
        var members = members
        members[index].permission = .none
        let heard = try stores[one].vector()
        let asked = list(members, of: share, by: Self.owner, "forbids \(who.letter) all")
        guard try ask(asked, at: one), let dot = try newest(at: one, since: heard) else { return }
        ledger.note(.removed, of: who.participant.wholeBytes, share, share, heard, by: dot)
    }

    /// Instead of counting versions: the clock.
    private mutating func grant(
        _ permission: ShareParticipant.Permission,
        to who: Caller,
        _ share: ZonePicture.Share,
        _ picture: ZonePicture,
        at one: Int
    ) throws {
        let clock = UInt32(truncatingIfNeeded: stores[one].now - 1_750_000_000_000)
        var entry = try entry(1, of: who, share.name, at: one) { $0.invitation }
        entry = AccessEntries.Entry(
            key: entry.key,
            value: entry.value + Self.bytes(clock) + [255 - permission.rawValue]
        )
        let heard = try stores[one].vector()
        try write(entry, to: share, in: picture, by: Self.owner.user, at: one)
        guard let dot = try newest(at: one, since: heard) else { return }
        let event = ShareLedger.Event.set(permission: permission.rawValue)
        ledger.note(event, of: who.participant.wholeBytes, share, share, heard, by: dot)
    }

    /// Instead of leaving: another answer, in the place of the first one.
    private mutating func answerAnew(
        _ who: Caller,
        _ share: ZonePicture.Share,
        _ picture: ZonePicture,
        at one: Int
    ) throws {
        let entry = try entry(4, of: who, share.name, at: one) { $0.invitation - 1 }
        let answer = AccessEntries.Entry(key: entry.key, value: entry.value + who.user.utf8)
        let heard = try stores[one].vector()
        try write(answer, to: share, in: picture, by: who.user, at: one)
        guard let dot = try newest(at: one, since: heard) else { return }
        ledger.note(.left, of: who.participant.wholeBytes, share, share, heard, by: dot)
    }

    /// The beginning of an entry: its key, and a number as its value.
    private func entry(
        _ field: UInt8,
        of who: Caller,
        _ share: String,
        at one: Int,
        _ number: (ZonePicture.Member) -> UInt32
    ) throws -> AccessEntries.Entry {
        let id = who.participant.wholeBytes
        let member = try picture(at: one)?.shares[share]?.members[id] ?? ZonePicture.Member()
        return AccessEntries.Entry(key: [1] + id + [field], value: Self.bytes(number(member)))
    }

    private static func bytes(_ number: UInt32) -> Bytes {
        withUnsafeBytes(of: number.bigEndian) { Bytes($0) }
    }

    /// Makes a commit that no request makes.
    private mutating func write(
        _ entry: AccessEntries.Entry,
        to share: ZonePicture.Share,
        in picture: ZonePicture,
        by user: String,
        at one: Int
    ) throws {
        count("broken rules", "\(share.name): \(entry.key.hex) \(entry.value.hex)", at: one)
        let scope = try stores[one].scopeNumber()
        let access = Commit.Access(
            recordName: share.name,
            births: share.lives.sorted(),
            entries: [entry]
        )
        try stores[one].change { (transaction: inout WriteTransaction) throws(EngineError) in
            _ = try transaction.perform(
                [.access(access)],
                in: scope,
                zone: picture.zone,
                author: Author(user: user)
            )
        }
    }

    // MARK: Parts of requests

    private func shareItem(
        _ name: String,
        _ parts: WantedShare,
        in zone: ZoneAddress? = nil,
        tag: Bytes? = nil
    ) -> SaveItem {
        let content = SaveItem.Content(
            type: Names.shareType,
            changeTag: tag,
            fields: RecordBody(),
            share: parts
        )
        return SaveItem(
            address: RecordAddress(zone: zone ?? address, name: name),
            content: .success(content)
        )
    }

    private mutating func member(_ caller: Caller) -> WantedShare.Member {
        WantedShare.Member(
            id: caller.participant,
            name: caller.user,
            role: chance(25) ? .administrator : .privateUser,
            permission: chance(50) ? .readWrite : .readOnly
        )
    }

    mutating func anyShare(in picture: ZonePicture) -> ZonePicture.Share? {
        picture.shares.values.sorted { $0.name < $1.name }.randomElement(using: &dice)
    }
}

extension ZonePicture {
    /// The id in a share's URL.
    func id(of share: Share) -> ShareID? {
        switch share.root {
        case nil: nil
        case .zone: ShareID(.zone, in: zone)
        case .record(let name, let birth): ShareID(.record(name: name, birth: birth), in: zone)
        }
    }
}

extension ZonePicture.Share {
    /// What all who have the URL may do.
    var open: ShareParticipant.Permission {
        ShareParticipant.Permission(rawValue: openPermission) ?? .none
    }

    /// Its list of participants as its owner is shown it, by names.
    var listed: [WantedShare.Member] {
        members.filter { isListed($0.value) }.compactMap { who, member in
            guard let id = ParticipantID(wholeBytes: who),
                let role = ShareParticipant.Role(rawValue: member.role),
                let permission = ShareParticipant.Permission(rawValue: member.permission)
            else { return nil }
            return WantedShare.Member(
                id: id,
                name: member.name,
                role: role,
                permission: permission
            )
        }.sorted { $0.name < $1.name }
    }
}
