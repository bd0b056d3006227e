// A store with two roles, two types and three users, for tests of roles.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting

struct RoleTestBed {
    let store: TestStore
    /// A user who is given a role, one who is given another role, and one who is given none.
    let mod: Caller
    let editor: Caller
    let guest: Caller

    static let schema = """
        DEFINE SCHEMA
            CREATE ROLE Moderator;
            CREATE ROLE Editor;
            RECORD TYPE Post (
                n INT64 QUERYABLE SORTABLE,
                GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator",
                GRANT READ, WRITE TO Moderator
            );
            RECORD TYPE Report (
                n INT64 QUERYABLE SORTABLE,
                GRANT CREATE TO "_icloud", GRANT READ, WRITE TO "_creator",
                GRANT READ, WRITE TO Moderator, GRANT READ TO Editor
            );
        """

    init() throws {
        let store = try TestStore()
        self.store = store
        let callers = try ["mod", "editor", "guest"].enumerated().map { number, name in
            try store.addUser(name, UInt8(number))
        }
        (mod, editor, guest) = (callers[0], callers[1], callers[2])
        try importSchema(Self.schema)
    }

    // MARK: Operators' work

    func importSchema(_ text: String) throws {
        let source = SchemaImport.Source.file(try Schema(ckdb: text), drops: false)
        _ = try store.administer(SchemaImport(source)).get()
    }

    /// Returns true if nothing changed.
    @discardableResult
    func set(
        _ role: String,
        of user: String,
        given: Bool = true
    ) throws -> Bool {
        let change = ChangeRole(user: user, role: role, isGiven: given)
        return try store.administer(change).get()
    }

    /// Drops a role from the schema and keeps its grants, like a node that has heard only of a part
    /// of an import.
    func dropRole(_ role: String) throws {
        let register = Commit.Register(
            namespace: SchemaRegister.roleNamespace,
            key: [Bytes(role.utf8)],
            value: nil
        )
        let scope = try store.scopeNumber()
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            try ScopeRegisters(of: scope).set([register], &transaction)
        }
    }

    // MARK: Callers' work

    func save(
        _ name: String,
        _ type: String,
        by caller: Caller
    ) throws -> ServiceError.Code? {
        try store.save([SaveItem(name, ["n": 1], type: type)], in: .public, by: caller).codes[0]
    }

    func fetchChanges(since token: ChangeToken?) -> FetchZoneChanges {
        var fetch = FetchZoneChanges(
            database: .public,
            zone: ZoneAddress(),
            since: token,
            keys: nil,
            limit: FetchZoneChanges.PageLimit(items: 100, bytes: 1 << 20)
        )
        fetch.includesDefaultZones = true
        return fetch
    }

    func changes(
        since token: ChangeToken? = nil,
        by caller: Caller
    ) throws -> FetchZoneChanges.Page {
        do {
            return try fetchChanges(since: token)
                .run(store.scope, store.scopeNumber(), by: caller, in: store.reader)
        } catch ReadFailure.service(let error) {
            throw error
        }
    }
}

/// A suite of tests whose helpers are those in its test bed.
protocol RoleTesting {
    var bed: RoleTestBed { get }
}

extension RoleTesting {
    var store: TestStore { bed.store }
    var mod: Caller { bed.mod }
    var editor: Caller { bed.editor }
    var guest: Caller { bed.guest }

    @discardableResult
    func set(_ role: String, of user: String, given: Bool = true) throws -> Bool {
        try bed.set(role, of: user, given: given)
    }

    func save(_ name: String, _ type: String, by caller: Caller) throws -> ServiceError.Code? {
        try bed.save(name, type, by: caller)
    }
}

extension TestStore {
    func administer<Asked: ContainerChange>(
        _ change: Asked,
        in environment: Environment = .development
    ) throws -> Result<Asked.Outcome, ServiceError> {
        let scope = ScopeID(container: scope.container, environment: environment)
        return try run(WriteRequest(change, scope: scope, caller: .administrator))
    }

    /// A caller who is a user of the cluster.
    func addUser(_ name: String, _ id: UInt8) throws -> Caller {
        let change = AddUser(name: name, id: Bytes(repeating: id, count: 16))
        let user = try run(WriteRequest(change, caller: .administrator)).get().user
        return Caller(role: .user(user.recordName(in: scope.container)))
    }
}
