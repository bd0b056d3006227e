// A client in another language, written from proto/ alone, works against a node.

import CumulusTesting
import Foundation
import Testing

@Suite struct PythonClientTests {
    @Test func aClientInPythonWorks() async throws {
        let server = try await TestServer()
        let token = try await server.makeUser("ada")
        try run(Self.script("client.py"), [server.endpoint, "--token", token])
        try await server.stop()
    }

    @Test func pythonCutsTheSameChunks() throws {
        try run(Self.script("chunks.py"), [Checkout.file("proto/golden/chunks.txt").path()])
    }

    /// The program with which `proto/README.md` begins, as it is there.
    @Test func theQuickStartWorks() async throws {
        let program = try #require(try Golden.blocks("python").first).lines
        #expect(program.count <= 60)
        #expect(program.allSatisfy { $0.count <= 100 })
        let folder = try TemporaryFolder()
        let script = "\(folder.path)/quickstart.py"
        try program.joined(separator: "\n").write(toFile: script, atomically: true, encoding: .utf8)
        let server = try await TestServer()
        let token = try await server.makeUser("ada")
        let said = try run(script, [server.endpoint, token, Checkout.file("proto").path()])
        #expect(said.contains("fetched: Hej"))
        #expect(said.contains("told: hello DELETED"))
        #expect(said.contains("then deleted: ['hello']"))
        try await server.stop()
    }

    private static func script(_ name: String) -> String {
        Checkout.file("Tests/PythonClient/\(name)").path()
    }

    /// Runs a program to its end, which has to be a good one; returns what it printed.
    @discardableResult
    private func run(_ script: String, _ arguments: [String]) throws -> String {
        let output = Pipe()
        let process = Process()
        // Debian's python3 has Debian's protobuf package.
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = [script] + arguments
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        let text = String(decoding: data, as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(text)")
        return text
    }
}
