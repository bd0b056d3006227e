// The followers of the feeds of a private node, and one save that all of them are told of.
//
// Called by the path `feed`.

import Cumulus
import CumulusModel
import Foundation

extension BenchFollowers {
    /// How long one save took to reach the last follower, in milliseconds.
    struct Told: Sendable {
        var sinceSent: Double
        /// 0 if the answer came after it.
        var sinceAnswer: Double
    }

    /// Saves an event and waits until all followers are told.
    func tell(
        _ database: Database,
        _ names: BenchNames,
        prefix: String = "single"
    ) async throws -> Told {
        let record = BenchEvents.record("\(prefix)-\(names.next())", number: BenchEvents.told)
        tally.expect(count)
        let sent = BenchTally.now()
        try await BenchEvents.save(record, in: database)
        let answered = BenchTally.now()
        let told = try await tally.reached()
        return Told(
            sinceSent: Double(told - sent) / 1e6,
            sinceAnswer: Double(max(told, answered) - answered) / 1e6
        )
    }
}

extension BenchEvents {
    /// Saves events that nobody is told of, so many a second.
    static func save(
        perSecond rate: Double,
        in database: Database,
        until end: Date
    ) async throws {
        let writers = 8
        let interval = Double(writers) / rate
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<writers {
                group.addTask {
                    var due = Date(timeIntervalSinceNow: Double(writer) / rate)
                    while due < end {
                        let rest = due.timeIntervalSinceNow
                        if rest > 0 { try await Task.sleep(for: .seconds(rest)) }
                        try await save(record("load-\(writer)", number: untold), in: database)
                        due.addTimeInterval(interval)
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}

extension BenchTarget {
    func followers(
        _ devices: [BenchFollowers.Device],
        since token: Bytes = []
    ) async throws -> BenchFollowers {
        try await BenchFollowers(devices, of: BenchNode.container, at: endpoint, since: token)
    }

    /// Devices of the user who loads the node.
    func devices(_ count: Int, named name: String = "device") -> [BenchFollowers.Device] {
        (0..<count).map { BenchFollowers.Device(token: token, name: "\(name)-\($0)") }
    }

    /// Users of their own, one device each, all with an equal subscription in the public database.
    func users(_ count: Int) async throws -> [BenchFollowers.Device] {
        let progress = BenchProgress("adding users")
        defer { progress.end() }
        let lanes = 8
        return try await withThrowingTaskGroup(of: [BenchFollowers.Device].self) { group in
            for lane in 0..<lanes {
                group.addTask { [self] in
                    var devices: [BenchFollowers.Device] = []
                    for number in stride(from: lane, to: count, by: lanes) {
                        let token = try await addUser("user-\(number)")
                        try await subscribe(
                            token,
                            to: [BenchEvents.subscription(to: BenchEvents.told)]
                        )
                        devices.append(.init(token: token, name: "device"))
                        if lane == 0 { progress.show(number, of: count) }
                    }
                    return devices
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    /// Adds a user to the private node and returns its access token.
    func addUser(_ name: String) async throws -> String {
        try await operate { node in
            _ = try await node.addUser(name, in: BenchNode.container)
            return try await node.addToken(forUser: name)
        }
    }

    /// Saves events of 1 KB that a device missed, in batches, and returns their names.
    func saveMissed(_ options: BenchOptions) async throws -> [Record.ID] {
        let records = (0..<options.records).map { number in
            BenchEvents.record("missed-\(number)", number: BenchEvents.missed, letters: 960)
        }
        let lanes = options.connections
        try await BenchLanes.run(records.batches, lanes: lanes, "saving records") {
            [self] records, _ in
            try await save(Array(records))
        }
        return records.map(\.recordID)
    }

    /// Saves subscriptions of a user in the public database.
    func subscribe(_ token: String, to subscriptions: [Subscription]) async throws {
        var configuration = Container.Configuration(endpoints: [endpoint])
        configuration.accessToken = token
        let container = Container(identifier: BenchNode.container, configuration: configuration)
        let results = try await container.use { container in
            try await container.publicCloudDatabase.modifySubscriptions(
                saving: subscriptions,
                deleting: []
            )
        }
        for result in results.saveResults.values { _ = try result.get() }
    }
}
