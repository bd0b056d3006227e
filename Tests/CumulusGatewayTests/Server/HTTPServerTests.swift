// HTTP on real sockets: what is answered, and what strangers are held to.

import Cumulus
import CumulusGateway
import CumulusModel
import CumulusNode
import CumulusTesting
import CumulusTransport
import Foundation
import Testing

@Suite struct HTTPServerTests {
    private func exchange(_ endpoint: String, _ text: String) throws -> String {
        try RawClient.exchange(endpoint, text)
    }

    private func get(_ path: String, method: String = "GET") -> String {
        "\(method) \(path) HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n"
    }

    private func post(_ target: String, _ body: String) -> String {
        """
        POST \(target) HTTP/1.1\r
        Host: node\r
        Connection: close\r
        Content-Type: text/plain\r
        Content-Length: \(body.utf8.count)\r
        \r
        \(body)
        """
    }

    @Test func operatorsFindTheirPages() async throws {
        try await withHTTP { endpoint, _, _ in
            #expect(try exchange(endpoint, get("/livez")).hasPrefix("HTTP/1.1 200"))
            let ready = try exchange(endpoint, get("/readyz"))
            #expect(ready.hasPrefix("HTTP/1.1 200"), "\(ready)")
            #expect(ready.hasSuffix("\r\n\r\nready\n"))
            let metrics = try exchange(endpoint, get("/metrics"))
            #expect(metrics.contains("# TYPE cumulus_ready gauge\ncumulus_ready 1\n"))
            #expect(metrics.contains("text/plain; version=0.0.4"))
            #expect(try exchange(endpoint, get("/livez", method: "POST")).contains(" 405 "))
        }
    }

    @Test func webServicesAreAnswered() async throws {
        try await withHTTP { endpoint, user, _ in
            let body = #"{"records": [{"recordName": "a"}]}"#
            let lookup = post(user.target("private/records/lookup"), body)
            let found = try exchange(endpoint, lookup)
            #expect(found.hasPrefix("HTTP/1.1 200"), "\(found)")
            #expect(found.contains("X-Apple-CloudKit-Web-Auth-Token: "))
            #expect(found.contains(#""serverErrorCode": "NOT_FOUND""#))
            let preflight = """
                OPTIONS /database/1/x HTTP/1.1\r\nHost: node\r\nOrigin: https://app\r\n\r\n
                """
            let allowed = try exchange(endpoint, preflight)
            #expect(allowed.hasPrefix("HTTP/1.1 204"))
            #expect(allowed.contains("Access-Control-Allow-Origin: https://app"))
            #expect(try exchange(endpoint, get("/")).hasPrefix("HTTP/1.1 404"))
            let counted = #"cumulus_http_requests_total{endpoint="records/lookup",status="200"} 1"#
            #expect(try exchange(endpoint, get("/metrics")).contains(counted))
        }
    }

    /// Shows what was sent.
    private struct Echo: WebPages {
        func isAt(_ path: Substring) -> Bool { path.hasPrefix("/echo") }

        func answer(_ request: WebRequest) async -> WebAnswer? {
            let type = request.headers["content-type"] ?? ""
            let line = "\(request.method) \(request.target) \(type) "
            return WebAnswer(status: 203, body: Bytes(line.utf8) + request.body + [0, 0xFF])
        }
    }

