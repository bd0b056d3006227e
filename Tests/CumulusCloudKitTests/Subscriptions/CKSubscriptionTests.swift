// Subscriptions in all three forms, and the receiver in place of a push service: a real socket and
// a node in memory.

import CumulusCloudKit
import CumulusTesting
import Foundation
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct CKSubscriptionTests {
    private func large() -> CKQuerySubscription {
        let subscription = CKQuerySubscription(
            recordType: "City",
            predicate: NSPredicate(format: "population > %d", 1_000_000),
            subscriptionID: "large"
        )
        let info = CKSubscription.NotificationInfo(alertBody: "A large city", shouldBadge: true)
        info.desiredKeys = ["population"]
        subscription.notificationInfo = info
        return subscription
    }

    private func city(_ name: String, _ population: Int) -> CKRecord {
        record("City", name, ["population": population])
    }

    @Test func subscriptionsLiveAndGo() async throws {
        try await Cloud.run { cloud in
            try await cloud.asUser("ada") { container in
                let database = container.privateCloudDatabase
                try await database.save(city("lund", 90_000))
                let zone = try await database.save(CKRecordZone(zoneName: "Trips")).zoneID
                let trips = CKRecordZoneSubscription(zoneID: zone, subscriptionID: "trips")
                let all = CKDatabaseSubscription(subscriptionID: "all")
                let results = try await database.modifySubscriptions(
                    saving: [large(), trips, all],
                    deleting: []
                )
                #expect(results.saveResults.count == 3)
                let kept = try await database.subscription(for: "large")
                let query = try #require(kept as? CKQuerySubscription)
                #expect(query.subscriptionType == .query && query.recordType == "City")
                #expect(query.notificationInfo?.alertBody == "A large city")
                #expect(query.notificationInfo?.desiredKeys == ["population"])
                #expect(query.querySubscriptionOptions == large().querySubscriptionOptions)
                let types = try await database.allSubscriptions().map(\.subscriptionType.rawValue)
                #expect(Set(types) == [1, 2, 3])

                let twin = CKQuerySubscription(
                    recordType: "City",
                    predicate: NSPredicate(format: "population > %d", 1_000_000),
                    subscriptionID: "twin"
                )
                twin.notificationInfo = large().notificationInfo
                let refused = await failure { try await database.save(twin) }
                #expect(refused?.code == .serverRejectedRequest)
                #expect(try await database.deleteSubscription(withID: "all") == "all")
                let gone = await failure { try await database.deleteSubscription(withID: "all") }
                #expect(gone?.code == .unknownItem)
            }
        }
    }

    @Test func theReceiverDeliversWhatAPushWould() async throws {
        try await Cloud.run { cloud in
            let token = try await cloud.server.makeUser("ada")
            let phone = cloud.connection(token)
            try await cloud.with(phone) { container in
                let database = container.privateCloudDatabase
                try await database.save(city("lund", 90_000))
                let zone = try await database.save(CKRecordZone(zoneName: "Trips")).zoneID
                let trips = CKRecordZoneSubscription(zoneID: zone, subscriptionID: "trips")
                _ = try await database.modifySubscriptions(saving: [large(), trips], deleting: [])
                try await cloud.with(cloud.connection(token, device: "tablet")) { other in
                    let told = try await notifications(of: other, count: 2) {
                        try await database.save(city("rome", 2_800_000))
                        try await database.save(record("Trip", "t", in: zone))
                    }
                    let query = told.compactMap { $0 as? CKQueryNotification }.first
                    #expect(query?.recordID?.recordName == "rome" && query?.badge == 1)
                    #expect(query?.queryNotificationReason == .recordCreated)
                    #expect(query?.recordFields?["population"] as? Int == 2_800_000)
                    #expect(query?.alertBody == "A large city" && query?.subscriptionID == "large")
                    #expect(query?.containerIdentifier == TestServer.container)
                    let changed = told.compactMap { $0 as? CKRecordZoneNotification }.first
                    #expect(changed?.recordZoneID == zone && changed?.databaseScope == .private)
                }
            }
        }
    }

    /// The notifications that a receiver delivers from now on, until there are so many.
    private func notifications(
        of container: CKContainer,
        count: Int,
        after change: () async throws -> Void
    ) async throws -> [CKNotification] {
        // A token from before the change: a receiver without one might begin after it.
        let since = try await token(of: container)
        let receiver = CKNotificationReceiver(container: container, since: since)
        let (stream, source) = AsyncStream<CKNotification>.makeStream()
        let task = Task {
            try await receiver.run { dictionary in
                let notification = CKNotification(fromRemoteNotificationDictionary: dictionary)
                if let notification { source.yield(notification) }
            }
        }
        try await change()
        var told: [CKNotification] = []
        for await notification in stream {
            told.append(notification)
            if told.count == count { break }
        }
        task.cancel()
        _ = await task.result
        #expect(receiver.token != nil)
        return told
    }

    private func token(of container: CKContainer) async throws -> CKServerChangeToken? {
        let found = Mutex<Result<CKServerChangeToken?, any Error>>(.success(nil))
        let operation = CKFetchNotificationChangesOperation()
        operation.fetchNotificationChangesCompletionBlock = { token, error in
            found.withLock { $0 = error.map { .failure($0) } ?? .success(token) }
        }
        await withCheckedContinuation { done in
            operation.completionBlock = { done.resume() }
            container.add(operation)
        }
        return try found.withLock { $0 }.get()
    }

    @Test func theHistoryIsFetchedAndMarked() async throws {
        try await Cloud.run { cloud in
            let token = try await cloud.server.makeUser("ada")
            try await cloud.with(cloud.connection(token)) { phone in
                let database = phone.privateCloudDatabase
                try await database.save(city("lund", 90_000))
                try await database.save(large())
                for name in ["rome", "paris"] { try await database.save(city(name, 2_000_000)) }
                try await cloud.with(cloud.connection(token, device: "tablet")) { tablet in
                    let first = try await history(of: tablet)
                    #expect(first.map(\.notificationType) == [.query, .query])
                    let mark = CKMarkNotificationsReadOperation(
                        notificationIDsToMarkRead: first.prefix(1).compactMap(\.notificationID)
                    )
                    await withCheckedContinuation { done in
                        mark.completionBlock = { done.resume() }
                        tablet.add(mark)
                    }
                    let second = try await history(of: tablet)
                    #expect(second.map(\.notificationType) == [.readNotification, .query])
                }
            }
        }
    }

    private func history(of container: CKContainer) async throws -> [CKNotification] {
        let told = Mutex<[CKNotification]>([])
        let operation = CKFetchNotificationChangesOperation(previousServerChangeToken: nil)
        operation.notificationChangedBlock = { note in told.withLock { $0.append(note) } }
        await withCheckedContinuation { done in
            operation.completionBlock = { done.resume() }
            container.add(operation)
        }
        return told.withLock { $0 }
    }
}
