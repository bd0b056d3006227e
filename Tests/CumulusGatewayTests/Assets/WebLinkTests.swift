// Links and receipts: for how long and for whom they are valid, and their bytes.

import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

@Suite struct WebLinkTests {
    private static let scope = ScopeID(container: "iCloud.a", environment: .production)
    private static let api = Bytes(repeating: 2, count: 32)
    private static let asset = Asset(digest: Bytes(repeating: 3, count: 32), size: 70_000)
    private static let zone = RecordZone.ID(zoneName: "Trips", ownerName: "_anna")

    private static func link(
        _ proof: WebAccess.Proof,
        _ purpose: WebLink.Purpose
    ) -> WebLink {
        WebLink(WebAccess(scope, .shared, proof, api: api), made: 1_000_000, purpose)
    }

    private static let links = [
        link(.nothing, .upload(zone: nil)),
        link(.server(Bytes(repeating: 4, count: 16)), .upload(zone: zone)),
        link(
            .session(Bytes(repeating: 1, count: 32)),
            .download(asset, record: .init(recordName: "a", zoneID: zone), field: "photo")
        ),
    ]

    @Test func linksAreGoodForAWhile() {
        for (link, time) in zip(Self.links, [15 * 60_000, 15 * 60_000, 4 * 3_600_000] as [Int64]) {
            #expect(link.isGood(now: 1_000_000 + time - 1))
            #expect(!link.isGood(now: 1_000_000 + time))
            #expect(link.isGood(now: 1_000_000 - 59_999))
            #expect(!link.isGood(now: 1_000_000 - 60_000))
        }
    }

    @Test func linksReadBackAndNothingElseDoes() throws {
        var seen = Self.links[2]
        seen.seen = [1, 2, 3]
        for link in Self.links + [seen] {
            let content = link.content
            let read = try WebLink(content: content)
            #expect(read == link)
            expectDamageIsRefused(content) { try WebLink(content: $0) }
            #expect(throws: MalformedBytes.self) { try UploadReceipt(content: content) }
            #expect(throws: MalformedBytes.self) { try WebToken(content: content) }
        }
    }

    @Test func receiptsAreBoundToCallerAndDatabase() throws {
        let scope = Self.scope
        let receipt = UploadReceipt(of: Self.asset, in: scope, .private, by: "_anna", made: 5_000)
        let other = ScopeID(container: "iCloud.a", environment: .development)
        #expect(receipt.isGood(in: scope, .private, for: "_anna", now: 5_000))
        #expect(!receipt.isGood(in: other, .private, for: "_anna", now: 5_000))
        #expect(!receipt.isGood(in: scope, .public, for: "_anna", now: 5_000))
        #expect(!receipt.isGood(in: scope, .private, for: "_ben", now: 5_000))
        #expect(
            !receipt.isGood(in: scope, .private, for: "_anna", now: 5_000 + UploadReceipt.time)
        )
        let shared = UploadReceipt(
            of: Self.asset,
            in: scope,
            .shared,
            of: "_olga",
            by: "_anna",
            made: 5_000
        )
        #expect(shared.isGood(in: scope, .shared, of: "_olga", for: "_anna", now: 5_000))
        #expect(!shared.isGood(in: scope, .shared, of: "_ben", for: "_anna", now: 5_000))
        #expect(try UploadReceipt(content: shared.content) == shared)
        expectDamageIsRefused(shared.content) { try UploadReceipt(content: $0) }
        for made in [receipt, shared] {
            var copy = made
            copy.isUpload = false
            #expect(try UploadReceipt(content: copy.content) == copy)
        }
        let content = receipt.content
        #expect(try UploadReceipt(content: content) == receipt)
        expectDamageIsRefused(content) { try UploadReceipt(content: $0) }
        #expect(throws: MalformedBytes.self) { try WebLink(content: content) }
        #expect(throws: MalformedBytes.self) { try WebToken(content: content) }
    }

    private func expectDamageIsRefused(_ content: Bytes, _ read: (Bytes) throws -> Any) {
        for cut in Damage.truncations(of: content) + [content + [0]] {
            #expect(throws: MalformedBytes.self) { try read(cut) }
        }
        var dice = SeededGenerator(seed: 7)
        for _ in 0..<500 { _ = try? read(Damage.mutation(of: content, using: &dice)) }
    }

    @Test func tokensStandInPaths() {
        #expect(WebLink.token(of: "/database/1/content/abc") == "abc")
        #expect(WebLink.token(of: "/proxy/database/1/content/abc?x=1") == "abc")
        #expect(WebLink.token(of: "/database/1/content/") == nil)
        #expect(WebLink.token(of: "/database/1/content/development/public/x") == nil)
        #expect(WebLink.token(of: "/database/1/iCloud.a/development/public/records/query") == nil)
    }
}

@Suite struct FilePartTests {
    private static let tag = #""0a1b""#

    private func part(_ headers: [String: String], method: String = "GET", size: UInt64 = 10)
        -> FilePart
    {
        FilePart(WebRequest(method, "/", headers: headers), of: Self.tag, size: size)
    }

    @Test(
        arguments: [
            ("bytes=0-0", .bytes(0..<1)), ("bytes=2-5", .bytes(2..<6)),
            ("bytes=5-", .bytes(5..<10)), ("bytes=-3", .bytes(7..<10)),
            ("bytes=-99", .bytes(0..<10)), ("Bytes=8-99", .bytes(8..<10)),
            ("bytes=9-18446744073709551615", .bytes(9..<10)), ("bytes=10-", .beyondTheEnd),
            ("bytes=10-12", .beyondTheEnd), ("bytes=99999999999999999999-", .beyondTheEnd),
            ("bytes=-0", .beyondTheEnd), ("bytes=5-2", .whole), ("bytes=-", .whole),
            ("bytes=", .whole), ("bytes=0-1,3-4", .whole), ("bytes=1-2-3", .whole),
            ("items=0-1", .whole), ("bytes=+1-2", .whole), ("bytes=a-", .whole), ("", .whole),
        ] as [(String, FilePart)]
    )
    func aRangeNamesAPart(_ header: String, _ expected: FilePart) {
        #expect(part(["range": header]) == expected)
        #expect(part(["range": header], method: "HEAD") == .whole)
    }

    @Test func anEmptyFileHasNoParts() {
        #expect(part(["range": "bytes=0-"], size: 0) == .beyondTheEnd)
        #expect(part(["range": "bytes=-5"], size: 0) == .whole)
    }

    @Test(
        arguments: [
            ("if-range", #""0a1b""#, .bytes(1..<3)), ("if-range", #"W/"0a1b""#, .whole),
            ("if-range", #""other""#, .whole),
            ("if-range", "Sat, 28 Nov 2026 17:19:31 GMT", .whole),
            ("if-none-match", #""0a1b""#, .known), ("if-none-match", #"W/"0a1b""#, .known),
            ("if-none-match", #""x", "0a1b""#, .known), ("if-none-match", "*", .known),
            ("if-none-match", #""x",W/"y""#, .bytes(1..<3)),
            ("if-match", #""x" , "0a1b""#, .bytes(1..<3)), ("if-match", "*", .bytes(1..<3)),
            ("if-match", #"W/"0a1b""#, .another), ("if-match", #""x""#, .another),
            ("if-match", "", .another),
        ] as [(String, String, FilePart)]
    )
    func conditionsGoBeforeTheRange(_ name: String, _ value: String, _ expected: FilePart) {
        #expect(part([name: value, "range": "bytes=1-2"]) == expected)
        guard expected == .known || expected == .another else { return }
        #expect(part([name: value], method: "HEAD") == expected)
    }
}
