// Very many feeds on one node: feeds without news cost next to nothing, one that reads nothing
// holds up no other, and a burst of saves reaches each of them once.
//
// Each takes some seconds, for which the node reads up to 10,000 first pages or 40,000
// notifications. `cluster/chaos feeds` takes more of both.

import Cumulus
import CumulusModel
import CumulusTesting
import CumulusWire
import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct FeedCrowdTests {
    /// Half of a connection's streams may be followed.
    private static let feedsPerConnection = Limits.standard.streamsPerConnection / 2
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    // MARK: Parts

    private func record(_ name: String, _ type: String = "City") -> Record {
        var record = Record(recordType: type, recordID: Record.ID(recordName: name))
        record["votes"] = 1
        return record
    }

    /// Saves records, and throws what one of them fails with.
    private func save(_ records: [Record], in database: Database) async throws {
        let results = try await database.modifyRecords(saving: records, deleting: [])
        for result in results.saveResults.values { _ = try result.get() }
    }

    /// Makes a subscription to all records of a type, and a first record of the type.
    private func subscribe(
        _ database: Database,
        _ type: String = "City",
        alert: String? = nil
    ) async throws {
        let first = record("first \(type)", type)
        _ = try await database.modifyRecords(
            saving: [first],
            deleting: [],
            savePolicy: .allKeys
        )
        var info = Subscription.NotificationInfo()
        info.alertBody = alert
        let kind = Subscription.Kind.query(
            recordType: type,
            predicate: .field("votes") > Int64(0)
        )
        let subscription = Subscription(
            id: "all \(type)",
            kind: kind,
            notificationInfo: alert == nil ? nil : info
        )
        _ = try await database.save(subscription)
    }

    /// Opens so many feeds of a user.
    private func open(
        _ count: Int,
        _ node: NodeProcess,
        _ token: String,
        times: SaveTimes = SaveTimes()
    ) async throws -> [FeedReader] {
        let endpoint = try node.endpoint
        let most = Self.feedsPerConnection
        let readers = stride(from: 0, to: count, by: most).map { begin in
            FeedReader(endpoint, token, feeds: min(most, count - begin), times: times)
        }
        let areOpen = try await eventually { try readers.reduce(0) { try $0 + $1.opened } == count }
        #expect(areOpen)
        return readers
    }

    private func isTold(_ name: String, to readers: [FeedReader]) async throws -> Bool {
        try await eventually {
            try readers.allSatisfy { try $0.told.allSatisfy { $0[name] != nil } }
        }
    }

    // MARK: A slow reader

    /// It may be sent 6 MB, more than the sockets hold, and takes a byte with each save.
    @Test func aSlowReaderHoldsUpNobody() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let (ada, eve) = (try await node.signIn(as: "ada"), try await node.signIn(as: "eve"))
        try await subscribe(ada.publicCloudDatabase)
        try await subscribe(
            eve.publicCloudDatabase,
            "Letter",
            alert: String(repeating: "x", count: 3_000)
        )
        let times = SaveTimes()
        let readers = try await open(
            Chaos.isAsked ? 1_000 : 256,
            node,
            try await node.makeToken(of: "ada"),
            times: times
        )
        func delay(_ names: [String], after save: () throws -> Void = {}) async throws -> Double {
            for name in names {
                times.begin(name)
                try await self.save([record(name)], in: ada.publicCloudDatabase)
                #expect(try await isTold(name, to: readers))
                try save()
            }
            return readers.flatMap { $0.takeDelays() }.percentile(0.99)
        }
        let alone = try await delay((0..<20).map { "alone \($0)" })

        let slow = try RawClient(
            greeting: try node.endpoint,
            token: try await node.makeToken(of: "eve"),
            receiveBuffer: 256 << 10
        )
        slow.patience = 60_000
        let call = slow.call(.feedsFollow, FollowFeedRequest(token: []).encoded())
        try slow.send(call)
        while try slow.nextFrame().stream != call.stream {}
        try slow.credit(64 << 20, on: call)
        let before = node.residentBytes
        // What one commit leaves fits in a page.
        let letters = (0..<2_000).map { record("letter \($0)", "Letter") }
        for begin in stride(from: 0, to: letters.count, by: 100) {
            try await save(Array(letters[begin..<begin + 100]), in: ada.publicCloudDatabase)
        }
        let beside = try await delay((0..<20).map { "beside \($0)" }) { try slow.takeByte() }
        print("feeds: p99 of a notification \(alone) s, beside a slow reader \(beside) s")
        #expect(beside < 10 * alone + 0.05)
        if let before, let after = node.residentBytes {
            #expect(after - before < 48 << 20, "the node grew by \((after - before) >> 20) MB")
        }

        // It reads now, and misses nothing.
        var told: [String: Int] = [:]
        while told.count < letters.count {
            let frame = try slow.nextFrame()
            guard frame.stream == call.stream else { continue }
            let page = try WireFeedPage(wire: frame.payload)
            #expect(page.reset == nil)
            for name in page.notifications.compactMap(\.recordName) { told[name, default: 0] += 1 }
        }
        #expect(told.values.allSatisfy { $0 == 1 })
        for reader in readers { reader.stop() }
        for container in [ada, eve] { await container.close() }
        #expect(try await node.end(SIGTERM) == .exit(0))
    }

    // MARK: Idle feeds

    @Test func feedsThatNothingConcernsCostNothing() async throws {
        let count = 10_000
        let node = try await NodeProcess.ready(data: folder.node)
        let (ada, eve) = (try await node.signIn(as: "ada"), try await node.signIn(as: "eve"))
        try await subscribe(ada.privateCloudDatabase)
        try await subscribe(eve.privateCloudDatabase)
        let own = try await open(1, node, try await node.makeToken(of: "eve"))
        func median(_ prefix: String) async throws -> Double {
            var seconds: [Double] = []
            for number in 0..<20 {
                let start = SaveTimes.now
                let other = record("\(prefix)\(number)", "Other")
                try await save([other], in: ada.privateCloudDatabase)
                seconds.append(SaveTimes.now - start)
            }
            return seconds.percentile(0.5)
        }
        let alone = try await median("alone")
        let before = node.residentBytes
        let readers = try await open(count, node, try await node.makeToken(of: "ada"))
        if let before, let after = node.residentBytes {
            print("feeds: \((after - before) / count) bytes for each of \(count) that are idle")
            #expect((after - before) / count <= 12 << 10)
        }
        let beside = try await median("beside")
        #expect(beside < 10 * alone + 0.02)

        let idle = node.processorSeconds
        try await Task.sleep(for: .seconds(1))
        if let idle, let now = node.processorSeconds { #expect(now - idle < 0.2) }

        // To wake them all takes the node more than a second, each time.
        let used = node.processorSeconds
        for number in 0..<20 {
            try await save([record("eve's \(number)")], in: eve.privateCloudDatabase)
            #expect(try await isTold("eve's \(number)", to: own))
        }
        if let used, let now = node.processorSeconds { #expect(now - used < 2) }
        #expect(try readers.allSatisfy { try $0.told.allSatisfy(\.isEmpty) })
        for reader in readers + own { reader.stop() }
        for container in [ada, eve] { await container.close() }
        #expect(try await node.end(SIGTERM) == .exit(0))
    }

    // MARK: A burst

    @Test func aBurstIsToldOnceToEach() async throws {
        let (count, feeds) = Chaos.isAsked ? (10_000, 50) : (2_000, 20)
        let node = try await NodeProcess.ready(data: folder.node)
        let ada = try await node.signIn(as: "ada")
        try await subscribe(ada.privateCloudDatabase)
        let token = try await node.makeToken(of: "ada")
        // On few connections, as devices behind one address are.
        let endpoint = try node.endpoint
        let readers = (0..<5).map { _ in FeedReader(endpoint, token, feeds: feeds / 5) }
        #expect(try await eventually { try readers.allSatisfy { try $0.opened == feeds / 5 } })
        let before = node.residentBytes
        try await save((0..<count).map { record("c\($0)") }, in: ada.privateCloudDatabase)
        let areTold = try await eventually(seconds: 120) {
            try readers.allSatisfy { try $0.told.allSatisfy { $0.count >= count } }
        }
        #expect(areTold)
        // A second one would have come before this.
        try await save([record("last")], in: ada.privateCloudDatabase)
        #expect(try await isTold("last", to: readers))
        for told in try readers.flatMap({ try $0.told }) {
            #expect(told.count == count + 1)
            #expect(told.values.allSatisfy { $0 == 1 })
        }
        #expect(readers.allSatisfy { $0.resets == 0 })
        if let before, let after = node.residentBytes {
            #expect(after - before < 96 << 20, "the node grew by \((after - before) >> 20) MB")
        }
        for reader in readers { reader.stop() }
        await ada.close()
        #expect(try await node.end(SIGTERM) == .exit(0))
    }
}

extension [Double] {
    /// The value below which that share of them is.
    fileprivate func percentile(_ share: Double) -> Double {
        guard !isEmpty else { return .infinity }
        return sorted()[Swift.min(count - 1, Int(Double(count) * share))]
    }
}
