// Subscriptions through the client, a real socket and a node in memory.

import Cumulus
import CumulusModel
import CumulusTesting
import Testing

@Suite struct SubscriptionTests {
    private func withServer(
        limits: Limits = .standard,
        _ body: (TestServer, Container) async throws -> Void
    ) async throws {
        let server = try await TestServer(limits: limits, knowsWebhook: { _, _ in true })
        let container = try await server.container(user: "ada")
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(server, container))
        } catch {
            result = .failure(error)
        }
        await container.close()
        try await server.stop()
        try result.get()
    }

    /// What a call fails with.
    private func error(_ body: () async throws -> Void) async -> ServiceError? {
        await #expect(throws: ServiceError.self) { try await body() }
    }

    private func saveCity(in database: Database) async throws {
        var city = Record(recordType: "City", recordID: Record.ID(recordName: "oslo"))
        city["name"] = "Oslo"
        city["population"] = 709_037
        try await database.save(city)
    }

    private func query(_ id: String, _ format: String) throws -> Subscription {
        let predicate = try Query.Predicate(format: format)
        return Subscription(id: id, kind: .query(recordType: "City", predicate: predicate))
    }

    @Test func aSubscriptionLivesAndGoes() async throws {
        try await withServer { server, container in
            let database = container.privateCloudDatabase
            try await saveCity(in: database)
            try await database.save(RecordZone(zoneName: "Trips"))

            var info = Subscription.NotificationInfo()
            for part in Subscription.NotificationInfo.texts {
                info[keyPath: part.path] = part.name
            }
            for part in Subscription.NotificationInfo.lists {
                info[keyPath: part.path] = ["name"]
            }
            for part in Subscription.NotificationInfo.flags { info[keyPath: part.path] = true }
            var large = try query("large", "population > 1000000 OR name == nil")
            large.allowsExtensions = true
            large.options = [.firesOnRecordCreation, .firesOnce]
            large.notificationInfo = info
            info.desiredKeys = []
            let zone = RecordZone.ID(zoneName: "Trips")
            let trips = Subscription(
                id: "trips",
                kind: .zone(zone, recordType: "City"),
                notificationInfo: info
            )
            let all = Subscription(id: "all", kind: .database())
            #expect(try await database.save(large) == large)
            let saved = try await database.modifySubscriptions(
                saving: [trips, all],
                deleting: ["never"]
            )
            #expect(
                try saved.saveResults.values.map { try $0.get().id }.sorted() == ["all", "trips"]
            )
            #expect(await error { try saved.deleteResults["never"]?.get() }?.code == .unknownItem)

            #expect(try await database.allSubscriptions() == [all, large, trips])
            #expect(try await database.subscription(for: "trips") == trips)
            let found = try await database.subscriptions(for: ["large", "never"])
            #expect(try found["large"]?.get() == large)
            #expect(await error { _ = try found["never"]?.get() }?.code == .unknownItem)

            // Another client of the user's has them too; another user and database don't.
            let bob = try await server.container(user: "bob")
            #expect(try await bob.privateCloudDatabase.allSubscriptions().isEmpty)
            await bob.close()
            #expect(try await container.publicCloudDatabase.allSubscriptions().isEmpty)
            let again = server.container(token: try await server.makeUser("ada"))
            #expect(try await again.privateCloudDatabase.allSubscriptions().count == 3)
            await again.close()

            #expect(try await database.deleteSubscription(withID: "large") == "large")
            #expect(
                await error { try await database.deleteSubscription(withID: "large") }?.code
                    == .unknownItem
            )
            #expect(try await database.allSubscriptions() == [all, trips])
        }
    }

    @Test func refusalsHaveCloudKitsCodes() async throws {
        try await withServer { server, container in
            let database = container.publicCloudDatabase
            try await saveCity(in: database)
            try await database.save(query("first", "population > 1"))
            let twin = await error { try await database.save(query("twin", "population > 1")) }
            #expect(twin?.code == .serverRejectedRequest)
            #expect(twin?.message == "subscription is duplicate of 'first'")
            let unknown = await error { try await database.save(query("s", "never > 1")) }
            #expect(unknown?.code == .invalidArguments)
            #expect(unknown?.message.contains("Unknown field 'never'") == true)
            let misplaced = Subscription(id: "d", kind: .database())
            #expect(await error { try await database.save(misplaced) }?.code == .badDatabase)
            var idle = try query("idle", "population > 2")
            idle.options = []
            #expect(await error { try await database.save(idle) }?.code == .invalidArguments)
            for id in ["", "é", String(repeating: "n", count: 256)] {
                let failure = await error { try await database.save(query(id, "population > 3")) }
                #expect(failure?.code == .invalidArguments && failure?.reason == .invalidName)
            }
            let anonymous = server.container().publicCloudDatabase
            #expect(
                await error { _ = try await anonymous.allSubscriptions() }?.code
                    == .notAuthenticated
            )
            #expect(
                await error { try await anonymous.save(query("s", "population > 4")) }?.code
                    == .notAuthenticated
            )
        }
    }

    /// A server that takes ten items and 4 KB at once, and keeps thirty.
    @Test func whatExceedsALimitIsSentInParts() async throws {
        var limits = Limits.standard
        limits.itemsPerRequest = 10
        limits.recordBytes = 4 << 10
        limits.requestBytes = 4 << 10
        limits.subscriptionsPerDatabase = 30
        try await withServer(limits: limits) { _, container in
            let database = container.privateCloudDatabase
            try await saveCity(in: database)
            let text = String(repeating: "x", count: 1_000)
            let all = try (0..<31).map { number in
                try query("s\(number)", "name == '\(number)\(number < 9 ? text : "")'")
            }
            let saved = try await database.modifySubscriptions(saving: all, deleting: [])
            let failures = saved.saveResults.values.compactMap { result -> ServiceError? in
                if case .failure(let error) = result { error as? ServiceError } else { nil }
            }
            #expect(saved.saveResults.count == 31)
            #expect(failures.map(\.code) == [.limitExceeded])
            let ids = all.map(\.id)
            let found = try await database.subscriptions(for: ids)
            #expect(found.count == 31 && found.values.count { (try? $0.get()) != nil } == 30)
            #expect(try await database.allSubscriptions().count == 30)
            let deleted = try await database.modifySubscriptions(saving: [], deleting: ids)
            #expect(deleted.deleteResults.values.count { (try? $0.get()) != nil } == 30)
        }
    }

    /// About 4 MB: many pages, and more than a call's credit at first.
    @Test func aLongListComesWhole() async throws {
        var limits = Limits.standard
        limits.subscriptionBytesPerDatabase = 8 << 20
        try await withServer(limits: limits) { _, container in
            let database = container.privateCloudDatabase
            try await saveCity(in: database)
            let text = String(repeating: "x", count: 10_000)
            let all = try (0..<400).map { try query("s\($0)", "name == '\(text)\($0)'") }
            let saved = try await database.modifySubscriptions(saving: all, deleting: [])
            #expect(saved.saveResults.values.allSatisfy { (try? $0.get()) != nil })
            let found = try await database.allSubscriptions()
            #expect(found.map(\.id) == all.map(\.id).sorted())
        }
    }

    /// Costs, and no predicates.
    @Test func anOperatorListsAndEndsThem() async throws {
        try await withServer { server, container in
            let (open, own) = (container.publicCloudDatabase, container.privateCloudDatabase)
            try await saveCity(in: open)
            try await open.save(query("large", "population > 1000000 AND population != 7"))
            try await open.save(query("oslo", "name == 'Oslo'"))
            try await own.save(Subscription(id: "zones", kind: .database(recordType: nil)))
            let admin = server.nodeOperator()
            let name = TestServer.container
            let found = try await admin.subscriptions(of: "ada", in: name, .development)
            #expect(found.map(\.id) == ["large", "oslo", "zones"])
            #expect(found.map(\.database) == [.public, .public, .private])
            #expect(found.map(\.kind) == ["query", "query", "database"])
            #expect(found.map(\.recordType) == ["City", "City", nil])
            #expect(found.map(\.comparisons) == [2, 1, 0] && found.map(\.cost) == [2, 1, 0])
            func end(_ ids: [String]?) async throws -> Int {
                try await admin.endSubscriptions(ids, of: "ada", in: name, .development)
            }
            #expect(try await end(["large", "missing"]) == 1)
            #expect(try await end([]) == 0)
            #expect(try await open.allSubscriptions().map(\.id) == ["oslo"])
            #expect(try await end(nil) == 2)
            await admin.close()
            #expect(try await own.allSubscriptions().isEmpty)
        }
    }
}
