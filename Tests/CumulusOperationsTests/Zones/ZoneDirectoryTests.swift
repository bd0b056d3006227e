// The directory of found zones saves reads, and shows no zone that doesn't exist or that the caller
// may not see.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct ZoneDirectoryTests {
    private let store: TestStore
    private var directory = ZoneDirectory()
    private let zone = ZoneAddress(name: "z")

    init() throws {
        store = try TestStore()
    }

    private func find(_ zone: ZoneAddress, by caller: Caller = .alice) throws -> FoundZone? {
        let database = try Authorisation.database(.private, for: caller)
        return try directory.find(
            zone,
            in: database,
            of: store.scopeNumber(),
            by: caller,
            store.reader
        )
    }

    /// Changes zones and begins a new directory, as the node does.
    private mutating func change(_ zones: ModifyZones) throws {
        let version = store.state.zonesVersion
        try store.modify(zones, by: .alice)
        #expect(store.state.zonesVersion > version)
        directory = ZoneDirectory()
    }

    @Test mutating func whatItKnowsIsWhatTheStoreSays() throws {
        #expect(try find(zone) == nil)
        try change(ModifyZones(saving: ["z"]))
        let first = try #require(try find(zone))
        #expect(try find(zone) == first)
        #expect(first.zone.generation == 1)
        try change(ModifyZones(deleting: ["z"]))
        #expect(try find(zone) == nil)
        try change(ModifyZones(saving: ["z"]))
        #expect(try find(zone)?.zone.generation == 2)
    }

    /// An event loop finds a new zone, since it need not read how the scope's records look.
    @Test mutating func aNewZoneIsFoundInMemory() throws {
        try change(ModifyZones(saving: ["z"]))
        _ = try self.find(zone)
        try store.modify(ModifyZones(saving: ["y"]), by: .alice)
        let reader = ReadTransaction(store.engine, reach: .memory)
        let scope = try store.scopeNumber()
        func find(in directory: ZoneDirectory) throws -> FoundZone? {
            let database = try Authorisation.database(.private, for: .alice)
            let zone = ZoneAddress(name: "y")
            return try directory.find(zone, in: database, of: scope, by: .alice, reader)
        }
        #expect(try find(in: ZoneDirectory(after: directory)) != nil)
        #expect(throws: EngineError.notInMemory) { try find(in: ZoneDirectory()) }
    }

    @Test mutating func aZoneIsKnownToItsOwnerOnly() throws {
        try change(ModifyZones(saving: ["z"]))
        #expect(try find(zone) != nil)
        #expect(try find(zone, by: .bob) == nil)
        #expect(try find(ZoneAddress(name: "z", owner: "_alice"), by: .bob) == nil)
        #expect(try find(ZoneAddress(name: "z", owner: Names.currentUser)) != nil)
    }

    @Test mutating func theFirstRecordOfADefaultZoneIsFound() throws {
        #expect(try find(ZoneAddress())?.number == nil)
        let version = store.state.zonesVersion
        try store.save([SaveItem("n")])
        #expect(store.state.zonesVersion > version)
        directory = ZoneDirectory()
        #expect(try find(ZoneAddress())?.number != nil)
        try store.save([SaveItem("n")])
        #expect(store.state.zonesVersion == version + 1)
    }
}
