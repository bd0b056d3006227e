// Pushes of three nodes that are killed in turn: each change wakes each device within two seconds,
// and at most twice.
//
// It takes half a minute for each kill, since a node that comes back takes the pushes over after
// some seconds: `cluster/chaos pushes` runs it.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(60)), .enabled(if: PushServices.isPossible, PushServices.skipped))
struct PushKillTests {
    private struct Change {
        var name: String
        var time: ContinuousClock.Instant
    }

    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    @Test(.enabled(if: Chaos.isAsked)) func eachChangeWakesEachDeviceAcrossKills() async throws {
        var dice = SeededGenerator(seed: Chaos.seed)
        let services = try await PushServices(in: folder.path)
        defer { services.stop() }
        let cluster = try FaultCluster()
        let arguments = ["--pushes", services.file]
        try await cluster.start(arguments: arguments)
        let containers = try (0..<3).map { try cluster.container($0) }
        try await prepare(containers[0], services)
        // The first to push begins some seconds after it has met the others.
        try await Task.sleep(for: .seconds(8))
        var changes: [Change] = []
        for round in 0..<Chaos.kills {
            let killed = round % 3
            for step in 0..<12 {
                if step == 2 {
                    let ending = try await cluster.nodes[killed].end(SIGKILL)
                    #expect(ending == .signal(SIGKILL))
                }
                if step == 5 { try await cluster.restart(killed, arguments: arguments) }
                let isDown = (2..<5).contains(step)
                let writer = (killed + (isDown ? 1 : Int.random(in: 0..<3, using: &dice))) % 3
                changes.append(try await change("n-\(round)-\(step)", containers[writer]))
                let pause = Int.random(in: 1_200...2_400, using: &dice)
                try await Task.sleep(for: .milliseconds(pause))
            }
        }
        try await Task.sleep(for: .seconds(3))
        check(changes, services.arrivals)
        for container in containers { await container.close() }
        for node in cluster.nodes { _ = try await node.end(SIGTERM) }
    }

    private func prepare(_ container: Container, _ services: PushServices) async throws {
        var first = Record(recordType: "Note", recordID: Record.ID(recordName: "first"))
        first["title"] = "first"
        try await container.privateCloudDatabase.save(first)
        var info = Subscription.NotificationInfo()
        info.shouldSendContentAvailable = true
        let subscription = Subscription(
            id: "notes",
            kind: .query(recordType: "Note", predicate: .field("title").begins(with: "n")),
            notificationInfo: info
        )
        try await container.privateCloudDatabase.save(subscription)
        for service in PushService.allCases {
            for number in 1...2 { try await container.register(services.address(service, number)) }
        }
    }

    private func change(_ name: String, _ container: Container) async throws -> Change {
        var note = Record(recordType: "Note", recordID: Record.ID(recordName: name))
        note["title"] = .string(name)
        try await container.privateCloudDatabase.save(note)
        return Change(name: name, time: .now)
    }

    private func check(_ changes: [Change], _ arrivals: [PushServices.Arrival]) {
        #expect(arrivals.allSatisfy { $0.problems.isEmpty })
        let devices = Dictionary(grouping: arrivals) { "\($0.service) \($0.device)" }
        #expect(devices.count == 6)
        var longest = Duration.zero
        for (device, arrivals) in devices {
            for change in changes {
                let told = arrivals.filter { $0.record == change.name }
                #expect(told.count <= 2, "\(device), \(change.name), seed \(Chaos.seed)")
                // A push that tells the newest of several changes says that there are more.
                let more = arrivals.first {
                    $0.standsForMore && $0.time >= change.time - .milliseconds(200)
                }
                let time = [told.first?.time, more?.time].compactMap(\.self).min()
                guard let time else {
                    Issue.record("\(device) was not told of \(change.name), seed \(Chaos.seed)")
                    continue
                }
                longest = max(longest, time - change.time)
                #expect(
                    time - change.time < .seconds(2),
                    "\(device), \(change.name), seed \(Chaos.seed)"
                )
            }
        }
        print("pushes: \(Chaos.kills) kills, seed \(Chaos.seed): the longest took \(longest)")
    }
}
