// A client in another language, written from proto/ alone, works against a node.

import CumulusTesting
import Foundation
import Testing

@Suite struct PythonClientTests {
    @Test func aClientInPythonWorks() async throws {
        let server = try await TestServer()
        let token = try await server.makeUser("ada")
        try run("client.py", [server.endpoint, "--token", token])
        try await server.stop()
    }

    @Test func pythonCutsTheSameChunks() throws {
        try run("chunks.py", [Checkout.file("proto/golden/chunks.txt").path()])
    }

    private func run(_ script: String, _ arguments: [String]) throws {
        let output = Pipe()
        let process = Process()
        // Debian's python3 is the one that has Debian's protobuf package.
        process.executableURL = URL(filePath: "/usr/bin/python3")
        let path = Checkout.file("Tests/PythonClient/\(script)").path()
        process.arguments = [path] + arguments
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(String(decoding: text, as: UTF8.self))")
    }
}
