// Callers: anonymous, a user, an operator, a caller with a wrong token, and the rights and answers
// of each.

import CumulusModel
import CumulusTesting
import CumulusWire
import Testing

@Suite(.serialized) struct AuthenticationTests {
    // MARK: Greeting

    @Test func anAnonymousCallerIsToldSo() async throws {
        try await withServer { server in
            let client = try RawClient(server.endpoint)
            try client.send(RawClient.greeting())
            let hello = try client.readHello()
            #expect(hello.callerRole == WireRole.client.rawValue && hello.callerUser.isEmpty)
            #expect(try whoAmI(client) == WireCaller(role: WireRole.client.rawValue, user: ""))
        }
    }

    @Test func aUserIsToldItsRecordName() async throws {
        try await withServer { server in
            let client = try RawClient(server.endpoint)
            try client.send(RawClient.greeting(token: try await server.makeUser("ada")))
            let name = try client.readHello().callerUser
            #expect(name.hasPrefix("_") && name.utf8.count == 33)
            #expect(try whoAmI(client) == WireCaller(role: WireRole.client.rawValue, user: name))
        }
    }

    @Test func anOperatorIsTakenForOne() async throws {
        try await withServer { server in
            let client = try greetAsOperator(server)
            #expect(try whoAmI(client) == WireCaller(role: WireRole.operator.rawValue, user: ""))
        }
    }

    @Test(arguments: ["wrong", TestServer.operatorToken, "cumulus_", "\0"])
    func aTokenThatNobodyGaveOutIsRefused(token: String) async throws {
        try await withServer { server in
            let client = try RawClient(server.endpoint)
            try client.send(RawClient.greeting(token: token))
            let error = try #require(try client.refusal())
            #expect(error.code == .notAuthenticated)
        }
    }

    @Test func aUsersTokenMakesNoOperator() async throws {
        try await withServer { server in
            var hello = Hello()
            hello.role = WireRole.operator.rawValue
            for token in [try await server.makeUser("ada"), ""] {
                hello.token = Bytes(token.utf8)
                let client = try RawClient(server.endpoint)
                try client.send(RawClient.greeting(hello))
                #expect(try client.refusal()?.code == .notAuthenticated)
            }
        }
    }

    @Test func anUnknownContainerNamesTheSetting() async throws {
        try await withServer { server in
            let client = try RawClient(server.endpoint)
            try client.send(RawClient.greeting(container: "iCloud.nobody"))
            let error = try #require(try client.refusal())
            #expect(error.code == .badContainer)
            #expect(error.message.contains("iCloud.nobody"))
            #expect(error.message.contains("setting 'container'"))
        }
    }

    @Test(arguments: [0, 3, 257, .max]) func anUnknownEnvironmentIsRefused(
        number: UInt32
    ) async throws {
        try await expectRefusal(.invalidArguments) { $0.environment = number }
    }

    @Test(arguments: [0, 2, .max]) func anotherVersionIsRefused(version: UInt32) async throws {
        try await expectRefusal(.incompatibleVersion) { $0.protocolVersion = version }
    }

    @Test(arguments: [0, 4]) func aRoleThatIsNotServedIsRefused(role: UInt32) async throws {
        try await expectRefusal(.invalidArguments) { $0.role = role }
    }

    /// A caller can't ask for smaller frames than records need.
    @Test(arguments: [1, 65_536, 4 << 20 - 1]) func aFrameLimitOfACallerMustBeLarge(
        bytes: UInt32
    ) async throws {
        try await expectRefusal(.invalidArguments) { $0.largestFrame = bytes }
    }

    @Test func aDeviceMayHaveALongNameButNotAnyName() async throws {
        try await expectRefusal(.invalidArguments) {
            $0.deviceID = Bytes(repeating: 1, count: Limits.standard.deviceBytes + 1)
        }
    }

    /// It would be entered in the list of members, and replicated.
    @Test(arguments: ["here", "a b:1", String(repeating: "a", count: 254) + ":1"])
    func aPeersAddressMustBeOne(endpoint: String) async throws {
        try await expectRefusal(.invalidArguments) {
            $0.role = WireRole.peer.rawValue
            $0.endpoint = endpoint
        }
    }

