// A random history of two users with two devices each, at the nodes of one cluster: subscriptions,
// saves, deletes, records that cross predicates, zones that go, and devices that roam.
//
// A test drives it in rounds and breaks the nodes as it wants. Between two rounds all is quiet:
// there every device goes to every node, and must hold the results of queries. The seed draws the
// changes; the machine's timing decides which of them meet.

import Cumulus
import CumulusModel
import CumulusTesting
import Synchronization
import Testing

final class FeedHistory: Sendable {
    static let users = ["ada", "eve"]
    private static let zones: [RecordZone.ID] = [
        .default, RecordZone.ID(zoneName: "A"), RecordZone.ID(zoneName: "B"),
    ]
    private static let type = "Note"
    /// The zone is gone, and another change makes it anew; or a node was killed, and nobody knows
    /// whether it made the change.
    private static let harmless: Set<ServiceError.Code> = [
        .zoneNotFound, .userDeletedZone, .serverResponseLost,
    ]

    private let seed: UInt64
    private let endpoints: [String]
    private let users: [FeedUser]
    private let devices: [FeedDevice]
    private let dice: Mutex<SeededGenerator>
    /// No more happens to nodes in this round.
    private let isCalm = Atomic<Bool>(false)
    /// No more changes in this round.
    private let isOver = Atomic<Bool>(false)

    /// - Parameter tokens: Access tokens of `users`.
    init(seed: UInt64, endpoints: [String], tokens: [String]) {
        self.seed = seed
        self.endpoints = endpoints
        users = zip(FeedHistory.users, tokens).map { FeedUser($0, token: $1) }
        devices = users.flatMap { user in
            ["phone", "tablet"].map { FeedDevice("\(user.name)'s \($0)", of: user) }
        }
        dice = Mutex(SeededGenerator(seed: seed))
    }

    func count(_ what: String) -> Int { devices.reduce(0) { $0 + $1.count(what) } }

    var faults: [String] { devices.flatMap(\.faults) }

    private func random(_ end: Int) -> Int {
        dice.withLock { Int.random(in: 0..<end, using: &$0) }
    }

    /// All nodes, a random one first.
    private func way() -> [String] { way(from: random(endpoints.count)) }

    private func way(from first: Int) -> [String] {
        Array(endpoints[first...]) + endpoints[..<first]
    }

    // MARK: Rounds

    /// Makes zones and the record type, and waits until all nodes know them.
    func prepare() async throws {
        for user in users {
            let container = user.container(at: endpoints)
            for endpoint in endpoints {
                let other = user.container(at: [endpoint])
                let isKnown = try await eventually {
                    (try? await other.privateCloudDatabase.allRecordZones()) != nil
                }
                #expect(isKnown, "\(user.name) is unknown at \(endpoint)")
                await other.close()
            }
            let database = container.privateCloudDatabase
            for zone in FeedHistory.zones.dropFirst() {
                _ = try await database.save(RecordZone(zoneID: zone))
            }
            _ = try await database.save(note("first", in: .default))
            if user === users[0] {
                _ = try await container.publicCloudDatabase.save(note("first", in: .default))
            }
            await container.close()
        }
        try await settle()
    }

    /// Changes what users subscribe to, and then records on all nodes, in so many steps or more,
    /// while devices follow; `faults` is what happens to nodes meanwhile.
    func round(_ number: Int, steps: Int, faults: () async throws -> Void) async throws {
        for user in users { try await changeSubscriptions(of: user, number) }
        try await settle()
        isCalm.store(false, ordering: .relaxed)
        isOver.store(false, ordering: .relaxed)
        let following = Task { try await self.follow() }
        let working = Task { try await self.work(steps) }
        var failure: (any Error)?
        do {
            try await faults()
        } catch {
            failure = error
        }
        isCalm.store(true, ordering: .relaxed)
        let worked = await working.result
        isOver.store(true, ordering: .relaxed)
        let followed = await following.result
        if let failure { throw failure }
        try worked.get()
        try followed.get()
        try await settle()
    }

    /// Waits until every node has everything, and compares every device with every node.
    private func settle() async throws {
        try await spreadMarks()
        for device in devices {
            let first = random(endpoints.count)
            for endpoint in way(from: first) { try await device.compare(at: endpoint) }
        }
    }

