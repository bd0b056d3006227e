// The heads of requests on real sockets: what HTTP demands of them, and for which hosts the node's
// pages are served.

import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

@Suite struct HeadGuardTests {
    /// Says under which host and target it was asked, and with which cookies.
    private struct Page: WebPages {
        func isAt(_ path: Substring) -> Bool { path == "/page" }

        func answer(_ request: WebRequest) async -> WebAnswer? {
            var text = "\(request.headers["host"] ?? "none") \(request.target)"
            if let cookies = request.headers["cookie"] { text += " " + cookies }
            return WebAnswer(status: 200, body: Bytes(text.utf8))
        }
    }

    private func withPage(
        _ body: @Sendable (_ status: (String) throws -> String) async throws -> Void
    ) async throws {
        try await withHTTP(pages: [Page()]) { endpoint, _, _ in
            try await body { head in
                let answer = try RawClient.exchange(
                    endpoint,
                    head + "\r\nConnection: close\r\n\r\n"
                )
                #expect(answer.hasPrefix("HTTP/1.1 "), "\(answer)")
                return String(answer.dropFirst("HTTP/1.1 ".count))
            }
        }
    }

    @Test func aRequestNamesOneHost() async throws {
        try await withPage { answer in
            for fields in ["", "\r\nHost: node\r\nHost: node", "\r\nHost: a/b", "\r\nHost: a@b"] {
                let refused = try answer("GET /livez HTTP/1.1" + fields)
                #expect(refused.hasPrefix("400") && refused.contains("Host"), "\(refused)")
                #expect(refused.contains("Connection: close\r\n"))
            }
            #expect(try answer("GET /livez HTTP/1.1\r\nHost:").hasPrefix("200"))
            // Older clients name none.
            #expect(try answer("GET /livez HTTP/1.0").hasPrefix("200"))
        }
    }

    @Test func whatCannotBeReadIsSaid() async throws {
        try await withPage { answer in
            let host = "\r\nHost: node"
            for (head, status) in [
                ("hello", "400"), ("GET /livez HTTP/2.0" + host, "505"),
                ("GET /livez HTTP/1.1\nHost: node\n", "505"),
                ("POST /x HTTP/1.1" + host + "\r\nContent-Length: -1", "400"),
                (
                    "POST /x HTTP/1.1" + host
                        + "\r\nContent-Length: 5\r\nTransfer-Encoding: chunked", "400"
                ), ("GET /\(String(repeating: "a", count: 40_000)) HTTP/1.1" + host, "431"),
                ("GET /livez HTTP/1.1" + host + String(repeating: "\r\nX: y", count: 101), "431"),
            ] {
                let refused = try answer(head)
                #expect(refused.hasPrefix(status), "\(head.prefix(80)): \(refused)")
                #expect(refused.contains("Content-Type: text/plain"))
                #expect(!refused.hasSuffix("\r\n\r\n"))
            }
        }
    }

