// The files that get a token: whether they can be written shows before anything is asked.

import ArgumentParser
import CumulusTerminal
import Foundation
import Testing

@testable import CumulusCLI

@Suite struct TokenFileTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "token-\(UUID())")

    /// No node listens at port 1, and no password file is there: each would be another error.
    @Test(arguments: [
        ["register", "eve", "--password-file", "/nonexistent"],
        ["sign-in", "eve", "--password-file", "/nonexistent"],
        ["password", "--token", "t", "--password-file", "/no", "--new-password-file", "/no"],
    ])
    func nothingIsAskedIfTheTokenWouldBeLost(words: [String]) async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        // Permissions don't stop the superuser.
        for (file, reason) in [
            ("\(folder.path)/missing/t", "there is no folder \(folder.path)/missing"),
            (folder.path, "it is a folder"),
            ("/dev/null/t", "Not a directory"),
        ] {
            let parsed = try Main.parseAsRoot(
                words + ["--output", file, "--endpoint", "127.0.0.1:1"]
            )
            var command = try #require(parsed as? any AsyncParsableCommand)
            let error = await #expect(throws: OutputProblem.self) { try await command.run() }
            #expect(error?.message.contains(reason) == true, "\(error as Any)")
            #expect(error.flatMap { Failure($0) }?.code == ExitCode(74))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }

    @Test func aCheckLeavesAllAsItWas() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = "\(folder.path)/t"
        try KeyFile.checkWritable(file)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
        try KeyFile.write("one", to: file, isSecret: true)
        try KeyFile.checkWritable(file)
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "one\n")
        try KeyFile.write("two", to: file, isSecret: true)
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "two\n")
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["t"])
    }
}
