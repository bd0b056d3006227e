// Changes of zones and of databases: what is told, when, and for what a token is valid.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct ChangesTests {
    private let store: TestStore
    private let zone = ZoneAddress(name: "z")

    init() throws {
        store = try TestStore()
        try store.modify(ModifyZones(saving: ["z"]), by: .alice)
    }

    private func save(_ names: String..., fields: [String: FieldValue?] = [:]) throws {
        try store.save(names.map { SaveItem($0, fields, in: zone) })
    }

    private func code(_ body: () throws -> Void) -> ServiceError.Code? {
        do {
            try body()
            return nil
        } catch let error as ServiceError {
            return error.code
        } catch {
            return .internalError
        }
    }

    // MARK: Records

    @Test func eachRecordIsToldOnceAsItIsNow() throws {
        try save("a", fields: ["n": 1])
        try save("a", fields: ["n": 2])
        try save("b")
        let all = try store.changes(in: "z")
        #expect(all.records.map(\.name).sorted() == ["a", "b"])
        #expect(all.records.first { $0.name == "a" }?.fields == WireField.body(["n": 2]))
        #expect(!all.moreComing)
        let nothing = try store.changes(in: "z", since: all.token)
        #expect(nothing.records.isEmpty && nothing.deletions.isEmpty && !nothing.moreComing)
        #expect(nothing.token == all.token)
        try save("b", fields: ["n": 3])
        let later = try store.changes(in: "z", since: all.token)
        #expect(later.records.map(\.name) == ["b"])
    }

    /// A device's own writes come back with the tag that the save returned.
    @Test func ownChangesAreTold() throws {
        let saved = try store.save([SaveItem("a", in: zone)]).saves[0].saved
        #expect(try store.changes(in: "z").records.map(\.changeTag) == [saved?.changeTag])
    }

    @Test func deletionsAreToldWithTheirTypes() throws {
        try save("a", "b", "c", fields: ["of": .owner("a")])
        let before = try store.changes(in: "z").token
        try store.delete([DeleteItem("a", in: zone)])
        try save("d")
        let changes = try store.changes(in: "z", since: before)
        #expect(changes.records.map(\.name) == ["d"])
        // A cascade is told record by record.
        #expect(changes.deletions.map(\.name).sorted() == ["a", "b", "c"])
        #expect(Set(changes.deletions.map(\.type)) == ["Note"])
    }

    @Test func aFetchFromTheBeginningTellsNoDeletions() throws {
        try save("a", "b")
        try store.delete([DeleteItem("a", in: zone)])
        let all = try store.changes(in: "z")
        #expect(all.records.map(\.name) == ["b"])
        #expect(all.deletions.isEmpty)
        // Deletions that happen before the last page are told.
        try save("c", "d")
        let first = try store.changes(in: "z", limit: 2)
        try store.delete([DeleteItem("b", in: zone), DeleteItem("c", in: zone)])
        let rest = try store.changes(in: "z", since: first.token)
        #expect(Set(rest.deletions.map(\.name)) == ["b", "c"])
    }

    @Test func onlyWantedFieldsAreTold() throws {
        try save("a", fields: ["n": 1, "title": "t"])
        let some = try store.changes(in: "z", keys: ["title"])
        #expect(some.records.map(\.fields) == [WireField.body(["title": "t"])])
        #expect(try store.changes(in: "z", keys: []).records.map(\.fields) == [[]])
    }

    /// The pages hold twelve records of one commit and others, and end anywhere.
    @Test(arguments: 1...14) func pagesLeaveNothingOut(limit: Int) throws {
        try store.save((0..<12).map { SaveItem("n\($0)", in: zone) })
        try save("a")
        try save("b")
        var (told, pages, token): ([String], Int, ChangeToken?) = ([], 0, nil)
        while true {
            let page = try store.changes(in: "z", since: token, limit: limit)
            #expect(page.records.count <= limit)
            (told, pages, token) = (told + page.records.map(\.name), pages + 1, page.token)
            if !page.moreComing { break }
        }
        #expect(told.count == 14)
        #expect(Set(told).count == 14)
        #expect(pages == (14 + limit - 1) / limit)
        #expect(token?.progress == nil)
    }

    /// Changes behind the place that a fetch has reached are told before its end.
    @Test func aFetchEndsWithThePresent() throws {
        try save("a")
        try save("b")
        try save("c")
        let first = try store.changes(in: "z", limit: 1)
        #expect(first.records.map(\.name) == ["a"])
        try save("a", fields: ["n": 1])
        let rest = try store.changes(in: "z", since: first.token)
        #expect(rest.records.map(\.name) == ["b", "c", "a"])
        #expect(try store.changes(in: "z", since: rest.token).records.isEmpty)
    }

    // MARK: Zones

    @Test func zonesAreToldWhenAnythingInThemChanged() throws {
        try store.modify(ModifyZones(saving: ["y"]), by: .alice)
        try store.save([SaveItem("a")])
        let all = try store.zoneChanges()
        #expect(all.changed.map(\.name) == ["y", "z"])
        try save("a")
        let later = try store.zoneChanges(since: all.token)
        #expect(later.changed.map(\.name) == ["z"])
        #expect(try store.zoneChanges(since: later.token).changed.isEmpty)
    }

    @Test func aDeletedZoneIsToldOnce() throws {
        try save("a")
        let before = try store.zoneChanges().token
        try store.modify(ModifyZones(saving: ["y"]), by: .alice)
        try store.modify(ModifyZones(deleting: ["y", "z"]), by: .alice)
        let changes = try store.zoneChanges(since: before)
        #expect(changes.changed.isEmpty)
        #expect(changes.deletions.map(\.zone.name) == ["y", "z"])
        #expect(changes.deletions.map(\.reason) == [0, 0])
        #expect(try store.zoneChanges(since: changes.token).deletions.isEmpty)
        #expect(try store.zoneChanges().deletions.isEmpty)
        // A zone that is made again counts as changed.
        try store.modify(ModifyZones(saving: ["z"]), by: .alice)
        #expect(try store.zoneChanges(since: before).changed.map(\.name) == ["z"])
    }

    @Test func zonesComeInPages() throws {
        try store.modify(ModifyZones(saving: ["a", "b", "c"]), by: .alice)
        let first = try store.zoneChanges(limit: 2)
        #expect(first.changed.map(\.name) == ["a", "b"])
        #expect(first.moreComing)
        // Changes behind the place that the fetch has reached are left to the next fetch.
        try store.save([SaveItem("n", in: ZoneAddress(name: "a"))])
        let second = try store.zoneChanges(since: first.token, limit: 2)
        #expect(second.changed.map(\.name) == ["c", "z"])
        #expect(!second.moreComing)
        #expect(try store.zoneChanges(since: second.token).changed.map(\.name) == ["a"])
    }

    // MARK: Databases and zones without changes

    @Test func thePublicDatabaseAndTheDefaultZoneKeepNone() throws {
        #expect(code { _ = try store.changes(in: "_defaultZone") } == .invalidArguments)
        let inPublic = code { _ = try store.changes(in: "_defaultZone", of: .public) }
        #expect(inPublic == .invalidArguments)
        #expect(code { _ = try store.zoneChanges(of: .public) } == .invalidArguments)
        #expect(code { _ = try store.changes(in: "x", of: .public) } == .zoneNotFound)
        #expect(code { _ = try store.changes(in: "nowhere") } == .zoneNotFound)
        #expect(code { _ = try store.changes(in: "z", by: .bob) } == .zoneNotFound)
        #expect(code { _ = try store.changes(in: "z", by: .anonymous) } == .notAuthenticated)
        #expect(code { _ = try store.changes(in: "z", of: .shared) } == .zoneNotFound)
        #expect(try store.zoneChanges(of: .shared).changed.isEmpty)
    }

    // MARK: Tokens

    @Test func aTokenIsGoodForWhatItIsOfOnly() throws {
        try store.modify(ModifyZones(saving: ["y"]), by: .alice)
        try store.modify(ModifyZones(saving: ["z"]), by: .bob)
        let token = try store.changes(in: "z").token
        let zones = try store.zoneChanges().token
        #expect(code { _ = try store.changes(in: "y", since: token) } == .invalidArguments)
        #expect(code { _ = try store.changes(in: "z", since: zones) } == .invalidArguments)
        #expect(code { _ = try store.zoneChanges(since: token) } == .invalidArguments)
        let foreign = code { _ = try store.changes(in: "z", since: token, by: .bob) }
        #expect(foreign == .invalidArguments)
        var elsewhere = token
        elsewhere.scope.environment = .production
        #expect(code { _ = try store.changes(in: "z", since: elsewhere) } == .changeTokenExpired)
        elsewhere.scope.container = "iCloud.other"
        #expect(code { _ = try store.changes(in: "z", since: elsewhere) } == .invalidArguments)
    }

    @Test func aTokenExpiresWithItsZone() throws {
        let token = try store.changes(in: "z").token
        try store.modify(ModifyZones(deleting: ["z"]), by: .alice)
        #expect(code { _ = try store.changes(in: "z", since: token) } == .zoneNotFound)
        try store.modify(ModifyZones(saving: ["z"]), by: .alice)
        #expect(code { _ = try store.changes(in: "z", since: token) } == .changeTokenExpired)
    }

    /// A fetch never goes on from an older state than the caller has seen.
    @Test func aTokenFromTheFutureWaits() throws {
        var token = try store.changes(in: "z").token
        token.base[Incarnation(77)] = 1
        var error: ServiceError?
        do { _ = try store.changes(in: "z", since: token) } catch let failure as ServiceError {
            error = failure
        }
        #expect(error?.code == .serviceUnavailable)
        #expect(error?.reason == .nodeBehind)
        token.base[Incarnation(77)] = 0
        token.seen[Incarnation(77)] = 1
        #expect(code { _ = try store.changes(in: "z", since: token) } == .serviceUnavailable)
    }

    @Test func aTokenReadsBack() throws {
        try save("a", "b", "c")
        try store.modify(ModifyZones(saving: ["y"]), by: .alice)
        let tokens = [
            try store.changes(in: "z").token, try store.changes(in: "z", limit: 1).token,
            try store.zoneChanges().token, try store.zoneChanges(limit: 1).token,
        ]
        #expect(tokens.map { $0.progress == nil } == [true, false, true, false])
        var dice = SeededGenerator(seed: 1)
        for token in tokens {
            #expect(try ChangeToken(content: token.content) == token)
            for cut in Damage.truncations(of: token.content) {
                #expect(throws: MalformedBytes.self) { try ChangeToken(content: cut) }
            }
            for _ in 0..<500 {
                let damaged = Damage.mutation(of: token.content, using: &dice)
                _ = try? ChangeToken(content: damaged)
            }
        }
    }
}
