// Files that the console's form saves: their way into a record, and what is refused before they
// come, and while they do.

import Cumulus
import CumulusGateway
import CumulusModel
import CumulusTesting
import Foundation
import Synchronization
import Testing

extension ConsoleUser {
    /// Uploads a file.
    ///
    /// - Parameter query: Names the field.
    func upload<Body: AsyncSequence>(
        _ body: Body,
        _ query: String,
        method: String = "POST",
        limit: Int = WebTransfers.uploadBytes,
        length: Int? = nil,
        onWait: () -> Void = {}
    ) async throws -> Answer where Body.Element == Bytes {
        var request = request(method, "/console/api/asset/upload?\(query)")
        request.headers["content-length"] = length.map { "\($0)" }
        #expect(console.takesFile(request))
        return try ConsoleUser.read(
            await console.upload(request, body, limit: limit, onWait: onWait)
        )
    }

    /// Uploads a file, and returns what a field takes.
    func value(_ content: Bytes, _ query: String) async throws -> JSON {
        let answer = try await upload(WebUser.pieces(content), query)
        return try #require(answer.json["singleFile"], "\(answer.json.text)")
    }

    /// Acts as a new user.
    func act(as name: String, _ server: TestServer) async throws {
        let token = try await server.makeUser(name)
        let answer = try await post("user", inScope(["accessToken": .string(token)]))
        try #require(answer.status == 200, "\(answer.json.text)")
    }
}

@Suite struct ConsoleAssetsTests {
    private static let path = "database/1/\(TestServer.container)/development"
    private static let photo = "\(scopeQuery)&database=public&type=Note&field=photo"
    private static let album = "\(scopeQuery)&database=public&type=Note&field=album"

    private func content(_ count: Int) -> Bytes {
        var dice = SeededGenerator(seed: 23)
        return Bytes(
            (0..<count / 8).flatMap { _ in
                withUnsafeBytes(of: UInt64.random(in: .min ... .max, using: &dice)) { Bytes($0) }
            }
        )
    }

    /// Saves fields of the record n.
    private func save(
        _ fields: [JSON.Member],
        _ browser: ConsoleUser,
        _ kind: String = "forceUpdate"
    ) async throws -> JSON {
        let record: JSON = [
            "recordName": "n", "recordType": "Note", "fields": .object(fields),
        ]
        let operation: JSON = ["operationType": .string(kind), "record": record]
        let answer = try await browser.post(
            "\(Self.path)/public/records/modify?as=user",
            ["operations": .array([operation])]
        )
        return try #require(answer.entries("records").first, "\(answer.json.text)")
    }

    /// The content of a field's asset, as a page shows it.
    private func shown(
        _ asset: JSON,
        _ field: String,
        _ browser: ConsoleUser
    ) async throws -> Bytes {
        let checksum = try #require(asset["fileChecksum"]?.string)
            .replacing("+", with: "%2B").replacing("/", with: "%2F")
        let query = "\(scopeQuery)&database=public&record=n&field=\(field)&digest=\(checksum)"
        let answer = try #require(await browser.send("GET", "/console/api/asset?\(query)"))
        #expect(answer.status == 200)
        return answer.body
    }

    @Test func aFileIsSavedReplacedAndRemoved() async throws {
        try await withConsole { browser, server in
            _ = try await browser.signIn()
            try await browser.act(as: "ann", server)
            // More than one part, so that it is never in memory as a whole.
            for content in [content(6 << 20), Bytes("small".utf8), []] {
                var parts = 0
                let answer = try await browser.upload(WebUser.pieces(content), Self.photo) {
                    parts += 1
                }
                #expect(answer.status == 200)
                #expect(answer.headers["X-Frame-Options"] == "DENY")
                #expect(parts == (content.count > 5 << 20 ? 2 : 1))
                let value = try #require(answer.json["singleFile"], "\(answer.json.text)")
                #expect(value["size"] == .integer(Int64(content.count)))
                let field: JSON = ["type": "ASSETID", "value": value]
                let saved = try await save([.init("photo", field)], browser)
                let asset = try #require(saved.field("photo"), "\(saved.text)")
                #expect(asset["fileChecksum"] == value["fileChecksum"])
                #expect(try await shown(asset, "photo", browser) == content)
            }
            let removed = try await save([.init("photo", ["value": .null])], browser)
            #expect(removed.errorCode == nil, "\(removed.text)")
            #expect(removed.field("photo") == nil)
        }
    }

