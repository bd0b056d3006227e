// Feeds through the client, a real socket and a node in memory: two devices of a user.

import Cumulus
import CumulusModel
import CumulusTesting
import Testing

@Suite(.timeLimit(.minutes(2))) struct FeedTests {
    private typealias RecordNews = FeedNotification.RecordNews

    /// A node, and two devices of one user that have saved a city each knows.
    private struct World {
        let server: TestServer
        let token: String
        /// What changes records, and what watches them.
        let phone: Container
        let tablet: Container
        let user: Record.ID
        var oslo: Record
    }

    /// One device's reading of a feed; the suite's time bounds its waits.
    private struct Reading {
        private var pages: FeedSequence.Iterator
        private(set) var token: FeedToken?
        private(set) var resets: [FeedReset] = []

        /// What happened before.
        private(set) var missed: [FeedNotification] = []

        /// Reads up to the first checkpoint.
        init(_ container: Container, since token: FeedToken? = nil) async throws {
            pages = container.notifications(since: token).makeAsyncIterator()
            var told: [FeedNotification] = []
            while try await !next(into: &told) {}
            missed = told
        }

        /// The next notifications, and the ones on the same page.
        mutating func take(_ count: Int = 1) async throws -> [FeedNotification] {
            var told: [FeedNotification] = []
            while told.count < count { _ = try await next(into: &told) }
            return told
        }

        /// The next one, about a record.
        mutating func takeRecord() async throws -> RecordNews {
            let told = try await take()
            #expect(told.count == 1)
            guard case .record(let news) = told[0].news else {
                throw ServiceError(.internalError, "not of a record: \(told[0].news)")
            }
            return news
        }

        /// Its name.
        mutating func takeName() async throws -> String {
            try await takeRecord().recordID.recordName
        }

        /// Returns true at a checkpoint.
        private mutating func next(
            into told: inout [FeedNotification]
        ) async throws -> Bool {
            let page = try #require(try await pages.next())
            told += page.notifications
            if let reset = page.reset { resets.append(reset) }
            token = page.token
            return page.isUpToDate
        }
    }

    private func withWorld(_ body: (inout World) async throws -> Void) async throws {
        let server = try await TestServer()
        let token = try await server.makeUser("ada")
        let phone = server.container(token: token, deviceID: "phone")
        let tablet = server.container(token: token, deviceID: "tablet")
        let result: Result<Void, any Error>
        do {
            let oslo = try await phone.privateCloudDatabase.save(city("oslo", 709_037))
            var world = World(
                server: server,
                token: token,
                phone: phone,
                tablet: tablet,
                user: try await phone.userRecordID(),
                oslo: oslo
            )
            result = .success(try await body(&world))
        } catch {
            result = .failure(error)
        }
        await phone.close()
        await tablet.close()
        try await server.stop()
        try result.get()
    }

    private func city(
        _ name: String,
        _ population: Int64,
        in zone: RecordZone.ID = .default
    ) -> Record {
        let id = Record.ID(recordName: name, zoneID: zone)
        var city = Record(recordType: "City", recordID: id)
        city["name"] = .string(name)
        city["population"] = .int64(population)
        return city
    }

    private func large(
        _ info: Subscription.NotificationInfo? = nil,
        id: Subscription.ID = "large"
    ) throws -> Subscription {
        let predicate = try Query.Predicate(format: "population > 1000000")
        return Subscription(
            id: id,
            kind: .query(recordType: "City", predicate: predicate),
            notificationInfo: info
        )
    }

    private func error(_ body: () async throws -> Void) async -> ServiceError? {
        await #expect(throws: ServiceError.self) { try await body() }
    }

    // MARK: Records

    @Test func aQueryTellsWhatEntersStaysAndLeaves() async throws {
        try await withWorld { world in
            let database = world.phone.privateCloudDatabase
            try await database.save(large())
            var reading = try await Reading(world.tablet)
            #expect(reading.missed.isEmpty && reading.resets.isEmpty)

            var paris = try await database.save(city("paris", 2_000_000))
            let told = try await reading.take()
            let created = RecordNews(
                recordID: paris.recordID,
                recordType: "City",
                reason: .created,
                transition: .entered
            )
            #expect(told.map(\.news) == [.record(created)])
            #expect(told[0].subscriptionID == "large")
            #expect(told[0].databaseScope == .private)
            #expect(told[0].changedBy == world.user)
            #expect(told[0].notificationInfo == nil && !told[0].isPruned)

            paris["name"] = "Paris"
            paris = try await database.save(paris)
            var news = try await reading.takeRecord()
            #expect(news.recordID == paris.recordID)
            #expect(news.reason == .updated && news.transition == .stayed)

            world.oslo["population"] = 1_000_001
            world.oslo = try await database.save(world.oslo)
            news = try await reading.takeRecord()
            #expect(news.recordID == world.oslo.recordID)
            #expect(news.reason == .updated && news.transition == .entered)

            // It never matches: nothing is told of it.
            try await database.save(city("lund", 90_000))
            paris["population"] = 5
            try await database.save(paris)
            news = try await reading.takeRecord()
            #expect(news.recordID == paris.recordID)
            #expect(news.reason == .updated && news.transition == .left)

            try await database.deleteRecord(withID: world.oslo.recordID)
            news = try await reading.takeRecord()
            #expect(news.recordID == world.oslo.recordID)
            #expect(news.reason == .deleted && news.transition == .left)
            #expect(reading.resets.isEmpty)
        }
    }

    @Test func anotherUsersPublicRecordIsTold() async throws {
        try await withWorld { world in
            let bob = try await world.server.container(user: "bob")
            try await bob.publicCloudDatabase.save(city("lund", 90_000))
            try await world.phone.publicCloudDatabase.save(large())
            var reading = try await Reading(world.tablet)
            try await bob.publicCloudDatabase.save(city("paris", 2_000_000))
            let told = try await reading.take()
            let author = try await bob.userRecordID()
            #expect(told.map(\.databaseScope) == [.public])
            #expect(told[0].changedBy == author)
            await bob.close()
        }
    }

    @Test func aNotificationCarriesFieldsAndArguments() async throws {
        try await withWorld { world in
            var info = Subscription.NotificationInfo()
            info.alertLocalizationKey = "NEW_CITY"
            info.alertLocalizationArgs = ["name"]
            info.shouldBadge = true
            info.desiredKeys = ["name", "population", "mayor"]
            let database = world.phone.privateCloudDatabase
            var madrid = city("madrid", 1)
            madrid["mayor"] = "x"
            madrid = try await database.save(madrid)
            try await database.save(large(info))
            var reading = try await Reading(world.tablet)

            let long = String(repeating: "é", count: 150)
            var paris = city("paris", 2_000_000)
            paris["name"] = .string(long)
            try await database.save(paris)
            let told = try await reading.take()
            guard case .record(let news) = told[0].news else {
                Issue.record("not of a record: \(told)")
                return
            }
            #expect(news.fields.keys.sorted() == ["name", "population"])
            #expect(news.fields["population"] == 2_000_000)
            #expect(news.fields["name"] == .string(String(long.prefix(100))))
            let shown = try #require(told[0].notificationInfo)
            #expect(shown.alertLocalizationKey == "NEW_CITY" && shown.shouldBadge)
            #expect(shown.alertLocalizationArgs.count == 1)
            #expect(shown.alertLocalizationArgs[0].hasPrefix(String(long.prefix(100))))
            #expect(shown.desiredKeys.isEmpty)
        }
    }

    // MARK: Zones

    @Test func zoneAndDatabaseSubscriptionsTellZones() async throws {
        try await withWorld { world in
            let database = world.phone.privateCloudDatabase
            let (notes, trips) = (RecordZone(zoneName: "Notes"), RecordZone(zoneName: "Trips"))
            _ = try await database.modifyRecordZones(saving: [notes, trips], deleting: [])
            let subscriptions = [
                Subscription(id: "all", kind: .database()),
                Subscription(id: "notes", kind: .zone(notes.zoneID)),
            ]
            for subscription in subscriptions { try await database.save(subscription) }
            var reading = try await Reading(world.tablet)
            #expect(reading.missed.isEmpty)

            try await database.save(city("paris", 1, in: notes.zoneID))
            var told = try await reading.take(2)
            #expect(told.map(\.subscriptionID).sorted() == ["all", "notes"])
            #expect(told.allSatisfy { $0.news == .zones([notes.zoneID], more: false) })

            try await database.save(city("paris", 1, in: trips.zoneID))
            told = try await reading.take(1)
            #expect(told.map(\.subscriptionID) == ["all"])
            #expect(told[0].news == .zones([trips.zoneID], more: false))
        }
    }

    // MARK: Devices

    /// 7 MB of notifications, in pages that each fit in a message.
    @Test func veryMuchNewsComesInPages() async throws {
        try await withWorld { world in
            var info = Subscription.NotificationInfo()
            info.alertBody = String(repeating: "x", count: 3_000)
            for id in ["a", "b"] {
                let predicate = try Query.Predicate(format: "population > \(id == "a" ? 5 : 6)")
                let kind = Subscription.Kind.query(recordType: "City", predicate: predicate)
                let subscription = Subscription(id: id, kind: kind, notificationInfo: info)
                try await world.phone.privateCloudDatabase.save(subscription)
            }
            let token = try await Reading(world.tablet).token
            for begin in stride(from: 0, to: 1_200, by: 100) {
                let cities = (begin..<begin + 100).map { city("c\($0)", 1_000_000) }
                let results = try await world.phone.privateCloudDatabase.modifyRecords(
                    saving: cities,
                    deleting: []
                )
                for result in results.saveResults.values { _ = try result.get() }
            }
            let reading = try await Reading(world.tablet, since: token)
            #expect(reading.resets == [])
            #expect(reading.missed.count == 2_400)
            #expect(Set(reading.missed.map(\.id)).count == 2_400)
        }
    }

    @Test func aDeviceIsNotToldWhatItDid() async throws {
        try await withWorld { world in
            try await world.phone.privateCloudDatabase.save(large())
            var onPhone = try await Reading(world.phone)
            var onTablet = try await Reading(world.tablet)
            try await world.phone.privateCloudDatabase.save(city("paris", 2_000_000))
            var name = try await onTablet.takeName()
            #expect(name == "paris")
            try await world.tablet.privateCloudDatabase.save(city("rome", 3_000_000))
            // Its own change came before: it would have been told first, or with it.
            name = try await onPhone.takeName()
            #expect(name == "rome")
            try await world.phone.privateCloudDatabase.save(city("cairo", 9_000_000))
            name = try await onTablet.takeName()
            #expect(name == "cairo")
        }
    }

    @Test func aTokenGoesOnWhereItWas() async throws {
        try await withWorld { world in
            let database = world.phone.privateCloudDatabase
            try await database.save(large())
            var reading = try await Reading(world.tablet)
            try await database.save(city("paris", 2_000_000))
            _ = try await reading.take()
            let token = try #require(reading.token)
            await world.tablet.close()

            // Away, it misses two records; one of them is changed twice.
            for count in [3_000_000, 3_000_001] as [Int64] {
                _ = try await database.modifyRecords(
                    saving: [city("rome", count)],
                    deleting: [],
                    savePolicy: .allKeys
                )
            }
            try await database.save(city("cairo", 9_000_000))
            let again = world.server.container(token: world.token, deviceID: "tablet")
            var next = try await Reading(again, since: token)
            #expect(next.resets.isEmpty)
            let names = next.missed.map { notification -> String in
                guard case .record(let news) = notification.news else { return "?" }
                return "\(news.recordID.recordName) \(news.reason) \(news.transition)"
            }
            #expect(names == ["rome created entered", "cairo created entered"])
            // From the first token the same is told again, under the same ids.
            let repeated = try await Reading(again, since: token)
            #expect(repeated.missed.map(\.id) == next.missed.map(\.id))
            let rest = try await Reading(again, since: next.token)
            #expect(rest.missed.isEmpty && rest.resets.isEmpty)
            // And it is live.
            try await database.save(city("lima", 10_000_000))
            let name = try await next.takeName()
            #expect(name == "lima")
            await again.close()
        }
    }

    // MARK: Tokens

    @Test func aSubscriptionThatIsYoungerThanTheTokenIsReset() async throws {
        try await withWorld { world in
            let database = world.phone.privateCloudDatabase
            try await database.save(large())
            let before = try await Reading(world.tablet)
            let token = try #require(before.token)
            let predicate = try Query.Predicate(format: "population < 1000")
            let small = Subscription(
                id: "small",
                kind: .query(recordType: "City", predicate: predicate)
            )
            try await database.save(small)
            try await database.save(city("paris", 2_000_000))
            var reading = try await Reading(world.tablet, since: token)
            let name = SubscriptionName(databaseScope: .private, subscriptionID: "small")
            #expect(reading.resets == [.subscriptions([name])])
            // The other one goes on.
            #expect(reading.missed.map(\.subscriptionID) == ["large"])
            // So does this one, from here.
            try await database.save(city("vik", 300))
            let told = try await reading.take()
            #expect(told.map(\.subscriptionID) == ["small"])
            #expect(reading.resets.count == 1)
        }
    }

    @Test func tokensOfOthersAreRefused() async throws {
        try await withWorld { world in
            let before = try await Reading(world.tablet)
            let token = try #require(before.token)
            let bob = try await world.server.container(user: "bob")
            let ofAda = await error { _ = try await Reading(bob, since: token) }
            #expect(ofAda?.code == .invalidArguments && ofAda?.reason == .invalidValue)
            let broken = try #require(FeedToken(text: "AQIDBAUGBwg="))
            let nobodys = await error { _ = try await Reading(world.tablet, since: broken) }
            #expect(nobodys?.code == .changeTokenExpired)
            let anonymous = world.server.container()
            let unsigned = await error { _ = try await Reading(anonymous) }
            #expect(unsigned?.code == .notAuthenticated)
            await bob.close()
            await anonymous.close()
        }
    }
}
