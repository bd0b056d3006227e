// Users' own records exist without being made, are changed by their user only, and are never
// deleted or listed.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct UserRecordTests {
    private static let annaName = "_" + String(repeating: "0a", count: 16)
    private static let benName = "_" + String(repeating: "0b", count: 16)
    private static let anna = Caller(role: .user(annaName), registered: 1_700_000_000_000)
    private static let ben = Caller(role: .user(benName))
    private static let databases = [DatabaseScope.public, .private]

    private let store: TestStore

    init() throws {
        store = try TestStore()
    }

    private func save(
        _ item: SaveItem,
        in database: DatabaseScope = .public,
        by caller: Caller
    ) throws -> ServiceError.Code? {
        let request = ModifyRecords(database: database, saves: [item])
        return Self.code(try store.modify(request, by: caller).saves[0])
    }

    private func isMissing(_ result: Result<RecordView, ServiceError>) -> Bool {
        if case .failure(let error) = result { error.code == .unknownItem } else { false }
    }

    /// The code of the error; nil if the item was done.
    private static func code<Done>(_ item: Result<Done, ModifyOutcome.Failure>)
        -> ServiceError.Code?
    {
        if case .failure(let failure) = item { failure.code } else { nil }
    }

    @Test(arguments: databases)
    func itIsThereBeforeAnythingIsSaved(database: DatabaseScope) throws {
        let record = try store.fetch(Self.annaName, in: database, by: Self.anna).get()
        #expect(record.type == "Users")
        #expect(record.createdBy == Self.annaName)
        #expect(record.created == Self.anna.registered)
        #expect(record.changeTag == [] && record.fields == [])
    }

    @Test(arguments: databases)
    func itsUserChangesIt(database: DatabaseScope) throws {
        let first = SaveItem(Self.annaName, ["nick": "Anna"], type: "Users")
        #expect(try save(first, in: database, by: Self.anna) == nil)
        let saved = try store.fetch(Self.annaName, in: database, by: Self.anna).get()
        #expect(saved.fields == WireField.body(["nick": "Anna"]))
        // A second device that has not seen the change is told of it.
        #expect(try save(first, in: database, by: Self.anna) == .serverRecordChanged)
        let second = SaveItem(
            Self.annaName,
            ["nick": "A."],
            type: "Users",
            tag: saved.changeTag
        )
        #expect(try save(second, in: database, by: Self.anna) == nil)
    }

    @Test func othersReadThePublicOneAndChangeNone() throws {
        _ = try save(SaveItem(Self.annaName, ["nick": "A."], type: "Users"), by: Self.anna)
        let seen = try store.fetch(Self.annaName, in: .public, by: Self.ben).get()
        #expect(seen.fields == WireField.body(["nick": "A."]))
        #expect(try store.fetch(Self.annaName, in: .public, by: .anonymous).get().type == "Users")
        let change = SaveItem(Self.annaName, ["nick": "B."], type: "Users", tag: seen.changeTag)
        #expect(try save(change, by: Self.ben) == .permissionFailure)
        let make = SaveItem(Self.benName, ["nick": "B."], type: "Users")
        #expect(try save(make, by: Self.anna) == .permissionFailure)
        #expect(try save(make, in: .private, by: Self.anna) == .permissionFailure)
        #expect(try save(make, by: .anonymous) == .notAuthenticated)
        #expect(try isMissing(store.fetch(Self.annaName, in: .private, by: Self.ben)))
    }

    @Test func typeAndNameBelongTogether() throws {
        let named = SaveItem(Self.annaName, ["nick": "Anna"])
        #expect(try save(named, by: Self.anna) == .invalidArguments)
        let typed = SaveItem("anna", ["nick": "Anna"], type: "Users")
        #expect(try save(typed, by: Self.anna) == .invalidArguments)
    }

    @Test func itIsInTheDefaultZoneOnly() throws {
        try store.modify(ModifyZones(saving: ["z"]), by: Self.anna)
        let zone = ZoneAddress(name: "z")
        let item = SaveItem(Self.annaName, ["nick": "Anna"], type: "Users", in: zone)
        #expect(try save(item, in: .private, by: Self.anna) == .permissionFailure)
        #expect(try isMissing(store.fetch(Self.annaName, in: .private, zone: zone, by: Self.anna)))
    }

    @Test func nobodyGivesHimselfRoles() throws {
        let roles = SaveItem(Self.annaName, ["roles": [1]], type: "Users")
        #expect(try save(roles, by: Self.anna) == .permissionFailure)
        let added = SaveItem(Self.annaName, type: "Users", increments: ["roles": 1])
        #expect(try save(added, by: Self.anna) == .permissionFailure)
    }

    @Test(arguments: [false, true])
    func itCantBeDeleted(wasSaved: Bool) throws {
        if wasSaved {
            _ = try save(SaveItem(Self.annaName, ["nick": "A."], type: "Users"), by: Self.anna)
        }
        let request = ModifyRecords(database: .public, deletes: [DeleteItem(Self.annaName)])
        let outcome = try store.modify(request, by: Self.anna)
        #expect(Self.code(outcome.deletes[0]) == .permissionFailure)
        #expect(try store.fetch(Self.annaName, in: .public, by: Self.anna).get().type == "Users")
    }

    @Test func itGoesWithNobody() throws {
        _ = try save(SaveItem("note"), by: Self.ben)
        let owned: [FieldValue] = [.owner("note"), .list([.link("a"), .owner("note")])]
        for field in owned {
            let item = SaveItem(Self.annaName, ["friend": field], type: "Users")
            #expect(try save(item, by: Self.anna) == .permissionFailure)
        }
        let linked = SaveItem(Self.annaName, ["link": .link("note")], type: "Users")
        #expect(try save(linked, by: Self.anna) == nil)
    }

    @Test func listsLeaveItOut() throws {
        _ = try save(SaveItem(Self.annaName, ["nick": "A."], type: "Users"), by: Self.anna)
        _ = try save(SaveItem("note"), by: Self.anna)
        #expect(try store.names(in: .public, by: Self.anna) == ["note"])
    }
}
