// A web client at several nodes of a cluster, as behind a proxy that spreads requests: it reads
// what it wrote, and its files are where its records are.

import Crypto
import CumulusGateway
import CumulusModel
import CumulusNode
import CumulusTesting
import Testing

@Suite struct WebClusterTests {
    private let lookup = #"{"records": [{"recordName": "a"}]}"#
    private let create = #"{"operations": [\#(operation(.create, "a", type: "Note"))]}"#

    private func content(_ count: Int) -> Bytes {
        var dice = SeededGenerator(seed: 11)
        let words = (0..<count / 8 + 1).flatMap { _ in
            withUnsafeBytes(of: UInt64.random(in: .min ... .max, using: &dice)) { Bytes($0) }
        }
        return Bytes(words.prefix(count))
    }

    // MARK: What it wrote

    @Test func aUserReadsItsOwnWritesAtEveryNode() async throws {
        try await withWebPair { pair in
            var user = pair.user
            for turn in 0..<30 {
                let text = #"{"operations": [\#(operation(.create, "n\(turn)", type: "Note"))]}"#
                let saved = try await pair.at(turn % 2, user).post("private/records/modify", text)
                #expect(saved.status == 200, "\(saved.json.text)")
                user = user.carrying(saved)
                let wish = #"{"records": [{"recordName": "n\#(turn)"}]}"#
                let elsewhere = pair.at(1 - turn % 2, user)
                let read = try await elsewhere.post("private/records/lookup", wish)
                #expect(read.entries("records").first?.tag != nil, "\(read.json.text)")
                user = user.carrying(read)
            }
        }
    }

    @Test func aNodeThatIsBehindSaysSo() async throws {
        try await withWebPair { pair in
            await pair.cut()
            let saved = try await pair.at(0).post("private/records/modify", create)
            #expect(saved.entries("records").first?.tag != nil, "\(saved.json.text)")
            let without = try await pair.at(1).post("private/records/lookup", lookup)
            #expect(without.entries("records").first?.errorCode == "NOT_FOUND")
            // The answer's token covers the data that was seen, and so do later tokens.
            var user = pair.user.carrying(saved)
            for _ in 0..<2 {
                let behind = try await pair.at(1, user).post("private/records/lookup", lookup)
                #expect(behind.status == 503, "\(behind.json.text)")
                #expect(behind.code == "TRY_AGAIN_LATER")
                #expect(behind.headers["Retry-After"] == "1")
                user = user.carrying(behind)
            }
            pair.link()
            let read = try await pair.waiting {
                try await pair.at(1, user).post("private/records/lookup", lookup)
            } until: {
                $0.status == 200
            }
            #expect(read.entries("records").first?.tag != nil, "\(read.json.text)")
        }
    }

    /// Servers and callers without a session carry a header.
    @Test func aHeaderSaysItToo() async throws {
        try await withWebPair { pair in
            await pair.cut()
            let saved = try await pair.at(0).post("public/records/modify", create)
            let header = try #require(saved.headers[WebSeen.header])
            var stranger = pair.at(1)
            stranger.token = nil
            let target = stranger.target("public/records/lookup")
            func status(_ header: String?) async throws -> Int {
                var request = WebRequest("POST", target, body: Bytes(lookup.utf8))
                request.headers[WebSeen.header.lowercased()] = header
                let answer = try await stranger.send(request)
                return answer.status
            }
            #expect(try await status(nil) == 200)
            #expect(try await status(header) == 503)
            // What says nothing here is not waited for: damage, a token of another kind, and what
            // was seen in another cluster.
            #expect(try await status("AAAA") == 200)
            #expect(try await status(pair.user.token) == 200)
            try await withWebUser { other, _ in
                let elsewhere = try await other.get("public/users/caller")
                #expect(elsewhere.headers[WebSeen.header] == nil)
                let read = try await other.post("private/records/lookup", lookup)
                let foreign = try #require(read.headers[WebSeen.header])
                #expect(try await status(foreign) == 200)
            }
        }
    }

