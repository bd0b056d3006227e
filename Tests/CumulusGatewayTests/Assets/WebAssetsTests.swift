// Files over web services, from the link to upload to the bytes that come back.

import Cumulus
import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

extension WebUser {
    /// A file in pieces, as it comes over a socket.
    static func pieces(_ content: Bytes, of size: Int = 50_000) -> AsyncStream<Bytes> {
        AsyncStream { source in
            for start in stride(from: 0, to: content.count, by: size) {
                source.yield(Bytes(content[start...].prefix(size)))
            }
            source.finish()
        }
    }

    /// Asks for a link to upload.
    func link(_ database: String, field: String = "photo") async throws -> String {
        let answer = try await post(
            "\(database)/assets/upload",
            #"{"tokens": [{"recordType": "Note", "fieldName": "\#(field)"}]}"#
        )
        return try #require(answer.entries("tokens").first?["url"]?.string, "\(answer.json.text)")
    }

    /// Uploads a file.
    func upload(
        _ content: Bytes,
        to link: String,
        type: String = "application/octet-stream",
        limit: Int = WebTransfers.uploadBytes
    ) async throws -> Answer {
        var request = WebRequest("POST", link)
        request.headers["content-type"] = type
        let body = WebUser.pieces(content)
        let answer = await gateway.transfers.upload(request, body, limit: limit)
        let json = try JSONReader.read(answer.body)
        return Answer(status: answer.status, json: json, headers: [:])
    }

    /// Uploads a file, and returns the value that a field takes.
    func value(_ content: Bytes, _ database: String) async throws -> String {
        let answer = try await upload(content, to: try await link(database))
        return try #require(answer.json["singleFile"], "\(answer.json.text)").text
    }

    struct Download {
        var status: Int
        var content: Bytes = []
        var headers: [String: String] = [:]
    }

    func download(_ link: String, range: String? = nil) async throws -> Download {
        var request = WebRequest("GET", link)
        request.headers["range"] = range
        switch await gateway.transfers.download(request) {
        case .answer(let answer): return Download(status: answer.status, content: answer.body)
        case .bytes(let download, let headers):
            var result = Download(status: download.status)
            for header in headers { result.headers[header.name] = header.value }
            var position = download.range.lowerBound
            while position < download.range.upperBound {
                let bytes = try await download.bytes(from: position)
                result.content += bytes
                position += UInt64(bytes.count)
            }
            return result
        }
    }

    /// The entry of one record.
    func record(_ database: String, _ name: String) async throws -> JSON {
        let answer = try await post(
            "\(database)/records/lookup",
            #"{"records": [{"recordName": "\#(name)"}]}"#
        )
        return try #require(answer.entries("records").first, "\(answer.json.text)")
    }
}

@Suite struct WebAssetsTests {
    private func content(_ count: Int, seed: UInt64 = 5) -> Bytes {
        var dice = SeededGenerator(seed: seed)
        return Bytes(
            (0..<count / 8).flatMap { _ in
                withUnsafeBytes(of: UInt64.random(in: .min ... .max, using: &dice)) { Bytes($0) }
            }
        )
    }

    private func url(_ record: JSON, _ field: String = "photo") throws -> String {
        try #require(record.field(field)?["downloadURL"]?.string, "\(record.text)")
    }

