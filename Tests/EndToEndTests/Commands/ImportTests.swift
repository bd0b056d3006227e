// Import and export with real processes: the data comes back as it was, also when the node is
// killed under the import.

import Cumulus
import CumulusTesting
import CumulusTransfer
import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) struct ImportTests {
    private let folder: TestFolder

    init() throws {
        folder = try TestFolder()
    }

    private static let fixture = Checkout.file("Tests/CumulusTransferTests/Fixtures/places.jsonl")
        .path

    /// The fixture as an export writes it.
    private static func expected() throws -> [String] {
        try records(String(contentsOfFile: fixture, encoding: .utf8))
            .sorted { $0.recordID.recordName < $1.recordID.recordName }
            .map(\.line.text)
    }

    private static func records(_ text: String) throws -> [Record] {
        try text.split(separator: "\n").map {
            try Record(line: JSONReader.read($0.utf8), type: "Place")
        }
    }

    /// The command line as a user of a node.
    private struct User: Sendable {
        /// Runs as long as it is held.
        let node: NodeProcess
        let variables: [String: String]

        init(of node: NodeProcess) async throws {
            self.node = node
            variables = [
                "CUMULUS_ENDPOINT": try node.endpoint,
                "CUMULUS_TOKEN": try await node.makeToken(),
                "CUMULUS_DATABASE": "public",
            ]
        }

        func cumulus(
            _ words: [String],
            input: Int32? = nil
        ) async throws -> CommandLineRun {
            try await CommandLineRun(words, variables: variables, input: input)
        }

        func export() async throws -> [String] {
            let run = try await cumulus(["export", "Place"])
            #expect(run.code == 0, "\(run.errors)")
            return run.output.split(separator: "\n").map(String.init)
        }
    }

    /// Strings compare by code point here, as bytes.
    private func expectEqual(_ found: [String], _ expected: [String]) {
        #expect(found.count == expected.count)
        for (found, expected) in zip(found, expected) {
            #expect(Array(found.utf8) == Array(expected.utf8), "\(found) is not \(expected)")
        }
    }

    @Test func theExportEqualsTheInputHoweverOftenItIsImported() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let user = try await User(of: node)
        for _ in 1...2 {
            let result = try await user.cumulus(
                ["import", "Place", Self.fixture, "--batch", "30", "--json"]
            )
            #expect(result.code == 0, "\(result.errors)")
            #expect(try JSONReader.read(result.output.utf8)["saved"] == .integer(200))
            try await expectEqual(user.export(), Self.expected())
        }
    }

    @Test func anImportRidesThroughAKillAndARestart() async throws {
        let node = try await NodeProcess.ready(data: folder.node, port: TestPort.free())
        let user = try await User(of: node)
        let lines = try String(contentsOfFile: Self.fixture, encoding: .utf8)
            .split(separator: "\n").map { $0 + "\n" }
        let pipe = Pipe()
        // Otherwise another started process keeps the end open that the import waits for.
        for end in [pipe.fileHandleForReading, pipe.fileHandleForWriting] {
            _ = fcntl(end.fileDescriptor, F_SETFD, FD_CLOEXEC)
        }
        async let result = user.cumulus(
            ["import", "Place", "-", "--batch", "3", "--timeout", "60"],
            input: pipe.fileHandleForReading.fileDescriptor
        )
        // The rest follows only after the node was killed: the import can't have ended before.
        try pipe.fileHandleForWriting.write(contentsOf: Data(lines[..<150].joined().utf8))
        // Before the first record there is no such type.
        let export = ["export", "Place"]
        while try await user.cumulus(export).output.split(separator: "\n").count < 10 {}
        try await node.end(SIGKILL)
        try pipe.fileHandleForWriting.write(contentsOf: Data(lines[150...].joined().utf8))
        try pipe.fileHandleForWriting.close()
        let second = try await NodeProcess.ready(data: folder.node, port: node.port)
        let end = try await result
        #expect(end.code == 0, "\(end.errors)")
        #expect(end.output.hasPrefix("200 records saved, 0 lines failed"))
        try await expectEqual(user.export(), Self.expected())
        #expect(try await second.end(SIGTERM) == .exit(0))
    }

    /// A node that is gone for good: the import says for what it waits, and how far it got.
    ///
    /// It takes 8 s: only after 5 s without an answer it says something.
    @Test func anImportSaysForWhatItWaitsAndHowMuchIsSaved() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let user = try await User(of: node)
        let lines = try String(contentsOfFile: Self.fixture, encoding: .utf8)
            .split(separator: "\n").map { $0 + "\n" }
        let pipe = Pipe()
        for end in [pipe.fileHandleForReading, pipe.fileHandleForWriting] {
            _ = fcntl(end.fileDescriptor, F_SETFD, FD_CLOEXEC)
        }
        async let result = user.cumulus(
            ["import", "Place", "-", "--batch", "10", "--parallel", "1", "--timeout", "8"],
            input: pipe.fileHandleForReading.fileDescriptor
        )
        try pipe.fileHandleForWriting.write(contentsOf: Data(lines[..<50].joined().utf8))
        let export = ["export", "Place"]
        while try await user.cumulus(export).output.split(separator: "\n").count < 40 {}
        try await node.end(SIGKILL)
        try pipe.fileHandleForWriting.write(contentsOf: Data(lines[50...].joined().utf8))
        try pipe.fileHandleForWriting.close()
        let end = try await result
        #expect(end.code == 69 && end.output.isEmpty, "\(end.errors)")
        let errors = end.errors.split(separator: "\n")
        try #require(errors.count == 2, "\(end.errors)")
        #expect(errors[0].contains(/waiting, without an answer for 5 s: .* lines saved so far/))
        #expect(errors[0].contains("Connection refused"), "\(end.errors)")
        #expect(errors[1].contains(/; \d+ lines are saved: run the same import again/))
        #expect(errors[1].contains("--endpoint"), "\(end.errors)")
    }

    private static let damaged = """
        {"recordName": "a", "n": 1}
        {"recordName": "b", "n":

        {"n": 1}
        {"recordName": "_c", "n": 1}
        {"recordName": "d", "n": "text"}
        {"recordName": "a", "n": 2}
        {"recordName": "e", "n": 3}
        """

    private func damagedFile() throws -> String {
        let file = "\(folder.path)/damaged.jsonl"
        try Data(Self.damaged.utf8).write(to: URL(filePath: file))
        return file
    }

    @Test func aBadLineIsReportedByNumberAndTheRestGoesOn() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let user = try await User(of: node)
        let file = try damagedFile()
        let result = try await user.cumulus(["import", "Place", file])
        #expect(result.code == 65)
        #expect(result.output.hasPrefix("3 records saved, 4 lines failed"))
        let numbers = result.errors.split(separator: "\n").compactMap { line in
            line.firstMatch(of: #/^cumulus: line (\d+): /#).flatMap { Int($0.1) }
        }
        #expect(numbers.sorted() == [2, 4, 5, 6])
        try await expectEqual(
            user.export(),
            [#"{"recordName": "a", "n": 2}"#, #"{"recordName": "e", "n": 3}"#]
        )
    }

    @Test func strictStopsAtTheFirstBadLine() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let user = try await User(of: node)
        let file = try damagedFile()
        let result = try await user.cumulus(["import", "Place", file, "--strict"])
        #expect(result.code == 65)
        #expect(result.errors.hasPrefix("cumulus: line 2: "))
        #expect(result.errors.split(separator: "\n").count == 1)
        try await expectEqual(user.export(), [#"{"recordName": "a", "n": 1}"#])
    }

    /// By its merge policy a save takes all of its record along: 200 of them are more than a commit
    /// may hold.
    @Test func whatIsTooMuchAtOnceIsSentInParts() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let user = try await User(of: node)
        let token = ["--operator-token-file", "\(folder.node)/operator.token"]
        let policy = try await user.cumulus(
            ["policy", "set", "Place", "--merge", "record"] + token
        )
        #expect(policy.code == 0, "\(policy.errors)")
        let text = String(repeating: "x", count: 20_000)
        for field in [#""text": "\#(text)""#, #""n": 1"#] {
            let lines = (1...200).map { #"{"recordName": "p\#($0)", \#(field)}"# }
            let file = "\(folder.path)/places.jsonl"
            try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: file))
            let result = try await user.cumulus(["import", "Place", file])
            #expect(
                result.output.hasPrefix("200 records saved, 0 lines failed"),
                "\(result.errors)"
            )
        }
    }

    /// A record that no server takes costs no other one anything, however large it is.
    @Test func aLineOfAnySizeIsReportedByNumber() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let user = try await User(of: node)
        var lines = (1...300).map { #"{"recordName": "p\#($0)", "n": 1}"# }
        for (place, size) in [
            (50, 1_500_000), (100, 3_000_000), (150, 5_000_000), (200, 9_000_000),
        ] {
            let text = String(repeating: "x", count: size)
            lines[place - 1] = #"{"recordName": "p\#(place)", "text": "\#(text)"}"#
        }
        let file = "\(folder.path)/places.jsonl"
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: file))
        let result = try await user.cumulus(["import", "Place", file])
        #expect(result.code == 65)
        #expect(result.output.hasPrefix("296 records saved, 4 lines failed"), "\(result.output)")
        let numbers = result.errors.split(separator: "\n").compactMap { line in
            line.firstMatch(of: #/^cumulus: line (\d+): /#).flatMap { Int($0.1) }
        }
        #expect(numbers.sorted() == [50, 100, 150, 200], "\(result.errors)")
        #expect(try await user.export().count == 296)
    }

    /// An export is in the order of names, whichever of two is the parent.
    @Test(arguments: [1, -1]) func parentsMayComeLater(step: Int) async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let user = try await User(of: node)
        var lines = (1...700).map { number in
            let parent =
                (1...700).contains(number + step) ? #""p\#(1_000 + number + step)""# : "null"
            return #"{"recordName": "p\#(1_000 + number)", "$parent": \#(parent)}"#
        }
        lines.append(#"{"recordName": "q", "$parent": "nobody"}"#)
        let file = "\(folder.path)/places.jsonl"
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: file))
        let result = try await user.cumulus(["import", "Place", file])
        #expect(result.output.hasPrefix("700 records saved, 1 line failed"), "\(result.output)")
        #expect(result.errors.hasPrefix("cumulus: line 701: "), "\(result.errors)")
        #expect(result.errors.split(separator: "\n").count == 1)
        let exported = try await user.export()
        #expect(exported.count == 700)
    }

    /// Whichever call arrives first, the first line with a value decides the type of a field.
    ///
    /// An integer is also a decimal.
    @Test(arguments: [("1", "1.5", 21), ("1.5", "1", 61)])
    func theFirstValueDecidesTheType(first: String, other: String, saved: Int) async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let user = try await User(of: node)
        let file = "\(folder.path)/numbers.jsonl"
        for round in 1...5 {
            let values = Array(repeating: "null", count: 20) + [first]
            let lines = (values + Array(repeating: other, count: 40)).enumerated()
                .map { #"{"recordName": "r\#(round).\#($0)", "a": 1, "n": \#($1)}"# }
            try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: file))
            let words = ["import", "T\(round)", file, "--batch", "1", "--parallel", "64"]
            let run = try await user.cumulus(words)
            let summary = "\(saved) records saved, \(61 - saved) lines failed"
            #expect(run.output.hasPrefix(summary), "\(run.output)")
        }
    }

    @Test func anExportSaysHowMuchThereWas() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let user = try await User(of: node)
        _ = try await user.cumulus(["import", "Place", Self.fixture])
        _ = try await user.cumulus(["record", "save", "Visit", "first"])
        _ = try await user.cumulus(["record", "delete", "first"])
        for (type, count) in [("Place", 200), ("Visit", 0)] {
            let run = try await user.cumulus(["export", type])
            #expect(run.code == 0 && run.errors == "\(count) records exported\n", "\(run.errors)")
            #expect(run.output.split(separator: "\n").count == count)
        }
        let refused = try await user.cumulus(["export", "_Place"])
        #expect(refused.code == 1 && refused.output.isEmpty)
        #expect(refused.errors.contains("record type '_Place' must begin with a letter"))
    }

    /// Nothing of what was never there is a mistake; it leaves no file.
    @Test(arguments: [
        (["--type", "Palce"], "Did not find record type: Palce"),
        (["--type", "Place", "--zone", "Nowhere"], "'Nowhere'"),
    ]) func anExportOfWhatIsNotThereIsRefused(words: [String], text: String) async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let user = try await User(of: node)
        _ = try await user.cumulus(["import", "Place", Self.fixture])
        let file = "\(folder.path)/places.jsonl"
        for output in [[], ["--output", file]] {
            let run = try await user.cumulus(["export"] + words + output)
            #expect(run.code == 1 && run.output.isEmpty)
            #expect(run.errors.contains(text), "\(run.errors)")
            #expect(run.errors.split(separator: "\n").count == 1, "\(run.errors)")
        }
        #expect(!FileManager.default.fileExists(atPath: file))
    }

    /// A column of the wrong type is one mistake, however many lines have it.
    @Test func oneMistakeIsToldAFewTimesAndCounted() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let user = try await User(of: node)
        let file = "\(folder.path)/places.jsonl"
        let lines = (1...900).map { number in
            number == 500
                ? "{" : #"{"recordName": "p\#(number)", "n": \#(number < 100 ? "1" : #""one""#)}"#
        }
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: file))
        let words = ["import", "Place", file, "--parallel", "1", "--json"]
        let run = try await user.cumulus(words)
        #expect(run.code == 65)
        // For a program each of the errors is an object; the counts are in the summary.
        let objects = try run.errors.split(separator: "\n").map {
            try #require(try JSONReader.read($0.utf8)["error"])
        }
        #expect(objects.count == 4, "\(run.errors)")
        for (line, name) in [
            (100, "invalidArguments"), (101, "invalidArguments"), (102, "invalidArguments"),
            (500, "badInput"),
        ] {
            let error = objects.first { $0["line"] == .integer(Int64(line)) }
            #expect(error?["name"] == .string(name), "\(run.errors)")
        }
        let summary = try JSONReader.read(run.output.utf8)
        #expect(summary["saved"] == .integer(99) && summary["failed"] == .integer(801))
        guard case .array(let mistakes)? = summary["errors"] else {
            Issue.record("no errors in \(run.output)")
            return
        }
        let told = mistakes.map { [$0["line"], $0["lines"]] }
        #expect(told == [[.integer(100), .integer(800)], [.integer(500), .integer(1)]])

        let plain = try await user.cumulus(words.dropLast())
        let errors = plain.errors.split(separator: "\n")
        let numbers = errors.compactMap { line in
            line.firstMatch(of: #/^cumulus: line (\d+): /#).flatMap { Int($0.1) }
        }
        #expect(numbers.sorted() == [100, 101, 102, 500], "\(plain.errors)")
        #expect(errors.count == 5, "\(plain.errors)")
        #expect(errors.last?.hasPrefix("cumulus: 797 more lines: ") == true, "\(plain.errors)")
    }

    @Test func anExportThatCanNotBeWrittenEndsWith74() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let user = try await User(of: node)
        let file = "\(folder.path)/missing/places.jsonl"
        let run = try await user.cumulus(["export", "Place", "--output", file])
        #expect(run.code == 74)
        #expect(run.errors.hasPrefix("cumulus: \(file)."))
        #expect(run.errors.hasSuffix(".part can't be written\n"))
    }

    @Test(arguments: [SIGINT, SIGTERM]) func anExportThatIsEndedLeavesNothing(
        signal: Int32
    ) async throws {
        let exports = "\(folder.path)/exports"
        try FileManager.default.createDirectory(
            atPath: exports,
            withIntermediateDirectories: false
        )
        // Nobody answers: it waits, beside the file that it has begun.
        let silence = try SilentListener()
        let words = ["export", "T", "--output", "\(exports)/lines"]
        let process = try ChildProcess(
            [try ChildProcess.builtProgram("cumulus")] + words
                + ["--endpoint", "127.0.0.1:\(silence.port)", "--timeout", "100"],
            variables: [:],
            output: "\(folder.path)/out",
            errors: "\(folder.path)/err"
        )
        func files() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: exports)
        }
        #expect(try await eventually { try files().count == 1 })
        process.kill(signal)
        #expect(try await process.waitForEnd(seconds: 20) == .exit(128 + signal))
        #expect(try files().isEmpty)
        withExtendedLifetime(silence) {}
    }

    /// A file behind a symbolic link is replaced, the link stays; so does a pipe, which is written.
    @Test func anExportReplacesFilesAndNothingElse() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let user = try await User(of: node)
        let lines = "\(folder.path)/places.jsonl"
        try Data(#"{"recordName": "a", "name": "Oslo"}"#.utf8).write(to: URL(filePath: lines))
        _ = try await user.cumulus(["import", "Place", lines])
        func kind(_ path: String) throws -> FileAttributeType? {
            try FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
        }
        let (target, link) = ("\(folder.path)/target", "\(folder.path)/link")
        try Data("old".utf8).write(to: URL(filePath: target))
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        let pipe = "\(folder.path)/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        // Open at both ends: nobody waits for the other.
        let end = open(pipe, O_RDWR | O_NONBLOCK)
        defer { close(end) }
        for output in [link, pipe] {
            let run = try await user.cumulus(["export", "Place", "--output", output])
            #expect(run.code == 0, "\(run.errors)")
        }
        #expect(try kind(link) == .typeSymbolicLink)
        #expect(try String(contentsOfFile: target, encoding: .utf8).contains("Oslo"))
        #expect(try kind(pipe) != .typeRegular)
        var bytes = Bytes(repeating: 0, count: 10_000)
        let count = read(end, &bytes, bytes.count)
        #expect(String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).contains("Oslo"))
    }

    /// A user who isn't signed in is told once, and not for each line.
    @Test func anImportWithoutATokenEndsSoon() async throws {
        let node = try await NodeProcess.ready(data: folder.node)
        let file = "\(folder.path)/places.jsonl"
        let lines = (1...2_000).map { #"{"recordName": "p\#($0)"}"# }
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: file))
        let run = try await CommandLineRun(
            ["import", "Place", file, "--database", "public"],
            variables: ["CUMULUS_ENDPOINT": try node.endpoint]
        )
        #expect(run.code != 0)
        // The batches that were under way by then say it too.
        #expect((1...8).contains(run.errors.split(separator: "\n").count), "\(run.errors)")
    }

    /// An empty list doesn't say what its elements are: it waits for a line that does.
    @Test func emptyListsWaitForTheirType() async throws {
        let folder = try TestFolder()
        let node = try await NodeProcess.ready(data: folder.node)
        let variables = [
            "CUMULUS_ENDPOINT": try node.endpoint, "CUMULUS_TOKEN": try await node.makeToken(),
        ]
        let file = "\(folder.path)/records.jsonl"
        let lines = [
            ##"{"recordName": "a", "tags": [], "other": []}"##,
            ##"{"recordName": "b", "tags": []}"##, ##"{"recordName": "c", "tags": [1]}"##,
        ]
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: file))
        let run = try await CommandLineRun(["import", "T", file], variables: variables)
        #expect(run.code == 1)
        #expect(run.output.contains("2 records saved, 1 line failed"), "\(run.output)")
        #expect(run.errors.contains("line 1: cannot use an empty list"), "\(run.errors)")
        #expect(run.errors.contains("field 'other' in record type 'T'"))
    }

    /// Nothing is saved, and the message says what the file is and what to type.
    @Test(
        arguments: [
            ([0x1F, 0x8B, 8], "zcat"), ([0x28, 0xB5, 0x2F, 0xFD], "zstdcat"),
            ([0xFF, 0xFE], "iconv -f UTF-16 -t UTF-8"),
            ([0xFE, 0xFF, 0], "iconv -f UTF-16 -t UTF-8"), ([0x50, 0x4B, 3, 4], "unzip -p"),
            (Array("[\n{\"recordName\": \"a\"}\n]\n".utf8), "jq -c '.[]'"),
            (Array(" \n [{\"recordName\": \"a\"}]".utf8), "jq -c '.[]'"),
        ] as [([UInt8], String)]
    )
    func whatIsNoJSONLinesIsNamed(content: [UInt8], command: String) async throws {
        let folder = try TestFolder()
        let node = try await NodeProcess.ready(data: folder.node)
        let variables = [
            "CUMULUS_ENDPOINT": try node.endpoint, "CUMULUS_TOKEN": try await node.makeToken(),
            "CUMULUS_DATABASE": "public",
        ]
        let file = "\(folder.path)/records"
        try Data(content).write(to: URL(filePath: file))
        let run = try await CommandLineRun(["import", "T", file], variables: variables)
        #expect(run.code == 65)
        #expect(run.errors.contains("\(command) \(file) | cumulus import"), "\(run.errors)")
        let list = try await CommandLineRun(["record", "get", "a"], variables: variables)
        #expect(list.code == 1)
    }

    @Test(arguments: ["nowhere:", "http://127.0.0.1:1", "a b"])
    func anEndpointIsAnAddress(endpoint: String) async throws {
        let run = try await CommandLineRun(["record", "get", "a", "--endpoint", endpoint])
        #expect(run.code == 64)
        #expect(run.errors.contains("'\(endpoint)' (--endpoint) is no address; write host, host:"))
    }

    /// And not how commands are used in general.
    @Test func withoutTheOperatorsTokenACommandSaysWhatToName() async throws {
        let run = try await CommandLineRun(["status"], variables: [:])
        #expect(run.code == 64)
        #expect(run.errors.split(separator: "\n").count == 1, "\(run.errors)")
        #expect(run.errors.contains("--token-file or CUMULUS_OPERATOR_TOKEN_FILE"))
    }

    /// However long a command may go on while a node is there, it doesn't wait for one that was not
    /// there from the beginning.
    @Test(arguments: [["record", "get", "a"], ["export", "T", "--output", "lines"]])
    func withoutANodeTheCodeIs69(arguments: [String]) async throws {
        var arguments = arguments
        if arguments.last == "lines" {
            arguments.append("\(folder.path)/\(arguments.removeLast())")
        }
        let start = ContinuousClock.now
        let result = try await CommandLineRun(
            arguments + ["--endpoint", "127.0.0.1:1", "--timeout", "100"]
        )
        #expect(result.code == 69)
        let reason = "cannot reach 127.0.0.1:1: connection refused; is cumulusd running there?"
        #expect(result.errors.hasPrefix("cumulus: \(reason)"), "\(result.errors)")
        #expect(result.errors.split(separator: "\n").count == 1)
        #expect(ContinuousClock.now - start < .seconds(20))
    }
}
