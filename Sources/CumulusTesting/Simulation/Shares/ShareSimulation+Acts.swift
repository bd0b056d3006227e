// The acts of people in a history of sharing: the owner keeps records in a zone, and participants
// write there. `ShareSimulation+Sharing` has the acts on shares.
//
// `ShareSimulation` calls it for each step in which a person acts. A refusal is no fault, because
// people also try forbidden acts.

import CumulusModel
import CumulusOperations
import CumulusStorage

extension ShareSimulation {
    var address: ZoneAddress { ZoneAddress(name: Self.zone) }
    var sharedAddress: ZoneAddress {
        ZoneAddress(name: Self.zone, owner: Self.owner.user)
    }

    /// Somebody does something at a node.
    mutating func act(at one: Int) throws {
        guard let picture = try picture(at: one) else { return try makeZone(at: one) }
        if isPublic, chance(50) { return try actPublicly(in: picture, at: one) }
        switch Int.random(in: 0..<100, using: &dice) {
        case ..<24: try create(in: picture, at: one)
        case ..<38: try move(in: picture, at: one)
        case ..<42: try edit(in: picture, at: one)
        case ..<50: try delete(in: picture, at: one)
        case ..<61: try share(in: picture, at: one)
        case ..<63: try stop(in: picture, at: one)
        case ..<75: try changeMembers(in: picture, at: one)
        case ..<84: try accept(in: picture, at: one)
        case ..<88: try leave(in: picture, at: one)
        case ..<95: try write(in: picture, at: one)
        case ..<99:
            guard let last = asked.randomElement(using: &dice) else { return }
            count("repetitions", last.text, at: one)
            try ask(last, at: one)
        default:
            let delete = ModifyZones(deleting: [Self.zone])
            try ask(owners(.modifyZones(delete), "the owner deletes the zone"), at: one)
        }
    }

    mutating func makeZone(at one: Int) throws {
        let save = ModifyZones(saving: [Self.zone])
        try ask(owners(.modifyZones(save), "the owner makes the zone"), at: one)
    }

    // MARK: Records of the owner's

    private mutating func create(in picture: ZonePicture, at one: Int) throws {
        let free = Self.names.filter { picture.records[$0] == nil }.shuffled(using: &dice)
        guard let name = free.first else { return }
        var items = [item(name, below: anyone(in: picture, orNothing: true))]
        if free.count > 1, chance(30) { items.append(item(free[1], below: name)) }
        try askTwice(save(items), percent: 20, at: one)
    }

    private mutating func move(in picture: ZonePicture, at one: Int) throws {
        guard let name = anyone(in: picture) else { return }
        let parent = anyone(in: picture, orNothing: true)
        try ask(save([item(name, below: parent ?? "")]), at: one)
    }

    private mutating func edit(in picture: ZonePicture, at one: Int) throws {
        guard let name = anyone(in: picture) else { return }
        try ask(save([item(name, below: nil)]), at: one)
    }

    /// A record goes alone, with all below it, or after what hangs directly below it was moved.
    private mutating func delete(in picture: ZonePicture, at one: Int) throws {
        guard let name = anyone(in: picture) else { return }
        var (gone, moved): (Set<String>, [SaveItem]) = ([name], [])
        switch Int.random(in: 0..<3, using: &dice) {
        case 0: gone = picture.below([name])
        case 1:
            let children = picture.records.filter { $0.value.parent == name && $0.key != name }
            let parent = picture.records[name]?.parent
            for child in children.keys.sorted() { moved.append(item(child, below: parent ?? "")) }
        default: break
        }
        let modify = ModifyRecords(
            database: .private,
            policy: .changedKeys,
            saves: moved,
            deletes: gone.sorted().map { DeleteItem($0, in: address) }
        )
        let text = "the owner deletes \(gone.sorted()) and moves \(moved.map(\.address.name))"
        try ask(owners(.modifyRecords(modify), text), at: one)
    }

    // MARK: Records by participants

    /// A participant tries something with a record.
    private mutating func write(in picture: ZonePicture, at one: Int) throws {
        guard let caller = devices.randomElement(using: &dice)?.caller,
            let name = Self.names.randomElement(using: &dice)
        else { return }
        var modify = ModifyRecords(database: .shared, policy: .changedKeys)
        let what: String
        switch Int.random(in: 0..<10, using: &dice) {
        case ..<2:
            what = "deletes \(name)"
            modify.deletes = [DeleteItem(name, in: sharedAddress)]
        case ..<7:
            let parent = anyone(in: picture)
            what = "puts \(name) below \(parent ?? "nothing")"
            modify.saves = [item(name, below: parent ?? "", in: sharedAddress)]
        case ..<9:
            what = "edits \(name)"
            modify.saves = [item(name, below: nil, in: sharedAddress)]
        default:
            what = "edits \(name) by an old tag"
            modify.policy = .ifUnchanged
            modify.saves = [item(name, below: nil, in: sharedAddress, tag: [1])]
        }
        try ask(asking(.modifyRecords(modify), "\(caller.letter) \(what)", caller), at: one)
    }

    // MARK: Parts of requests

    /// Sends a request, and now and then a node that knows nothing of it gets it again.
    mutating func askTwice(_ asked: Asked, percent: Int, at one: Int) throws {
        try ask(asked, at: one)
        guard chance(percent) else { return }
        let other = another(than: one)
        count("twins", asked.text, at: other)
        try ask(asked, at: other)
    }

    func save(_ items: [SaveItem]) -> Asked {
        let modify = ModifyRecords(database: .private, policy: .changedKeys, saves: items)
        let text = items.map { item in
            let parent = (try? item.content.get())?.parent
            return "\(item.address.name)\(parent.map { " below '\($0)'" } ?? "")"
        }
        return owners(.modifyRecords(modify), "the owner saves \(text.joined(separator: ", "))")
    }

    func owners(_ change: DrawnChange, _ text: String) -> Asked {
        asking(change, text, Self.owner)
    }

    func asking(
        _ change: DrawnChange,
        _ text: String,
        _ caller: Caller
    ) -> Asked {
        let id = stores[0].newRequestID()
        let asker = Asker(
            scope: stores[0].scope,
            caller: caller,
            requestID: id,
            digest: id.bytes
        )
        return Asked(request: DrawnRequest(change, for: asker), text: text)
    }

    /// - Parameter parent: nil: as it is.
    mutating func item(
        _ name: String,
        below parent: String?,
        in zone: ZoneAddress? = nil,
        tag: Bytes? = nil
    ) -> SaveItem {
        made += 1
        return SaveItem(
            name,
            ["n": .int64(made)],
            in: zone ?? address,
            tag: tag,
            parent: parent
        )
    }

    /// The name of a record that lives.
    mutating func anyone(
        in picture: ZonePicture,
        orNothing: Bool = false
    ) -> String? {
        let living = Self.names.filter { picture.records[$0] != nil }
        let index = Int.random(in: 0..<max(1, living.count + (orNothing ? 1 : 0)), using: &dice)
        return index < living.count ? living[index] : nil
    }
}
