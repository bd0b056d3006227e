// Messages that nobody honest sends: cut off, changed, unfinished, or made to need much memory.

import CumulusModel
import CumulusRequests
import CumulusTesting
import CumulusWire
import Testing

@Suite struct HostileMessageTests {
    private static let readable = Result {
        try Golden.all().filter { WireMessages.all[$0.message] != nil }
    }

    @Test(arguments: try readable.get())
    func cutAtEachByte(golden: Golden) throws {
        // What ends between two fields is whole, unless the message is nothing without its only
        // one.
        let needsAll = ["AddUserResponse", "SetMergePolicyRequest", "SetWebAppResponse"]
            .contains(golden.message)
        let readers = [
            WireMessages.all[golden.message], WireMessages.requests[golden.message]?.byTheLibrary,
        ]
        for read in readers.compactMap(\.self) {
            let refused = Damage.truncations(of: golden.bytes).count {
                (try? read($0)) == nil
            }
            #expect(refused > 0)
            #expect(refused < golden.bytes.count || needsAll)
        }
    }

    /// Chunks are read without the library, and as it does.
    @Test(arguments: 1...10 as ClosedRange<UInt64>) func chunksAreReadAsTheLibraryDoes(
        seed: UInt64
    ) throws {
        let repack = try #require(LibraryCodec.messages["DownloadAssetResponse"])
        var dice = SeededGenerator(seed: seed)
        var (accepted, refused) = (0, 0)
        for _ in 0..<2_000 {
            var bytes = Self.answer(&dice)
            for _ in 0..<Int.random(in: 0...3, using: &dice) {
                let index = Int.random(in: 0..<bytes.count, using: &dice)
                bytes[index] = .random(in: 0...255, using: &dice)
            }
            let mine = try? DownloadAssetResponse(wire: bytes)
            let theirs = repack(bytes)
            #expect(try mine == theirs.map { try DownloadAssetResponse(wire: $0) })
            accepted += mine == nil ? 0 : 1
            refused += theirs == nil ? 1 : 0
        }
        #expect(accepted > 500 && refused > 100)
    }

    /// Fields in any order, some twice, some unknown.
    private static func answer(_ dice: inout SeededGenerator) -> Bytes {
        var writer = CanonicalWriter()
        for _ in 0..<Int.random(in: 1...6, using: &dice) {
            switch Int.random(in: 0..<7, using: &dice) {
            case 0: writer.field(1, bytes: bytes(.random(in: 1...40, using: &dice), &dice))
            case 1: writer.field(3, varint: .random(in: 0...1 << 60, using: &dice))
            case 2: writer.field(4, varint: .random(in: 0...1 << 60, using: &dice))
            case 3: writer.field(.random(in: 5...40, using: &dice), varint: 7)
            default: writer.message(2) { chunk(&dice, &$0) }
            }
        }
        return writer.bytes.isEmpty ? [0x18, 1] : writer.bytes
    }

    private static func chunk(_ dice: inout SeededGenerator, _ writer: inout CanonicalWriter) {
        for _ in 0..<Int.random(in: 0...6, using: &dice) {
            switch Int.random(in: 0..<6, using: &dice) {
            case 0: writer.field(1, bytes: bytes(32, &dice))
            case 1: writer.field(2, varint: .random(in: 0...5_000_000_000, using: &dice))
            case 2: writer.field(3, varint: .random(in: 0...300, using: &dice))
            case 3: writer.field(.random(in: 5...40, using: &dice), bytes: [1, 2, 3])
            default: writer.field(4, bytes: bytes(.random(in: 1...90, using: &dice), &dice))
            }
        }
    }

    private static func bytes(_ count: Int, _ dice: inout SeededGenerator) -> Bytes {
        (0..<count).map { _ in .random(in: 0...255, using: &dice) }
    }

    // MARK: Parts that are missing

    @Test func resultsWithoutContent() throws {
        var response = CanonicalWriter()
        response.message(1) { _ in }
        response.message(1) { $0.message(1) { _ in } }
        let records = try FetchRecordsResponse(wire: response.bytes).results
        #expect(records.map(Self.code) == [.internalError, .internalError])
        let zones = try FetchZonesResponse(wire: response.bytes).results
        #expect(zones.map(Self.code) == [.internalError, .internalError])
        let subscriptions = try FetchSubscriptionsResponse(wire: response.bytes).results
        #expect(subscriptions.map(Self.code) == [.internalError, .internalError])
        #expect(try ListRecordsResponse(wire: [0x0A, 0]).records.isEmpty)
        #expect(try ListZonesResponse(wire: [0x0A, 0]).zones.isEmpty)
    }

    private static func code<Value>(_ result: Result<Value, ServiceError>) -> ServiceError.Code? {
        if case .failure(let error) = result { error.code } else { nil }
    }

