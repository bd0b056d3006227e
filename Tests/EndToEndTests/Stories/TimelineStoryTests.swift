// A timeline that two devices of a user keep by push: a phone with a sync engine, in this process,
// and a tablet with processes of the command line, which fetches what changed when `cumulus watch`
// says that something did. Each is away for a time and goes on where it was.

import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct TimelineStoryTests {
    @Test func aTimelineIsKeptOnOneNode() async throws {
        try await Story.play(on: 1, keepTimeline)
    }

    @Test func aTimelineIsKeptWhileANodeIsKilled() async throws {
        try await Story.play(on: 3, keepTimeline)
    }

    private func keepTimeline(_ story: Story) async throws {
        let tablet = try TimelineTablet(story)
        try await tablet.subscribe()
        try await tablet.start()
        let phone = try TimelinePhone(story)
        try phone.start()
        phone.makeZone()
        phone.write("a", "good morning")
        try await tablet.expect(["saved a good morning"])
        try await tablet.write("b", "coffee")
        try await tablet.expect(["saved b coffee"])
        try await phone.expect(["a": "good morning", "b": "coffee"])

        try await phone.waitUntilSent()
        try await story.killWatchedNode()
        try await tablet.write("c", "work")
        try await tablet.expect(["saved c work"])
        try await phone.expect(["a": "good morning", "b": "coffee", "c": "work"])
        phone.write("a", "good evening")
        try await tablet.expect(["saved a good evening"])

        try await tablet.end()
        phone.write("d", "dinner")
        try await phone.waitUntilSent()
        phone.remove("b")
        try await phone.waitUntilSent()
        try await tablet.start()
        try await tablet.expect(["saved d dinner", "deleted b"])

        try await phone.end()
        try await tablet.write("e", "sleep")
        try await tablet.expect(["saved e sleep"])
        try await tablet.remove("c")
        try await tablet.expect(["deleted c"])
        try phone.start()
        phone.write("f", "dream")
        try await tablet.expect(["saved f dream"])
        try await phone.expect(
            ["a": "good evening", "d": "dinner", "e": "sleep", "f": "dream"]
        )
        // Only what it has not seen was fetched, once; its own entry may come back to it.
        #expect(phone.app.fetched.filter { $0 != "saved f" } == ["saved e", "deleted c"])
        try await phone.end()
        try await tablet.unsubscribe()
        try await tablet.endAndExpectNothingElse()
    }
}

/// A device that keeps a timeline by the command line.
private final class TimelineTablet {
    private let story: Story
    private let device: Story.Device
    private var watcher: Watcher?
    /// How much of what the watcher told was followed by a fetch.
    private var heard = 0
    /// What the fetches brought: "saved NAME TEXT", "deleted NAME".
    private var fetched: [String] = []
    private var expected: [String] = []

    init(_ story: Story) throws {
        self.story = story
        device = try story.watchingDevice(of: "ada", in: "private")
    }

    func subscribe() async throws {
        try await story.change(["subscription", "save", "timeline"], by: device)
    }

    func unsubscribe() async throws {
        try await story.change(["subscription", "delete", "timeline"], by: device)
    }

    func start() async throws {
        watcher = try await Watcher.start(device, in: story.folder)
        heard = 0
    }

    func write(_ name: String, _ text: String) async throws {
        let other = try story.otherDevice(of: "ada", in: "private")
        try await story.change(
            [
                "record", "save", "Entry", name, "--zone", "Timeline", "--field", "text=\(text)",
                "--force",
            ],
            by: other
        )
    }

    func remove(_ name: String) async throws {
        let other = try story.otherDevice(of: "ada", in: "private")
        try await story.change(["record", "delete", name, "--zone", "Timeline"], by: other)
    }

    /// Waits until just this was fetched in addition; it is fetched only when it is told of.
    func expect(
        _ lines: [String],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        expected += lines
        let isThere = try await eventually(seconds: 30) {
            try await fetchIfTold()
            return fetched == expected
        }
        try #require(
            isThere,
            "\(fetched) was fetched instead of \(expected)",
            sourceLocation: sourceLocation
        )
    }

    private func fetchIfTold() async throws {
        let told = try watcher?.told() ?? []
        guard told.count > heard else { return }
        #expect(told.allSatisfy { $0 == #"changed ["Timeline"]"# }, "\(told)")
        heard = told.count
        try await fetch()
    }

    private func fetch() async throws {
        let words = [
            "changes", "records", "Timeline", "--json", "--since",
            "\(story.folder.path)/timeline.token",
        ]
        let changes = try JSONReader.read(try await story.ask(words, by: device).utf8)
        guard case .array(let items) = changes else { return }
        for item in items {
            let record = item["record"] ?? item
            let texts = record.texts(in: "fields")
            fetched.append(
                ([item.text("change"), record.text("recordName")] + texts).joined(separator: " ")
            )
        }
    }

    func end() async throws {
        try await watcher?.end()
    }

    /// Ends it; nothing is left that was not told.
    func endAndExpectNothingElse() async throws {
        try await end()
        try await fetch()
        #expect(fetched == expected)
    }
}
