// A client in another language, written from proto/ alone, works against a node.

import CumulusTesting
import Foundation
import Testing

@Suite struct PythonClientTests {
    private static let script = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "PythonClient/client.py")

    @Test func aClientInPythonWorks() async throws {
        let server = try await TestServer()
        let token = try await server.makeUser("ada")
        let output = Pipe()
        let process = Process()
        // Debian's python3 is the one that has Debian's protobuf package.
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = [Self.script.path(), server.endpoint, "--token", token]
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(String(decoding: text, as: UTF8.self))")
        try await server.stop()
    }
}