    /// A link to a file is one more thing that an answer gave.
    @Test func aLinkLeadsToAFileAtEveryNode() async throws {
        try await withWebPair { pair in
            func link(_ name: String) async throws -> String {
                let fields =
                    #""photo": {"value": \#(try await pair.at(0).value([1, 2], "private"))}"#
                let saved = try await pair.at(0).modify(
                    "private",
                    operation(.create, name, type: "Note", fields)
                )
                return try #require(saved.first?.field("photo")?["downloadURL"]?.string)
            }
            for turn in 0..<10 {
                let download = try await pair.at(1).download(try await link("n\(turn)"))
                #expect(download.content == [1, 2], "\(download)")
            }
            await pair.cut()
            #expect(try await pair.at(1).download(try await link("far")).status == 503)
        }
    }

    /// The node that has the rest may be lost for ever.
    @Test func whatWasSeenLongAgoIsNotWaitedFor() async throws {
        try await withWebPair { pair in
            await pair.cut()
            let saved = try await pair.at(0).post("private/records/modify", create)
            let text = try #require(saved.headers["X-Apple-CloudKit-Web-Auth-Token"])
            let sealed = try #require(Base64URL.decode(text.utf8))
            var token = try WebToken(content: try #require(pair.doors[1].open(sealed)))
            var user = pair.user
            func answer() async throws -> WebUser.Answer {
                user.token = pair.gateways[1].token(token)
                return try await pair.at(1, user).post("private/records/lookup", lookup)
            }
            #expect(try await answer().status == 503)
            token.seen?.made -= WebSeen.time
            let read = try await answer()
            #expect(read.status == 200, "\(read.json.text)")
            #expect(read.entries("records").first?.errorCode == "NOT_FOUND")
            // From here on it has seen what this node has.
            user = user.carrying(read)
            let again = try await pair.at(1, user).post("private/records/lookup", lookup)
            #expect(again.status == 200, "\(again.json.text)")
        }
    }

    // MARK: Its files

    @Test(arguments: ["private", "public"])
    func aFileIsNamedAtAnotherNodeThanItWasSentTo(_ database: String) async throws {
        try await withWebPair { pair in
            // A large one, a small one and an empty one.
            let files = [content(700_000), content(100), []]
            var fields: [String] = []
            for (index, file) in files.enumerated() {
                let value = try await pair.at(0).value(file, database)
                fields.append(
                    operation(
                        .forceUpdate,
                        "r\(index)",
                        type: "Note",
                        #""photo": {"value": \#(value)}"#
                    )
                )
            }
            let list = fields.joined(separator: ",")
            let saved = try await pair.at(1).post(
                "\(database)/records/modify",
                #"{"operations": [\#(list)]}"#
            )
            for (entry, file) in zip(saved.entries("records"), files) {
                let link = try #require(entry.field("photo")?["downloadURL"]?.string, "\(entry)")
                #expect(try await pair.at(1).download(link).content == file)
            }
            #expect(saved.entries("records").count == files.count)
        }
    }

    /// A file that is elsewhere stops nothing else of an atomic request.
    @Test func anAtomicRequestWaitsForItsFiles() async throws {
        try await withWebPair { pair in
            let user = pair.at(1)
            let zone = #"{"operationType": "create", "zone": {"zoneID": {"zoneName": "Trips"}}}"#
            _ = try await user.post("private/zones/modify", #"{"operations": [\#(zone)]}"#)
            let value = try await pair.at(0).value(content(100), "private")
            let saved = try await user.modify(
                "private",
                zone: "Trips",
                operation(.create, "a", type: "Note"),
                operation(.create, "b", type: "Note", #""photo": {"value": \#(value)}"#)
            )
            #expect(saved.map(\.errorCode) == [nil, nil], "\(saved)")
        }
    }

    /// The error says whether another try may succeed.
    @Test func aFileThatCanNotComeIsRefusedByWhy() async throws {
        try await withWebPair { pair in
            func save(_ value: String) async throws -> JSON {
                let fields = #""photo": {"value": \#(value)}"#
                let saved = try await pair.at(1).modify(
                    "private",
                    operation(.forceUpdate, "a", type: "Note", fields)
                )
                return try #require(saved.first)
            }
            await pair.cut()
            let value = try await pair.at(0).value(content(100), "private")
            let far = try await save(value)
            #expect(far.errorCode == "TRY_AGAIN_LATER", "\(far.text)")
            #expect(far["retryAfter"] == .integer(1))
            pair.link()
            let saved = try await pair.waiting {
                try await pair.at(1).post(
                    "private/records/modify",
                    """
                    {"operations": [\(operation(
                        .forceUpdate, "a", type: "Note", #""photo": {"value": \#(value)}"#
                    ))]}
                    """
                )
            } until: {
                $0.entries("records").first?.errorCode == nil
            }
            #expect(saved.entries("records").first?.field("photo") != nil, "\(saved.json.text)")
            // A receipt for what no node has.
            let asset = Asset(digest: Bytes(repeating: 9, count: 32), size: 11)
            let receipt = UploadReceipt(
                of: asset,
                in: WebUser.scope,
                .private,
                by: try await pair.user.name,
                made: pair.doors[1].now
            )
            let text = Base64URL.encode(pair.doors[1].seal(receipt.content))
            let gone = try await save(#"{"receipt": "\#(text)"}"#)
            #expect(gone.errorCode == "BAD_REQUEST", "\(gone.text)")
            #expect(gone["retryAfter"] == nil)
        }
    }

    /// A receipt of what a user read in a public record gives no right to the content.
    ///
    /// The record may be closed to it by now. In its own database all is the user's.
    @Test(arguments: [("public", false), ("public", true), ("private", false)])
    func whatWasReadIsNotFetched(database: String, isUpload: Bool) async throws {
        try await withWebPair { pair in
            let value = try await pair.at(0).value(content(100), database)
            let file = try JSONReader.read(Bytes(value.utf8))
            let checksum = try #require(file["fileChecksum"]?.string)
            let receipt = UploadReceipt(
                of: Asset(digest: try #require(Base64.decode(checksum)), size: 100),
                in: WebUser.scope,
                database == "public" ? .public : .private,
                by: try await pair.user.name,
                made: pair.doors[1].now,
                isUpload: isUpload
            )
            let text = Base64URL.encode(pair.doors[1].seal(receipt.content))
            let saved = try await pair.at(1).modify(
                database,
                operation(
                    .create,
                    "a",
                    type: "Note",
                    #""photo": {"value": {"receipt": "\#(text)"}}"#
                )
            )
            let isSaved = isUpload || database == "private"
            #expect(saved.map(\.errorCode) == [isSaved ? nil : "BAD_REQUEST"], "\(saved)")
        }
    }

    @Test func aFileForAnothersZoneIsNamedAtAnotherNode() async throws {
        try await withWebPair { pair in
            let guest = try await pair.makeUser("guest")
            try await pair.user.makeTree("Trips")
            let share = try await pair.user.share(
                .create,
                in: "Trips",
                #""forRecord": {"recordName": "a"}, "publicPermission": "READ_WRITE""#
            )
            let url = try #require(share["shortGUID"]?.string, "\(share.text)")
            let accept = #"{"shortGUIDs": [{"value": "\#(url)"}]}"#
            let joined = try await pair.at(0, guest).post("public/records/accept", accept)
            #expect(joined.status == 200, "\(joined.json.text)")
            let owner = try await pair.user.name
            let zone = #"{"zoneName": "Trips", "ownerRecordName": "\#(owner)"}"#
            let links = try await pair.at(0, guest).post(
                "shared/assets/upload",
                #"{"zoneID": \#(zone), "tokens": [{"fieldName": "photo"}]}"#
            )
            let link = try #require(links.entries("tokens").first?["url"]?.string)
            let file = content(100)
            let sent = try await pair.at(0, guest).upload(file, to: link)
            let value = try #require(sent.json["singleFile"], "\(sent.json.text)").text
            let saved = try await pair.at(1, guest.carrying(joined)).post(
                "shared/records/modify",
                """
                {"zoneID": \(zone), "operations": [{"operationType": "forceUpdate",
                 "record": {"recordName": "a", "fields": {"photo": {"value": \(value)}}}}]}
                """
            )
            let entry = saved.entries("records").first
            #expect(entry?.field("photo")?["size"] == .integer(100), "\(saved.json.text)")
        }
    }
}