    @Test(arguments: ["private", "public"])
    func aFileIsUploadedNamedAndRead(_ database: String) async throws {
        try await withWebUser { user, _ in
            // More than one part, so that it is never in memory as a whole.
            for (name, content) in [
                ("empty", []), ("small", Bytes("hi".utf8)), ("large", content(6 << 20)),
            ] {
                let value = try await user.value(content, database)
                let fields = #""photo": {"value": \#(value)}"#
                let saved = try await user.modify(
                    database,
                    operation(.create, name, type: "Note", fields)
                )
                let field = try #require(saved.first?.field("photo"), "\(saved)")
                #expect(field["size"] == .integer(Int64(content.count)))
                #expect(field["receipt"] == nil)
                let record = try await user.record(database, name)
                let download = try await user.download(try url(record))
                #expect(download.status == 200)
                #expect(download.content == content)
                #expect(download.headers["Content-Disposition"] == "attachment")
                #expect(download.headers["X-Content-Type-Options"] == "nosniff")
                #expect(download.headers["Content-Security-Policy"]?.hasPrefix("sandbox") == true)
                if content.count > 3_000_000 {
                    let range = 1_000_000..<3_000_000
                    let part = try await user.download(
                        try url(record),
                        range: "bytes=\(range.lowerBound)-\(range.upperBound - 1)"
                    )
                    #expect(part.status == 206)
                    #expect(part.content == Bytes(content[range]))
                    #expect(
                        part.headers["Content-Range"]
                            == "bytes 1000000-2999999/\(content.count)"
                    )
                }
            }
        }
    }

    @Test func listsAndFormsAndUnnamedRecords() async throws {
        try await withWebUser { user, _ in
            let first = try await user.value(Bytes("one".utf8), "private")
            let form = """
                --x\r
                Content-Disposition: form-data; name="files"; filename="a.txt"\r
                \r
                two\r
                --x--\r

                """
            let answer = try await user.upload(
                Bytes(form.utf8),
                to: try await user.link("private", field: "album"),
                type: "multipart/form-data; boundary=x"
            )
            let second = try #require(answer.json["singleFile"], "\(answer.json.text)")
            let saved = try await user.post(
                "private/records/modify",
                """
                {"operations": [{"operationType": "create", "record": {"recordType": "Note",
                 "fields": {"album": {"type": "ASSETID_LIST", "value": [\(first), \(second.text)]}}
                }}]}
                """
            )
            let entry = try #require(saved.entries("records").first)
            #expect(try await texts(of: entry.field("album"), user) == ["one", "two"])
        }
    }

    /// The contents of a list of assets, by their links; nil if it is no list.
    private func texts(of field: JSON?, _ user: WebUser) async throws -> [String]? {
        guard case .array(let values)? = field else { return nil }
        var texts: [String] = []
        for value in values {
            let url = try #require(value["downloadURL"]?.string)
            texts.append(String(decoding: try await user.download(url).content, as: UTF8.self))
        }
        return texts
    }

    @Test func receiptsOfOthersAndWrongOnesAreRefused() async throws {
        try await withWebUser { user, server in
            let other = try await WebUser.make("other", user.gateway, user.door, server)
            let theirs = try await other.value(Bytes("theirs".utf8), "private")
            let elsewhere = try await user.value(Bytes("elsewhere".utf8), "public")
            let forged = #"{"fileChecksum": "AAAA", "size": 2, "receipt": "AAAA"}"#
            let none = #"{"fileChecksum": "AAAA", "size": 2}"#
            for (index, value) in [theirs, elsewhere, forged, none].enumerated() {
                let fields = #""photo": {"value": \#(value)}"#
                let saved = try await user.modify(
                    "private",
                    operation(.create, "r\(index)", type: "Note", fields)
                )
                #expect(saved.first?.errorCode == "BAD_REQUEST", "\(saved)")
            }
            let link = try await user.link("private")
            let large = try await user.upload(content(1_000), to: link, limit: 999)
            #expect(large.status == 400)
            #expect(try await user.upload([1], to: link, limit: 999).status == 200)
            let open = try await user.post("shared/assets/upload", #"{"tokens": []}"#)
            #expect(open.status == 400)
            let anonymous = WebUser(gateway: user.gateway, door: user.door, token: nil)
            let refused = try await anonymous.post("public/assets/upload", #"{"tokens": []}"#)
            #expect(refused.code == "AUTHENTICATION_REQUIRED")
        }
    }

    /// What a record holds is given to another record.
    @Test func anAssetIsRereferenced() async throws {
        try await withWebUser { user, _ in
            let value = try await user.value(Bytes("again".utf8), "private")
            let fields = #""photo": {"value": \#(value)}"#
            _ = try await user.modify("private", operation(.create, "a", type: "Note", fields))
            let answer = try await user.post(
                "private/assets/rereference",
                """
                {"assets": [{"recordName": "a", "fieldName": "photo"},
                 {"recordName": "a", "fieldName": "title"},
                 {"recordName": "none", "fieldName": "photo"}]}
                """
            )
            let entries = answer.entries("assets")
            #expect(entries.count == 3)
            #expect(entries.last?.errorCode == "NOT_FOUND")
            #expect(entries.dropFirst().first?.errorCode == "BAD_REQUEST")
            let again = try #require(entries.first)
            let saved = try await user.modify(
                "private",
                operation(.create, "b", type: "Note", #""photo": {"value": \#(again.text)}"#)
            )
            let content = try await user.download(try url(try #require(saved.first))).content
            #expect(content == Bytes("again".utf8))
        }
    }

    @Test func aListOfAssetsIsRereferenced() async throws {
        try await withWebUser { user, _ in
            let first = try await user.value(Bytes("one".utf8), "private")
            let second = try await user.value(Bytes("two".utf8), "private")
            let album = #""album": {"type": "ASSETID_LIST", "value": [\#(first), \#(second)]}"#
            let tags = #""tags": {"value": ["x"]}"#
            _ = try await user.modify(
                "private",
                operation(.create, "a", type: "Note", album + ", " + tags)
            )
            let answer = try await user.post(
                "private/assets/rereference",
                """
                {"assets": [{"recordName": "a", "fieldName": "album"},
                 {"recordName": "a", "fieldName": "tags"}]}
                """
            )
            let entries = answer.entries("assets")
            #expect(entries.last?.errorCode == "BAD_REQUEST")
            let again = try #require(entries.first).text
            let copy = #""album": {"type": "ASSETID_LIST", "value": \#(again)}"#
            let saved = try await user.modify(
                "private",
                operation(.create, "b", type: "Note", copy)
            )
            #expect(try await texts(of: saved.first?.field("album"), user) == ["one", "two"])
        }
    }

    /// A link gives what its caller may read at the moment.
    @Test func linksEndWithTheRightsBehindThem() async throws {
        try await withWebUser { user, server in
            let fields = #""photo": {"value": \#(try await user.value([1, 2, 3], "public"))}"#
            _ = try await user.modify("public", operation(.create, "a", type: "Note", fields))
            let anonymous = WebUser(gateway: user.gateway, door: user.door, token: nil)
            let open = try url(try await anonymous.record("public", "a"))
            let own = try url(try await user.record("public", "a"))
            let upload = try await user.link("private")
            #expect(try await user.download(open).content == [1, 2, 3])
            #expect(try await user.download(own).content == [1, 2, 3])
            #expect(try await user.upload([1], to: open).status == 405)
            #expect(try await user.download(upload).status == 405)
            #expect(try await user.download(open + "A").status == 404)
            let container = server.container(token: user.session)
            try await container.revokeAllSessions()
            await container.close()
            #expect(try await user.download(own).status == 401)
            #expect(try await user.upload([1], to: upload).status == 401)
            #expect(try await user.download(open).status == 200)
        }
    }

    @Test func aLinkToADeletedRecordLeadsNowhere() async throws {
        try await withWebUser { user, _ in
            let fields = #""photo": {"value": \#(try await user.value([1, 2, 3], "public"))}"#
            _ = try await user.modify("public", operation(.create, "a", type: "Note", fields))
            let link = try url(try await user.record("public", "a"))
            _ = try await user.modify("public", operation(.forceDelete, "a"))
            #expect(try await user.download(link).status == 404)
        }
    }
}
