// Invitations by handle in a history: people are invited by their e-mail addresses, which an
// operator gives to users, before or after that and at other nodes.
//
// `ShareSimulation.actPublicly` calls it. The holder of a handle is in the cluster's own scope,
// which travels from node to node apart from the shares.

import CumulusModel
import CumulusOperations
import CumulusStorage

extension ShareSimulation {
    /// The last digit of each one's record name is the one's name, for people.
    private static let ids: [(name: String, byte: UInt8)] = [
        ("b", 0x19), ("c", 0x0F), ("d", 0x0D),
    ]

    private static let handles = ["kim@example.org", "lee@example.org"].compactMap { text in
        try? Handle(.email, Bytes(text.utf8))
    }

    static func addPeople(to store: TestStore) throws -> [Users.User] {
        try ids.map { name, byte in
            let add = AddUser(name: name, id: Bytes(repeating: byte, count: 16))
            return try store.run(WriteRequest(add, caller: .administrator)).get().user
        }
    }

    /// Record name of the user who has a handle, as its register on the node says.
    func holder(of handle: Handle, at one: Int) throws -> String? {
        guard let value = try register(AccountRegister.handle, handle.key, at: one) else {
            return nil
        }
        let id = try HandleHolder(value: value).userID
        return people.first { $0.id == id }?.recordName(in: stores[one].scope.container)
    }

    /// Whether others find a user by its handles, as its register on the node says.
    private func isDiscoverable(_ user: String, at one: Int) throws -> Bool {
        let container = stores[one].scope.container
        guard let person = people.first(where: { $0.recordName(in: container) == user }) else {
            return false
        }
        // The last byte says so.
        return try register(AccountRegister.profile, [person.id], at: one)?.last == 1
    }

    private func register(_ namespace: String, _ key: [Bytes], at one: Int) throws -> Bytes? {
        let reader = stores[one].reader
        guard let scope = try reader.scope(.cluster) else { return nil }
        return try reader.register(scope, namespace, key)?.value
    }

    // MARK: Acts

    /// An operator gives an address to a user, also if another one has it, or takes it away.
    mutating func giveAddress(at one: Int) throws {
        guard let handle = Self.handles.randomElement(using: &dice),
            let person = people.randomElement(using: &dice)
        else { return }
        let isHeld = chance(85)
        try operate(SetHandle(handle, user: person.name, isHeld: isHeld), at: one)
        let text = "\(handle.text) is \(isHeld ? "given to" : "taken from") \(person.name)"
        count("addresses given", text, at: one)
    }

    mutating func changeProfile(at one: Int) throws {
        guard let person = people.randomElement(using: &dice) else { return }
        let profile = People.Profile(displayName: person.name, isDiscoverable: chance(50))
        try operate(SetProfile(profile, user: person.name), at: one)
        count("profiles", "\(person.name) is found: \(profile.isDiscoverable)", at: one)
    }

    private func operate(_ change: some AccountChange, at one: Int) throws {
        _ = try stores[one].run(WriteRequest(change, caller: .administrator)).get()
    }

    /// The owner or an administrator invites an address, or takes its invitation away.
    mutating func changeAddresses(in picture: ZonePicture, at one: Int) throws {
        guard let share = anyShare(in: picture),
            let handle = Self.handles.randomElement(using: &dice)
        else { return }
        var members = share.listed
        let id = ParticipantID(handle)
        let what: String
        if members.contains(where: { $0.id == id }), chance(40) {
            members.removeAll { $0.id == id }
            what = "removes \(handle.text)"
        } else if let index = members.firstIndex(where: { $0.id == id }) {
            let isReader = members[index].permission == .readOnly
            members[index].permission = isReader ? .readWrite : .readOnly
            what = "lets \(handle.text) \(isReader ? "write" : "read")"
        } else {
            what = "invites \(handle.text)"
            members.append(
                WantedShare.Member(
                    id: id,
                    name: handle.text,
                    role: chance(25) ? .administrator : .privateUser,
                    permission: chance(50) ? .readWrite : .readOnly
                )
            )
        }
        try ask(list(members, of: share, by: anyActor(), what), at: one)
    }

    /// Somebody looks for an address: the answer names its user only if that is discoverable.
    mutating func lookUp(at one: Int) throws {
        guard let handle = Self.handles.randomElement(using: &dice) else { return }
        let store = stores[one]
        let found = try LookUpParticipant(handle: handle).run(
            in: store.scope.container,
            store.reader
        )
        let holder = try holder(of: handle, at: one)
        let user = try holder.flatMap { try isDiscoverable($0, at: one) ? $0 : nil }
        count(user == nil ? "look-ups without a user" : "look-ups", handle.text, at: one)
        let expected = ShareDetails.Participant(
            id: ParticipantID(handle).wholeBytes,
            user: user ?? "",
            handle: ShareDetails.Participant.Handle(kind: 1, text: handle.text)
        )
        if found == expected { return }
        violate("S17", "a look-up of \(handle.text) finds \(found), not \(expected)", at: one)
    }
}
