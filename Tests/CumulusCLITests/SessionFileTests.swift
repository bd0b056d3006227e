// The file that carries a session from one command to the next.

import ArgumentParser
import Cumulus
import CumulusTerminal
import Foundation
import Testing

@testable import CumulusCLI

@Suite struct SessionFileTests {
    private let file = FileManager.default.temporaryDirectory.appending(path: "seen-\(UUID())")

    /// What a command that asks no node does about the file.
    private func use() async throws {
        let command = try Main.parseAsRoot(["record", "get", "r", "--session", file.path()])
        let get = try #require(command as? RecordCommand.Get)
        try await get.connection.withDatabase { _ in }
    }

    @Test func noFileIsASessionThatHasSeenNothing() async throws {
        defer { try? FileManager.default.removeItem(at: file) }
        try await use()
        // An empty one would be refused the next time.
        #expect(!FileManager.default.fileExists(atPath: file.path()))
        try Data("QQ==\n".utf8).write(to: file)
        try await use()
        #expect(try String(contentsOf: file, encoding: .utf8) == "QQ==")
    }

    @Test(arguments: ["", "\n", ".", "a b", "\u{FFFD}"])
    func aFileWithoutASessionIsRefused(content: String) async throws {
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(content.utf8).write(to: file)
        try await expectRefusal()
        #expect(try String(contentsOf: file, encoding: .utf8) == content)
    }

    @Test func aFileThatCanNotBeReadIsRefused() async throws {
        defer { try? FileManager.default.removeItem(at: file) }
        // Permissions don't stop the superuser.
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
        try await expectRefusal()
    }

    private func expectRefusal() async throws {
        let problem = await #expect(throws: InputProblem.self) { try await use() }
        let message = try #require(problem?.message)
        #expect(message.contains(file.path()) && message.contains("delete it"), "\(message)")
    }
}
