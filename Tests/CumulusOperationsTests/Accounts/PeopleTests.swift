// Who is found by a handle, and what a look-up reveals.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct PeopleTests {
    private let engine = CountingEngine()
    private let store: TestStore
    private static let container = "iCloud.dev.cumulus"

    init() throws {
        store = try TestStore(engine: engine)
        for (number, name) in ["ada", "bob"].enumerated() {
            let id = Bytes(repeating: UInt8(number + 1), count: 16)
            let request = WriteRequest(
                AddUser(name: name, id: id),
                caller: .administrator
            )
            _ = try store.run(request).get()
        }
    }

    private func email(_ text: String = "ada@example.org") throws -> Handle {
        try Handle(.email, Bytes(text.utf8))
    }

    private func change<Asked: AccountChange>(
        _ change: Asked,
        by caller: Caller = .administrator
    ) throws -> Result<Asked.Outcome, ServiceError> {
        try store.run(WriteRequest(change, caller: caller))
    }

    private func make(_ change: some AccountChange, by caller: Caller) throws {
        _ = try self.change(change, by: caller).get()
    }

    private func set(
        _ handle: Handle,
        of user: String,
        isHeld: Bool = true
    ) throws -> SetHandle.Outcome {
        try change(SetHandle(handle, user: user, isHeld: isHeld)).get()
    }

    private func show(_ name: String, isDiscoverable: Bool = true) throws {
        let profile = People.Profile(
            displayName: name == "ada" ? "Ada" : "Bob",
            isDiscoverable: isDiscoverable
        )
        _ = try change(SetProfile(profile, user: name)).get()
    }

    private func find(_ handle: Handle) throws -> String? {
        try People.discover(handle, in: Self.container, store.reader)?.displayName
    }

    private func handles(_ name: String) throws -> [String] {
        let user = try #require(try Users.find(name, in: store.reader))
        return try People.handles(of: user.id, in: store.reader).map(\.handle.text)
    }

    @Test func whoWantsToIsFound() throws {
        let handle = try email()
        #expect(try set(handle, of: "ada") == .init(existed: false, isMoved: false))
        #expect(try set(handle, of: "ada") == .init(existed: true, isMoved: false))
        #expect(try find(handle) == nil, "nobody asked to be found")
        try show("ada")
        let ada = try #require(try Users.find("ada", in: store.reader))
        let found = try #require(try People.discover(handle, in: Self.container, store.reader))
        #expect(found.displayName == "Ada" && found.user == ada.recordName(in: Self.container))
        // The user has another record name in another container.
        let elsewhere = try People.discover(handle, in: "iCloud.other", store.reader)
        #expect(elsewhere?.user == ada.recordName(in: "iCloud.other"))
        #expect(elsewhere?.user != found.user)
        #expect(try find(email("eve@example.org")) == nil)
        try show("ada", isDiscoverable: false)
        #expect(try find(handle) == nil)
        try show("ada")
        _ = try change(SetDisabled(true, user: "ada")).get()
        #expect(try find(handle) == nil)
        _ = try change(SetDisabled(false, user: "ada")).get()
        #expect(try find(handle) == "Ada")
        #expect(try set(handle, of: "ada", isHeld: false) == .init(existed: true, isMoved: false))
        #expect(try find(handle) == nil)
        #expect(try handles("ada").isEmpty)
    }

    @Test func aHandleLeadsToOneUser() throws {
        let handle = try email()
        for name in ["ada", "bob"] { try show(name) }
        _ = try set(handle, of: "ada")
        #expect(try set(handle, of: "bob") == .init(existed: false, isMoved: true))
        #expect(try find(handle) == "Bob")
        #expect(try handles("ada").isEmpty)
        #expect(try handles("bob") == ["ada@example.org"])
        // A handle that ada lost can't be taken away from her.
        #expect(
            try set(handle, of: "ada", isHeld: false) == .init(existed: false, isMoved: false)
        )
        #expect(try find(handle) == "Bob")
        _ = try set(handle, of: "bob", isHeld: false)
        #expect(try set(handle, of: "ada") == .init(existed: false, isMoved: false))
        #expect(try find(handle) == "Ada")
    }

    @Test func aLookAlikeLeadsToNobody() throws {
        try show("ada")
        _ = try set(try email(), of: "ada")
        // The first letter is Cyrillic.
        let alike = try email("\u{430}da@example.org")
        #expect(try find(alike) == nil)
        #expect(try find(email("ADA@EXAMPLE.ORG")) == "Ada")
        try show("bob")
        _ = try set(alike, of: "bob")
        #expect(try find(alike) == "Bob")
        #expect(try find(email()) == "Ada")
    }

    /// The number of reads of a look-up in a store that holds nothing in memory.
    private func reads(_ handle: Handle) throws -> Int {
        try store.restart()
        let before = engine.reads
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            _ = try People.discover(handle, in: Self.container, transaction)
        }
        return engine.reads - before
    }

    @Test func nobodyCostsAsMuchAsSomebodyHidden() throws {
        _ = try set(try email(), of: "ada")
        _ = try set(try email("bob@example.org"), of: "bob")
        try show("ada")
        try show("bob", isDiscoverable: false)
        let found = try reads(email())
        #expect(found > 0)
        #expect(try reads(email("bob@example.org")) == found)
        #expect(try reads(email("eve@example.org")) == found)
        _ = try set(try email("bob@example.org"), of: "bob", isHeld: false)
        #expect(try reads(email("bob@example.org")) == found)
    }

    /// The list of a user's handles may be older than the handle's own register.
    @Test func aListThatIsOldTellsNothing() throws {
        let handle = try email()
        _ = try set(handle, of: "ada")
        let moved = HandleHolder(number: 9, userID: Bytes(repeating: 2, count: 16))
        let register = Commit.Register(
            namespace: AccountRegister.handle,
            key: handle.key,
            value: moved.value
        )
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            let scope = try transaction.makeScope(.cluster)
            try ScopeRegisters(of: scope).set([register], &transaction)
        }
        #expect(try handles("ada").isEmpty)
        _ = try set(handle, of: "bob", isHeld: false)
        #expect(try set(handle, of: "ada") == .init(existed: false, isMoved: false))
        #expect(try handles("ada") == ["ada@example.org"])
    }

    @Test func onlyAnOperatorGivesHandlesAndNamesUsers() throws {
        let handle = try email()
        for caller in [Caller.alice, .anonymous] {
            let changes: [any AccountChange] = [
                SetHandle(handle, user: "ada", isHeld: true),
                SetProfile(People.Profile(), user: "ada"),
            ]
            for change in changes {
                let error = #expect(throws: ServiceError.self) { try make(change, by: caller) }
                #expect(error?.code == .permissionFailure)
            }
        }
        guard case .failure(let error) = try change(SetProfile(People.Profile(), user: nil)) else {
            Issue.record("nobody has no profile")
            return
        }
        #expect(error.code == .notAuthenticated)
        guard
            case .failure(let unknown) = try change(
                SetHandle(handle, user: "eve", isHeld: true)
            )
        else {
            Issue.record("a handle without a user")
            return
        }
        #expect(unknown.code == .unknownItem)
    }
}
