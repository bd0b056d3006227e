// The golden files: read and written alike by libprotobuf-c and by our own codec.

import CumulusModel
import CumulusRequests
import CumulusTesting
import CumulusWire
import Testing

@Suite struct GoldenTests {
    @Test func everyRequestAndResponseHasOne() throws {
        let files = [
            "connection", "records", "zones", "changes", "operator", "peers", "assets",
            "subscriptions", "feeds", "roles", "accounts", "sharing",
        ]
        let declared = try files.flatMap { file in
            try Golden.text("\(file).proto").matches(of: /message (\w+(?:Request|Response))\s/)
                .map { String($0.output.1) }
        }
        #expect(declared.count >= 24)
        let golden = Set(try Golden.all().map(\.message))
        #expect(Set(declared).subtracting(golden) == [])
        #expect(Set(LibraryCodec.messages.keys) == golden.subtracting(["Frame", "Preface"]))
    }

    @Test func theirPageListsThem() throws {
        let page = try Golden.text("golden/README.md")
        let files = try Golden.all().map(\.name).sorted()
        #expect(Self.files(of: page).sorted() == files)
    }

    /// The files that the page names: two for each name of its list, and one for each of its table.
    private static func files(of page: String) -> [String] {
        page.split(separator: "\n").flatMap { line -> [String] in
            let names = line.matches(of: /`([^`]+)`/).map { String($0.output.1) }
            if line.hasPrefix("- `") { return names.flatMap { ["\($0)Request", "\($0)Response"] } }
            guard line.hasPrefix("| `"), let message = names.first else { return [] }
            let examples = names.dropFirst().map { "\(message)-\($0)" }
            return (line.contains("| plain") ? [message] : []) + examples
        }
    }

    @Test(arguments: try Golden.all().filter { !["Frame", "Preface"].contains($0.message) })
    func theLibraryWritesTheSameBytes(golden: Golden) throws {
        let repack = try #require(LibraryCodec.messages[golden.message])
        #expect(repack(golden.bytes)?.hex == golden.bytes.hex)
    }

    /// Not only bytes that come back: each part is where the contract has it.
    @Test func everyPartOfASubscription() throws {
        let golden = try Golden("ModifySubscriptionsRequest-full").bytes
        let save = try #require(try ModifySubscriptionsRequest(wire: golden).saves.first)
        let subscription = try #require(save.subscription)
        let trips = RecordZone.ID(zoneName: "Trips")
        let predicate = try Query.Predicate(format: "TRUEPREDICATE OR population > 1000000")
        let kind = Subscription.Kind.query(recordType: "City", predicate: predicate, zone: trips)
        #expect(subscription.id == "s")
        #expect(subscription.kind == kind)
        #expect(subscription.options == .standard)
        #expect(subscription.allowsExtensions)
        let info = try #require(subscription.notificationInfo)
        #expect(info.alertBody == "t1" && info.alertLocalizationKey == "t2")
        #expect(info.title == "t3" && info.titleLocalizationKey == "t4")
        #expect(info.subtitle == "t5" && info.subtitleLocalizationKey == "t6")
        #expect(info.alertActionLocalizationKey == "t7" && info.alertLaunchImage == "t8")
        #expect(info.soundName == "t9" && info.category == "t10" && info.collapseIDKey == "t11")
        #expect(info.alertLocalizationArgs == ["f12"] && info.titleLocalizationArgs == ["f13"])
        #expect(info.subtitleLocalizationArgs == ["f14"] && info.desiredKeys == ["f15"])
        #expect(info.shouldBadge && info.shouldSendContentAvailable)
        #expect(info.shouldSendMutableContent && info.webhook == "t19")
    }

    // MARK: Made by one side and read by the other

    @Test func record() throws {
        #expect(WireSamples.encodedRecord.hex == (try Golden("Record").bytes.hex))
    }

    @Test func fetchRecordsResponse() throws {
        let missing = ServiceError(.unknownItem, "Record not found")
        let answer = FetchRecordsResponse([
            .encoded(WireSamples.encodedRecord), .error(WireStatus(missing)),
        ])
        let golden = try Golden("FetchRecordsResponse").bytes
        #expect(answer.encoded().hex == golden.hex)
        let results = try FetchRecordsResponse(wire: golden).results
        #expect(results.count == 2)
        let record = try results[0].get()
        #expect(record.recordID == WireSamples.oslo)
        #expect(record.recordType == "City")
        #expect(record.recordChangeTag == "0102030405060708")
        #expect(record.creatorUserRecordName == "_u1")
        #expect(record.creationDate == Timestamp(millisecondsSince1970: WireSamples.created))
        #expect(record.lastModifiedUserRecordName == "_u2")
        #expect(record.parent?.recordName == "norway")
        #expect(record.allKeys() == ["name", "population"])
        #expect(record["name"] == "Oslo")
        #expect(record["population"] == 709_037)
        #expect(record.changedKeys().isEmpty)
        #expect(throws: ServiceError.self) { try results[1].get() }
    }

    @Test func modifyRecordsRequest() throws {
        var record = Record(recordType: "City", recordID: WireSamples.oslo)
        record.recordChangeTag = "0102030405060708"
        record.parent = nil
        record["title"] = "Grüße"
        record["old"] = nil
        record.increment("visits", by: 2)
        let rome = Record.ID(recordName: "rome", zoneID: WireSamples.oslo.zoneID)
        let golden = try Golden("ModifyRecordsRequest").bytes
        let encoded = ModifyRecordsRequest(
            database: .private,
            policy: 1,
            isAtomic: false,
            saves: [record.encodedSave(allKeys: false)],
            deletes: [WireRecordID(rome)],
            deleteTags: [[8, 7, 6, 5, 4, 3, 2, 1]]
        ).encoded()
        #expect(encoded.hex == golden.hex)

        let request = try NodeModifyRecordsRequest(wire: golden)
        #expect(request.database == 2)
        #expect(request.policy == 1)
        #expect(!request.isAtomic)
        #expect(request.deletes == [WireRecordID(rome)])
        #expect(request.deleteTags == [[8, 7, 6, 5, 4, 3, 2, 1]])
        let save = try #require(request.saves.first)
        #expect(request.saves.count == 1)
        #expect(save.id == WireRecordID(WireSamples.oslo))
        #expect(save.record.type == Bytes("City".utf8))
        #expect(save.record.changeTag == [1, 2, 3, 4, 5, 6, 7, 8])
        #expect(save.record.parent?.bytes == [])
        #expect(save.record.fields.count == 2)
        #expect(save.record.fields.last == (try Golden("Field-string").bytes))
        #expect(save.increments.map(\.field) == [Bytes("visits".utf8)])
        #expect(save.increments.map(\.delta) == [2])
    }

    @Test func modifyRecordsResponse() throws {
        let failed = ServiceError(.batchRequestFailed, .atomicFailure, "another item failed")
        let answer = ModifyRecordsResponse(
            saves: [.encoded(WireSamples.encodedRecord), .error(WireStatus(failed))],
            deletes: [
                WireOutcome(nil), WireOutcome(ServiceError(.permissionFailure, "not yours")),
            ]
        )
        let golden = try Golden("ModifyRecordsResponse").bytes
        #expect(answer.encoded().hex == golden.hex)
        let response = try ModifyRecordsResponse(wire: golden)
        #expect(try response.saves[0].get().recordID == WireSamples.oslo)
        #expect(response.saves.count == 2)
        #expect(response.deletes.map(\.?.code) == [nil, .permissionFailure])
    }

    @Test func listRecordsResponse() throws {
        let answer = ListRecordsResponse(encoded: [WireSamples.encodedRecord])
        let golden = try Golden("ListRecordsResponse").bytes
        #expect(answer.encoded().hex == golden.hex)
        #expect(try ListRecordsResponse(wire: golden).records.map(\.recordID) == [WireSamples.oslo])
    }

    @Test func fetchZoneChangesResponse() throws {
        let lund = Record.ID(recordName: "lund", zoneID: RecordZone.ID(zoneName: "Trips"))
        let bytes = FetchZoneChangesResponse(
            changed: [WireSamples.encodedRecord],
            deleted: [.init(id: WireRecordID(lund), type: Bytes("City".utf8))],
            token: Bytes(1...8),
            moreComing: false
        ).encoded()
        #expect(bytes.hex == (try Golden("FetchZoneChangesResponse").bytes.hex))
        let response = try FetchZoneChangesResponse(wire: bytes)
        #expect(response.changed.map(\.recordID) == [WireSamples.oslo])
        #expect(response.deleted.map(\.id.id) == [lund])
    }

    @Test func queryRecordsRequest() throws {
        let query = Query(
            recordType: "City",
            predicate: Query.Predicate(nodes: [
                .comparison(Query.Comparison("country", .equals, [.value("JP")])),
                .comparison(Query.Comparison("population", .greaterThan, [.value(500_000)])),
                .and,
            ]),
            sortDescriptors: [Query.SortDescriptor(key: "population", ascending: false)]
        )
        var request = QueryRecordsRequest(query, database: .public, zone: nil)
        request.limit = 50
        #expect(request.encoded().hex == (try Golden("QueryRecordsRequest").bytes.hex))
    }

    @Test func queryRecordsResponse() throws {
        let work = QueryRecordsResponse.Work(
            plan: Bytes("read all records of the zone".utf8),
            rowsRead: 300,
            rowsKept: 1,
            microseconds: 725
        )
        let bytes = QueryRecordsResponse(
            records: [WireSamples.encodedRecord],
            cursor: Bytes(1...8),
            count: 1,
            work: work
        ).encoded()
        #expect(bytes.hex == (try Golden("QueryRecordsResponse").bytes.hex))
        let response = try QueryRecordsResponse(wire: bytes)
        #expect(response.records.map(\.recordID) == [WireSamples.oslo])
        #expect(response.cursor == Bytes(1...8))
        #expect(response.count == 1)
        #expect(response.work == work)
    }

    @Test func listConflictsResponse() throws {
        var fields = CanonicalWriter()
        fields.message(10) { field in
            field.field(1, text: "name")
            FieldValue.string("Oslo").encode(to: &field)
        }
        let winner = WireConflict.Change(
            time: WireSamples.created + 1_500,
            incarnation: 0x0102_0304_0506_0708,
            seq: 8
        )
        let loser = WireConflict.Change(
            time: WireSamples.created,
            incarnation: 0x1102_0304_0506_0708,
            seq: 3
        )
        let inDefaultZone = Record.ID(recordName: "oslo")
        let made = [
            (Bytes(1...26), WireSamples.oslo, fields.bytes), (Bytes(2...27), inDefaultZone, []),
        ].map { id, record, fields in
            var lost = WireRecord()
            lost.id = WireRecordID(record)
            lost.stored = fields
            var conflict = WireConflict()
            conflict.id = id
            conflict.database = 2
            conflict.owner = "_u1"
            conflict.lost = .encoded(lost.encoded())
            conflict.field = fields.isEmpty ? "" : "name"
            conflict.winner = winner
            conflict.loser = loser
            conflict.isWithheld = fields.isEmpty
            return conflict
        }
        let golden = try Golden("ListConflictsResponse").bytes
        #expect(ListConflictsResponse(made).encoded().hex == golden.hex)
        let conflicts = try ListConflictsResponse(wire: golden).elements
        let lost = try conflicts.map { try #require($0.lostRecord) }
        #expect(lost.map(\.recordID) == [WireSamples.oslo, inDefaultZone])
        #expect(lost.map { $0["name"] } == ["Oslo", nil])
        #expect(conflicts.map(\.isWithheld) == [false, true])
        #expect(conflicts.map(\.winner) == [winner, winner])
        #expect(conflicts.map(\.loser) == [loser, loser])
        #expect(conflicts.map(\.owner) == ["_u1", "_u1"])
    }

    @Test func zones() throws {
        let trips = WireZoneID(name: Bytes("Trips".utf8), owner: Bytes("_u1".utf8))
        let home = WireZoneID(name: Bytes("_defaultZone".utf8), owner: Bytes("_u1".utf8))
        let missing = ServiceError(.zoneNotFound, "zone not found")

        let list = ListZonesResponse([WireZone(home), WireZone(trips, capabilities: 15)])
        let listed = try Golden("ListZonesResponse").bytes
        #expect(list.encoded().hex == listed.hex)
        let zones = try ListZonesResponse(wire: listed).zones
        #expect(zones.map(\.zoneID.zoneName) == ["_defaultZone", "Trips"])
        #expect(zones.map(\.zoneID.ownerName) == ["_u1", "_u1"])
        #expect(zones.map(\.capabilities) == [[], .custom])

        let found: [WireZoneResult] = [
            .value(WireZone(trips, capabilities: 15)), .error(WireStatus(missing)),
        ]
        let fetched = try Golden("FetchZonesResponse").bytes
        #expect(FetchZonesResponse(found).encoded().hex == fetched.hex)
        let results = try FetchZonesResponse(wire: fetched).results
        #expect(try results[0].get() == zones[1])
        #expect(throws: ServiceError.self) { try results[1].get() }

        let modify = ModifyZonesResponse(
            saves: Array(found.prefix(1)),
            deletes: [WireOutcome(nil), WireOutcome(missing)]
        )
        let modified = try Golden("ModifyZonesResponse").bytes
        #expect(modify.encoded().hex == modified.hex)
        let response = try ModifyZonesResponse(wire: modified)
        #expect(try response.saves.map { try $0.get() } == [zones[1]])
        #expect(response.deletes.map(\.?.code) == [nil, .zoneNotFound])
    }
}