    // MARK: The public database

    @Test func anAnonymousCallerReadsPublicRecordsAndSavesNone() async throws {
        try await withServer { server in
            let ada = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("ada")
            )
            _ = try ada.save([Record("note")], in: .public)[0].get()
            let client = try RawClient(greeting: server.endpoint)
            #expect(try client.fetch("note", in: .public)[0].get()["title"] == "a note")
            let refused = try error { _ = try client.save([Record("mine")], in: .public) }
            #expect(refused.code == .notAuthenticated)
            let error = try error { _ = try client.fetch("note", in: .private) }
            #expect(error.code == .notAuthenticated)
        }
    }

    @Test func anOperatorReadsPublicRecordsAndSavesNone() async throws {
        try await withServer { server in
            let ada = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("ada")
            )
            _ = try ada.save([Record("note")], in: .public)[0].get()
            let client = try greetAsOperator(server)
            let fetch = RawRequest.fetch(["note"], in: .public)
            let answer = try perform(.recordsFetch, fetch, client)
            #expect(try FetchRecordsResponse(wire: answer).results[0].get()["title"] == "a note")
            let save = RawRequest.save([Record("mine")], in: .public)
            let saved = try ModifyRecordsResponse(wire: try perform(.recordsModify, save, client))
            #expect(saved.saves[0].refusal?.code == .permissionFailure)
            for request in [RawRequest.fetch(["note"]), RawRequest.list()] {
                let method = request == RawRequest.list() ? Method.recordsList : .recordsFetch
                let error = try error { _ = try perform(method, request, client) }
                #expect(error.code == .permissionFailure)
            }
        }
    }

    @Test func onlyTheCreatorChangesAPublicRecord() async throws {
        try await withServer { server in
            let ada = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("ada")
            )
            let bob = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("bob")
            )
            _ = try ada.save([Record("note")], in: .public)[0].get()
            let change = RawRequest.save(
                encoded: [Record("note", ["title": "mine"]).encodedSave(allKeys: true)],
                in: .public,
                policy: 2
            )
            let refused = try bob.modify(change, id: RawRequest.newID())
            #expect(refused.saves[0].refusal?.code == .permissionFailure)
            _ = try ada.modify(change, id: RawRequest.newID()).saves[0].get()
        }
    }

    // MARK: Other users' data

    @Test func anotherUsersZoneIsAsIfItDidNotExist() async throws {
        try await withServer { server in
            let ada = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("ada")
            )
            _ = try ada.save([Record("secret")])[0].get()
            let owner = Bytes(try whoAmI(ada).user.utf8)
            let bob = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("bob")
            )
            #expect(try bob.fetch("secret")[0].refusal?.code == .unknownItem)
            for name in ["_defaultZone", "Notes"] {
                let zone = WireZoneID(name: Bytes(name.utf8), owner: owner)
                let nobody = WireZoneID(name: Bytes(name.utf8), owner: Bytes("_nobody".utf8))
                let theirs = try refusals(of: zone, bob)
                let missing = try refusals(of: nobody, bob)
                #expect(theirs.allSatisfy { $0.code == .zoneNotFound }, "\(theirs)")
                #expect(theirs.map(\.message) == missing.map(\.message))
            }
        }
    }

    /// What fetching, saving, listing and fetching the zone itself say.
    private func refusals(of zone: WireZoneID, _ client: RawClient) throws -> [ServiceError] {
        let id = WireRecordID(name: Bytes("secret".utf8), zone: zone)
        let fetch = FetchRecordsRequest(database: .private, ids: [id]).encoded()
        let fetched = try FetchRecordsResponse(wire: client.perform(.recordsFetch, fetch)[0])
            .results
        let delete = ModifyRecordsRequest(
            database: .private,
            policy: 0,
            isAtomic: true,
            saves: [],
            deletes: [id]
        ).encoded()
        let deleted = try client.modify(delete, id: RawRequest.newID()).deletes
        let list = ListRecordsRequest(database: .private, zone: zone).encoded()
        let listed = try error { _ = try client.perform(.recordsList, list) }
        let zones = FetchZonesRequest(database: .private, ids: [zone]).encoded()
        let found = try FetchZonesResponse(wire: client.perform(.zonesFetch, zones)[0]).results
        return try [
            #require(fetched[0].refusal), #require(deleted[0]), listed, #require(found[0].refusal),
        ]
    }

    // MARK: Operators' calls

    @Test func onlyOperatorsAdminister() async throws {
        try await withServer { server in
            let client = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("ada")
            )
            let methods: [Method] = [
                .operatorStatus, .operatorMetrics, .operatorListContainers,
                .operatorCreateContainer, .operatorListUsers, .operatorAddUser, .operatorAddToken,
                .operatorListMergePolicies, .operatorSetMergePolicy, .operatorSetUserState,
                .operatorSetPassword, .operatorSetHandle, .rolesList, .rolesSet, .keysList,
                .keysAdd, .keysRevoke, .sharingList, .sharingStop, .subscriptionsList,
                .subscriptionsEnd, .webAppsList, .webAppsSet, .webAppsRemove,
                .accountsMakeResetLink,
            ]
            for method in methods {
                let error = try error { _ = try client.perform(method) }
                #expect(error.code == .permissionFailure, "\(method)")
            }
        }
    }

    @Test func policiesThatCanNotBeAreRefused() async throws {
        try await withServer { server in
            let client = try greetAsOperator(server)
            let group = ["a", "b"].map { Bytes($0.utf8) }
            let type = Bytes("Page".utf8)
            let wrong = [
                WireMergePolicy(recordType: [], unit: 2),
                WireMergePolicy(recordType: type, unit: 3),
                WireMergePolicy(recordType: type, unit: 1),
                WireMergePolicy(recordType: type, unit: 2, groups: [group]),
                WireMergePolicy(recordType: type, unit: 1, groups: [[[0xFF], [0xFE]]]),
                WireMergePolicy(recordType: type, unit: 1, groups: [group, group]),
            ]
            for policy in wrong {
                let refusal = try error {
                    let request = SetMergePolicyRequest(policy).encoded()
                    _ = try perform(.operatorSetMergePolicy, request, client)
                }
                #expect(refusal.code == .invalidArguments, "\(policy)")
            }
            let right = WireMergePolicy(recordType: type, unit: 1, groups: [group])
            for existed in [false, true] {
                let request = SetMergePolicyRequest(right).encoded()
                let answer = try perform(.operatorSetMergePolicy, request, client)
                #expect(try SetMergePolicyResponse(wire: answer).flag == existed)
            }
            let listed = try perform(.operatorListMergePolicies, [], client)
            #expect(try ListMergePoliciesResponse(wire: listed).elements == [right])
        }
    }

    // MARK: Parts

    private func whoAmI(_ client: RawClient) throws -> WireCaller {
        try WhoAmIResponse(wire: client.perform(.accountsWhoAmI)[0]).caller
    }

    private func greetAsOperator(_ server: TestServer) throws -> RawClient {
        var hello = Hello()
        hello.role = WireRole.operator.rawValue
        hello.token = Bytes(TestServer.operatorToken.utf8)
        let client = try RawClient(server.endpoint)
        try client.send(RawClient.greeting(hello))
        try client.readHello()
        return client
    }

    /// An operator's call names its container.
    private func perform(_ method: Method, _ message: Bytes, _ client: RawClient) throws -> Bytes {
        var header = CallHeader(method)
        header.container = Bytes(TestServer.container.utf8)
        header.environment = UInt32(Environment.development.rawValue)
        header.requestID = RawRequest.newID()
        var call = client.call(method)
        call.payload = header.encoded(before: message)
        try client.send(call)
        return try client.answer(to: call)[0]
    }

    /// A HELLO with something wrong is refused, and the connection ends.
    private func expectRefusal(
        _ code: ServiceError.Code,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ change: (inout Hello) -> Void
    ) async throws {
        try await withServer { server in
            var hello = Hello()
            hello.container = Bytes(TestServer.container.utf8)
            hello.environment = UInt32(Environment.development.rawValue)
            change(&hello)
            let client = try RawClient(server.endpoint)
            try client.send(RawClient.greeting(hello))
            let error = try client.refusal()
            #expect(error?.code == code, sourceLocation: sourceLocation)
        }
    }
}
