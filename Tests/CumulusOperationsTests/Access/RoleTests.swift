// Tests what the roles of a schema give to their users, in saves and in every way of reading but
// changes and feeds.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct RoleTests: RoleTesting {
    let bed: RoleTestBed

    init() throws { bed = try RoleTestBed() }

    private func list(user: String? = nil, role: String? = nil) throws -> [String] {
        try AssignedRoles.all(
            of: user,
            role,
            for: store.scope,
            store.scopeNumber(),
            in: store.reader
        ).map { "\($0.user) \($0.role)\($0.isDropped ? " dropped" : "")" }.sorted()
    }

    private func delete(_ name: String, by caller: Caller) throws -> ServiceError.Code? {
        try store.delete([DeleteItem(name)], in: .public, by: caller).codes[0]
    }

    private func fetch(_ name: String, by caller: Caller) throws -> ServiceError? {
        switch try store.fetch(name, in: .public, by: caller) {
        case .success: nil
        case .failure(let error): error
        }
    }

    private func query(by caller: Caller) throws -> [String] {
        let query = Query(recordType: "Report", predicate: .field("n") > Int64(0))
        return try store.query(query, in: .public, by: caller).records.map(\.record.name)
    }

    // MARK: Give, take, list

    @Test func aRoleIsGivenOnceAndTakenAway() throws {
        #expect(try !set("Moderator", of: "mod"))
        #expect(try set("Moderator", of: "mod"))
        #expect(try !set("Editor", of: "mod"))
        #expect(try !set("Editor", of: "editor"))
        #expect(try list() == ["editor Editor", "mod Editor", "mod Moderator"])
        #expect(try list(user: "mod") == ["mod Editor", "mod Moderator"])
        #expect(try list(role: "Editor") == ["editor Editor", "mod Editor"])
        #expect(try list(user: "guest") == [])
        #expect(try !set("Editor", of: "mod", given: false))
        #expect(try set("Editor", of: "mod", given: false))
        try store.restart()
        #expect(try list() == ["editor Editor", "mod Moderator"])
    }

    /// A role stays when its key is revoked, or if it belongs to a user whom this node doesn't
    /// know.
    @Test func whatTheGoneHaveIsListedAndTakenByRecordName() throws {
        let key = try TestServiceKey(scope: store.scope).registered
        func account(_ change: some AccountChange) throws {
            let request = WriteRequest(change, caller: .administrator)
            _ = try store.run(request).get()
        }
        try account(AddServiceKey(key))
        try set("Moderator", of: key.recordName)
        #expect(try list() == ["\(key.recordName) Moderator"])
        try account(RevokeServiceKey(key.id))
        let stranger = "_" + String(repeating: "ab", count: 16)
        let operation = Commit.Operation.register(
            Commit.Register(
                namespace: RoleAssignment.namespace,
                key: RoleAssignment.key(stranger, "Editor"),
                value: RoleAssignment(number: 1, isGiven: true).value
            )
        )
        let scope = try store.scopeNumber()
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            _ = try transaction.perform([operation], in: scope, zone: nil, author: Author())
        }
        #expect(try list() == [" Editor", "\(key.recordName) Moderator"])
        #expect(try list(user: key.recordName) == ["\(key.recordName) Moderator"])
        #expect(try list(user: stranger) == [" Editor"])
        // No further role can be given to them.
        #expect(throws: ServiceError.self) { try set("Editor", of: key.recordName) }
        #expect(throws: ServiceError.self) {
            try set("Editor", of: key.recordName, given: false)
        }
        for (user, role) in [(key.recordName, "Moderator"), (stranger, "Editor")] {
            #expect(try !set(role, of: user, given: false))
            #expect(try set(role, of: user, given: false))
        }
        #expect(try list() == [])
        #expect(throws: ServiceError.self) { _ = try list(user: stranger) }
    }

    @Test func whatIsUnknownIsRefusedWithAdvice() throws {
        func message(_ work: () throws -> Void) throws -> String {
            let error = try #require(throws: ServiceError.self) { try work() }
            #expect(error.code == .unknownItem)
            return error.message
        }
        let noUser = "there is no user 'nobody'; add one with 'cumulus user add nobody'"
        #expect(try message { try set("Moderator", of: "nobody") } == noUser)
        #expect(try message { try set("Moderator", of: "nobody", given: false) } == noUser)
        #expect(try message { _ = try list(user: "nobody") } == noUser)
        let noRole = try message { try set("Admin", of: "mod") }
        #expect(noRole.contains("the schema has no role 'Admin': it has Editor, Moderator"))
        #expect(noRole.contains("'CREATE ROLE Admin;'"))
        #expect(try message { _ = try list(role: "Admin") } == noRole)
        #expect(try message { try set("_icloud", of: "mod") }.contains("'_icloud'"))
    }

    @Test func onlyOperatorsGiveRoles() throws {
        let change = ChangeRole(user: "mod", role: "Moderator", isGiven: true)
        let request = WriteRequest(change, scope: store.scope, caller: mod)
        let error = try #require(throws: ServiceError.self) { try store.run(request).get() }
        #expect(error.code == .permissionFailure)
        #expect(try list() == [])
    }

    /// The field `roles` of a user's own record gives no roles.
    @Test func usersGiveThemselvesNone() throws {
        for value in [FieldValue.list([.int64(1)]), .list([])] {
            let item = SaveItem(mod.user, ["roles": value], type: "Users")
            let codes = try store.save([item], in: .public, by: mod).codes
            #expect(codes == [.permissionFailure])
        }
        #expect(try list() == [])
    }

    // MARK: What roles give

    @Test func aRoleLetsItsUsersChangeWhatOthersMade() throws {
        #expect(try save("p", "Post", by: guest) == nil)
        #expect(try save("p", "Post", by: mod) == .permissionFailure)
        try set("Moderator", of: "mod")
        #expect(try save("p", "Post", by: mod) == nil)
        #expect(try save("p", "Post", by: editor) == .permissionFailure)
        #expect(try delete("p", by: mod) == nil)
        #expect(try save("q", "Post", by: guest) == nil)
        try set("Moderator", of: "mod", given: false)
        #expect(try save("q", "Post", by: mod) == .permissionFailure)
        #expect(try delete("q", by: mod) == .permissionFailure)
    }

    @Test func aRoleLetsItsUsersReadInEveryWay() throws {
        #expect(try save("r", "Report", by: guest) == nil)
        #expect(try fetch("r", by: mod)?.code == .permissionFailure)
        #expect(try query(by: mod) == [])
        #expect(try store.names(in: .public, by: mod) == [])
        try set("Moderator", of: "mod")
        try set("Editor", of: "editor")
        for caller in [mod, editor, guest] {
            #expect(try fetch("r", by: caller) == nil)
            // The query searches all records, not only the ones that the caller made.
            #expect(try query(by: caller) == ["r"])
            #expect(try store.names(in: .public, by: caller) == ["r"])
            #expect(try bed.changes(by: caller).records.map(\.name) == ["r"])
        }
        #expect(try !bed.changes(by: mod).isPersonal)
        #expect(try save("r", "Report", by: editor) == .permissionFailure)
        try set("Moderator", of: "mod", given: false)
        let denied = try #require(try fetch("r", by: mod))
        #expect(
            denied.message
                == """
                READ operation not permitted: type 'Report' grants it to Editor, Moderator, \
                _creator; you have _world, _icloud
                """
        )
        #expect(try query(by: mod) == [])
    }

    /// The writer reads the roles when its turn comes, even within one batch.
    @Test func theWriterJudgesInTheTransactionOfTheCommit() throws {
        #expect(try save("p", "Post", by: guest) == nil)
        let save = ModifyRecords(
            database: .public,
            policy: .changedKeys,
            saves: [SaveItem("p", ["n": 2], type: "Post")]
        )
        var answers: [Result<ModifyOutcome, ServiceError>] = []
        try store.batch { (group: inout GroupCommit) throws(EngineError) in
            for given in [nil, true, false] {
                if let given {
                    let change = ChangeRole(user: "mod", role: "Moderator", isGiven: given)
                    let request = WriteRequest(
                        change,
                        scope: store.scope,
                        caller: .administrator
                    )
                    try store.run(request, in: &group)
                }
                answers.append(try store.run(store.request(save, by: mod), in: &group))
            }
        }
        let codes = try answers.map { try $0.get().codes[0] }
        #expect(codes == [.permissionFailure, nil, .permissionFailure])
    }

    @Test func aRoleThatTheSchemaDroppedGivesNothing() throws {
        #expect(try save("r", "Report", by: guest) == nil)
        try set("Moderator", of: "mod")
        try set("Editor", of: "editor")
        let without = RoleTestBed.schema
            .replacing("CREATE ROLE Editor;", with: "")
            .replacing(", GRANT READ TO Editor", with: "")
        try bed.importSchema(without)
        #expect(try fetch("r", by: editor)?.code == .permissionFailure)
        #expect(try fetch("r", by: mod) == nil)
        #expect(try list() == ["editor Editor dropped", "mod Moderator"])
        #expect(throws: ServiceError.self) { try set("Editor", of: "mod") }
        #expect(try !set("Editor", of: "editor", given: false))
        #expect(try list() == ["mod Moderator"])
        // The role comes back without its users.
        try bed.importSchema(RoleTestBed.schema)
        #expect(try fetch("r", by: editor)?.code == .permissionFailure)
    }

    /// A node that did not know of the drop may have added a grant of the role.
    @Test func itGivesNothingThroughAGrantThatStayed() throws {
        #expect(try save("r", "Report", by: guest) == nil)
        try set("Editor", of: "editor")
        try bed.dropRole("Editor")
        #expect(try fetch("r", by: editor)?.code == .permissionFailure)
        #expect(try query(by: editor) == [])
    }

    @Test func theyCountInTheirEnvironmentAlone() throws {
        _ = try store.administer(SchemaImport(.development), in: .production).get()
        try set("Moderator", of: "mod")
        let scope = ScopeID(container: store.scope.container, environment: .production)
        let number = try #require(try store.reader.scope(scope))
        let there = try AssignedRoles.all(of: nil, nil, for: scope, number, in: store.reader)
        #expect(there == [])
        let roles = try SchemaDirectory().roles(of: mod, in: number, store.reader)
        #expect(roles.names == [])
    }

    @Test func aResetTakesThemAway() throws {
        _ = try store.administer(SchemaImport(.development), in: .production).get()
        try set("Moderator", of: "mod")
        try set("Editor", of: "editor")
        try set("Editor", of: "guest")
        try set("Editor", of: "guest", given: false)
        let outcome = try store.administer(SchemaReset()).get()
        #expect(outcome.roles == 2 && outcome.difference.isEmpty)
        #expect(try list() == [])
        #expect(try save("r", "Report", by: guest) == nil)
        #expect(try fetch("r", by: mod)?.code == .permissionFailure)
    }

    // MARK: What reads cost

    /// The roles of a call's user are read once, however many records there are.
    @Test func readsRememberTheRolesOfCallers() throws {
        try set("Moderator", of: "mod")
        let (schemas, scope) = (SchemaDirectory(), try store.scopeNumber())
        let known = try schemas.roles(of: mod, in: scope, store.reader)
        #expect(known.names == ["Moderator"])
        // The directory remembers the roles of the states for which it was made.
        try set("Moderator", of: "mod", given: false)
        #expect(try schemas.roles(of: mod, in: scope, store.reader) == known)
        #expect(try SchemaDirectory().roles(of: mod, in: scope, store.reader).names == [])
    }

    /// The node makes a new directory when this version changes.
    @Test func eachChangeOfARoleIsAChangeOfWhatReadsRemember() throws {
        for given in [true, false] {
            let before = store.state.schemaVersion
            try set("Moderator", of: "mod", given: given)
            #expect(store.state.schemaVersion > before)
        }
        let before = store.state.schemaVersion
        #expect(try save("p", "Post", by: guest) == nil)
        #expect(store.state.schemaVersion == before)
    }
}
