// Who may do what: every caller with every database and verb, and other people's data.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct AuthorisationTests {
    private let store: TestStore

    /// Gives Alice a record in the public and in her private database, and a zone.
    init() throws {
        store = try TestStore()
        try store.modify(ModifyZones(saving: ["z"]), by: .alice)
        for database in [DatabaseScope.public, .private] {
            try store.save([SaveItem("hers", ["a": 1])], in: database)
        }
        try store.save([SaveItem("hers", in: ZoneAddress(name: "z"))])
    }

    // MARK: The matrix

    struct Row: Sendable {
        var caller: Caller
        var database: DatabaseScope
        /// The codes of reading, creating, changing and deleting in the default zone; nil means
        /// done.
        var read: ServiceError.Code?
        var create: ServiceError.Code?
        var change: ServiceError.Code?
        var delete: ServiceError.Code?

        init(_ caller: Caller, _ database: DatabaseScope, _ codes: [ServiceError.Code?]) {
            self.caller = caller
            self.database = database
            (read, create, change, delete) = (codes[0], codes[1], codes[2], codes[3])
        }
    }

    static let matrix: [Row] = [
        Row(.alice, .public, [nil, nil, nil, nil]),
        Row(.bob, .public, [nil, nil, .permissionFailure, .permissionFailure]),
        Row(
            .anonymous,
            .public,
            [nil, .notAuthenticated, .notAuthenticated, .notAuthenticated]
        ),
        Row(
            .administrator,
            .public,
            [nil, .permissionFailure, .permissionFailure, .permissionFailure]
        ),
        Row(.alice, .private, [nil, nil, nil, nil]),
        // Bob's private database is another one, and holds nothing of Alice's.
        Row(.bob, .private, [.unknownItem, nil, nil, nil]),
        Row(.anonymous, .private, Array(repeating: .notAuthenticated, count: 4)),
        Row(.administrator, .private, Array(repeating: .permissionFailure, count: 4)),
        Row(.alice, .shared, Array(repeating: .zoneNotFound, count: 4)),
        Row(.anonymous, .shared, Array(repeating: .notAuthenticated, count: 4)),
        Row(.administrator, .shared, Array(repeating: .permissionFailure, count: 4)),
    ]

    @Test(arguments: matrix)
    func theMatrixHolds(row: Row) throws {
        let before = try store.fetch("hers", in: .private, by: .alice).get()
        #expect(try read(row) == row.read)
        #expect(try save("new", row) == row.create)
        #expect(try save("hers", row) == row.change)
        #expect(try delete(row) == row.delete)
        if row.caller != .alice {
            #expect(try store.fetch("hers", in: .private, by: .alice).get() == before)
        }
    }

    /// The error code of a call, whether it failed as a whole or for its item.
    private func code(_ call: () throws -> ServiceError.Code?) throws -> ServiceError.Code? {
        do {
            return try call()
        } catch let error as ServiceError {
            return error.code
        }
    }

    private func read(_ row: Row) throws -> ServiceError.Code? {
        try code {
            switch try store.fetch("hers", in: row.database, by: row.caller) {
            case .success: nil
            case .failure(let error): error.code
            }
        }
    }

    private func save(_ name: String, _ row: Row) throws -> ServiceError.Code? {
        try code {
            try store.save([SaveItem(name, ["a": 2])], in: row.database, by: row.caller).codes[0]
        }
    }

    private func delete(_ row: Row) throws -> ServiceError.Code? {
        try code {
            try store.delete([DeleteItem("hers")], in: row.database, by: row.caller).codes[0]
        }
    }

    // MARK: The public database, item by item

    @Test func oneForeignRecordDoesNotStopTheOthers() throws {
        let modify = ModifyRecords(
            database: .public,
            policy: .changedKeys,
            saves: [SaveItem("hers", ["a": 2]), SaveItem("his")],
            deletes: [DeleteItem("nobody")]
        )
        #expect(try store.modify(modify, by: .bob).codes == [.permissionFailure, nil, nil])
        #expect(try store.fetch("his", in: .public, by: .anonymous).get().createdBy == "_bob")
    }

    @Test func permissionComesBeforeTheTag() throws {
        let item = SaveItem("hers", ["a": 2], tag: Bytes(repeating: 1, count: 8))
        let outcome = try store.save([item], in: .public, .ifUnchanged, by: .bob)
        #expect(outcome.codes == [.permissionFailure])
    }

    @Test func whoeverCreatesARecordAgainOwnsIt() throws {
        try store.delete([DeleteItem("hers")], in: .public, by: .alice)
        #expect(try store.save([SaveItem("hers")], in: .public, by: .bob).codes == [nil])
        #expect(
            try store.save([SaveItem("hers")], in: .public, by: .alice).codes == [
                .permissionFailure
            ]
        )
    }

    @Test func anAnonymousDeleteOfNothingIsStillRefused() throws {
        let codes = try store.delete([DeleteItem("nobody")], in: .public, by: .anonymous).codes
        #expect(codes == [.notAuthenticated])
    }

    // MARK: Other people's zones

    @Test func anotherUsersZoneLooksLikeNone() throws {
        for name in ["z", Names.defaultZone, "never"] {
            let zone = ZoneAddress(name: name, owner: "_alice")
            let saves = try store.save([SaveItem("n", in: zone)], by: .bob)
            let deletes = try store.delete([DeleteItem("hers", in: zone)], by: .bob)
            let fetch = try store.fetch("hers", in: .private, zone: zone, by: .bob)
            #expect(saves.codes == [.zoneNotFound])
            #expect(deletes.codes == [.zoneNotFound])
            guard case .failure(let error) = fetch else {
                Issue.record("the record was fetched")
                continue
            }
            #expect(error.code == .zoneNotFound)
            #expect(error.message.contains("Zone '\(name)' does not exist"))
            #expect(throws: ReadFailure.self) {
                try store.names(in: .private, zone: zone, by: .bob)
            }
            let zones = ModifyZones(
                database: .private,
                saves: [.success(zone)],
                deletes: name == Names.defaultZone ? [] : [.success(zone)]
            )
            #expect(try store.modify(zones, by: .bob).codes.allSatisfy { $0 == .zoneNotFound })
        }
        #expect(try store.names(in: .private, zone: ZoneAddress(name: "z"), by: .alice) == ["hers"])
    }

    @Test func theOwnerMayBeNamedInThreeWays() throws {
        for owner in ["", Names.currentUser, "_alice"] {
            let zone = ZoneAddress(name: "z", owner: owner)
            #expect(
                try store.fetch("hers", in: .private, zone: zone, by: .alice).get().name == "hers"
            )
        }
    }
}
