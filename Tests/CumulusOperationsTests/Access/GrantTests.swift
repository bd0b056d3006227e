// Tests what the grants of a schema decide in the public database, for saves, deletes and every way
// of reading.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct GrantTests {
    private let store: TestStore

    init() throws {
        store = try TestStore()
        try grant("Page", #"GRANT READ TO "_world", GRANT CREATE, WRITE TO "_icloud""#)
        try grant("Diary", #"GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud""#)
        try grant("Score", #"GRANT CREATE, WRITE TO "_icloud""#)
        try grant("Closed", "")
    }

    /// Imports a type with these grants and no others.
    private func grant(_ type: String, _ grants: String) throws {
        let fields = """
            n INT64 QUERYABLE SORTABLE, place LOCATION QUERYABLE, s STRING,
            "___createdBy" REFERENCE QUERYABLE
            """
        try store.importType(type, grants.isEmpty ? fields : "\(fields), \(grants)")
    }

    private func save(
        _ name: String,
        _ type: String,
        n: Int64 = 1,
        parent: String? = nil,
        by caller: Caller = .alice
    ) throws -> ServiceError.Code? {
        let item = SaveItem(name, ["n": .int64(n)], type: type, parent: parent)
        return try store.save([item], in: .public, by: caller).codes[0]
    }

    private func fetch(_ name: String, by caller: Caller) throws -> ServiceError.Code? {
        switch try store.fetch(name, in: .public, by: caller) {
        case .success: nil
        case .failure(let error): error.code
        }
    }

    private func delete(_ name: String, by caller: Caller) throws -> ServiceError.Code? {
        try store.delete([DeleteItem(name)], in: .public, by: caller).codes[0]
    }

    // MARK: Saves and deletes

    @Test func whoIsGrantedWriteChangesAndDeletesOthersRecords() throws {
        #expect(try save("p", "Page") == nil)
        #expect(try save("p", "Page", n: 2, by: .bob) == nil)
        #expect(try save("p", "Page", by: .anonymous) == .notAuthenticated)
        #expect(try save("p", "Page", by: .administrator) == .permissionFailure)
        #expect(try store.fetch("p", in: .public, by: .bob).get().createdBy == "_alice")
        #expect(try delete("p", by: .bob) == nil)
        #expect(try fetch("p", by: .alice) == .unknownItem)
    }

    @Test func onlyTheCreatorChangesWhatIsItsOwn() throws {
        #expect(try save("d", "Diary") == nil)
        #expect(try save("d", "Diary", n: 2, by: .bob) == .permissionFailure)
        #expect(try delete("d", by: .bob) == .permissionFailure)
        #expect(try save("d", "Diary", n: 2) == nil)
        #expect(try delete("d", by: .alice) == nil)
    }

    @Test func aTypeWithoutGrantsIsOfUseInPrivateDatabasesOnly() throws {
        #expect(try save("c", "Closed") == .permissionFailure)
        let codes = try store.save([SaveItem("c", ["n": 1], type: "Closed")]).codes
        #expect(codes == [nil])
        #expect(throws: Never.self) { try store.fetch("c", in: .private, by: .alice).get() }
    }

    @Test func anImportDecidesFromThenOn() throws {
        #expect(try save("p", "Page") == nil)
        #expect(try save("p", "Page", n: 2, by: .bob) == nil)
        try grant("Page", #"GRANT READ TO "_icloud", GRANT CREATE TO "_icloud""#)
        #expect(try save("p", "Page", n: 3) == .permissionFailure)
        #expect(try save("q", "Page", by: .bob) == nil)
        #expect(try fetch("p", by: .anonymous) == .permissionFailure)
        #expect(try fetch("p", by: .bob) == nil)
    }

    /// Types that were not imported have the usual grants.
    @Test func aTypeThatNobodyImportedIsReadByAllAndChangedByItsCreator() throws {
        #expect(try save("t", "Thing") == nil)
        #expect(try fetch("t", by: .anonymous) == nil)
        #expect(try save("t", "Thing", n: 2, by: .bob) == .permissionFailure)
        #expect(try save("t", "Thing", n: 2) == nil)
    }

    // MARK: Fetches and lists

    @Test func whoMayNotReadARecordGetsNoneOfIt() throws {
        _ = try save("d", "Diary")
        #expect(try fetch("d", by: .alice) == nil)
        #expect(try fetch("d", by: .bob) == .permissionFailure)
        #expect(try fetch("d", by: .anonymous) == .permissionFailure)
        #expect(try fetch("d", by: .administrator) == nil)
    }

    @Test func listsLeaveOutWhatTheCallerMayNotRead() throws {
        _ = try save("hers", "Diary")
        _ = try save("his", "Diary", by: .bob)
        _ = try save("p", "Page")
        _ = try save("s", "Score")
        #expect(try store.names(in: .public, by: .alice) == ["hers", "p"])
        #expect(try store.names(in: .public, by: .bob) == ["his", "p"])
        #expect(try store.names(in: .public, by: .anonymous) == ["p"])
        #expect(try store.names(in: .public, by: .administrator) == ["hers", "his", "p", "s"])
    }

    // MARK: What saves tell

    @Test func aConflictShowsTheRecordToThoseWhoMayReadIt() throws {
        _ = try save("p", "Page")
        _ = try save("s", "Score")
        func conflict(_ name: String, _ type: String) throws -> ModifyOutcome.Failure? {
            let outcome = try store.save(
                [SaveItem(name, ["n": 9], type: type)],
                in: .public,
                .ifUnchanged,
                by: .bob
            )
            guard case .failure(let failure) = outcome.saves[0] else { return nil }
            return failure
        }
        let shown = try conflict("p", "Page")
        #expect(shown?.code == .serverRecordChanged && shown?.serverRecord?.name == "p")
        let hidden = try conflict("s", "Score")
        #expect(hidden?.code == .permissionFailure && hidden?.serverRecord == nil)
        #expect(hidden?.message.hasPrefix("READ operation not permitted") == true)
    }

    @Test func anIncrementTellsItsValueToThoseWhoMayReadIt() throws {
        func value(_ name: String, _ type: String) throws -> Bytes {
            _ = try save(name, type, n: 5)
            let item = SaveItem(name, type: type, increments: ["n": 1])
            return try store.save([item], in: .public, by: .bob).saves[0].get().fields
        }
        #expect(try value("p", "Page") == WireField.body(["n": 6]))
        #expect(try value("s", "Score") == [])
        let stored = try store.fetch("s", in: .public, by: .administrator).get()
        #expect(stored.fields == WireField.body(["n": 6]))
    }

    /// A caller could find a hidden value by adding to it until the sum overflows.
    @Test func anIncrementOfAHiddenValueNeverOverflows() throws {
        func add(_ delta: Int64, to name: String, _ type: String) throws -> ServiceError.Code? {
            let item = SaveItem(name, type: type, increments: ["n": delta])
            return try store.save([item], in: .public, by: .bob).codes[0]
        }
        for (name, value) in [("s", Int64(5)), ("t", .max), ("u", .min)] {
            _ = try save(name, "Score", n: value)
            #expect(try add(.max, to: name, "Score") == nil)
            #expect(try add(.min + 1, to: name, "Score") == nil)
            let stored = try store.fetch(name, in: .public, by: .administrator).get()
            #expect(stored.fields == WireField.body(["n": .int64(value)]))
        }
        _ = try save("p", "Page", n: 5)
        #expect(try add(.max, to: "p", "Page") == .invalidArguments)
    }

    /// The comparison of tags tells whether others changed the record, so it needs READ.
    @Test func tagsAreComparedForThoseWhoMayRead() throws {
        _ = try save("s", "Score")
        let old = try store.fetch("s", in: .public, by: .administrator).get().changeTag
        func answers(_ tag: Bytes) throws -> [String] {
            let item = SaveItem("s", ["n": 2], type: "Score", tag: tag)
            var delete = DeleteItem("s")
            delete.changeTag = tag
            let saved = try store.save([item], in: .public, .ifUnchanged, by: .bob).saves
            let deleted = try store.delete([delete], in: .public, by: .bob).deletes
            return (saved + deleted).map { item in
                guard case .failure(let failure) = item else { return "done" }
                return "\(failure.code): \(failure.message)"
            }
        }
        let first = try answers(old)
        #expect(first.allSatisfy { $0.hasPrefix("permissionFailure: READ") } && first.count == 2)
        _ = try save("s", "Score", n: 3)
        #expect(try answers(old) == first)
        #expect(try answers(Bytes(repeating: 7, count: 8)) == first)
    }

    /// The answer hides who created a record that the caller may change but not read, and when.
    @Test func aSaveTellsNobodyWhoCreatedAHiddenRecord() throws {
        func created(_ name: String, by caller: Caller) throws -> (String, Int64) {
            let type = name == "p" ? "Page" : "Score"
            let item = SaveItem(name, ["n": 2], type: type)
            let saved = try store.save([item], in: .public, by: caller).saves[0].get()
            return (saved.createdBy, saved.created)
        }
        for name in ["s", "p"] { _ = try save(name, name == "p" ? "Page" : "Score") }
        let (creator, time) = try created("p", by: .bob)
        #expect(creator == "_alice" && time > 0)
        #expect(try created("s", by: .bob) == ("", 0))
        #expect(try created("s", by: .alice).0 == "_alice")
    }

    /// The name of the child would reveal that there is one.
    @Test func whatForbidsADeletionIsNotNamed() throws {
        _ = try save("p", "Page")
        #expect(try save("secret", "Diary", parent: "p", by: .bob) == nil)
        func message(_ caller: Caller) throws -> String {
            let outcome = try store.delete([DeleteItem("p")], in: .public, by: caller)
            guard case .failure(let failure) = outcome.deletes[0] else { return "" }
            #expect(failure.code == .referenceViolation)
            return failure.message
        }
        #expect(try message(.bob).contains("record 'secret' has 'p' as its parent"))
        let hidden = try message(.alice)
        #expect(hidden.contains("a record that you may not read has 'p' as its parent"))
        #expect(!hidden.contains("secret"))
    }

    // MARK: Queries

    private func query(sorted: Bool = false) -> Query {
        Query(
            recordType: "Diary",
            predicate: .field("n") > Int64(0),
            sortDescriptors: sorted ? [.init(key: "n", ascending: false)] : []
        )
    }

    private func fillDiaries() throws {
        for n in Int64(1)...4 {
            let caller: Caller = n.isMultiple(of: 2) ? .bob : .alice
            let place = Location(latitude: 48 + Double(n), longitude: 16)
            let item = SaveItem(
                "d\(n)",
                ["n": .int64(n), "place": .location(place)],
                type: "Diary"
            )
            #expect(try store.save([item], in: .public, by: caller).codes == [nil])
        }
    }

    private func names(_ query: Query, by caller: Caller) throws -> [String] {
        try store.query(query, in: .public, by: caller).records.map(\.record.name)
    }

    @Test func aQueryFindsOnlyTheCallersOwnWhereOnlyCreatorsRead() throws {
        try fillDiaries()
        #expect(try names(query(), by: .alice) == ["d1", "d3"])
        #expect(try names(query(sorted: true), by: .bob) == ["d4", "d2"])
        #expect(try names(query(), by: .administrator) == ["d1", "d2", "d3", "d4"])
        var either = query()
        either.predicate = .field("n") == Int64(1) || .field("n") == Int64(2)
        either.allowsExtensions = true
        #expect(try names(either, by: .alice) == ["d1"])
    }

    /// Distances are read from index rows alone if nothing else is asked.
    @Test func alsoByDistance() throws {
        try fillDiaries()
        let origin = Location(latitude: 48, longitude: 16)
        let near = Query(
            recordType: "Diary",
            predicate: .field("place").isNearer(thanMetres: 1_000_000, to: origin),
            sortDescriptors: [.init(key: "place", relativeLocation: origin)]
        )
        #expect(try names(near, by: .alice) == ["d1", "d3"])
        #expect(try store.query(near, in: .public, counts: true, by: .bob).count == 2)
    }

    @Test func countsAndPagesAreOfTheCallersOwnToo() throws {
        try fillDiaries()
        #expect(try store.query(query(), in: .public, counts: true, by: .alice).count == 2)
        #expect(try store.query(query(), in: .public, counts: true, by: .administrator).count == 4)
        let first = try store.query(query(sorted: true), in: .public, limit: 1, by: .alice)
        #expect(first.records.map(\.record.name) == ["d3"])
        let cursor = try #require(first.next)
        let rest = try store.query(query(sorted: true), in: .public, from: cursor, by: .alice)
        #expect(rest.records.map(\.record.name) == ["d1"])
        #expect(rest.next == nil)
    }

    /// Without the index, every record of the type would be read.
    @Test func theIndexOnCreatorsIsUsed() throws {
        for n in Int64(1)...50 { _ = try save("b\(n)", "Diary", n: n, by: .bob) }
        _ = try save("a", "Diary")
        let page = try store.query(query(), in: .public, firstStretch: 1, by: .alice)
        #expect(page.records.map(\.record.name) == ["a"])
        #expect(page.work.plan.contains("'___createdBy'"))
        #expect(page.work.rowsRead < 20)
    }

    @Test func aQueryOfATypeThatNobodyLetsTheCallerReadIsRefused() throws {
        _ = try save("s", "Score")
        for (type, caller) in [
            ("Score", Caller.alice), ("Closed", .bob), ("Diary", .anonymous),
        ] {
            let query = Query(recordType: type, predicate: .field("n") > Int64(0))
            for counts in [false, true] {
                let error = try #require(throws: ServiceError.self) {
                    try store.query(query, in: .public, counts: counts, by: caller)
                }
                #expect(error.code == .permissionFailure)
            }
        }
        // Grants have no effect in a private database.
        let query = Query(recordType: "Score", predicate: .field("n") > Int64(0))
        #expect(try store.query(query, by: .alice).records.isEmpty)
    }

    // MARK: Changes

    private func changes(
        since token: ChangeToken? = nil,
        by caller: Caller
    ) throws -> FetchZoneChanges.Page {
        var fetch = FetchZoneChanges(
            database: .public,
            zone: ZoneAddress(),
            since: token,
            keys: nil,
            limit: FetchZoneChanges.PageLimit(items: 100, bytes: 1 << 20)
        )
        fetch.includesDefaultZones = true
        do {
            return try fetch.run(store.scope, store.scopeNumber(), by: caller, in: store.reader)
        } catch ReadFailure.service(let error) {
            throw error
        }
    }

    @Test func aFollowerIsToldOfWhatItMayRead() throws {
        _ = try save("p", "Page")
        let open = try changes(by: .bob)
        #expect(open.records.map(\.name) == ["p"] && !open.isPersonal)
        _ = try save("hers", "Diary")
        _ = try save("his", "Diary", by: .bob)
        _ = try save("s", "Score")
        let page = try changes(since: open.token, by: .bob)
        #expect(page.records.map(\.name) == ["his"] && page.isPersonal)
        // Callers who are not signed in created nothing, so they share their pages.
        let world = try changes(since: open.token, by: .anonymous)
        #expect(world.records.isEmpty && !world.isPersonal)
        for name in ["hers", "his"] { _ = try delete(name, by: name == "hers" ? .alice : .bob) }
        _ = try delete("s", by: .alice)
        #expect(try changes(since: page.token, by: .bob).deletions.map(\.name) == ["his"])
        #expect(try changes(since: page.token, by: .alice).deletions.map(\.name) == ["hers"])
    }

    /// The follower would not be told of records that it may read from now on.
    @Test func aFollowerBeginsAnewWhenGrantsChange() throws {
        _ = try save("d", "Diary")
        let token = try changes(by: .bob).token
        try grant("Other", #"GRANT READ TO "_world""#)
        let later = try changes(since: token, by: .bob)
        #expect(later.records.isEmpty)
        try grant("Diary", #"GRANT READ TO "_world", GRANT CREATE TO "_icloud""#)
        let error = try #require(throws: ServiceError.self) {
            try changes(since: later.token, by: .bob)
        }
        #expect(error.code == .changeTokenExpired)
        #expect(try changes(by: .bob).records.map(\.name) == ["d"])
    }

    /// Callers with the same rights share pages.
    @Test func followersWithOtherRolesAskSomethingElse() throws {
        var follower = FollowChanges(
            .zone(
                FetchZoneChanges(
                    database: .public,
                    zone: ZoneAddress(),
                    since: nil,
                    keys: nil,
                    limit: FetchZoneChanges.PageLimit(items: 100, bytes: 1 << 20)
                )
            )
        )
        let token = try changes(by: .bob).token
        _ = follower.take(isEmpty: true, token: token, with: UserRoles())
        func asked(_ caller: Caller) -> FollowChanges.Question? {
            follower.question(by: caller, with: UserRoles())
        }
        let question = try #require(asked(.bob))
        #expect(question == asked(.alice))
        #expect(question != asked(.anonymous))
        #expect(question != asked(.administrator))
    }
}