    @Test func pagesAreForTheHostsOfTheNode() async throws {
        try await withPage { answer in
            for host in [
                "node", "NODE:80", "localhost:7480", "127.0.0.1", "127.0.0.1:7480", "[::1]:1",
                "192.0.2.7", "127.0.0.1:", "[::1]:", "localhost.", "Node.:80",
            ] {
                #expect(
                    try answer("GET /page HTTP/1.1\r\nHost: \(host)").hasPrefix("200"),
                    "\(host)"
                )
                let metrics = try answer("GET /metrics HTTP/1.1\r\nHost: \(host)")
                #expect(metrics.contains("\ncumulus_ready 1\n"), "\(host)")
            }
            for host in [
                "evil.example", "node.evil.example", "127.0.0.1.evil.example", "localhost.evil",
                "", "node:x", "a_b", ":", ".", "node::", "node..",
            ] {
                let refused = try answer("GET /page HTTP/1.1\r\nHost: \(host)")
                #expect(refused.hasPrefix("421"), "\(host)")
                #expect(refused.contains("--web-host"))
                let metrics = try answer("GET /metrics HTTP/1.1\r\nHost: \(host)")
                #expect(metrics.hasPrefix("421") && !metrics.contains("cumulus_ready"), "\(host)")
                // Probes and web services are for all.
                #expect(try answer("GET /livez HTTP/1.1\r\nHost: \(host)").hasPrefix("200"))
                let query = "POST /database/1/x HTTP/1.1\r\nHost: \(host)\r\nContent-Length: 0"
                #expect(try answer(query).hasPrefix("404"))
            }
            #expect(try answer("GET /page HTTP/1.0").hasPrefix("421"))
        }
    }

    /// A target that is a whole URL names the host.
    @Test func aTargetMayBeAWholeURL() async throws {
        try await withPage { answer in
            let good = try answer("GET http://node:80/page?a=b HTTP/1.1\r\nHost: evil.example")
            #expect(good.hasSuffix("node:80 /page?a=b"), "\(good)")
            let bad = try answer("GET http://evil.example/page HTTP/1.1\r\nHost: node")
            #expect(bad.hasPrefix("421"))
            #expect(try answer("GET http://node HTTP/1.1\r\nHost: node").hasPrefix("404"))
        }
    }

    @Test func fieldsOnSeveralLinesAreOne() async throws {
        try await withPage { answer in
            let page = try answer("GET /page HTTP/1.1\r\nHost: node\r\nCookie: a=b\r\nCookie: c=d")
            #expect(page.hasSuffix("node /page a=b; c=d"), "\(page)")
        }
    }

    /// An answer says whether the connection stays, where HTTP/1.1 has no rule for it.
    @Test func anAnswerSaysWhetherTheConnectionStays() async throws {
        try await withHTTP { endpoint, _, _ in
            let client = try RawClient(endpoint)
            defer { client.close() }
            for (head, fields) in [
                ("HTTP/1.1\r\nHost: node", []),
                ("HTTP/1.0\r\nConnection: keep-alive", ["Connection: keep-alive"]),
                ("HTTP/1.0", ["Connection: close"]),
            ] {
                try client.send(Bytes("HEAD /livez \(head)\r\n\r\n".utf8))
                let answer = String(decoding: try #require(try client.receive()), as: UTF8.self)
                let lines = answer.split(separator: "\r\n").map { String($0) }
                #expect(lines.filter { $0.hasPrefix("Connection") } == fields, "\(answer)")
            }
            #expect(try client.receive() == nil)
        }
    }

    @Test func aHeadIsAnsweredWithoutABody() async throws {
        try await withPage { answer in
            for (path, count) in [("/livez", 3), ("/page", 10), ("/nothing", nil)] {
                let head = try answer("HEAD \(path) HTTP/1.1\r\nHost: node")
                #expect(head.hasSuffix("\r\n\r\n"), "\(head)")
                if let count { #expect(head.contains("Content-Length: \(count)\r\n"), "\(head)") }
                #expect(!head.contains("Content-Length: 0\r\n"))
            }
        }
    }

    @Test func aCallerIsToldToSendItsBody() async throws {
        try await withHTTP { endpoint, user, _ in
            let client = try RawClient(endpoint)
            defer { client.close() }
            let body = #"{"records": [{"recordName": "a"}]}"#
            let head = """
                POST \(user.target("private/records/lookup")) HTTP/1.1\r
                Host: node\r
                Expect: 100-continue\r
                Content-Length: \(body.utf8.count)\r
                \r

                """
            try client.send(Bytes(head.utf8))
            let first = String(decoding: try #require(try client.receive()), as: UTF8.self)
            #expect(first == "HTTP/1.1 100 Continue\r\n\r\n")
            try client.send(Bytes(body.utf8))
            let second = String(decoding: try #require(try client.receive()), as: UTF8.self)
            #expect(second.hasPrefix("HTTP/1.1 200"), "\(second)")
            // A body that is too large is refused before it is sent.
            let large = head.replacing("Length: \(body.utf8.count)", with: "Length: 99999999")
            let refused = try RawClient.exchange(endpoint, large)
            #expect(refused.hasPrefix("HTTP/1.1 400"), "\(refused)")
        }
    }

    @Test func anAnswerNamesTheStepOfItsTrace() async throws {
        try await withPage { answer in
            let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736"
            let parent = "traceparent: \(trace)-00f067aa0ba902b7-01"
            let head = "GET /page HTTP/1.1\r\nHost: node"
            let step = try answer("\(head)\r\n\(parent)").firstMatch(of: /traceresponse: (\S+)/)
            let text = try #require(step).output.1
            #expect(text.hasPrefix(trace + "-") && text.hasSuffix("-01"))
            #expect(!parent.hasSuffix(text))
            for fields in [
                "", "\r\ntraceparent: \(trace)-0-01", "\r\n\(parent)\r\n\(parent)",
            ] {
                #expect(try !answer(head + fields).contains("traceresponse"), "\(fields)")
            }
        }
    }
}
