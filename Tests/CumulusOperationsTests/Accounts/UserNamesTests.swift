// Who is found by a user record name, and what a look-up reveals.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct UserNamesTests {
    private let engine = CountingEngine()
    private let store: TestStore
    private let names: UserNames
    private static let container = "iCloud.dev.cumulus"

    init() throws {
        store = try TestStore(engine: engine)
        names = UserNames(following: store.state.changedProfiles)
        for (number, name) in ["ada", "bob", "eve"].enumerated() {
            let id = Bytes(repeating: UInt8(number + 1), count: 16)
            try Self.run(AddUser(name: name, id: id), at: store)
        }
    }

    private static func run(_ change: some ClusterChange, at store: TestStore) throws {
        let request = WriteRequest(change, caller: .administrator)
        _ = try store.run(request).get()
    }

    private func show(
        _ name: String,
        isDiscoverable: Bool = true,
        at store: TestStore? = nil
    ) throws {
        let profile = People.Profile(displayName: name, isDiscoverable: isDiscoverable)
        try Self.run(SetProfile(profile, user: name), at: store ?? self.store)
    }

    private func recordName(_ name: String, in container: String = Self.container) throws -> String
    {
        try #require(try Users.find(name, in: store.reader)).recordName(in: container)
    }

    /// The display name of a user who is found.
    private func find(
        _ recordName: String,
        in container: String = Self.container,
        by names: UserNames? = nil,
        at store: TestStore? = nil
    ) throws -> String? {
        let person = try People.discover(
            recordName: recordName,
            in: container,
            by: names ?? self.names,
            (store ?? self.store).reader
        )
        if let person { #expect(person.user == recordName) }
        return person?.displayName
    }

    @Test func whoWantsToIsFound() throws {
        let ada = try recordName("ada")
        #expect(try find(ada) == nil, "she did not ask to be found")
        try show("ada")
        try show("bob", isDiscoverable: false)
        #expect(try find(ada) == "ada", "the profile changed after the first look-up")
        #expect(try find(recordName("bob")) == nil)
        #expect(try find(recordName("eve")) == nil, "she has no profile")
        try show("ada", isDiscoverable: false)
        #expect(try find(ada) == nil)
        try show("ada")
        #expect(try find(ada) == "ada")
        try Self.run(SetDisabled(true, user: "ada"), at: store)
        #expect(try find(ada) == nil)
        try Self.run(SetDisabled(false, user: "ada"), at: store)
        #expect(try find(ada) == "ada")
    }

    @Test func aNameIsGoodInItsContainer() throws {
        try show("ada")
        let elsewhere = try recordName("ada", in: "iCloud.other")
        #expect(try find(elsewhere) == nil)
        #expect(try find(elsewhere, in: "iCloud.other") == "ada")
        #expect(try find(recordName("ada"), in: "iCloud.other") == nil)
        #expect(try find(recordName("ada")) == "ada")
    }

    @Test(arguments: [
        "", "_", "ada", "__defaultOwner__", "_" + String(repeating: "0", count: 32),
        "_" + String(repeating: "0", count: 31), "_" + String(repeating: "g", count: 32),
    ])
    func whatIsNoUsersNameLeadsToNobody(name: String) throws {
        try show("ada")
        #expect(try find(name) == nil)
        let upper = try recordName("ada").uppercased()
        #expect(try find(upper) == nil, "a record name has one spelling")
    }

    /// A store of the previous release holds the profiles and nothing else, and every store does
    /// when its node starts.
    @Test func aStartReadsTheProfilesAgain() throws {
        try show("ada")
        try show("bob", isDiscoverable: false)
        try store.restart()
        let names = UserNames(following: store.state.changedProfiles)
        #expect(try find(recordName("ada"), by: names) == "ada")
        #expect(try find(recordName("bob"), by: names) == nil)
        try show("bob")
        #expect(try find(recordName("bob"), by: names) == "bob")
    }

    /// There are more profiles than are read at a time, and more containers than there is room for.
    @Test func allProfilesAreRead() throws {
        let ids = (0..<2_100).map { number in
            Bytes(repeating: 9, count: 14) + [UInt8(number >> 8), UInt8(number & 255)]
        }
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            let scope = try transaction.makeScope(.cluster)
            var value = CanonicalWriter()
            value.delimited("someone".utf8)
            value.varint(1)
            let registers = ids.map { id in
                Commit.Operation.register(
                    Commit.Register(
                        namespace: AccountRegister.profile,
                        key: [id],
                        value: value.bytes
                    )
                )
            }
            _ = try transaction.perform(registers, in: scope, zone: nil, author: Author())
        }
        // Zoe is the last one in the order of ids.
        try Self.run(AddUser(name: "zoe", id: Bytes(repeating: 0xFF, count: 16)), at: store)
        for name in ["ada", "zoe"] { try show(name) }
        try store.restart()
        let changed = store.state.changedProfiles
        let names = UserNames(following: changed, most: 3_000)
        for container in ["iCloud.a", "iCloud.b", "iCloud.a"] {
            for user in ["ada", "zoe"] {
                let name = try recordName(user, in: container)
                #expect(try find(name, in: container, by: names) == user)
            }
        }
    }

    /// Changes of another node's callers arrive as commits, or in a state.
    @Test func profilesOfOtherNodesAreFollowed() throws {
        let other = try TestStore(seed: 2)
        let here = UserNames(following: other.state.changedProfiles)
        let ada = try recordName("ada")
        #expect(try find(ada, by: here, at: other) == nil, "the node knows of no user")
        try show("ada")
        let scope = try #require(try store.reader.scope(.cluster))
        let target = try #require(try other.reader.scope(.cluster))
        for dot in try store.reader.vector(of: scope).dots {
            for seq in 1...dot.seq {
                let key = RowKey.commit(scope, Dot(dot.incarnation, seq))
                let bytes = try #require(try store.reader.get(key))
                let commit = try Commit(bytes)
                try other.change { (transaction: inout WriteTransaction) throws(EngineError) in
                    try transaction.apply(commit, bytes: bytes, in: target)
                }
            }
        }
        #expect(try find(ada, by: here, at: other) == "ada")

        let bob = try recordName("bob")
        #expect(try find(bob, by: here, at: other) == nil)
        try show("bob")
        let id = try #require(try Users.find("bob", in: store.reader)).id
        let row = try #require(try store.reader.register(scope, AccountRegister.profile, [id]))
        try other.change { (transaction: inout WriteTransaction) throws(EngineError) in
            try ScopeRegisters(of: target).join(
                row,
                into: AccountRegister.profile,
                [id],
                &transaction
            )
        }
        #expect(try find(bob, by: here, at: other) == "bob")
    }

    /// A name that no user has costs as much as the name of a user who doesn't want to be found,
    /// has no profile, or is disabled.
    @Test func nobodyCostsAsMuchAsSomebodyHidden() throws {
        for name in ["ada", "bob"] { try show(name, isDiscoverable: name == "ada") }
        let ada = try recordName("ada")
        #expect(try find(ada) == "ada")
        func looks(_ recordName: String) throws -> Int {
            let before = engine.looks
            _ = try find(recordName)
            return engine.looks - before
        }
        let found = try looks(ada)
        #expect(found > 0)
        let strangers = "_" + String(repeating: "0", count: 32)
        let elsewhere = try recordName("ada", in: "iCloud.other")
        for name in [try recordName("bob"), try recordName("eve"), strangers, elsewhere] {
            #expect(try looks(name) == found)
        }
        try show("ada", isDiscoverable: false)
        #expect(try looks(ada) == found)
        try show("ada")
        try Self.run(SetDisabled(true, user: "ada"), at: store)
        #expect(try looks(ada) == found)
    }
}
