// Zones are made and deleted in private databases, and a zone that is made again is a new one.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct ZoneTests {
    private let store: TestStore
    private let zone = ZoneAddress(name: "z")

    init() throws {
        store = try TestStore()
    }

    @discardableResult
    private func make(_ names: String...) throws -> [ServiceError.Code?] {
        try store.modify(ModifyZones(saving: names), by: .alice).codes
    }

    @discardableResult
    private func delete(_ names: String...) throws -> [ServiceError.Code?] {
        try store.modify(ModifyZones(deleting: names), by: .alice).codes
    }

    private func list(
        _ database: DatabaseScope = .private,
        by caller: Caller = .alice
    ) throws -> [LocatedZone] {
        try ListZones(database: database).run(store.scopeNumber(), by: caller, in: store.reader)
    }

    @Test func aZoneIsMadeOnce() throws {
        #expect(try make("z") == [nil])
        let rows = try store.allRows()
        #expect(try make("z") == [nil])
        #expect(try store.allRows() == rows)
        let found = try #require(try list().last)
        #expect(found.zone.name == "z")
        #expect(found.zone.generation == 1)
        #expect(found.capabilities == [.fetchChanges, .atomic, .sharing, .zoneWideSharing])
    }

    @Test func theDefaultZoneIsAlwaysThere() throws {
        #expect(try list().map(\.zone.name) == ["_defaultZone"])
        #expect(try list(.public, by: .anonymous).map(\.zone.name) == ["_defaultZone"])
        #expect(try list(.shared) == [])
        #expect(try list()[0].capabilities == [])
        #expect(try make("_defaultZone") == [nil])
        #expect(try delete("_defaultZone") == [.invalidArguments])
        try make("b", "a")
        #expect(try list().map(\.zone.name) == ["_defaultZone", "a", "b"])
    }

    @Test func deletingAZoneDeletesWhatIsInIt() throws {
        try make("z", "y")
        let other = ZoneAddress(name: "y")
        try store.save([
            SaveItem("n", ["of": .owner("m")], in: zone), SaveItem("m", in: zone),
            SaveItem("n", in: other),
        ])
        #expect(try delete("z") == [nil])
        #expect(try delete("z") == [.zoneNotFound])
        #expect(try list().map(\.zone.name) == ["_defaultZone", "y"])
        #expect(try store.names(in: .private, zone: other, by: .alice) == ["n"])
        #expect(try store.save([SaveItem("n", in: zone)]).codes == [.zoneNotFound])
        #expect(try DerivedRows.differences(in: store.engine) == [])
        #expect(try LogReplay.differences(in: store.engine) == [])
    }

    @Test func aZoneMadeAgainIsAnotherOne() throws {
        try make("z")
        let first = try store.zoneNumber(zone, by: .alice)
        try store.save([SaveItem("n", ["a": 1], in: zone)])
        try delete("z")
        try make("z")
        #expect(try store.zoneNumber(zone, by: .alice) != first)
        #expect(try list().last?.zone.generation == 2)
        #expect(try store.names(in: .private, zone: zone, by: .alice) == [])
        #expect(try store.save([SaveItem("n", in: zone)], .ifUnchanged).codes == [nil])
        #expect(try store.fetch("n", in: .private, zone: zone, by: .alice).get().fields == [])
        try delete("z")
        try make("z")
        #expect(try list().last?.zone.generation == 3)
        #expect(try DerivedRows.differences(in: store.engine) == [])
        #expect(try LogReplay.differences(in: store.engine) == [])
    }

    @Test func aZoneMadeFilledAndDeletedInOneBatchLeavesNothing() throws {
        let changes: [DrawnChange] = [
            .modifyZones(ModifyZones(saving: ["z"])),
            .modifyRecords(ModifyRecords(database: .private, saves: [SaveItem("n", in: zone)])),
            .modifyZones(ModifyZones(deleting: ["z"])),
            .modifyZones(ModifyZones(saving: ["z"])),
            .modifyRecords(ModifyRecords(database: .private, saves: [SaveItem("m", in: zone)])),
        ]
        try store.run(
            changes.map { change in
                let id = store.newRequestID()
                return DrawnRequest(
                    change,
                    for: Asker(scope: store.scope, caller: .alice, requestID: id)
                )
            }
        )
        #expect(try store.names(in: .private, zone: zone, by: .alice) == ["m"])
        #expect(try DerivedRows.differences(in: store.engine) == [])
        #expect(try LogReplay.differences(in: store.engine) == [])
    }

    @Test func itemsAreJudgedOneByOneInTheirOrder() throws {
        let fault = ServiceError(.invalidArguments, .invalidName, "no name")
        let zones = ModifyZones(
            database: .private,
            saves: [.success(zone), .failure(fault)],
            deletes: [.success(zone), .success(ZoneAddress(name: "q")), .failure(fault)]
        )
        let codes = try store.modify(zones, by: .alice).codes
        #expect(codes == [nil, .invalidArguments, nil, .zoneNotFound, .invalidArguments])
        #expect(try list().count == 1)
    }

    @Test func onlyPrivateDatabasesHaveCustomZones() throws {
        func error(_ database: DatabaseScope, by caller: Caller) -> ServiceError.Code? {
            let zones = ModifyZones(database: database, saves: [.success(zone)])
            return #expect(throws: ServiceError.self) { try store.modify(zones, by: caller) }?.code
        }
        #expect(error(.public, by: .alice) == .badDatabase)
        #expect(error(.shared, by: .alice) == .badDatabase)
        #expect(error(.public, by: .anonymous) == .notAuthenticated)
        #expect(error(.private, by: .anonymous) == .notAuthenticated)
        #expect(error(.private, by: .administrator) == .permissionFailure)
        #expect(error(.public, by: .administrator) == .badDatabase)
    }

    @Test func theLimitCountsZonesThatExist() throws {
        func make(_ name: String) throws -> ServiceError.Code? {
            var zones = ModifyZones(saving: [name])
            zones.limits.zonesPerDatabase = 2
            return try store.modify(zones, by: .alice).codes[0]
        }
        #expect(
            try [make("a"), make("b"), make("c"), make("a")] == [nil, nil, .limitExceeded, nil]
        )
        try delete("a")
        #expect(try [make("c"), make("a")] == [nil, .limitExceeded])
        try delete("b")
        #expect(try make("a") == nil)
    }

    @Test func tooManyZonesInARequestAreRefused() throws {
        var zones = ModifyZones(saving: ["a", "b"], deleting: ["c"])
        zones.limits.itemsPerRequest = 2
        let error = try #require(throws: ServiceError.self) { try store.modify(zones, by: .alice) }
        #expect(error.code == .limitExceeded)
        #expect(try list().count == 1)
    }

    @Test func usersAndEnvironmentsHaveZonesOfTheirOwn() throws {
        try make("z")
        #expect(try list(by: .bob).count == 1)
        #expect(try store.fetch("n", in: .private, by: .bob).isUnknown)
        let production = ScopeID(container: store.scope.container, environment: .production)
        let number = try #require(try store.reader.scope(production))
        let zones = try ListZones(database: .private).run(number, by: .alice, in: store.reader)
        #expect(zones.count == 1)
    }

    @Test func fetchingAnswersEachName() throws {
        try make("z")
        let ids: [Result<ZoneAddress, ServiceError>] = [
            .success(zone), .success(ZoneAddress(name: "q")), .success(ZoneAddress()),
            .failure(ServiceError(.invalidArguments, "no name")),
        ]
        let fetch = FetchZones(database: .private, ids: ids)
        let results = try fetch.run(store.scopeNumber(), by: .alice, in: store.reader)
        let codes = results.map { result -> ServiceError.Code? in
            if case .failure(let error) = result { error.code } else { nil }
        }
        #expect(codes == [nil, .zoneNotFound, nil, .invalidArguments])
    }
}

extension Result<RecordView, ServiceError> {
    fileprivate var isUnknown: Bool {
        if case .failure(let error) = self { error.code == .unknownItem } else { false }
    }
}