    /// A list keeps what it has, one file goes and another one comes.
    @Test func aListOfFilesChanges() async throws {
        try await withConsole { browser, server in
            _ = try await browser.signIn()
            try await browser.act(as: "ann", server)
            func list(_ values: [JSON]) async throws -> [JSON] {
                let field: JSON = ["type": "ASSETID_LIST", "value": .array(values)]
                let saved = try await save([.init("album", field)], browser)
                guard case .array(let assets)? = saved.field("album") else {
                    throw WebError.badRequest(saved.text)
                }
                return assets
            }
            let one = try await browser.value(Bytes("one".utf8), Self.album)
            let two = try await browser.value(Bytes("two".utf8), Self.album)
            let before = try await list([one, two])
            func receipt(of checksum: JSON) async throws -> JSON {
                let wish: JSON = [
                    "recordName": "n", "fieldName": "album", "fileChecksum": checksum,
                ]
                let answer = try await browser.post(
                    "\(Self.path)/public/assets/rereference?as=user",
                    ["assets": .array([wish])]
                )
                return try #require(answer.entries("assets").first, "\(answer.json.text)")
            }
            let kept = try await receipt(of: before[1]["fileChecksum"] ?? .null)
            #expect(kept["size"] == .integer(3), "\(kept.text)")
            let three = try await browser.value(Bytes("three".utf8), Self.album)
            let after = try await list([kept, three])
            var texts: [String] = []
            for asset in after {
                let content = try await shown(asset, "album", browser)
                texts.append(String(decoding: content, as: UTF8.self))
            }
            #expect(texts == ["two", "three"])
            // The first asset is not in the list any more.
            let gone: JSON = before[0]["fileChecksum"] ?? .null
            for wrong in [gone, "AAAA"] as [JSON] {
                #expect(try await receipt(of: wrong).errorCode == "BAD_REQUEST", "\(wrong)")
            }
        }
    }

    private struct Broken: Error {}

    /// A body that breaks off after its first bytes, or before them.
    private func broken(after content: Bytes? = nil) -> AsyncThrowingStream<Bytes, any Error> {
        AsyncThrowingStream { source in
            if let content { source.yield(content) }
            source.finish(throwing: Broken())
        }
    }

    /// A refusal reads nothing of the file: its answer is not that the file broke off.
    @Test func whoMayNotUploadIsRefusedFirst() async throws {
        try await withConsole { browser, server in
            func refusal(
                _ query: String = Self.photo,
                method: String = "POST"
            ) async throws -> Int {
                let answer = try await browser.upload(broken(), query, method: method)
                let reason = try #require(answer.json["reason"]?.string)
                #expect(!reason.contains("ended early"), "\(reason)")
                return answer.status
            }
            #expect(try await refusal() == 401)
            _ = try await browser.signIn()
            // The operator saves no records.
            #expect(try await refusal() == 403)
            #expect(try await refusal("\(Self.photo)&as=user") == 403)
            try await browser.act(as: "ann", server)
            #expect(try await refusal(method: "GET") == 405)

            let (secret, cookie) = (browser.secret, browser.cookie)
            for wrong in ["", String(secret.dropLast()), secret + "a"] {
                browser.secret = wrong
                #expect(try await refusal() == 403)
            }
            browser.secret = secret
            browser.cookie = nil
            #expect(try await refusal() == 401)
            browser.cookie = cookie
            browser.site = "cross-site"
            #expect(try await refusal() == 403)
            browser.site = "same-origin"

            let elsewhere = Self.photo.replacing("development", with: "production")
            #expect(try await refusal(elsewhere) == 403)
            let other = Self.photo.replacing(TestServer.container, with: "iCloud.dev.other")
            #expect(try await refusal(other) == 403)
            for (part, wrong) in [
                ("field=photo", "field=title"), ("field=photo", "field=nothing"),
                ("field=photo", ""), ("type=Note", "type=Nothing"), ("type=Note", ""),
                ("database=public", "database=all"), ("environment=development", ""),
            ] {
                let query = Self.photo.replacing(part, with: wrong)
                #expect(try await refusal(query) == 400, "\(query)")
            }
            let own = Self.photo.replacing("=public", with: "=private")
            for wrong in [
                "zone=nozone", "zone=../x", "zone=", "zone=" + String(repeating: "z", count: 5_000),
                "owner=_nobody",
            ] {
                let status = try await refusal("\(own)&\(wrong)")
                #expect((400..<500).contains(status) && ![401, 403].contains(status), "\(wrong)")
            }
            let end = try await browser.post("user/end")
            #expect(end.status == 200)
            #expect(try await refusal() == 403)
        }
    }

    @Test func aFileIsForAZoneThatIsThere() async throws {
        try await withConsole { browser, server in
            _ = try await browser.signIn()
            try await browser.act(as: "ann", server)
            let zone: JSON = ["zoneID": ["zoneName": "Trips"]]
            let creation: JSON = ["operationType": "create", "zone": zone]
            _ = try await browser.post(
                "\(Self.path)/private/zones/modify?as=user",
                ["operations": .array([creation])]
            )
            let own = Self.photo.replacing("=public", with: "=private")
            for query in [own, "\(own)&zone=Trips"] {
                let value = try await browser.value([1], query)
                #expect(value["size"] == JSON.integer(1))
            }
        }
    }