    @Test func pagesAreAskedBeforeTheGateway() async throws {
        try await withHTTP(pages: [Echo()]) { endpoint, _, _ in
            #expect(try exchange(endpoint, get("/echo")).hasPrefix("HTTP/1.1 203"))
            let head = try exchange(endpoint, get("/echo", method: "HEAD"))
            #expect(head.hasPrefix("HTTP/1.1 203") && head.hasSuffix("\r\n\r\n"))
            #expect(try exchange(endpoint, get("/other")).hasPrefix("HTTP/1.1 404"))
            #expect(try exchange(endpoint, get("/livez")).hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test func theClientSendsABody() async throws {
        try await withHTTP(pages: [Echo()]) { endpoint, _, _ in
            let loops = EventLoops(threads: 1)
            let client = OutboundWebClient(on: loops.group)
            let address = try #require(WebAddress("http://\(endpoint)/echo?a=b"))
            let type = [(name: "Content-Type", value: "text/x-test")]
            let content = Bytes("c=d".utf8)
            let (status, body) = try await client.post(content, to: address, headers: type)
            #expect(status == 203)
            let text = "POST /echo?a=b text/x-test c=d"
            #expect(body == Bytes(text.utf8) + [0, 0xFF])
            let large = Bytes(repeating: 1, count: 300 << 10)
            await #expect(throws: OutboundWebClient.Failure.self) {
                try await client.post(large, to: address, headers: [])
            }
            // A secret does not leave the machine as plain text.
            let far = try #require(WebAddress("http://192.0.2.1/token"))
            await #expect(throws: OutboundWebClient.Failure.self) {
                try await client.post([], to: far, headers: [])
            }
            // The name is resolved, and its address is judged.
            let careful = OutboundWebClient(on: loops.group, judge: PublicAddress.isPublic)
            for host in ["127.0.0.1", "localhost"] {
                let port = endpoint.split(separator: ":").last ?? ""
                let near = try #require(WebAddress("http://\(host):\(port)/echo"))
                await #expect(throws: OutboundWebClient.Failure.self) {
                    try await careful.post([], to: near, headers: [])
                }
            }
            try await loops.stop()
        }
    }

    /// A file is larger than what other bodies may have.
    @Test func filesPassThrough() async throws {
        var bounds = HTTPServer.Bounds()
        bounds.bodyBytes = 2_000
        bounds.uploadBytes = 100_000
        bounds.transferBytes = 400_000
        try await withHTTP(bounds) { endpoint, user, _ in
            let ask = post(
                user.target("private/assets/upload"),
                #"{"tokens": [{"recordName": "a", "fieldName": "photo"}]}"#
            )
            func path(_ answer: String, _ key: String) throws -> String {
                let text = try #require(answer.split(separator: "\r\n\r\n").last)
                let json = try JSONReader.read(Bytes(text.utf8))
                guard case .array(let entries)? = json[key == "url" ? "tokens" : "records"],
                    let first = entries.first
                else { throw WebError.badRequest(answer) }
                let url = key == "url" ? first["url"] : first.field("photo")?[key]
                let path = try #require(url?.string)
                #expect(path.hasPrefix("http://node/database/1/content/"))
                return String(path.dropFirst("http://node".count))
            }
            let link = try path(try exchange(endpoint, ask), "url")
            // Uploads that are announced only take no room.
            let idle = try (0..<5).map { _ in
                let client = try RawClient(endpoint)
                try client.send(Bytes(post(link, "").replacing("h: 0", with: "h: 99999").utf8))
                return client
            }
            defer { for client in idle { client.close() } }
            let content = String(repeating: "content ", count: 10_000)
            let uploaded = try exchange(endpoint, post(link, content))
            #expect(uploaded.hasPrefix("HTTP/1.1 200"), "\(uploaded)")
            let body = try #require(uploaded.split(separator: "\r\n\r\n").last)
            let file = try #require(try JSONReader.read(Bytes(body.utf8))["singleFile"])
            let operation = operation(
                .create,
                "a",
                type: "Note",
                #""photo": {"value": \#(file.text)}"#
            )
            let save = post(
                user.target("private/records/modify"),
                #"{"operations": [\#(operation)]}"#
            )
            let shown = try path(try exchange(endpoint, save), "downloadURL")
            let download = try exchange(endpoint, get(shown))
            #expect(download.hasPrefix("HTTP/1.1 200"), "\(download.prefix(500))")
            #expect(download.hasSuffix("\r\n\r\n" + content))
            #expect(download.contains("Content-Disposition: attachment\r\n"))
            let head = try exchange(endpoint, get(shown, method: "HEAD"))
            #expect(head.contains("Content-Length: 80000\r\n"), "\(head)")
            #expect(head.hasSuffix("\r\n\r\n"))
            let tag = try #require(head.firstMatch(of: /ETag: (\S+)/)).output.1
            func status(_ fields: String) throws -> Substring {
                let request = get(shown).replacing("\r\n\r\n", with: "\r\n\(fields)\r\n\r\n")
                return try exchange(endpoint, request).dropFirst("HTTP/1.1 ".count)
            }
            #expect(try status("If-None-Match: \(tag)").hasPrefix("304"))
            #expect(try status("If-None-Match: \(tag)").hasSuffix("\r\n\r\n"))
            // A list may stand on several lines.
            let other = #""other""#
            #expect(try status("If-None-Match: \(other)\r\nIf-None-Match: \(tag)").hasPrefix("304"))
            #expect(try status("If-Match: \(other)\r\nIf-Match: \(tag)").hasPrefix("200"))
            let part = try status("If-Range: \(tag)\r\nRange: bytes=8-14")
            #expect(part.hasPrefix("206") && part.hasSuffix("\r\n\r\ncontent"))
            let beyond = try status("Range: bytes=80000-")
            #expect(beyond.hasPrefix("416") && beyond.contains("Content-Range: bytes */80000\r\n"))
            let deleted = try exchange(endpoint, get(shown, method: "DELETE"))
            #expect(deleted.hasPrefix("HTTP/1.1 405") && deleted.contains("Allow: GET, HEAD\r\n"))
            let put = try exchange(endpoint, get(link, method: "PUT"))
            #expect(put.hasPrefix("HTTP/1.1 405") && put.contains("Allow: POST\r\n"))
            let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736"
            let traced = try status("traceparent: \(trace)-00f067aa0ba902b7-01")
            #expect(traced.contains("traceresponse: \(trace)-"))
            // The caller sends its file when it is told to.
            let waiting = try RawClient(endpoint)
            let expecting = post(link, "hi").replacing(
                "Content-Type",
                with: "Expect: 100-continue\r\nContent-Type"
            )
            try waiting.send(Bytes(expecting.utf8.dropLast(2)))
            let interim = try #require(try waiting.receive())
            #expect(String(decoding: interim, as: UTF8.self) == "HTTP/1.1 100 Continue\r\n\r\n")
            try waiting.send(Bytes("hi".utf8))
            #expect(
                String(decoding: try waiting.receiveAll(), as: UTF8.self).hasPrefix("HTTP/1.1 200")
            )
            waiting.close()
            let large = String(repeating: "x", count: 100_001)
            #expect(try exchange(endpoint, post(link, large)).hasPrefix("HTTP/1.1 400"))
            let preflight = "OPTIONS \(link) HTTP/1.1\r\nHost: node\r\nOrigin: https://a\r\n\r\n"
            #expect(try exchange(endpoint, preflight).hasPrefix("HTTP/1.1 204"))
        }
    }

    /// A browser that goes away while it waits is told by its next poll.
    @Test func notificationsAreWaitedFor() async throws {
        try await withHTTP { endpoint, user, server in
            func send(_ path: String, _ body: String) throws -> JSON {
                let answer = try exchange(endpoint, post(user.target(path), body))
                let text = answer.split(separator: "\r\n\r\n").last ?? ""
                return try JSONReader.read(Bytes(text.utf8))
            }
            let made = try send("tokens/create", #"{"apnsEnvironment": "development"}"#)
            let url = try #require(made["webcourierURL"]?.string, "\(made.text)")
            #expect(url.hasPrefix("http://node/device/1/courier/"))
            let path = String(url.dropFirst("http://node".count))
            _ = try send(
                "private/subscriptions/modify",
                """
                {"operations": [{"operationType": "create", "subscription": {
                 "subscriptionID": "notes", "subscriptionType": "query", "firesOn": ["create"],
                 "query": {"recordType": "Note"}}}]}
                """
            )
            let client = try RawClient(endpoint)
            try client.send(Bytes(get(path).utf8))
            try await Task.sleep(for: .milliseconds(100))
            client.close()
            try await Task.sleep(for: .milliseconds(200))
            let device = server.container(token: user.session)
            let id = Record.ID(recordName: "a")
            try await device.privateCloudDatabase.save(Record(recordType: "Note", recordID: id))
            await device.close()
            let told = try exchange(endpoint, get(path))
            #expect(told.hasPrefix("HTTP/1.1 200"))
            #expect(told.contains(#""rid": "a""#), "\(told)")
            for method in ["POST", "HEAD", "PUT"] {
                let refused = try exchange(endpoint, get(path, method: method))
                #expect(refused.hasPrefix("HTTP/1.1 405"))
                #expect(refused.contains("Allow: GET\r\n"))
                #expect(!refused.contains(path.suffix(20)))
            }
        }
    }

    /// Late bytes of an answered request start a timer, which must not end the next request.
    @Test func aPollHasItsOwnTime() async throws {
        var bounds = HTTPServer.Bounds()
        bounds.requestMilliseconds = 2_000
        try await withHTTP(bounds) { endpoint, user, _ in
            let made = try exchange(
                endpoint,
                post(user.target("tokens/create"), #"{"apnsEnvironment": "development"}"#)
            )
            let url = try #require(made.firstMatch(of: /http:\/\/node(\/device[^"]+)"/)).output.1
            let client = try RawClient(endpoint)
            defer { client.close() }
            let early = "POST /livez HTTP/1.1\r\nHost: node\r\nContent-Length: 5\r\n\r\n"
            try client.send(Bytes(early.utf8))
            let refused = String(decoding: try #require(try client.receive()), as: UTF8.self)
            #expect(refused.hasPrefix("HTTP/1.1 405"), "\(refused)")
            try await Task.sleep(for: .milliseconds(100))
            try client.send(Bytes("hello".utf8))
            try await Task.sleep(for: .milliseconds(1_000))
            let start = Date()
            try client.send(Bytes(get(String(url)).utf8))
            while try client.receive() != nil {}
            #expect(Date().timeIntervalSince(start) > 1.8)
        }
    }

    @Test func hugeRequestsAreRefused() async throws {
        var bounds = HTTPServer.Bounds()
        bounds.bodyBytes = 1_000
        bounds.headBytes = 2_000
        try await withHTTP(bounds) { endpoint, user, _ in
            let target = user.target("private/records/lookup")
            let large = String(repeating: " ", count: 1_001)
            let refused = try exchange(endpoint, post(target, large))
            #expect(refused.hasPrefix("HTTP/1.1 400"), "\(refused)")
            #expect(refused.contains("larger than 1000 bytes"))
            let counted = #"cumulus_http_requests_total{endpoint="none",status="400"} 1"#
            #expect(try exchange(endpoint, get("/metrics")).contains(counted))
            let head =
                "GET /livez HTTP/1.1\r\nHost: \(String(repeating: "x", count: 3_000))\r\n\r\n"
            let long = try exchange(endpoint, head)
            #expect(long.hasPrefix("HTTP/1.1 431") && long.contains("too large"), "\(long)")
            #expect(try exchange(endpoint, get("/livez")).hasPrefix("HTTP/1.1 200"))
        }
    }

    /// Announced bytes take no room; bytes that have come do.
    @Test func bodiesTakeTheRoomOfTheirBytes() async throws {
        var bounds = HTTPServer.Bounds()
        bounds.bodyBytes = 2_000
        bounds.allBodyBytes = 5_000
        try await withHTTP(bounds) { endpoint, user, _ in
            let target = user.target("private/records/lookup")
            let head = "POST \(target) HTTP/1.1\r\nHost: node\r\n"
            let chunked = head + "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"
            let stated = head + "Content-Length: 2000\r\n\r\n"
            func open(_ text: String) throws -> RawClient {
                let client = try RawClient(endpoint)
                try client.send(Bytes(text.utf8))
                return client
            }
            let small = post(target, #"{"records": []\#(String(repeating: " ", count: 1_500))}"#)
            let idle = try (0..<10).map { try open($0 < 5 ? chunked : stated) }
            defer { for client in idle { client.close() } }
            try await Task.sleep(for: .milliseconds(200))
            #expect(try !exchange(endpoint, small).hasPrefix("HTTP/1.1 503"))
            // Two bodies that lack a byte fill most of it.
            let large = try (0..<2).map { _ in
                try open(stated + String(repeating: " ", count: 1_999))
            }
            /// What the small one is answered with, once they are read or given up.
            func answer(isRefused: Bool) async throws -> String {
                for _ in 0..<100 {
                    let answer = try exchange(endpoint, small)
                    if answer.hasPrefix("HTTP/1.1 503") == isRefused { return answer }
                    try await Task.sleep(for: .milliseconds(20))
                }
                return ""
            }
            let refused = try await answer(isRefused: true)
            let counted = #"cumulus_http_requests_total{endpoint="none",status="503"} 1"#
            #expect(try exchange(endpoint, get("/metrics")).contains(counted))
            #expect(refused.contains("Retry-After: 1\r\n"))
            #expect(try exchange(endpoint, get("/livez")).hasPrefix("HTTP/1.1 200"))
            for client in large { client.close() }
            #expect(try await answer(isRefused: false).hasPrefix("HTTP/1.1 "))
        }
    }

    /// A caller that sends a byte now and then holds its connection for a while only.
    @Test func slowRequestsEnd() async throws {
        var bounds = HTTPServer.Bounds()
        bounds.requestMilliseconds = 300
        try await withHTTP(bounds) { endpoint, _, _ in
            let client = try RawClient(endpoint)
            defer { client.close() }
            let start = Date()
            var isOpen = true
            for byte in Bytes(get("/livez").utf8.prefix(15)) where isOpen {
                isOpen = (try? client.send([byte])) != nil
                try await Task.sleep(for: .milliseconds(50))
            }
            #expect(try client.receive(within: 5_000) == nil)
            #expect(Date().timeIntervalSince(start) < 5)
            // Others are served meanwhile.
            #expect(try exchange(endpoint, get("/livez")).hasPrefix("HTTP/1.1 200"))
        }
    }
}

@Suite struct WebMeterTests {
    @Test func requestsAreCountedByEndpointAndTime() {
        let meter = WebMeter()
        meter.note(.recordsQuery, status: 200, microseconds: 1_000)
        meter.note(.recordsQuery, status: 400, microseconds: 30_000)
        meter.note(nil, status: 404, microseconds: 9_000_000)
        let lines = Set(MetricsText.text(meter.metrics).split(separator: "\n").map { String($0) })
        let name = "cumulus_http_request_duration_seconds"
        for line in [
            #"cumulus_http_requests_total{endpoint="none",status="404"} 1"#,
            #"cumulus_http_requests_total{endpoint="records/query",status="200"} 1"#,
            #"\#(name)_bucket{endpoint="records/query",le="0.001"} 1"#,
            #"\#(name)_bucket{endpoint="records/query",le="0.025"} 1"#,
            #"\#(name)_bucket{endpoint="records/query",le="0.1"} 2"#,
            #"\#(name)_bucket{endpoint="records/query",le="+Inf"} 2"#,
            #"\#(name)_bucket{endpoint="none",le="2.5"} 0"#,
            #"\#(name)_sum{endpoint="records/query"} 0.031"#,
            #"\#(name)_count{endpoint="none"} 1"#,
        ] {
            #expect(lines.contains(line), "\(line)")
        }
    }
}