    @Test func messagesWithoutTheirParts() throws {
        #expect(throws: MalformedMessage.self) { try AddUserResponse(wire: []) }
        #expect(throws: MalformedMessage.self) { try AddKeyResponse(wire: []) }
        #expect(throws: MalformedMessage.self) { try SetWebAppRequest(wire: []) }
        #expect(throws: MalformedMessage.self) { try SetWebAppResponse(wire: []) }
        #expect(throws: MalformedMessage.self) { try SetMergePolicyRequest(wire: []) }
        #expect(throws: MalformedMessage.self) { try WireShareMetadata(wire: []) }
        #expect(throws: MalformedMessage.self) { try WireShareMetadata(wire: [0x0A, 0]) }
        #expect(try WhoAmIResponse(wire: []).caller == WireCaller(role: 0, user: ""))
        #expect(try ServerHello(wire: []).limits == .standard)
        let error = try ServiceError(wire: [])
        #expect(error.code == .internalError)
        #expect(error.serverRecord == nil)
        let request = try NodeModifyRecordsRequest(wire: [0x22, 0, 0x22, 2, 0x0A, 0])
        #expect(request.saves.map(\.id.name) == [[], []])
        #expect(request.saves.map(\.record.parent) == [nil, nil])
        // A subscription without a kind, and a zone subscription without a zone.
        let saves = try ModifySubscriptionsRequest(wire: [0x12, 0, 0x12, 2, 0x1A, 0]).saves
        #expect(saves.map(\.subscription?.kind) == [nil, .zone(.init(zoneName: ""))])
        let zones = try ModifyZonesRequest(wire: [0x12, 0, 0x1A, 0])
        #expect(zones.saves.map(\.name) == [[]])
        #expect(zones.deletes.map(\.name) == [[]])
    }

    @Test func aHeaderThatIsCutOff() {
        for payload: Bytes in [[], [5], [5, 8], [0x80], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 8, 1]] {
            #expect(throws: MalformedMessage.self) { try CallHeader.split(payload) }
        }
    }

    @Test func numbersThatThisReleaseDoesNotKnow() throws {
        // Reference{record_name "a", action 257}: not taken for 1.
        let field: Bytes = [0x0A, 1, 0x66, 0x42, 6, 0x0A, 1, 0x61, 0x10, 0x81, 2]
        let value = try WireSamples.field(field).value
        #expect(value == .reference(Record.Reference(recordName: "a")))
        #expect(try WireSamples.field([0x0A, 1, 0x66, 0x78, 5]).value == nil)
        let error = try ServiceError(wire: [8, 99, 0x18, 99])
        #expect(error.code == .internalError)
        #expect(error.reason == .none)
    }

    // MARK: Memory

    /// `count` times the same field, two bytes or more each.
    private static func repeated(_ count: Int, _ field: Bytes) -> Bytes {
        Bytes(repeatElement(field, count: count).joined())
    }

    @Test func manyTinyPartsFailCleanly() {
        let emptyMessages = Self.repeated(100_000, [0x12, 0])
        #expect(throws: MalformedMessage.self) { try FetchRecordsRequest(wire: emptyMessages) }
        #expect(throws: MalformedMessage.self) { try FetchZonesRequest(wire: emptyMessages) }
        let keys = Self.repeated(100_000, [0x32, 0])
        #expect(throws: MalformedMessage.self) { try FetchZoneChangesRequest(wire: keys) }
        let nodes = Self.repeated(100_000, [0x22, 2, 0x08, 1])
        #expect(throws: MalformedMessage.self) { try QueryRecordsRequest(wire: nodes) }
        let saves = Self.repeated(100_000, [0x22, 2, 0x0A, 0])
        #expect(throws: MalformedMessage.self) { try NodeModifyRecordsRequest(wire: saves) }
        let chunks = Self.repeated(100_000, [0x0A, 0])
        #expect(throws: MalformedMessage.self) { try WireChunks(wire: chunks) }
        let answered = Self.repeated(100_000, [0x12, 0])
        #expect(throws: MalformedMessage.self) { try DownloadAssetResponse(wire: answered) }
        for tiny in [emptyMessages, nodes, saves] {
            #expect(throws: MalformedBytes.self) {
                try FetchRecordsRequest(tolerant: tiny, growth: 16)
            }
        }
        let unknown = Self.repeated(200_000, [0x78, 0])
        #expect(throws: MalformedMessage.self) { try Hello(wire: unknown) }
    }

    @Test func theMostThatIsAllowedIsDecoded() throws {
        let ids = try FetchRecordsRequest(wire: Self.repeated(401, [0x12, 3, 0x0A, 1, 0x61]))
        #expect(ids.ids.count == 401)
        // 400 records of 256 fields with names of two letters and small numbers.
        let record = Self.repeated(256, [0x52, 6, 0x0A, 2, 0x61, 0x62, 0x18, 2])
        var request = CanonicalWriter()
        for _ in 0..<400 { request.message(4) { $0.present(1, bytes: record) } }
        let modify = try NodeModifyRecordsRequest(wire: request.bytes)
        #expect(modify.saves.count == 400)
        #expect(modify.saves.allSatisfy { $0.record.fields.count == 256 })
        #expect(try NodeModifyRecordsRequest(tolerant: request.bytes, growth: 16) == modify)
    }

    /// What a node stores, a client can read: a megabyte of the smallest elements.
    @Test(arguments: [
        (Bytes([0x3A, 0]), 524_000), (Bytes([0x12, 0]), 524_000),
        (Bytes([0x12, 1, 0x61]), 349_000),
        (Bytes([0x42, 3, 0x0A, 1, 0x61]), 209_000),
    ])
    func aRecordOfTinyElementsIsFetched(element: Bytes, count: Int) throws {
        var field = CanonicalWriter()
        field.field(1, text: "f")
        field.present(10, bytes: Self.repeated(count, element))
        #expect(field.bytes.count <= Limits.standard.recordBytes)
        #expect(try WireSamples.field(field.bytes).value?.list?.count == count)
    }
}
