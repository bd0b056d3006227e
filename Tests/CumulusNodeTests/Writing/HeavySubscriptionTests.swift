// Saves beside subscriptions that make as many comparisons as may be: no turn of the writer is
// long, and all is told.

import Cumulus
import CumulusModel
import CumulusNode
import CumulusTesting
import CumulusWire
import Synchronization
import Testing

@Suite(.serialized) struct HeavySubscriptionTests {
    private static let type = "Note"
    private static let comparisons = 500
    /// A turn takes less than 50 milliseconds on a quiet machine.
    ///
    /// A machine that does other work as well takes several times as long; work that grows with the
    /// square takes seconds.
    private static let longestTurn = 250

    /// One user makes all the comparisons here; in use these are very many users.
    private static var limits: Limits {
        var limits = Limits.standard
        limits.subscriptionComparisonsPerDatabase = limits.subscriptionComparisonsPerType
        limits.subscriptionBytesPerDatabase = 64 << 20
        return limits
    }

    private func record(_ name: String) -> Record {
        var record = Record(recordType: Self.type, recordID: Record.ID(recordName: name))
        record["stars"] = .int64(5)
        return record
    }

    /// Comparisons that all hold for each of the records, so that every one is evaluated.
    private func unequal(from first: Int) -> Query.Predicate {
        let comparisons = (first..<first + Self.comparisons).map { number in
            Query.Node.comparison(
                Query.Comparison("stars", .notEquals, [.value(.int64(Int64(-1 - number)))])
            )
        }
        let ands = Array(repeating: Query.Node.and, count: Self.comparisons - 1)
        return Query.Predicate(nodes: comparisons + ands)
    }

    private func subscribe(_ subscriptions: [Subscription], by client: RawClient) throws {
        let request = ModifySubscriptionsRequest(
            database: .public,
            saves: subscriptions.map { WireSubscription($0) },
            deletes: []
        )
        let answer = try client.perform(
            .subscriptionsModify,
            request.encoded(),
            requestID: RawRequest.newID()
        )
        let refusals = try ModifySubscriptionsResponse(wire: answer[0]).saves
        #expect(refusals.allSatisfy { $0 == nil }, "\(refusals)")
    }

    /// Takes some seconds: 40 records are held against 60,000 comparisons each.
    @Test func savesDoNotWaitForComparisons() async throws {
        try await withServer(limits: Self.limits) { server in
            let (ada, eve) = (try await server.makeUser("ada"), try await server.makeUser("eve"))
            let writer = try RawClient(greeting: server.endpoint, token: ada)
            _ = try writer.save([record("first")], in: .public)[0].get()
            let heavy = try RawClient(greeting: server.endpoint, token: eve)
            let count = Self.limits.subscriptionComparisonsPerType / Self.comparisons
            for first in stride(from: 0, to: count - 1, by: 20) {
                let some = (first..<min(first + 20, count - 1)).map { number in
                    let predicate = unequal(from: number * Self.comparisons)
                    return Subscription(
                        id: "heavy\(number)",
                        kind: .query(recordType: Self.type, predicate: predicate)
                    )
                }
                try subscribe(some, by: heavy)
            }
            let follower = server.container(token: ada)
            let plain = Query.Predicate.field("stars") > Int64(1)
            _ = try await follower.publicCloudDatabase.save(
                Subscription(id: "plain", kind: .query(recordType: Self.type, predicate: plain))
            )
            var pages = follower.notifications(since: nil).makeAsyncIterator()
            _ = try await pages.next()

            server.node.meter.longestTurn.store(0, ordering: .relaxed)
            let records = (0..<40).map { record("n\($0)") }
            for result in try writer.save(records, in: .public) { _ = try result.get() }
            // Others are answered while the changes are compared.
            let other = try RawClient(greeting: server.endpoint, token: eve)
            for number in 0..<20 { _ = try other.save([record("other\(number)")])[0].get() }
            var told: [String] = []
            while told.count < records.count, let page = try await pages.next() {
                for case .record(let news) in page.notifications.map(\.news) {
                    told.append(news.recordID.recordName)
                }
            }
            let milliseconds = server.node.meter.longestTurn.value / 1_000
            print("saves beside 60,000 comparisons: \(milliseconds) ms of the writer at most")
            #expect(milliseconds < Self.longestTurn)
            #expect(told == records.map(\.recordID.recordName).sorted())
            await follower.close()
        }
    }
}
