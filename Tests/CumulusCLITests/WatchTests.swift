// `cumulus watch`: its arguments, its lines, and the file that carries the token.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusTerminal
import Foundation
import Testing

@testable import CumulusCLI

@Suite struct WatchTests {
    private let token = FeedToken(text: "AQID")
    private let changed = Timestamp(millisecondsSince1970: 1_795_230_000_000)

    @Test func argumentsAreTaken() throws {
        let words = ["watch", "--since", "f", "--once", "--container", "c", "--json"]
        let command = try #require(try Main.parseAsRoot(words) as? WatchCommand)
        #expect(command.since == "f" && command.once && command.output.json)
        #expect(command.connection.scope.containerName == "c")
        let plain = try #require(try Main.parseAsRoot(["watch"]) as? WatchCommand)
        #expect(plain.since == nil && !plain.once && !plain.output.json)
    }

    @Test(arguments: [["x"], ["--since"], ["--replicas", "1"], ["--database", "private"]])
    func argumentsAreRefused(words: [String]) throws {
        let error = #expect(throws: (any Error).self) { try Main.parseAsRoot(["watch"] + words) }
        #expect(Main.exitCode(for: try #require(error)) == ExitCode(64))
    }

    // MARK: Lines

    private func notification(_ news: FeedNotification.News) -> FeedNotification {
        FeedNotification(
            id: FeedNotification.ID(bytes: Bytes(repeating: 0xAB, count: 16)),
            subscriptionID: "large",
            databaseScope: .private,
            news: news,
            changedAt: changed
        )
    }

    private func lines(
        _ notifications: FeedNotification...,
        reset: FeedReset? = nil,
        isUpToDate: Bool = false,
        afterUpToDate: Bool = false
    ) throws -> [FeedLine] {
        let page = FeedPage(
            notifications: notifications,
            reset: reset,
            token: try #require(token),
            isUpToDate: isUpToDate
        )
        return FeedLine.lines(of: page, afterUpToDate: afterUpToDate)
    }

    @Test func aRecordIsALine() throws {
        let id = Record.ID(recordName: "oslo", zoneID: RecordZone.ID(zoneName: "Trips"))
        var told = notification(
            .record(
                FeedNotification.RecordNews(
                    recordID: id,
                    recordType: "City",
                    reason: .updated,
                    transition: .uncertainMiss,
                    fields: ["population": 5, "name": "Oslo"]
                )
            )
        )
        told.changedBy = Record.ID(recordName: "_u1")
        told.isPruned = true
        told.notificationInfo = Subscription.NotificationInfo()
        told.notificationInfo?.alertBody = "Look"
        let line = try #require(try lines(told).first)
        #expect(
            line.row == [
                changed.text, "large", "updated (uncertainMiss)", "private", "Trips", "oslo",
                #"{"name": "Oslo", "population": 5}"#,
            ]
        )
        #expect(
            line.json.text == """
                {"news": "record", "reason": "updated", "transition": "uncertainMiss", \
                "recordName": "oslo", "recordType": "City", "zoneName": "Trips", \
                "fields": {"name": "Oslo", "population": 5}, \
                "notificationID": "\(told.id)", "subscriptionID": "large", \
                "database": "private", "changed": "\(changed.text)", "changedBy": "_u1", \
                "notificationInfo": {"alertBody": "Look"}, "isPruned": true}
                """
        )
    }

    @Test func zonesAreLines() throws {
        let (notes, trips) = (RecordZone.ID(zoneName: "Notes"), RecordZone.ID(zoneName: "Trips"))
        let told = try lines(
            notification(.zoneDeleted(notes)),
            notification(.zones([notes, trips], more: true))
        )
        #expect(
            told.map(\.row) == [
                [changed.text, "large", "zone deleted", "private", "Notes"],
                [changed.text, "large", "zones changed", "private", "Notes, Trips, …"],
            ]
        )
        #expect(told[0].json["news"] == "zoneDeleted" && told[0].json["zoneName"] == "Notes")
        #expect(told[1].json["zoneNames"] == .array(["Notes", "Trips"]))
        #expect(told[1].json["more"] == .bool(true))
    }

    @Test func resetsAreLines() throws {
        let names = [
            SubscriptionName(databaseScope: .public, subscriptionID: "a"),
            SubscriptionName(databaseScope: .private, subscriptionID: "b"),
        ]
        let some = try lines(reset: .subscriptions(names))
        #expect(some.map(\.row) == [["", "a", "reset", "public"], ["", "b", "reset", "private"]])
        #expect(
            some[0].json
                == ["news": "reset", "subscriptionID": "a", "database": "public"]
        )
        let all = try lines(reset: .all)
        #expect(all.map(\.json) == [["news": "reset"]])
        #expect(all[0].row == ["", "", "reset", ""])
    }

    /// Machines are told once that all was shown; people see that nothing comes.
    @Test func theEndOfWhatHappenedIsALineForMachines() throws {
        let upToDate: JSON = ["news": "upToDate"]
        #expect(try lines(isUpToDate: true).map(\.json) == [upToDate])
        #expect(try lines(isUpToDate: true).allSatisfy(\.row.isEmpty))
        #expect(try lines(isUpToDate: true, afterUpToDate: true).isEmpty)
        #expect(try lines().isEmpty)
        let told = notification(.zones([], more: false))
        let more = try lines(told, isUpToDate: true, afterUpToDate: true)
        #expect(more.map { $0.json["news"] } == ["zones", "upToDate"])
    }

    // MARK: The file

    @Test func theFileCarriesTheToken() throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("cumulus-watch-\(UInt64.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("feed.token").path
        let file = FeedTokenFile(path: path)
        #expect(try file.read() == nil)
        for text in ["AQID", "BAUG"] {
            let token = try #require(FeedToken(text: text))
            try file.write(token)
            #expect(try file.read() == token)
            #expect(try String(contentsOfFile: path, encoding: .utf8) == text + "\n")
        }
        // Written whole or not at all: nothing else is left in the folder.
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["feed.token"])
        try Data("?".utf8).write(to: URL(filePath: path))
        #expect(throws: InputProblem.self) { try file.read() }
        let nowhere = FeedTokenFile(path: folder.path + "/none/feed.token")
        #expect(throws: OutputProblem.self) { try nowhere.write(#require(token)) }
        // Without a file no token is kept.
        try FeedTokenFile(path: nil).write(#require(token))
        #expect(try FeedTokenFile(path: nil).read() == nil)
    }
}
