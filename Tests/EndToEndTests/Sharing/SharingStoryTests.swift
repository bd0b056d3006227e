// Ada shares a zone and a tree of records, Bo joins by the URL: with the commands of the command
// line, on a cluster of one node, or of three nodes, one of which is killed on the way.
//
// Ada asks the first node and Bo the others. Bo's device follows its feed in a process of its own,
// and has to be told of each step within a second, but for the one at which its node is killed.
// On three nodes that takes more than 5 seconds: the nodes start one after the other, and each step
// is a process.
//
// Folder: sharing between users, as people use it. Read `SharingStoryTests`, then
// `ShareCommandTests`.

import CumulusModel
import CumulusTerminal
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct SharingStoryTests {
    @Test func aZoneIsSharedOnOneNode() async throws {
        try await Story.play(on: 1, shareZone)
    }

    @Test func aTreeIsSharedWhileANodeIsKilled() async throws {
        try await Story.play(on: 3, shareTree)
    }

    /// How long after a change is on every node Bo's device may take to be told of it.
    private static let aMoment = Duration.seconds(1)

    /// What Ada and Bo do with one of her zones.
    private struct Trip {
        let story: Story
        let ada: Story.Device
        let bo: Story.Device
        let owner: String
        let url: String
        /// The record name of the share.
        let share: String

        /// Ada makes a zone with two notes and shares it, or one of them.
        init(_ story: Story, sharing words: [String]) async throws {
            self.story = story
            ada = try story.otherDevice(of: "ada", in: "private")
            bo = try story.watchingDevice(of: "bo", in: "shared")
            try await story.change(["zone", "create", "Trips"], by: ada)
            try await Trip.save("oslo", [], by: ada, story)
            try await Trip.save("museum", ["--parent", "oslo"], by: ada, story)
            try await story.change(["share", "create", "Trips"] + words, by: ada)
            let list = try await story.ask(["share", "list", "--json"], by: ada)
            guard case .array(let shares) = try JSONReader.read(list.utf8) else {
                throw InputProblem("no list of shares: \(list)")
            }
            let share = try #require(shares.first)
            (owner, url) = (share.text("ownerName"), share.text("url"))
            self.share = share.text("recordName")
            try #require(shares.count == 1 && !owner.isEmpty && url.hasPrefix("cumulus:/share/"))
        }

        static func save(
            _ name: String,
            _ words: [String],
            by device: Story.Device,
            _ story: Story
        ) async throws {
            let place = ["--zone", "Trips", "--field", "text=about \(name)", "--force"]
            try await story.change(["record", "save", "Note", name] + place + words, by: device)
        }

        var place: [String] { ["--zone", "Trips", "--owner", owner] }

        /// A line of `Watcher`: something happened in Ada's zone.
        var news: String { "changed \(JSON.array([.string("\(owner)/Trips")]).text)" }

        /// The records that Bo finds.
        func names() async throws -> [String] {
            let text = try await story.ask(["record", "list", "--json"] + place, by: bo)
            guard case .array(let records) = try JSONReader.read(text.utf8) else { return [] }
            return records.map { $0.text("recordName") }
        }

        /// What happened to Bo's zones since he last asked: "changed Trips", "deleted Trips".
        func zoneChanges() async throws -> [String] {
            try await changes(["zones"], name: "zoneName")
        }

        /// The same for the records of Ada's zone.
        func recordChanges() async throws -> [String] {
            try await changes(["records", "Trips", "--owner", owner], name: "recordName")
        }

        private func changes(_ words: [String], name: String) async throws -> [String] {
            let file = "\(story.folder.path)/\(words[0]).token"
            let command = ["changes"] + words + ["--json", "--since", file]
            let text = try await story.ask(command, by: bo)
            guard case .array(let items) = try JSONReader.read(text.utf8) else { return [] }
            return items.map { item in
                let names = [item.text(name), (item["record"] ?? .null).text(name)]
                return "\(item.text("change")) \(names.joined())"
            }.sorted()
        }

        /// The error number with which a command of Bo's is refused.
        func expectRefusal(_ number: Int, _ words: [String]) async throws {
            let run = try await CommandLineRun(words + ["--timeout", "60"], variables: bo)
            #expect(run.code == 1 && run.errors.contains("\(number)"), "\(words): \(run.errors)")
        }
    }

    private func shareZone(_ story: Story) async throws {
        let trip = try await Trip(story, sharing: ["--public", "readOnly", "--title", "Trips"])
        let (ada, bo) = (trip.ada, trip.bo)
        try await story.change(["subscription", "save", "all"], by: bo)
        let watcher = try await Watcher.start(bo, in: story.folder)
        #expect(try await trip.zoneChanges() == [])
        let metadata = try await story.ask(["share", "metadata", trip.url, "--json"], by: bo)
        #expect(try JSONReader.read(metadata.utf8).text("participantStatus") == "unknown")

        _ = try await story.ask(["share", "accept", trip.url], by: bo)
        var told = [trip.news]
        try await watcher.expect(told, within: Self.aMoment)
        #expect(try await trip.zoneChanges() == ["changed Trips"])
        #expect(try await trip.names() == ["cloudkit.zoneshare", "museum", "oslo"])
        try await Trip.save("bergen", [], by: ada, story)
        told.append(trip.news)
        try await watcher.expect(told, within: Self.aMoment)
        #expect(try await trip.recordChanges().contains("saved bergen"))
        let save = ["record", "save", "Note", "stockholm", "--field", "text=Hej"] + trip.place
        try await trip.expectRefusal(10, save)

        try await story.change(["share", "set", "Trips", "--public", "readWrite"], by: ada)
        told.append(trip.news)
        try await watcher.expect(told, within: Self.aMoment)
        try await story.change(save, by: bo)
        // A zone of another user is told, also if the caller changed it.
        told.append(trip.news)
        try await watcher.expect(told, within: Self.aMoment)
        let saved = try await story.ask(
            ["record", "get", "stockholm", "--zone", "Trips", "--json"],
            by: ada
        )
        #expect(saved.contains("Hej"))
        #expect(
            try await trip.recordChanges() == ["saved cloudkit.zoneshare", "saved stockholm"]
        )

        try await story.change(["share", "set", "Trips", "--public", "none"], by: ada)
        told.append(trip.news)
        try await watcher.expect(told, within: Self.aMoment)
        #expect(try await trip.zoneChanges() == ["deleted Trips"])
        try await trip.expectRefusal(26, ["record", "list"] + trip.place)
        // He is not told what happens there now.
        try await Trip.save("tromso", [], by: ada, story)
        try await watcher.endAndExpectNothingElse()
    }

    private func shareTree(_ story: Story) async throws {
        let trip = try await Trip(story, sharing: ["--root", "oslo", "--public", "readOnly"])
        let (ada, bo) = (trip.ada, trip.bo)
        try await Trip.save("bergen", [], by: ada, story)
        try await story.change(["subscription", "save", "all"], by: bo)
        let watcher = try await Watcher.start(bo, in: story.folder)
        #expect(try await trip.zoneChanges() == [])
        var told: [String] = []
        /// Waits until Bo's device was told once more that something happened in the zone.
        func expectNews(within limit: Duration? = Self.aMoment) async throws {
            told.append(trip.news)
            try await watcher.expect(told, within: limit)
        }
        func save(_ name: String, _ words: [String] = []) -> [String] {
            ["record", "save", "Note", name, "--field", "text=Hej"] + trip.place + words
        }
        let get = ["record", "get", "bergen"] + trip.place

        // He reads what is in the tree, and nothing else.
        _ = try await story.ask(["share", "accept", trip.url], by: bo)
        try await expectNews()
        #expect(try await trip.zoneChanges() == ["changed Trips"])
        #expect(try await trip.names().sorted() == [trip.share, "museum", "oslo"].sorted())
        #expect(
            try await trip.recordChanges()
                == ["saved \(trip.share)", "saved museum", "saved oslo"].sorted()
        )
        try await trip.expectRefusal(11, get)
        try await trip.expectRefusal(10, save("opera", ["--parent", "museum"]))
        try await Trip.save("fjord", ["--parent", "oslo"], by: ada, story)
        try await expectNews()
        #expect(try await trip.recordChanges() == ["saved fjord"])
        // The node where he joined is killed next: the others have heard of it by now.
        let isIn = try await eventually(seconds: 10) {
            let shown = try await story.ask(["share", "show", "Trips", "--root", "oslo"], by: ada)
            return shown.contains("(publicUser, readOnly, accepted)")
        }
        #expect(isIn, "Ada's node does not show that Bo joined")

        try await story.killWatchedNode()
        let set = ["share", "set", "Trips", "--root", "oslo", "--public"]
        try await story.change(set + ["readWrite"], by: ada)
        try await expectNews(within: nil)
        #expect(try await trip.recordChanges() == ["saved \(trip.share)"])
        try await trip.expectRefusal(10, save("alone"))
        try await story.change(save("opera", ["--parent", "museum"]), by: bo)
        // A zone of another user is told, also if the caller changed it.
        try await expectNews()
        let opera = ["record", "get", "opera", "--zone", "Trips", "--json"]
        #expect(try await story.ask(opera, by: ada).contains("Hej"))
        // A record that moves into the tree is seen, and a deleted one is no longer seen.
        try await Trip.save("bergen", ["--parent", "oslo"], by: ada, story)
        try await expectNews()
        _ = try await story.ask(get, by: bo)
        try await story.change(["record", "delete", "fjord", "--zone", "Trips"], by: ada)
        try await expectNews()
        #expect(
            try await trip.recordChanges() == ["deleted fjord", "saved bergen", "saved opera"]
        )

        try await story.change(set + ["none"], by: ada)
        try await expectNews()
        #expect(try await trip.zoneChanges() == ["deleted Trips"])
        try await trip.expectRefusal(26, get)
        try await trip.expectRefusal(26, save("late", ["--parent", "museum"]))
        try await trip.expectRefusal(10, ["share", "accept", trip.url])
        // He is not told what happens there now.
        try await Trip.save("tromso", ["--parent", "oslo"], by: ada, story)
        try await watcher.endAndExpectNothingElse()
        try await story.change(["share", "stop", "Trips", "--root", "oslo"], by: ada)
        try await trip.expectRefusal(11, ["share", "accept", trip.url])
    }
}