    /// A record that is there brings all that its node had when it was saved.
    private func spreadMarks() async throws {
        let round = dice.withLock { $0.next() }
        let ids = endpoints.indices.map { Record.ID(recordName: "mark \(round) \($0)") }
        for (id, endpoint) in zip(ids, endpoints) {
            let container = users[0].container(at: [endpoint])
            let mark = Record(recordType: "Mark", recordID: id)
            _ = try await container.publicCloudDatabase.save(mark)
            await container.close()
        }
        for endpoint in endpoints {
            let container = users[0].container(at: [endpoint])
            let areThere = try await eventually {
                let found = try await container.publicCloudDatabase.records(for: ids)
                return found.values.allSatisfy { (try? $0.get()) != nil }
            }
            #expect(areThere, "\(endpoint) lacks what others have, seed \(seed)")
            await container.close()
        }
    }

    // MARK: Devices

    /// One device of each user follows, and moves now and then; the other one reads page by page,
    /// each at another node.
    private func follow() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, device) in devices.enumerated() {
                group.addTask {
                    while !self.isOver.load(ordering: .relaxed) {
                        if number % 2 == 0 {
                            try await self.stay(device)
                        } else {
                            try await device.step(at: self.way())
                            // After a longer pause more is told than one page holds.
                            try await Task.sleep(for: .milliseconds(20 + self.random(180)))
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Follows at a node for a while.
    private func stay(_ device: FeedDevice) async throws {
        let way = way()
        let following = Task { try await device.follow(at: way) }
        for _ in 0..<(10 + random(40)) where !isOver.load(ordering: .relaxed) {
            try await Task.sleep(for: .milliseconds(10))
        }
        following.cancel()
        try await following.value
    }

    // MARK: Changes

    private func changeSubscriptions(of user: FeedUser, _ round: Int) async throws {
        let container = user.container(at: way())
        for id in user.watches.keys.sorted() where random(3) == 0 {
            try await user.unsubscribe(id, by: container)
        }
        while user.watches.count < 3 {
            let id = "\(round)-\(random(1 << 30))"
            let query = Query(recordType: FeedHistory.type, predicate: predicate())
            let database: DatabaseScope = random(4) == 0 ? .public : .private
            // A node accepts only one of two equal subscriptions.
            let isKnown = user.watches.values.contains {
                $0.database == database && $0.query == query
            }
            if isKnown { continue }
            try await user.subscribe(id, to: query, of: database, by: container)
        }
        await container.close()
    }

    private func predicate() -> Query.Predicate {
        switch random(4) {
        case 0: .field("title") == (random(2) == 0 ? "one" : "two")
        case 1: .field("votes") == Int64(random(5) - 2)
        case 2: .field("votes") > Int64(random(7) - 3)
        default: .field("title") == "one" && .field("votes") > Int64(-1)
        }
    }

    private func note(_ name: String, in zone: RecordZone.ID) -> Record {
        let id = Record.ID(recordName: name, zoneID: zone)
        var note = Record(recordType: FeedHistory.type, recordID: id)
        note["title"] = .string(random(2) == 0 ? "one" : "two")
        note["votes"] = .int64(Int64(random(7) - 3))
        return note
    }

    /// Changes records, three at a time at nodes of their own: some of them are concurrent.
    private func work(_ steps: Int) async throws {
        let containers = users.map { user in
            endpoints.indices.map { user.container(at: way(from: $0)) }
        }
        var step = 0
        while step < steps || !isCalm.load(ordering: .relaxed) {
            step += 1
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<3 {
                    let container = containers[random(users.count)][random(endpoints.count)]
                    group.addTask { try await self.change(container) }
                }
                try await group.waitForAll()
            }
        }
        for container in containers.joined() { await container.close() }
    }

    private func change(_ container: Container) async throws {
        let isPublic = random(4) == 0
        let database = container.database(with: isPublic ? .public : .private)
        let zone = isPublic ? .default : FeedHistory.zones[random(3)]
        let record = note("r\(random(10))", in: zone)
        let kind = random(24)
        do {
            if kind < 3, zone != .default {
                _ = try await database.modifyRecordZones(
                    saving: kind == 0 ? [] : [RecordZone(zoneID: zone)],
                    deleting: kind == 0 ? [zone] : []
                )
            } else {
                _ = try await database.modifyRecords(
                    saving: kind < 9 ? [] : [record],
                    deleting: kind < 9 ? [record.recordID] : [],
                    savePolicy: .allKeys
                )
            }
        } catch let error as ServiceError where FeedHistory.harmless.contains(error.code) {}
    }
}
