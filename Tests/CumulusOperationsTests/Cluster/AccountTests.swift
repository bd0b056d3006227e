// Users, tokens and containers: small, replicated, and there after a restart.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct AccountTests {
    private let store: TestStore

    init() throws {
        store = try TestStore()
    }

    private func administer<Asked: ClusterChange>(
        _ change: Asked
    ) throws -> Result<Asked.Outcome, ServiceError> {
        try store.run(WriteRequest(change, caller: .administrator))
    }

    private func add(_ name: String, _ id: UInt8) throws -> AddUser.Outcome {
        try administer(AddUser(name: name, id: Bytes(repeating: id, count: 16))).get()
    }

    /// The user whom a token lets in; nil if it lets nobody in.
    private func find(_ token: Bytes) throws -> Users.User? {
        try Sessions.find(Sessions.digest(of: token), now: store.now, in: store.reader)?.user
    }

    @Test func aUserIsAddedOnce() throws {
        let first = try add("carol", 1)
        let again = try add("carol", 2)
        #expect(!first.existed && again.existed)
        #expect(again.user == first.user)
        #expect(first.user.created == store.now)
        try store.restart()
        #expect(try Users.all(in: store.reader) == [first.user])
    }

    @Test(arguments: ["Carol", "CAROL", "cAROl", "ca rol", "carol ", " Carol", "c a r o l"])
    func noTwoNewUsersLookAlike(name: String) throws {
        let carol = try add("carol", 1).user
        _ = try add("car", 3)
        _ = try add("carole", 4)
        if Names.trimmed(name) == carol.name {
            #expect(try add(name, 2).user == carol)
        } else {
            let error = #expect(throws: ServiceError.self) { try add(name, 2) }
            #expect(error?.code == .invalidArguments && error?.reason == .invalidName)
        }
        #expect(try Users.all(in: store.reader).map(\.name) == ["car", "carol", "carole"])
    }

    /// These names differ in more than case and spaces; one of them existed before.
    @Test func otherNamesDoNotLookAlike() throws {
        let names = ["carol", "carlo", "caro1", "car-ol", "caroll", "c", "10"]
        for (index, name) in names.enumerated() {
            #expect(try add(name, UInt8(index + 1)).existed == false, "\(name)")
        }
        #expect(try add("carol", 9).existed == true)
    }

    /// Earlier releases made such names; each still leads to its own user.
    @Test func namesWithOuterSpacesLeadToTheirUsers() throws {
        let spaced = try add("dave ", 1).user
        #expect(try Users.find("dave ", in: store.reader) == spaced)
        #expect(try Users.find("dave", in: store.reader) == nil)
        #expect(throws: ServiceError.self) { try add("Dave", 2) }
        let carol = try add("carol", 3).user
        for name in ["carol", "carol ", "  carol"] {
            #expect(try Users.find(name, in: store.reader) == carol, "'\(name)'")
        }
        #expect(try Users.find("Carol", in: store.reader) == nil)
    }

    @Test func aTokenLeadsToItsUserAndIsNotStored() throws {
        let token = Bytes(repeating: 9, count: 32)
        #expect(throws: ServiceError.self) { try administer(AddToken(token, user: "carol")).get() }
        let user = try add("carol", 1).user
        #expect(try administer(AddToken(token, user: "carol")).get() == token)
        try store.restart()
        #expect(try find(token) == user)
        #expect(try find(Bytes(token.dropLast())) == nil)
        #expect(try find([]) == nil)
        for row in try store.allRows().joined() {
            #expect(!row.value.hex.contains(token.hex) && !row.key.hex.contains(token.hex))
        }
    }

    @Test func recordNamesAreAnotherOnePerContainer() throws {
        let user = try add("carol", 1).user
        let other = try add("dave", 2).user
        let names = [
            user.recordName(in: "a"), user.recordName(in: "b"), other.recordName(in: "a"),
        ]
        #expect(Set(names).count == 3)
        #expect(names[0] == user.recordName(in: "a"))
        for name in names {
            #expect(name.hasPrefix("_"))
            #expect(Bytes(hex: name.dropFirst())?.count == 16)
        }
    }

    /// A CI may make a container for each of its runs.
    @Test func containersAreLimited() throws {
        var state = store.state
        state.node.nextScope = ScopeNumber(2 * Containers.most + 1)
        func create(_ name: String) throws -> Result<Bool, ServiceError> {
            let request = WriteRequest(CreateContainer(name), caller: .administrator)
            var group = GroupCommit(engine: store.engine, state: state)
            return try group.run(now: store.now) {
                (transaction: inout WriteTransaction) throws(EngineError) in
                try request.run(in: &transaction)
            }
        }
        #expect(try create(store.scope.container).get() == true)
        guard case .failure(let error) = try create("one more") else {
            Issue.record("it was made")
            return
        }
        #expect(error.code == .limitExceeded)

        // A container of another node is known by its name, and what that node made since arrives,
        // too.
        state.node.nextScope = .max
        var group = GroupCommit(engine: store.engine, state: state)
        let existed = try group.run(now: store.now) {
            (transaction: inout WriteTransaction) throws(EngineError) in
            (try Containers.create("theirs", in: &transaction), keep: true)
        }
        #expect(!existed)
        _ = try group.commit()
        #expect(try Containers.all(in: store.reader) == [store.scope.container])
    }

    @Test func containersAreMadeOnceWithBothEnvironments() throws {
        #expect(try administer(CreateContainer("b")).get() == false)
        #expect(try administer(CreateContainer("b")).get() == true)
        #expect(try Containers.all(in: store.reader) == ["b", store.scope.container].sorted())
        let numbers = try Environment.allCases.map {
            try store.reader.scope(ScopeID(container: "b", environment: $0))
        }
        #expect(Set(numbers).count == 2)
        #expect(!numbers.contains(nil))
    }

    @Test func recordsCantBeSavedBesideContainers() throws {
        let modify = ModifyRecords(database: .public, saves: [SaveItem("n")])
        let request = WriteRequest(modify, scope: .cluster, caller: .alice)
        #expect(throws: ServiceError.self) { try store.run(request).get() }
    }

    @Test func onlyOperatorsAdminister() throws {
        for caller in [Caller.alice, .anonymous] {
            let request = WriteRequest(CreateContainer("c"), caller: caller)
            let error = #expect(throws: ServiceError.self) { try store.run(request).get() }
            #expect(error?.code == .permissionFailure)
        }
        #expect(try Containers.all(in: store.reader) == [store.scope.container])
    }

    @Test func accountsAreInTheClustersLog() throws {
        _ = try add("carol", 1)
        _ = try administer(AddToken([1], user: "carol"))
        try store.save([SaveItem("n")])
        #expect(try DerivedRows.differences(in: store.engine) == [])
        #expect(try LogReplay.differences(in: store.engine) == [])
    }
}
