// The history of notifications through the client, a real socket and a node in memory: what one
// device marks as read is read on the others.

import Cumulus
import CumulusModel
import CumulusTesting
import Testing

@Suite(.timeLimit(.minutes(2))) struct NotificationHistoryTests {
    private func city(_ name: String, _ population: Int64) -> Record {
        var city = Record(recordType: "City", recordID: Record.ID(recordName: name))
        city["population"] = .int64(population)
        return city
    }

    /// The notifications until now, with the token behind them.
    private func history(
        _ container: Container,
        since token: FeedToken? = nil
    ) async throws -> (told: [FeedNotification], token: FeedToken) {
        var (told, last) = ([FeedNotification](), FeedToken?.none)
        for try await page in container.notificationHistory(since: token) {
            #expect(page.reset == nil && last == nil)
            told += page.notifications
            if page.isUpToDate { last = page.token }
        }
        return (told, try #require(last))
    }

    /// Names of records, with a star for what is read.
    private func names(_ told: [FeedNotification]) -> [String] {
        told.map { notification in
            guard case .record(let news) = notification.news else { return "?" }
            return news.recordID.recordName + (notification.isRead ? "*" : "")
        }
    }

    @Test func whatOneDeviceMarksIsReadOnTheOthers() async throws {
        let server = try await TestServer()
        let token = try await server.makeUser("ada")
        let phone = server.container(token: token, deviceID: "phone")
        let tablet = server.container(token: token, deviceID: "tablet")
        let watch = server.container(token: token, deviceID: "watch")
        let result: Result<Void, any Error>
        do {
            let database = phone.privateCloudDatabase
            try await database.save(city("lund", 90_000))
            let large = Subscription(
                id: "large",
                kind: .query(
                    recordType: "City",
                    predicate: try Query.Predicate(format: "population > 1000000")
                )
            )
            try await database.save(large)
            for name in ["paris", "rome"] { try await database.save(city(name, 2_000_000)) }

            let first = try await history(tablet)
            #expect(names(first.told) == ["paris", "rome"])
            let own = try await history(phone)
            #expect(own.told.isEmpty)

            // An id comes back from its text.
            let id = try #require(FeedNotification.ID(first.told[1].id.description))
            try await tablet.markNotificationsRead([id])
            var seen = try await history(watch)
            #expect(names(seen.told) == ["paris", "rome*"])

            try await database.save(city("cairo", 9_000_000))
            try await watch.markNotificationsRead(upTo: first.token)
            seen = try await history(tablet)
            #expect(names(seen.told) == ["paris*", "rome*", "cairo"])
            seen = try await history(tablet, since: first.token)
            #expect(names(seen.told) == ["cairo"])

            // A feed goes on behind it, and tells what is read.
            for try await page in watch.notifications(since: first.token) {
                #expect(names(page.notifications) == ["cairo"])
                break
            }

            // More ids than a request takes go in several.
            let many = (0..<900).map { number in
                let digits = String(number, radix: 16)
                return FeedNotification.ID(
                    String(repeating: "0", count: 32 - digits.count) + digits
                )
            }
            try await tablet.markNotificationsRead(many.compactMap(\.self))
            seen = try await history(watch)
            #expect(names(seen.told) == ["paris*", "rome*", "cairo"])
            result = .success(())
        } catch {
            result = .failure(error)
        }
        for container in [phone, tablet, watch] { await container.close() }
        try await server.stop()
        try result.get()
    }

    @Test func onlyUsersHaveOne() async throws {
        let server = try await TestServer()
        let anonymous = server.container()
        let id = try #require(FeedNotification.ID(String(repeating: "0", count: 32)))
        let marked = await #expect(throws: ServiceError.self) {
            try await anonymous.markNotificationsRead([id])
        }
        #expect(marked?.code == .notAuthenticated)
        let read = await #expect(throws: ServiceError.self) {
            for try await _ in anonymous.notificationHistory() {}
        }
        #expect(read?.code == .notAuthenticated)
        await anonymous.close()
        try await server.stop()
    }

    @Test func textsThatAreNoIDs() {
        let text = "000102030405060708090a0b0c0d0e0f"
        #expect(FeedNotification.ID(text)?.description == text)
        #expect(FeedNotification.ID("") == nil && FeedNotification.ID(text + "00") == nil)
        #expect(FeedNotification.ID("x" + text.dropFirst()) == nil)
    }
}