    /// 401 would make the page ask for the operator's token.
    @Test func anUploadWhoseUserLosesItsSessionIsDenied() async throws {
        try await withConsole { browser, server in
            _ = try await browser.signIn()
            let token = try await server.makeUser("ann")
            let act = try await browser.post("user", inScope(["accessToken": .string(token)]))
            try #require(act.status == 200)
            let user = server.container(token: token)
            let pieces = Mutex(0)
            let body = AsyncThrowingStream<Bytes, any Error> {
                let count = pieces.withLock { count in
                    count += 1
                    return count
                }
                if count == 2 { try await user.revokeAllSessions() }
                return count <= 2 ? Bytes("half".utf8) : nil
            }
            let refused = try await browser.upload(body, Self.photo)
            #expect(refused.status == 403, "\(refused.json.text)")
            #expect(refused.json["reason"]?.string?.contains("session has ended") == true)
            await user.close()
        }
    }

    @Test func filesThatAreTooLargeOrBreakOffAreRefused() async throws {
        try await withConsole { browser, server in
            _ = try await browser.signIn()
            try await browser.act(as: "ann", server)
            let content = content(1_000)
            let large = try await browser.upload(
                WebUser.pieces(content, of: 300),
                Self.photo,
                limit: 999
            )
            #expect(large.status == 400)
            #expect(large.json["reason"]?.string?.contains("999 bytes") == true)
            let short = try await browser.upload(broken(after: content), Self.photo)
            #expect(short.status == 400)
            #expect(short.json["reason"]?.string?.contains("ended early") == true)
            for length in [0, 999, 1_001] {
                let body = WebUser.pieces(content, of: 300)
                let answer = try await browser.upload(body, Self.photo, length: length)
                #expect(answer.status == 400, "\(length)")
            }
            // The length alone refuses a file that is one byte too long.
            let longer = try await browser.upload(
                broken(),
                Self.photo,
                limit: 999,
                length: 1_000
            )
            #expect(longer.status == 400)
            #expect(longer.json["reason"]?.string?.contains("999 bytes") == true)
            let whole = WebUser.pieces(content, of: 300)
            let answer = try await browser.upload(whole, Self.photo, limit: 1_000, length: 1_000)
            #expect(answer.status == 200, "\(answer.json.text)")
        }
    }

    /// The same over sockets: a file is larger than other bodies may be, and has a length.
    @Test func filesPassThroughHTTP() async throws {
        let server = try await TestServer()
        try await server.importSchema(WebUser.schema)
        let token = try await server.makeUser("ann")
        let content = content(3 << 20)
        try await serveConsole(server) { endpoint in
            try await onThread {
                func exchange(
                    _ target: String,
                    _ headers: [String],
                    _ body: some Collection<UInt8>,
                    length: String? = nil
                ) throws -> String {
                    let client = try RawClient(endpoint)
                    defer { client.close() }
                    let lines = ["POST /console/api/\(target) HTTP/1.1", "Host: \(endpoint)"]
                    let head =
                        lines + headers + [
                            "Content-Length: \(length ?? "\(body.count)")", "Connection: close", "",
                            "",
                        ]
                    try client.send(Bytes(head.joined(separator: "\r\n").utf8) + body)
                    if length != nil { client.finishSending() }
                    return String(decoding: try client.receiveAll(), as: UTF8.self)
                }
                func cookie(_ answer: String) throws -> String {
                    let match = answer.firstMatch(of: /Set-Cookie: ([^;]+);/)
                    return "Cookie: \(try #require(match, "\(answer)").output.1)"
                }
                let operatorToken = #"{"token": "\#(TestServer.operatorToken)"}"#
                let signIn = try exchange("session", [], operatorToken.utf8)
                let secret = try #require(signIn.firstMatch(of: /"token": "([^"]+)"/)).output.1
                let shown = "X-Console-Token: \(secret)"
                let body = inScope(["accessToken": .string(token)]).text
                let act = try exchange("user", [try cookie(signIn), shown], body.utf8)
                let headers = [try cookie(act), shown]

                let target = "asset/upload?\(Self.photo)"
                let uploaded = try exchange(target, headers, content)
                #expect(uploaded.hasPrefix("HTTP/1.1 200"), "\(uploaded)")
                #expect(uploaded.contains(#""size": \#(content.count)"#))
                let unproven = try exchange(target, [headers[0]], content.prefix(1_000))
                #expect(unproven.hasPrefix("HTTP/1.1 403"), "\(unproven)")
                // The length alone refuses it.
                let most = WebTransfers.uploadBytes
                let large = try exchange(target, headers, [], length: "\(2 * most)")
                #expect(large.hasPrefix("HTTP/1.1 400"), "\(large)")
                #expect(large.contains("\(most) bytes"))
                for wrong in ["-1", "x", "20"] {
                    let answer = try exchange(target, headers, content.prefix(10), length: wrong)
                    #expect(!answer.hasPrefix("HTTP/1.1 2"), "\(wrong): \(answer)")
                }
            }
        }
        try await server.stop()
    }
}
