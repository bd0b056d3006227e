// `cumulusd --metrics-from --metrics-token-file`: other machines read /metrics by their addresses
// or with a token. A trusted proxy stands for those machines.

import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) struct MetricsTests {
    private let folder: TestFolder
    private static let token = "0123456789abcdef0123456789abcdef"

    init() throws {
        folder = try TestFolder()
    }

    private var file: String { "\(folder.path)/metrics.token" }

    private func write(_ text: String) throws {
        try Data(text.utf8).write(to: URL(filePath: file))
    }

    /// The first line of the answer to a caller for whom a proxy speaks.
    private func ask(
        _ web: String,
        from address: String,
        _ token: String? = nil
    ) throws -> String {
        let shown = token.map { "Authorization: Bearer \($0)\r\n" } ?? ""
        let answer = try RawClient.exchange(
            web,
            "GET /metrics HTTP/1.1\r\nHost: localhost\r\n"
                + "X-Forwarded-For: \(address)\r\n\(shown)\r\n"
        )
        return String(answer.prefix(12))
    }

    @Test func otherMachinesAreToldIfTheOperatorSaysSo() async throws {
        try write(Self.token + "\n")
        let node = try await NodeProcess.ready(
            data: folder.node,
            arguments: [
                "--http", "127.0.0.1:0", "--trusted-proxies", "127.0.0.1", "--metrics-from",
                "10.0.0.0/8", "--metrics-token-file", file,
            ]
        )
        let web = try await node.httpEndpoint()
        #expect(try ask(web, from: "10.1.2.3") == "HTTP/1.1 200")
        #expect(try ask(web, from: "192.0.2.1") == "HTTP/1.1 401")
        #expect(try ask(web, from: "192.0.2.1", "wrong") == "HTTP/1.1 401")
        #expect(try ask(web, from: "192.0.2.1", Self.token) == "HTTP/1.1 200")
        try await node.end(SIGTERM)
    }

    @Test func mistakesAreToldAtTheStart() async throws {
        for (token, arguments, why) in [
            ("short", ["--metrics-token-file", file], "openssl rand -hex 32"),
            ("", ["--metrics-token-file", file], "holds no secret"),
            (Self.token, ["--metrics-from", "10.0.0.1/8"], "is no address and no network"),
        ] {
            try write(token)
            let node = try NodeProcess(
                data: folder.node,
                arguments: ["--http", "127.0.0.1:0"] + arguments
            )
            #expect(try await node.waitForEnd(seconds: 20) == .exit(1))
            #expect(node.errors.contains(why), "\(node.errors)")
        }
    }
}
