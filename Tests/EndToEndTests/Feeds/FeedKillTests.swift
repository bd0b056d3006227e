// A feed across kills of its node under load: devices learn of every record that was acknowledged,
// once each, whether they stay on one stream or come back for each page.
//
// Takes ten seconds: the node is killed five times, half a second apart, and starts again.
// `cluster/chaos feeds` kills it 100 times.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(60))) struct FeedKillTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    @Test func killsLoseNothingAndRepeatNothing() async throws {
        var dice = SeededGenerator(seed: Chaos.seed)
        let port = TestPort.free()
        let way = ["127.0.0.1:\(port)"]
        var node = try await NodeProcess.ready(data: folder.node, port: port)
        let user = FeedUser("ada", token: try await node.makeToken())
        let container = user.container(at: way)
        let writers = Writers(container.privateCloudDatabase)
        try await prepare(user, container, writers)

        let staying = (0..<2).map { FeedDevice("staying \($0)", of: user) }
        let coming = (0..<2).map { FeedDevice("coming \($0)", of: user) }
        let devices = staying + coming
        // From here on everything is news.
        for device in devices { try await device.step(at: way) }
        let isOver = Flag()
        let following = staying.map { device in Task { try await device.follow(at: way) } }
        let stepping = coming.map { device in
            Task {
                while !isOver.isSet {
                    try await device.step(at: way)
                    try await Task.sleep(for: .milliseconds(20))
                }
            }
        }
        async let writing: Void = writers.run(count: 3, seed: Chaos.seed)
        // What fails here must not wait for writers that go on.
        defer { writers.finish() }
        for _ in 0..<Chaos.kills {
            try await Task.sleep(for: .milliseconds(Int.random(in: 50...500, using: &dice)))
            try await #expect(node.end(SIGKILL) == .signal(SIGKILL))
            node = try await NodeProcess.ready(data: folder.node, port: port)
        }
        try await Task.sleep(for: .milliseconds(200))
        writers.finish()
        await writing
        isOver.set()
        for task in stepping { try await task.value }
        for task in following {
            task.cancel()
            try await task.value
        }
        for device in devices { try await device.compare(at: way[0]) }
        check(devices, writers.state)
        await container.close()
        try await #expect(node.end(SIGTERM) == .exit(0))
    }

    /// Makes the record type, and subscribes to what writers save.
    private func prepare(
        _ user: FeedUser,
        _ container: Container,
        _ writers: Writers
    ) async throws {
        try await writers.prepare()
        let database = container.privateCloudDatabase
        var first = Record(recordType: "Note", recordID: Record.ID(recordName: "first"))
        first["text"] = "first"
        try await database.save(first)
        // The text of a note is its name.
        let query = Query(recordType: "Note", predicate: .field("text").begins(with: "w"))
        try await user.subscribe("notes", to: query, by: container)
    }

    private func check(_ devices: [FeedDevice], _ ledger: Ledger) {
        #expect(ledger.failed.isEmpty, "\(ledger.failed.first as Any), seed \(Chaos.seed)")
        let expected = Set(ledger.acknowledged.joined())
        #expect(expected.count > 10 * Chaos.kills, "seed \(Chaos.seed)")
        for device in devices {
            #expect(device.faults.isEmpty, "\(device.faults.prefix(3)), seed \(Chaos.seed)")
            #expect(device.count("feeds: resets") == 0, "seed \(Chaos.seed)")
            let names = Set(device.held(of: "notes").map { String($0.split(separator: "/")[1]) })
            let wrong = names.symmetricDifference(expected).sorted()
            #expect(wrong.isEmpty, "\(wrong.prefix(3)), seed \(Chaos.seed)")
            // No note is changed after it was saved: each is told once.
            let told = device.count("feeds: notifications")
            #expect(told == expected.count, "seed \(Chaos.seed)")
        }
        let pages = devices.map { "\($0.count("feeds: pages"))" }.joined(separator: ", ")
        print(
            """
            feeds: \(Chaos.kills) kills, seed \(Chaos.seed): \(expected.count) records, told in \
            \(pages) pages
            """
        )
    }
}

/// Said once, seen by all.
private final class Flag: Sendable {
    private let value = Atomic<Bool>(false)

    var isSet: Bool { value.load(ordering: .relaxed) }

    func set() { value.store(true, ordering: .relaxed) }
}
