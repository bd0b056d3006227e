// What waits and what failed, and the files in which it is kept.

import CumulusModel
import CumulusSystem
import CumulusTerminal
import Testing

@testable import CumulusTransfer

@Suite struct MigrationWaitingTests {
    private let lane = MigrationLane(
        caller: "",
        database: .public,
        zone: .standard,
        type: "Note"
    )
    private let path = FileManager.default.temporaryDirectory
        .appending(path: "state-\(UUID()).json").path(percentEncoded: false)

    private func removeFiles() {
        for end in ["", ".lock", ".users", ".waiting", ".tokens"] {
            try? FileManager.default.removeItem(atPath: path + end)
        }
    }

    private var files: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path + ".waiting")) ?? []).sorted()
    }

    @Test func whatFailedIsKeptUntilItIsDone() {
        var waiting = MigrationWaiting()
        waiting.settle(["a", "b", "c"], ["a": "no", "b": "no"])
        #expect(waiting.failed == ["a": "no", "b": "no"] && waiting.failures == 2)
        waiting.settle(["a", "d"], ["d": "busy"])
        #expect(waiting.failed == ["b": "no", "d": "busy"])
        let many = (0..<MigrationWaiting.mostFailed).map { ("n\($0)", "no") }
        waiting.settle([], Dictionary(uniqueKeysWithValues: many))
        #expect(waiting.failed.count == MigrationWaiting.mostFailed)
        #expect(waiting.unnamed == 2 && waiting.failures == MigrationWaiting.mostFailed + 2)
        // A name that it has stays.
        waiting.settle([], ["b": "still"])
        #expect(waiting.failed["b"] == "still" && waiting.unnamed == 2)
    }

    @Test func onlyWhatIsNewIsAdded() throws {
        var old = MigrationWaiting()
        (old.deferred, old.roots, old.failed) = (["a"], ["s": "r"], ["f": "no"])
        var new = old
        new.deferred.append("b")
        new.failed["f"] = "other"
        new.unnamed = 2
        let added = try #require(new.addition(to: old))
        #expect(added.deferred == ["b"] && added.roots.isEmpty && added.failed == ["f": "other"])
        var read = old
        try read.add(try JSONReader.read(added.json.text.utf8))
        #expect(read == new)
        #expect(old.addition(to: new) == nil)
        var other = new
        other.failed = [:]
        #expect(other.addition(to: new) == nil)
    }

    @Test func theFilesGrowAndBeginAnew() throws {
        defer { removeFiles() }
        var state = MigrationState(source: "s", target: "t")
        state.users = [ServiceAnswer.ada: MigratedUser(name: "ada", recordName: "_1")]
        state.lanes[lane] = MigrationProgress()
        do {
            let file = try MigrationFile(path)
            for number in 0..<50 {
                state.lanes[lane]?.waiting.deferred.append("n\(number)")
                try file.write(state)
            }
            let only = try #require(files.first)
            #expect(files.count == 1)
            // Each name is written once.
            let size = Files.size(of: "\(path).waiting/\(only)") ?? 0
            #expect(size > 50 && size < 50 * 100)
            #expect((Files.size(of: path) ?? 0) < 2_000)
            try file.tokens.keep("k", "t")
        }
        do {
            let file = try MigrationFile(path)
            var read = try #require(try file.read())
            #expect(read.lanes[lane]?.waiting == state.lanes[lane]?.waiting)
            #expect(read.users == state.users && file.tokens["k"] == "t")
            // What is done is not kept.
            read.lanes[lane]?.waiting = MigrationWaiting()
            read.lanes[lane]?.waiting.failed = ["n7": "no"]
            try file.write(read)
            #expect(files.count == 1)
            state = read
        }
        do {
            let file = try MigrationFile(path)
            #expect(try file.read()?.lanes[lane]?.waiting == state.lanes[lane]?.waiting)
            state.lanes[lane]?.waiting = MigrationWaiting()
            try file.write(state)
            #expect(files.isEmpty)
        }
    }

    /// A page that was not counted, since the migration was killed between the two files.
    @Test func whatTheStateDoesNotCountIsCutOff() throws {
        defer { removeFiles() }
        var state = MigrationState(source: "s", target: "t")
        state.lanes[lane] = MigrationProgress()
        state.lanes[lane]?.waiting.deferred = ["a"]
        do { try MigrationFile(path).write(state) }
        let name = "\(path).waiting/\(try #require(files.first))"
        let whole = try Data(contentsOf: URL(filePath: name))
        try (whole + Data("{\"deferred\": [\"lost\"".utf8)).write(to: URL(filePath: name))
        do {
            let file = try MigrationFile(path)
            var read = try #require(try file.read())
            #expect(read.lanes[lane]?.waiting.deferred == ["a"])
            read.lanes[lane]?.waiting.deferred.append("b")
            try file.write(read)
        }
        do {
            #expect(try MigrationFile(path).read()?.lanes[lane]?.waiting.deferred == ["a", "b"])
        }
        try whole.prefix(3).write(to: URL(filePath: name))
        #expect(throws: InputProblem.self) { try MigrationFile(path).read() }
    }

    @Test func onlyItsOwnerReadsItAndOneHasIt() throws {
        defer { removeFiles() }
        var state = MigrationState(source: "s", target: "t")
        state.users = [ServiceAnswer.ada: MigratedUser(name: "ada", recordName: "_1")]
        state.lanes[lane] = MigrationProgress()
        state.lanes[lane]?.waiting.deferred = ["a"]
        let file = try MigrationFile(path)
        try file.write(state)
        try file.tokens.keep("k", "secret")
        let waiting = "\(path).waiting/\(try #require(files.first))"
        for file in [path, "\(path).users", "\(path).tokens", waiting] {
            let attributes = try FileManager.default.attributesOfItem(atPath: file)
            #expect(attributes[.posixPermissions] as? Int == 0o600, "\(file)")
        }
        for folder in ["\(path).waiting", file.folder] {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder)
            #expect(attributes[.posixPermissions] as? Int == 0o700, "\(folder)")
        }
        let second = #expect(throws: InputProblem.self) { try MigrationFile(path) }
        #expect(second?.message.contains("another migration is at work") == true)
        // The first one has it still.
        #expect(file.tokens["k"] == "secret")
    }
}
