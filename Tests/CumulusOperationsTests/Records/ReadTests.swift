// Fetching and listing records: the requested ones, in order, from one snapshot.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct ReadTests {
    private let store: TestStore

    init() throws {
        store = try TestStore()
    }

    // MARK: Fetch

    @Test func desiredKeysSelectFieldsAndUnknownOnesAreIgnored() throws {
        let fields: [String: FieldValue?] = ["a": 1, "b": "text", "c": ["x"]]
        try store.save([SaveItem("n", fields)])
        func fetch(_ keys: [String]?) throws -> Bytes {
            try store.fetch("n", in: .private, keys: keys, by: .alice).get().fields
        }
        #expect(try fetch(nil) == WireField.body(fields))
        #expect(try fetch([]) == [])
        #expect(try fetch(["a", "c"]) == WireField.body(["a": 1, "c": ["x"]]))
        #expect(try fetch(["b", "nobody"]) == WireField.body(["b": "text"]))
    }

    @Test func resultsStandInTheOrderOfTheRequest() throws {
        try store.modify(ModifyZones(saving: ["z"]), by: .alice)
        try store.save([SaveItem("n"), SaveItem("m"), SaveItem("k", in: ZoneAddress(name: "z"))])
        try store.delete([DeleteItem("m")])
        let zones = [ZoneAddress(name: "z"), ZoneAddress(), ZoneAddress(name: "q")]
        var ids: [Result<RecordAddress, ServiceError>] = [.failure(.recordNotFound)]
        for name in ["k", "m", "n"] {
            ids += zones.map { .success(RecordAddress(zone: $0, name: name)) }
        }
        let fetch = FetchRecords(database: .private, ids: ids, keys: nil)
        let results = try fetch.run(store.scopeNumber(), by: .alice, in: store.reader)
        let words = results.map { result in
            switch result {
            case .success(let view): view.name
            case .failure(let error): "\(error.code.rawValue)"
            }
        }
        #expect(words == ["11", "k", "11", "26", "11", "11", "26", "11", "n", "26"])
    }

    /// A damaged record is the only item that fails, and its place is reported.
    @Test func aDamagedRecordFailsAlone() throws {
        try store.save([SaveItem("a"), SaveItem("b"), SaveItem("c")])
        let zone = try #require(try store.zoneNumber(ZoneAddress(), by: .alice))
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            transaction.put(RowKey.record(zone, "b"), [0xFF])
        }
        let ids = ["a", "b", "c"].map { name in
            Result<RecordAddress, ServiceError>.success(
                RecordAddress(zone: ZoneAddress(), name: name)
            )
        }
        let fetch = FetchRecords(database: .private, ids: ids, keys: nil)
        var damage: [String] = []
        let results = try fetch.run(store.scopeNumber(), by: .alice, in: store.reader) {
            damage.append($0)
        }
        #expect(results.map { (try? $0.get())?.name } == ["a", nil, "c"])
        let error = try #require(throws: ServiceError.self) { try results[1].get() }
        #expect(error.reason == .corrupt)
        #expect(damage.count == 1)
    }

    /// Records are read ahead in stretches; a page may end in one, and a name may be in two.
    @Test func manyRecordsComeAsEachAlone() throws {
        let names = (0..<150).map { "n\($0)" }
        try store.save(names.map { SaveItem($0, ["a": .string($0)]) })
        try store.delete([DeleteItem("n3"), DeleteItem("n70")])
        let asked = names.reversed() + ["nobody", "n5", "n5", "n149", "n70"] + names.prefix(80)
        let ids = asked.map { name in
            Result<RecordAddress, ServiceError>.success(
                RecordAddress(zone: ZoneAddress(), name: name)
            )
        }
        let fetch = FetchRecords(database: .private, ids: ids, keys: nil)
        let alone = asked.map { name in
            try? store.fetch(name, in: .private, keys: nil, by: .alice).get().fields
        }
        for byteLimit in [1, 100, 500, .max] {
            var found: [Bytes?] = []
            while found.count < ids.count {
                let page = try fetch.run(
                    store.scopeNumber(),
                    by: .alice,
                    in: store.reader,
                    from: found.count,
                    byteLimit: byteLimit
                )
                #expect(!page.isEmpty)
                found += page.map { try? $0.get().fields }
            }
            #expect(found == alone)
        }
    }

    @Test func systemFieldsComeAlways() throws {
        try store.save([SaveItem("p"), SaveItem("n", ["a": 1], type: "Photo", parent: "p")])
        let view = try store.fetch("n", in: .private, keys: [], by: .alice).get()
        #expect((view.name, view.type, view.parent, view.share) == ("n", "Photo", "p", nil))
        #expect((view.createdBy, view.modifiedBy) == ("_alice", "_alice"))
        #expect((view.created, view.modified) == (store.now, store.now))
        #expect(view.changeTag.count == 8)
    }

    // MARK: List

    private func pages(_ byteLimit: Int, in reader: ReadTransaction) throws -> [[String]] {
        let list = ListRecords(database: .private, zone: ZoneAddress(), keys: nil)
        let zone = try list.open(store.scopeNumber(), by: .alice, in: reader)
        var pages: [[String]] = []
        var start: Bytes?
        repeat {
            let page = try list.page(of: zone, from: start, byteLimit: byteLimit, in: reader)
            pages.append(page.records.map(\.name))
            start = page.next
        } while start != nil
        return pages
    }

    /// Deleted records end no page, even if there are more than one turn looks at.
    @Test func whatIsNotToldEndsNoPage() throws {
        let names = (0..<1_200).map { "n\($0)" }
        for start in stride(from: 0, to: names.count, by: 200) {
            let part = names[start..<start + 200]
            try store.save(part.map { SaveItem($0) })
            try store.delete(part.map { DeleteItem($0) })
        }
        try store.save([SaveItem("a"), SaveItem("z")])
        #expect(try pages(1 << 20, in: store.reader) == [["a", "z"]])
        #expect(try pages(1, in: store.reader) == [["a"], ["z"]])
    }

    @Test func pagesFollowTheNamesBytesAndSkipNothing() throws {
        let names = (0..<100).map { "n\($0)" } + ["N", "n", "~", " x"]
        for start in stride(from: 0, to: names.count, by: 50) {
            try store.save(
                names[start..<min(start + 50, names.count)].map { SaveItem($0, ["a": 1]) }
            )
        }
        try store.delete([DeleteItem("n7"), DeleteItem("n70")])
        let left = names.filter { $0 != "n7" && $0 != "n70" }
            .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        for byteLimit in [1, 1_000, 1 << 20] {
            let pages = try pages(byteLimit, in: store.reader)
            #expect(pages.flatMap(\.self) == left)
            #expect((pages.count == 1) == (byteLimit == 1 << 20))
        }
    }

    /// A name that is not there, or not any more, is as good a place to begin as any other.
    @Test func aListBeginsBehindAName() throws {
        try store.save(["a", "b", "b2", "c"].map { SaveItem($0) })
        try store.delete([DeleteItem("b2")])
        for (after, left) in [("b", ["c"]), ("a", ["b", "c"]), ("b2", ["c"]), ("aa", ["b", "c"])] {
            var list = ListRecords(database: .private, zone: ZoneAddress(), keys: nil)
            list.after = after
            let reader = store.reader
            let zone = try list.open(store.scopeNumber(), by: .alice, in: reader)
            var names: [String] = []
            var start: Bytes?
            repeat {
                let page = try list.page(of: zone, from: start, byteLimit: 1, in: reader)
                names += page.records.map(\.name)
                start = page.next
            } while start != nil
            #expect(names == left)
        }
    }

    /// Pages do not tell how many tombstones lie between two records.
    @Test func tombstonesFillNoPage() throws {
        try store.save((0..<300).map { SaveItem("n\($0)") })
        try store.delete((0..<300).map { DeleteItem("n\($0)") })
        let pages = try pages(1_280, in: store.reader)
        #expect(pages == [[]])
    }

    @Test func aListIsOneSnapshot() throws {
        try store.save((0..<20).map { SaveItem("n\($0)") })
        let snapshot = ReadTransaction(try store.engine.snapshot(), reach: .disk)
        try store.save([SaveItem("later")])
        try store.delete([DeleteItem("n3")])
        #expect(try pages(256, in: snapshot).flatMap(\.self).count == 20)
        #expect(try pages(256, in: store.reader).flatMap(\.self).count == 20)
        #expect(try pages(256, in: store.reader).flatMap(\.self).contains("later"))
    }

    @Test func zonesWithoutRecordsAndWithoutExistence() throws {
        #expect(try store.names(in: .private, by: .alice) == [])
        #expect(throws: ReadFailure.self) {
            try store.names(in: .private, zone: ZoneAddress(name: "q"), by: .alice)
        }
        #expect(throws: ReadFailure.self) { try store.names(in: .private, by: .anonymous) }
    }
}
