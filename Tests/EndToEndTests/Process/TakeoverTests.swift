// Two processes over one database under saves: the one that serves is killed, stopped for longer
// than its term, and the database crashes. What was acknowledged is there once, devices hear of it
// once, and the other process serves soon.
//
// Takes fifteen seconds, since a stopped process is waited for. `cluster/chaos takeover` runs more
// cycles.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(
    .timeLimit(.minutes(60)),
    .enabled(if: PostgresServer.isInstalled, Comment(rawValue: PostgresServer.missing))
)
struct TakeoverTests {
    private static let cycles = Chaos.isAsked ? Chaos.cycles : 1

    /// How long it took until the first save was acknowledged, in seconds.
    private struct Times {
        var kills: [Double] = []
        var stops: [Double] = []
        var crashes: [Double] = []
    }

    @Test func nothingAcknowledgedIsLost() async throws {
        var dice = SeededGenerator(seed: Chaos.seed)
        let pair = try await StorePair()
        let token = try await pair.serving.makeToken()
        let user = FeedUser("ada", token: token)
        let container = container(pair.endpoints, token)
        let writers = Writers(container.privateCloudDatabase)
        try await writers.prepare()
        try await subscribe(user, container)
        let device = FeedDevice("following", of: user)
        try await device.step(at: pair.endpoints)
        let endpoints = pair.endpoints
        let following = Task { try await device.follow(at: endpoints) }

        async let writing: Void = writers.run(count: 8, seed: Chaos.seed)
        // What fails here must not wait for writers that go on.
        defer { writers.finish() }
        var times = Times()
        for _ in 0..<Self.cycles {
            func pause() async throws {
                try await Task.sleep(for: .milliseconds(Int.random(in: 200...700, using: &dice)))
            }
            try await pause()
            times.kills.append(try await kill(pair, token))
            try await pause()
            times.stops.append(try await stop(pair, token))
            try await pause()
            times.crashes.append(try await crash(pair, token))
        }
        writers.finish()
        await writing
        following.cancel()
        try await following.value
        try await device.compare(at: pair.endpoints[pair.active])
        try await check(writers.state, pair, container.privateCloudDatabase)
        check(device, writers.state)
        await container.close()
        try await pair.end()
        report(times, writers.state)
    }

    /// A client of both that gives a silent node up after two seconds.
    private func container(_ endpoints: [String], _ token: String) -> Container {
        var configuration = Container.Configuration(endpoints: endpoints)
        configuration.tls = .never
        configuration.accessToken = token
        configuration.connections = 4
        configuration.silenceMilliseconds = 1_000
        return Container(identifier: NodeProcess.container, configuration: configuration)
    }

    private func subscribe(_ user: FeedUser, _ container: Container) async throws {
        var first = Record(recordType: "Note", recordID: Record.ID(recordName: "first"))
        first["text"] = "first"
        try await container.privateCloudDatabase.save(first)
        // The text of a note of the writers is its name.
        let query = Query(recordType: "Note", predicate: .field("text").begins(with: "w"))
        try await user.subscribe("notes", to: query, by: container)
    }

    // MARK: Faults

    private func kill(_ pair: StorePair, _ token: String) async throws -> Double {
        let start = ContinuousClock.now
        try await #expect(pair.serving.end(SIGKILL) == .signal(SIGKILL))
        try await pair.waitForTakeover(token)
        let time = seconds(since: start)
        try await pair.replaceServing()
        return time
    }

    /// The process that wakes up finds that it was taken for dead.
    private func stop(_ pair: StorePair, _ token: String) async throws -> Double {
        let start = ContinuousClock.now
        pair.serving.kill(SIGSTOP)
        try await pair.waitForTakeover(token)
        let time = seconds(since: start)
        try await Task.sleep(for: .seconds(max(0, 6 - time)))
        pair.serving.kill(SIGCONT)
        try await #expect(pair.serving.waitForEnd(seconds: 5) == .exit(70))
        #expect(pair.serving.errors.contains("another cumulusd has taken over the database"))
        try await pair.replaceServing()
        return time
    }

    /// Both go on.
    private func crash(_ pair: StorePair, _ token: String) async throws -> Double {
        let start = ContinuousClock.now
        try pair.server.crash()
        try await pair.waitForSave(token)
        #expect(pair.serving.ending == nil)
        #expect(pair.standby.ending == nil)
        #expect(!pair.standby.isReady)
        return seconds(since: start)
    }

    private func seconds(since start: ContinuousClock.Instant) -> Double {
        (.now - start) / .seconds(1)
    }

    // MARK: The end

    private func check(
        _ ledger: Ledger,
        _ pair: StorePair,
        _ database: Database
    ) async throws {
        #expect(ledger.failed.isEmpty, "\(ledger.failed), seed \(Chaos.seed)")
        #expect(ledger.lostIncrements == 0)
        #expect(ledger.acknowledged.count > 50 * Self.cycles)
        var names: [String] = []
        for try await record in database.allRecords(desiredKeys: []) {
            names.append(record.recordID.recordName)
        }
        for try await record in database.allRecords(inZoneWith: Writers.zone, desiredKeys: []) {
            names.append(record.recordID.recordName)
        }
        let found = Set(names)
        #expect(found.count == names.count)
        #expect(found.isSuperset(of: pair.probed.acknowledged))
        let expected = Set(ledger.acknowledged.joined()).union(Writers.counters).union(["first"])
        let wrong = found.subtracting(pair.probed.tried).symmetricDifference(expected).sorted()
        #expect(wrong.isEmpty, "\(wrong), seed \(Chaos.seed)")
        for name in Writers.counters {
            let counter = try await database.record(for: Record.ID(recordName: name))
            #expect(counter["count"]?.int64 == ledger.sums[name], "\(name), seed \(Chaos.seed)")
        }
    }

    private func check(_ device: FeedDevice, _ ledger: Ledger) {
        #expect(device.faults.isEmpty, "\(device.faults.prefix(3)), seed \(Chaos.seed)")
        #expect(device.count("feeds: resets") == 0, "seed \(Chaos.seed)")
        // No note is changed after it was saved: each is told once.
        let told = device.count("feeds: notifications")
        #expect(told == Set(ledger.acknowledged.joined()).count, "seed \(Chaos.seed)")
    }

    private func report(_ times: Times, _ ledger: Ledger) {
        func list(_ times: [Double]) -> String {
            times.map { String(format: "%.1f s", $0) }.joined(separator: ", ")
        }
        print(
            """
            takeover: seed \(Chaos.seed): \(ledger.acknowledged.count) acknowledged changes; first \
            save after SIGKILL \(list(times.kills)), after SIGSTOP \(list(times.stops)), after a \
            crash of the database \(list(times.crashes))
            """
        )
        // Twice what is wanted, since others use the machine, too.
        #expect(times.kills.allSatisfy { $0 < 4 })
        #expect(times.stops.allSatisfy { $0 < 10 })
    }
}
