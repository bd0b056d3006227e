// The golden files: read and written alike by libprotobuf-c and by our own codec.

import CumulusModel
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

    @Test func theReadmeListsThem() throws {
        let readme = try Golden.text("README.md")
        for golden in try Golden.all() { #expect(readme.contains("`\(golden.name).hex`")) }
    }

    @Test(arguments: try Golden.all().filter { !["Frame", "Preface"].contains($0.message) })
    func theLibraryWritesTheSameBytes(golden: Golden) throws {
        let repack = try #require(LibraryCodec.messages[golden.message])
        #expect(repack(golden.bytes)?.hex == golden.bytes.hex)
    }

    /// What is decoded and encoded by the same type.
    private static let recoded: [String: @Sendable (Bytes) throws -> Bytes] = [
        "Hello": { try Hello(wire: $0).encoded() },
        "ServerHello": { try ServerHello(wire: $0).encoded() },
        "Drain": { try DrainNotice(wire: $0).encoded() },
        "CallHeader": { bytes in
            var payload = CanonicalWriter()
            payload.delimited(bytes)
            payload.raw([7, 7])
            let (header, message) = try CallHeader.split(payload.bytes)
            let again = header.encoded(before: message)
            #expect(again == payload.bytes)
            return Bytes(again.dropFirst().dropLast(2))
        },
        "FetchRecordsRequest": { try FetchRecordsRequest(wire: $0).encoded() },
        "ListRecordsRequest": { try ListRecordsRequest(wire: $0).encoded() },
        "FetchZonesRequest": { try FetchZonesRequest(wire: $0).encoded() },
        "ModifyZonesRequest": { try ModifyZonesRequest(wire: $0).encoded() },
        "ListZonesRequest": {
            let number = try ListZonesRequest.database(wire: $0)
            return ListZonesRequest.encoded(
                database: try #require(DatabaseScope(rawValue: UInt8(number)))
            )
        },
        "ShareMetadataRequest": { try ShareMetadataRequest(wire: $0).encoded() },
        "AcceptShareRequest": { try AcceptShareRequest(wire: $0).encoded() },
        "ListSharesRequest": { try ListSharesRequest(wire: $0).encoded() },
        "StopShareRequest": { try StopShareRequest(wire: $0).encoded() },
        "StopShareResponse": {
            StopShareResponse.encoded(existed: try StopShareResponse.existed(wire: $0))
        },
        "ListUserSubscriptionsRequest": {
            try ListUserSubscriptionsRequest(wire: $0).encoded()
        },
        "ListUserSubscriptionsResponse": {
            ListUserSubscriptionsResponse.answer(
                try ListUserSubscriptionsResponse.subscriptions(wire: $0)[...]
            )
        },
        "EndSubscriptionsRequest": { try EndSubscriptionsRequest(wire: $0).encoded() },
        "EndSubscriptionsResponse": {
            EndSubscriptionsResponse.encoded(count: try EndSubscriptionsResponse.count(wire: $0))
        },
        "LookUpParticipantsRequest": { try LookUpParticipantsRequest(wire: $0).encoded() },
        "LookUpParticipantsResponse": {
            LookUpParticipantsResponse.encoded(
                try LookUpParticipantsResponse.participants(wire: $0)
            )
        },
        "FetchSubscriptionsRequest": { try FetchSubscriptionsRequest(wire: $0).encoded() },
        "FetchSubscriptionsResponse": {
            FetchSubscriptionsResponse.encoded(try FetchSubscriptionsResponse.results(wire: $0))
        },
        "ModifySubscriptionsRequest": { try ModifySubscriptionsRequest(wire: $0).encoded() },
        "ModifySubscriptionsResponse": { try ModifySubscriptionsResponse(wire: $0).encoded() },
        "FetchDatabaseChangesRequest": { try FetchDatabaseChangesRequest(wire: $0).encoded() },
        "FetchDatabaseChangesResponse": { try FetchDatabaseChangesResponse(wire: $0).encoded() },
        "FetchZoneChangesRequest": { try FetchZoneChangesRequest(wire: $0).encoded() },
        "FollowFeedRequest": { try FollowFeedRequest(wire: $0).encoded() },
        "MarkReadRequest": { try MarkReadRequest(wire: $0).encoded() },
        "FeedPage": { try WireFeedPage(wire: $0).encoded() },
        "ReadSchemaResponse": {
            ReadSchemaResponse.encoded(ckdb: try ReadSchemaResponse.ckdb(wire: $0))
        },
        "ImportSchemaRequest": { try ImportSchemaRequest(wire: $0).encoded() },
        "ImportSchemaResponse": { SchemaChanges.encoded(try SchemaChanges.changes(wire: $0)) },
        "DeploySchemaRequest": {
            DeploySchemaRequest.encoded(onlyShows: try DeploySchemaRequest.onlyShows(wire: $0))
        },
        "ResetSchemaRequest": {
            ResetSchemaRequest.encoded(onlyShows: try ResetSchemaRequest.onlyShows(wire: $0))
        },
        "ResetSchemaResponse": { try ResetSchemaResponse(wire: $0).encoded() },
        "SetRoleRequest": { try SetRoleRequest(wire: $0).encoded() },
        "SetRoleResponse": {
            SetRoleResponse.encoded(existed: try SetRoleResponse.existed(wire: $0))
        },
        "ListRolesRequest": { try ListRolesRequest(wire: $0).encoded() },
        "ListRolesResponse": {
            WireAssignedRole.answer(try WireAssignedRole.list(wire: $0)[...])
        },
        "IndexesRequest": { try IndexesRequest(wire: $0).encoded() },
        "IndexesResponse": { WireIndex.answer(try WireIndex.list(wire: $0)) },
        "DeploySchemaResponse": { SchemaChanges.encoded(try SchemaChanges.changes(wire: $0)) },
        "QueryRecordsRequest": { try QueryRecordsRequest(wire: $0).encoded() },
        "PrepareAssetsRequest": { try PrepareAssetsRequest(wire: $0).encoded() },
        "PrepareAssetsResponse": {
            PrepareAssetsResponse.encoded(try PrepareAssetsResponse.results(wire: $0))
        },
        "UploadChunksRequest": { try UploadChunksRequest(wire: $0).encoded() },
        "Chunks": { try WireChunks(wire: $0).encoded().bytes },
        "UploadChunksResponse": { try UploadChunksResponse(wire: $0).encoded() },
        "DownloadAssetRequest": { try DownloadAssetRequest(wire: $0).encoded() },
        "DownloadAssetResponse": { try DownloadAssetResponse(wire: $0).encoded().bytes },
        "PeerAssetRequest": { try PeerAssetRequest(wire: $0).encoded() },
        "WantedAssetsResponse": {
            WantedAssetsResponse.encoded(try WantedAssetsResponse.assets(wire: $0))
        },
        "WhoAmIResponse": { try WireCaller(wire: $0).encoded() },
        "MetricsResponse": {
            MetricsResponse.encoded(text: try MetricsResponse.text(wire: $0))
        },
        "NodeStatusResponse": { try NodeStatus(wire: $0).encoded() },
        "ListContainersResponse": {
            OperatorMessages.containers(try OperatorMessages.containers(wire: $0)[...])
        },
        "CreateContainerRequest": {
            OperatorMessages.request(name: try OperatorMessages.containerName(wire: $0))
        },
        "CreateContainerResponse": {
            OperatorMessages.container(existed: try OperatorMessages.containerExisted(wire: $0))
        },
        "ListUsersRequest": {
            OperatorMessages.request(name: try OperatorMessages.listedUserName(wire: $0))
        },
        "ListUsersResponse": { OperatorMessages.users(try OperatorMessages.users(wire: $0)[...]) },
        "AddUserRequest": {
            OperatorMessages.request(name: try OperatorMessages.newUserName(wire: $0))
        },
        "AddUserResponse": {
            let (user, existed) = try OperatorMessages.addedUser(wire: $0)
            return OperatorMessages.user(user, existed: existed)
        },
        "AddTokenRequest": {
            OperatorMessages.request(name: try OperatorMessages.tokenUserName(wire: $0))
        },
        "AddTokenResponse": { OperatorMessages.token(try OperatorMessages.token(wire: $0)) },
        "SignInRequest": { try SignInRequest(wire: $0).encoded() },
        "SignInResponse": { try OpenedSession(wire: $0).encoded() },
        "RegisterRequest": { try SignInRequest(wire: $0).encoded() },
        "RegisterResponse": { try OpenedSession(wire: $0).encoded() },
        "SessionsRequest": {
            AccountMessages.sessions(ofUser: try AccountMessages.sessionsUser(wire: $0))
        },
        "SessionsResponse": { WireSession.answer(try WireSession.list(wire: $0)[...]) },
        "RevokeSessionsRequest": { try RevokeSessionsRequest(wire: $0).encoded() },
        "RevokeSessionsResponse": {
            AccountMessages.done(try AccountMessages.isDone(wire: $0))
        },
        "ChangePasswordRequest": { try ChangePasswordRequest(wire: $0).encoded() },
        "ChangePasswordResponse": { try OpenedSession(wire: $0).encoded() },
        "SetUserStateRequest": { try SetUserStateRequest(wire: $0).encoded() },
        "SetUserStateResponse": { AccountMessages.done(try AccountMessages.isDone(wire: $0)) },
        "SetPasswordRequest": { try SetPasswordRequest(wire: $0).encoded() },
        "ProfileRequest": {
            ProfileMessages.request(ofUser: try ProfileMessages.user(wire: $0))
        },
        "ProfileResponse": { try WireProfile(wire: $0).encoded() },
        "SetProfileRequest": { try SetProfileRequest(wire: $0).encoded() },
        "SetProfileResponse": { AccountMessages.done(try AccountMessages.isDone(wire: $0)) },
        "DiscoverRequest": { try DiscoverRequest(wire: $0).encoded() },
        "DiscoverResponse": { DiscoveredUser.answer(try DiscoveredUser.list(wire: $0)) },
        "SetHandleRequest": { try SetHandleRequest(wire: $0).encoded() },
        "SetHandleResponse": { try SetHandleResponse(wire: $0).encoded() },
        "ListKeysResponse": { WireServiceKey.answer(try WireServiceKey.list(wire: $0)[...]) },
        "AddKeyRequest": { try AddKeyRequest(wire: $0).encoded() },
        "AddKeyResponse": { try AddKeyResponse(wire: $0).encoded() },
        "RevokeKeyRequest": { RevokeKey.request(try RevokeKey.id(wire: $0)) },
        "RevokeKeyResponse": { RevokeKey.answer(existed: try RevokeKey.existed(wire: $0)) },
        "PullRequest": { try PullRequest(wire: $0).encoded() },
        "PullResponse": { try PullResponse(wire: $0).encoded() },
        "RescueRequest": { try RescueRequest(wire: $0).encoded() },
        "RescueResponse": { try RescueResponse(wire: $0).encoded() },
        "ZoneStatusResponse": {
            WireZoneStatus.answer(try WireZoneStatus.list(wire: $0))
        },
        "ListMembersResponse": {
            OperatorMessages.members(try OperatorMessages.members(wire: $0)[...])
        },
        "RemoveMemberRequest": {
            OperatorMessages.request(name: try OperatorMessages.removedMember(wire: $0))
        },
        "RemoveMemberResponse": {
            OperatorMessages.member(existed: try OperatorMessages.memberExisted(wire: $0))
        },
        "BackUpRequest": {
            OperatorMessages.request(name: try OperatorMessages.backUpPath(wire: $0))
        },
        "BackUpResponse": {
            let made = try OperatorMessages.backUp(wire: $0)
            return OperatorMessages.backUp(bytes: made.bytes, files: made.files)
        },
        "TruncateRequest": {
            OperatorMessages.truncate(
                endsSessions: try OperatorMessages.truncatedSessions(wire: $0)
            )
        },
        "TruncateResponse": {
            OperatorMessages.truncated(scopes: try OperatorMessages.truncated(wire: $0))
        },
        "ListMergePoliciesResponse": {
            WireMergePolicy.answer(try WireMergePolicy.list(wire: $0))
        },
        "SetMergePolicyRequest": { try WireMergePolicy(wire: $0).encoded() },
        "SetMergePolicyResponse": {
            WireMergePolicy.answer(existed: try WireMergePolicy.existed(wire: $0))
        },
        "VerifyRequest": { try VerifyRequest(wire: $0).encoded() },
        "VerifyResponse": { try WireVerdict(wire: $0).encoded() },
        "ReportRequest": { try ReportRequest(wire: $0).encoded() },
        "StateRequest": { try StateRequest(wire: $0).encoded() },
        "StateResponse": { try StateResponse(wire: $0).encoded() },
        "Field": { bytes in
            var writer = CanonicalWriter()
            if let (name, value) = try WireSamples.sealedField(bytes) {
                writer.field(1, text: name)
                value.encode(to: &writer)
            } else {
                let (name, value) = try WireSamples.field(bytes)
                writer.field(1, text: name)
                value?.encode(to: &writer)
            }
            return writer.bytes
        },
        "Status": { bytes in
            let error = try ServiceError(wire: bytes)
            let record = error.serverRecord.map { _ in WireSamples.encodedRecord }
            return error.encoded(serverRecord: record)
        },
    ]

    @Test(arguments: try Golden.all().filter { recoded[$0.message] != nil })
    func ourTypesReadAndWriteThem(golden: Golden) throws {
        let recode = try #require(Self.recoded[golden.message])
        #expect(try recode(golden.bytes).hex == golden.bytes.hex)
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
        var writer = CanonicalWriter()
        writer.result(1, record: WireSamples.encodedRecord)
        writer.result(1, status: ServiceError(.unknownItem, "Record not found").encoded())
        let golden = try Golden("FetchRecordsResponse").bytes
        #expect(writer.bytes.hex == golden.hex)
        let results = try FetchRecordsResponse.results(wire: golden)
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
        let encoded = ModifyRecordsRequest.encoded(
            database: .private,
            policy: 1,
            isAtomic: false,
            saves: [record.encodedSave(allKeys: false)],
            deletes: [WireRecordID(rome)],
            deleteTags: [[8, 7, 6, 5, 4, 3, 2, 1]]
        )
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
        #expect(save.type == Bytes("City".utf8))
        #expect(save.changeTag == [1, 2, 3, 4, 5, 6, 7, 8])
        #expect(save.parent == [])
        #expect(save.fields.count == 2)
        #expect(save.fields.last == (try Golden("Field-string").bytes))
        #expect(save.increments.map(\.field) == [Bytes("visits".utf8)])
        #expect(save.increments.map(\.delta) == [2])
    }

    @Test func modifyRecordsResponse() throws {
        let failed = ServiceError(.batchRequestFailed, .atomicFailure, "another item failed")
        var writer = CanonicalWriter()
        writer.result(1, record: WireSamples.encodedRecord)
        writer.result(1, status: failed.encoded())
        writer.result(2, deleted: nil)
        writer.result(2, deleted: ServiceError(.permissionFailure, "not yours").encoded())
        let golden = try Golden("ModifyRecordsResponse").bytes
        #expect(writer.bytes.hex == golden.hex)
        let response = try ModifyRecordsResponse(wire: golden)
        #expect(try response.saves[0].get().recordID == WireSamples.oslo)
        #expect(response.saves.count == 2)
        #expect(response.deletes.map(\.?.code) == [nil, .permissionFailure])
    }

    @Test func listRecordsResponse() throws {
        var writer = CanonicalWriter()
        writer.present(1, bytes: WireSamples.encodedRecord)
        let golden = try Golden("ListRecordsResponse").bytes
        #expect(writer.bytes.hex == golden.hex)
        #expect(try ListRecordsResponse.records(wire: golden).map(\.recordID) == [WireSamples.oslo])
    }

    @Test func fetchZoneChangesResponse() throws {
        let lund = Record.ID(recordName: "lund", zoneID: RecordZone.ID(zoneName: "Trips"))
        let bytes = FetchZoneChangesResponse.encoded(
            changed: [WireSamples.encodedRecord],
            deleted: [.init(id: WireRecordID(lund), type: Bytes("City".utf8))],
            token: Bytes(1...8),
            moreComing: false
        )
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
        let bytes = QueryRecordsResponse.encoded(
            records: [WireSamples.encodedRecord],
            cursor: Bytes(1...8),
            count: 1,
            work: work
        )
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
        var writer = CanonicalWriter()
        let inDefaultZone = Record.ID(recordName: "oslo")
        for (id, record, fields) in [
            (Bytes(1...26), WireSamples.oslo, fields.bytes), (Bytes(2...27), inDefaultZone, []),
        ] {
            var lost = CanonicalWriter()
            WireRecordID(record).encode(1, to: &lost)
            lost.raw(fields)
            ListConflictsResponse.add(
                id: id,
                database: DatabaseID(kind: .private, owner: "_u1"),
                lost: lost.bytes,
                field: fields.isEmpty ? "" : "name",
                winner: winner,
                loser: loser,
                isWithheld: fields.isEmpty,
                to: &writer
            )
        }
        let golden = try Golden("ListConflictsResponse").bytes
        #expect(writer.bytes.hex == golden.hex)
        let conflicts = try ListConflictsResponse.conflicts(wire: golden)
        #expect(conflicts.map(\.lost.recordID) == [WireSamples.oslo, inDefaultZone])
        #expect(conflicts.map { $0.lost["name"] } == ["Oslo", nil])
        #expect(conflicts.map(\.isWithheld) == [false, true])
        #expect(conflicts.map(\.winner) == [winner, winner])
        #expect(conflicts.map(\.loser) == [loser, loser])
        #expect(conflicts.map(\.owner) == ["_u1", "_u1"])
    }

    @Test func zones() throws {
        let trips = WireZoneID(name: Bytes("Trips".utf8), owner: Bytes("_u1".utf8))
        let home = WireZoneID(name: Bytes("_defaultZone".utf8), owner: Bytes("_u1".utf8))
        let missing = ServiceError(.zoneNotFound, "zone not found").encoded()

        var list = CanonicalWriter()
        list.zone(1, home, capabilities: 0)
        list.zone(1, trips, capabilities: 15)
        let listed = try Golden("ListZonesResponse").bytes
        #expect(list.bytes.hex == listed.hex)
        let zones = try ListZonesResponse.zones(wire: listed)
        #expect(zones.map(\.zoneID.zoneName) == ["_defaultZone", "Trips"])
        #expect(zones.map(\.zoneID.ownerName) == ["_u1", "_u1"])
        #expect(zones.map(\.capabilities) == [[], .custom])

        var fetch = CanonicalWriter()
        fetch.result(1, zone: trips, capabilities: 15)
        fetch.result(1, status: missing)
        let fetched = try Golden("FetchZonesResponse").bytes
        #expect(fetch.bytes.hex == fetched.hex)
        let results = try FetchZonesResponse.results(wire: fetched)
        #expect(try results[0].get() == zones[1])
        #expect(throws: ServiceError.self) { try results[1].get() }

        var modify = CanonicalWriter()
        modify.result(1, zone: trips, capabilities: 15)
        modify.result(2, deleted: nil)
        modify.result(2, deleted: missing)
        let modified = try Golden("ModifyZonesResponse").bytes
        #expect(modify.bytes.hex == modified.hex)
        let response = try ModifyZonesResponse(wire: modified)
        #expect(try response.saves.map { try $0.get() } == [zones[1]])
        #expect(response.deletes.map(\.?.code) == [nil, .zoneNotFound])
    }
}
