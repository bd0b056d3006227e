// `cumulus watch` as a process that goes on, and what it has shown so far.
//
// The stories use it. Its output is compared as a whole each time: a repeated or unexpected line
// fails the next comparison.

import CumulusModel
import CumulusTesting
import Foundation
import Testing

final class Watcher {
    private let device: Story.Device
    private let tokenFile: String
    private let output: String
    private let errors: String
    private let process: ChildProcess

    /// Starts it, where its last run ended if there was one, and waits until it is up to date.
    static func start(_ device: Story.Device, in folder: TestFolder) async throws -> Watcher {
        let watcher = try Watcher(device, in: folder)
        let isUpToDate = try await eventually { try watcher.text.contains("upToDate") }
        try #require(isUpToDate, "\(watcher.complaints)")
        return watcher
    }

    private init(_ device: Story.Device, in folder: TestFolder) throws {
        self.device = device
        tokenFile = "\(folder.path)/feed.token"
        output = "\(folder.path)/watch.out"
        errors = "\(folder.path)/watch.err"
        process = try ChildProcess(
            [
                try ChildProcess.builtProgram("cumulus"), "watch", "--json", "--since",
                tokenFile,
            ],
            variables: device,
            output: output,
            errors: errors
        )
    }

    private var text: String {
        get throws { try String(contentsOfFile: output, encoding: .utf8) }
    }

    private var complaints: String { (try? String(contentsOfFile: errors, encoding: .utf8)) ?? "" }

    /// The lines so far: "created NAME FIELDS", "reset SUBSCRIPTION", "changed ZONES".
    func told() throws -> [String] { try Watcher.told(text) }

    private static func told(_ text: String) throws -> [String] {
        // Behind the last line end a line may be on its way.
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        return try lines.compactMap { line in
            let item = try JSONReader.read(line.utf8)
            switch item.text("news") {
            case "upToDate": return nil
            case "record":
                let names = [item.text("reason"), item.text("recordName")]
                return (names + item.texts(in: "fields")).joined(separator: " ")
            case "reset": return "reset \(item.text("subscriptionID"))"
            case "zones": return "changed \(item["zoneNames"]?.text ?? "")"
            default: return String(line)
            }
        }
    }

    /// Waits until just this was told since the start.
    ///
    /// - Parameter limit: A later line is a failure; nil means 30 seconds.
    func expect(
        _ expected: [String],
        within limit: Duration? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let start = ContinuousClock.now
        let isTold = try await eventually(seconds: 30) { try told() == expected }
        let time = ContinuousClock.now - start
        let actual = try told()
        try #require(
            isTold,
            "\(actual) was told instead of \(expected); \(complaints)",
            sourceLocation: sourceLocation
        )
        if let limit {
            #expect(
                time <= limit,
                "\(expected.last ?? "") was told after \(time)",
                sourceLocation: sourceLocation
            )
        }
    }

    /// Ends it as a user does.
    func end() async throws {
        process.kill(SIGINT)
        #expect(try await process.waitForEnd(seconds: 20) == .exit(0), "\(complaints)")
    }

    /// Ends it, and expects that nothing is left to be told by its token.
    func endAndExpectNothingElse() async throws {
        let last = try told()
        try await end()
        #expect(try told() == last)
        let words = ["watch", "--json", "--since", tokenFile, "--once"]
        let run = try await CommandLineRun(words, variables: device)
        #expect(run.code == 0, "\(run.errors)")
        #expect(try Watcher.told(run.output) == [])
    }
}
