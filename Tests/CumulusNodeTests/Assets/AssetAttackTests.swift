// Uploads that nobody honest sends: refused one by one, nothing of them stays, others don't notice.

import Cumulus
import CumulusAssets
import CumulusModel
import CumulusNode
import CumulusStorage
import CumulusTesting
import CumulusWire
import Foundation
import Synchronization
import Testing

@Suite struct AssetAttackTests {
    private static let plain = SampleAsset.stream(70_000)
    private static let list = plain.withUnsafeBytes { ChunkList(cutting: $0) }
    private static let chunk = Chunk(
        digest: list[0].digest,
        size: plain.count,
        isCompressed: false,
        content: plain[...]
    )

    private func prepare(_ lists: [Bytes], _ client: RawClient) throws -> [Result<
        [Int], ServiceError
    >] {
        let request = PrepareAssetsRequest(database: .private, lists: lists)
        let call = client.call(
            .assetsPrepare,
            request.encoded(),
            requestID: Self.requestID()
        )
        try client.send(call)
        return try PrepareAssetsResponse(wire: client.answer(to: call)[0]).results
    }

    private static func requestID() -> Bytes {
        var dice = SeededGenerator(seed: TestServer.environment.random())
        return RequestID(milliseconds: TestServer.environment.wallClock(), using: &dice).bytes
    }

    /// The frames of an upload; the CALL first.
    private func upload(_ messages: [Bytes], _ client: RawClient) -> [Frame] {
        var call = client.call(
            .assetsUpload,
            UploadChunksRequest(database: .private).encoded()
        )
        call.isEnd = false
        return [call]
            + messages.enumerated().map { index, message in
                Frame(
                    .message,
                    isEnd: index == messages.count - 1,
                    stream: call.stream,
                    payload: message
                )
            }
    }

    private func refusal(of chunks: [Chunk], _ client: RawClient) throws -> ServiceError? {
        let frames = upload([WireChunks(chunks).encoded()], client)
        try client.send(frames)
        do {
            _ = try client.answer(to: frames[0])
            return nil
        } catch let error as ServiceError {
            return error
        }
    }

    private static func compressed(_ bytes: Bytes) -> Chunk {
        ChunkCodec().chunk(bytes[...], digest: bytes.withUnsafeBytes(Chunk.digest(of:)))
    }

    @Test func chunksThatAreNotWhatTheySay() async throws {
        let packs = MemoryPacks()
        try await withServer(packs: packs) { server in
            let client = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("ada")
            )
            let zeros = Self.compressed(Bytes(repeating: 0, count: 1_000_000))
            let lists =
                [Self.list.bytes]
                + [zeros].map { chunk in
                    var list = ChunkList()
                    list.append(ChunkList.Entry(digest: chunk.digest, size: chunk.size))
                    return list.bytes
                }
            #expect(try prepare(lists, client).map { try? $0.get() } == [[0], [0]])
            var bad: [(String, Chunk)] = []
            func add(_ what: String, _ chunk: Chunk, _ change: (inout Chunk) -> Void) {
                var chunk = chunk
                change(&chunk)
                bad.append((what, chunk))
            }
            add("another digest", Self.chunk) { $0.digest[5] ^= 1 }
            add("a short digest", Self.chunk) { $0.digest.removeLast() }
            add("other bytes", Self.chunk) { $0.content[9] ^= 1 }
            add("too few bytes", Self.chunk) { $0.content.removeLast() }
            add("too many bytes", Self.chunk) { $0.content.append(0) }
            add("no bytes", Self.chunk) { $0.content = [] }
            add("size 0", Self.chunk) { $0.size = 0 }
            add("a size beyond the largest", Self.chunk) { $0.size = 1 << 30 }
            add("a bomb", zeros) { $0.size = 1_000 }
            add("a small frame", zeros) { $0.size = 1_048_576 }
            add("two frames", zeros) { $0.content += $0.content }
            add("half a frame", zeros) { $0.content.removeLast($0.content.count / 2) }
            add("something behind the frame", zeros) { $0.content.append(0) }
            add("no frame", zeros) { $0.content = Bytes(repeating: 7, count: 40)[...] }
            add("a frame that isn't one", Self.chunk) { $0.isCompressed = true }
            for (what, chunk) in bad {
                let error = try refusal(of: [chunk], client)
                #expect(error?.code == .invalidArguments, "\(what)")
                let isPrepared = [Self.chunk, zeros].contains {
                    ($0.digest, $0.size) == (chunk.digest, chunk.size)
                }
                #expect(
                    error?.reason == .invalidValue
                        || !isPrepared && error?.reason == .assetNotPrepared,
                    "\(what): \(String(describing: error))"
                )
                // One bad chunk spoils its message.
                #expect(try refusal(of: [Self.chunk, chunk], client) != nil, "\(what)")
            }
            let unknown = try refusal(of: [Self.compressed(SampleAsset.stream(9))], client)
            #expect(unknown?.reason == .assetNotPrepared)
            #expect(try await eventually { try packs.all().isEmpty })
            #expect(try refusal(of: [Self.chunk, zeros], client) == nil)
            #expect(try DerivedRows.differences(in: server.node.gate.engine) == [])
        }
    }

    /// What a message could cost is known before any of its chunks is expanded.
    @Test func messagesOfTooMuch() async throws {
        let packs = MemoryPacks()
        try await withServer(packs: packs) { server in
            let token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            let large = (0..<17).map { Self.compressed(Bytes(repeating: $0, count: 1 << 20)) }
            var list = ChunkList()
            for chunk in large {
                list.append(ChunkList.Entry(digest: chunk.digest, size: chunk.size))
            }
            _ = try prepare([list.bytes], client)
            let bytes = try refusal(of: large, client)
            #expect(bytes?.code == .limitExceeded && bytes?.reason == .tooLarge)
            let tiny = (0..<1_025).map { Self.compressed(withUnsafeBytes(of: $0, Bytes.init)) }
            let chunks = try refusal(of: tiny, client)
            #expect(chunks?.code == .limitExceeded && chunks?.reason == .tooLarge)
            let twice = try refusal(of: [large[0], large[0]], client)
            #expect(twice?.reason == .invalidValue)
            #expect(twice?.message.contains("stands twice") == true)
            #expect(try packs.all().isEmpty)
            #expect(try refusal(of: Array(large.dropLast()), client) == nil)
            #expect(try refusal(of: large.suffix(2), client) == nil)
            #expect(try prepare([list.bytes], client).map { try? $0.get() } == [[]])
        }
    }

    /// Somebody who prepares much doesn't hold up the writer with all of it.
    @Test func longListsArePreparedInParts() async throws {
        let engine = CountingEngine()
        try await withServer(engine: engine) { server in
            let client = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("ada")
            )
            var lists = (1...60).map { number in
                SampleAsset.list(of: Array(repeating: 65_536, count: 199) + [number]).bytes
            }
            // An invalid list keeps its place.
            lists[30].removeLast()
            let results = try prepare(lists, client)
            #expect(results.count == 60)
            for (number, result) in results.enumerated() {
                #expect((try? result.get()) == (number == 30 ? nil : Array(0..<200)))
            }
            #expect((200..<2_000).contains(engine.largestBatch), "\(engine.largestBatch) rows")
        }
    }

    /// Nothing of it is left on the disk, not even for a while.
    @Test func aRefusedMessageWritesNothing() async throws {
        let packs = MemoryPacks()
        try await withServer(packs: packs) { server in
            let token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            _ = try prepare([Self.list.bytes], client)
            let junk = Self.compressed(SampleAsset.stream(900_000, from: 7))
            #expect(try refusal(of: [Self.chunk, junk], client)?.reason == .assetNotPrepared)
            #expect(try packs.all().isEmpty)
            #expect(try prepare([Self.list.bytes], client).map { try? $0.get() } == [[0]])
        }
    }

    @Test func listsThatAreNone() async throws {
        try await withServer(limits: limits { $0.assetBytes = 100_000_000 }) { server in
            let client = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("ada")
            )
            let tiny = SampleAsset.list(of: [65_535, 70_000])
            let large = SampleAsset.list(of: [1_048_577])
            let none = SampleAsset.list(of: [70_000, 0])
            var torn = Self.list.bytes
            torn.removeLast()
            var two = SampleAsset.list(of: [70_000]).bytes
            two += two.prefix(32) + [0, 1, 0, 1]
            let huge = SampleAsset.list(of: Array(repeating: 65_536, count: 50_000))
            let answers = try prepare(
                [tiny.bytes, large.bytes, none.bytes, torn, two, [], Self.list.bytes],
                client
            )
            let codes = answers.map { answer -> ServiceError.Code? in
                if case .failure(let error) = answer { error.code } else { nil }
            }
            #expect(codes == Array(repeating: .invalidArguments, count: 5) + [nil, nil])
            let tooLarge = try prepare([huge.bytes], client)
            guard case .failure(let error) = tooLarge[0] else {
                Issue.record("an asset of 3 GB was prepared")
                return
            }
            #expect(error.code == .limitExceeded && error.reason == .tooLarge)
            // A million entries are more than a request may have.
            let million = Bytes(repeating: 1, count: 36_000_000)
            #expect(throws: (any Error).self) { _ = try prepare([million], client) }
            let other = try RawClient(greeting: server.endpoint)
            _ = try other.perform(.accountsWhoAmI)
        }
    }

    /// A list may be wrong about the size of a chunk that is there: such an asset is never whole.
    @Test func aListThatIsWrongAboutAChunk() async throws {
        try await withServer { server in
            let client = try RawClient(
                greeting: server.endpoint,
                token: try await server.makeUser("ada")
            )
            var wrong = ChunkList()
            wrong.append(ChunkList.Entry(digest: Self.chunk.digest, size: 70_001))
            _ = try prepare([wrong.bytes], client)
            #expect(try refusal(of: [Self.chunk], client)?.reason == .assetNotPrepared)
            _ = try prepare([Self.list.bytes], client)
            #expect(try refusal(of: [Self.chunk], client) == nil)
            #expect(try prepare([wrong.bytes], client).map { try? $0.get() } == [[0]])
            #expect(try DerivedRows.differences(in: server.node.gate.engine) == [])
        }
    }

    @Test func uploadsThatStallOrGoTooFar() async throws {
        try await withServer(limits: limits { $0.stalledStateMilliseconds = 200 }) { server in
            let token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            _ = try prepare([Self.list.bytes], client)
            let frames = upload([WireChunks([Self.chunk]).encoded()], client)
            try client.send(frames[0])
            do {
                _ = try client.answer(to: frames[0])
            } catch let error as ServiceError {
                #expect(error.reason == .deadline)
            }
            // Nothing may follow the end.
            let late = upload([WireChunks([Self.chunk]).encoded()], client)
            try client.send(late[0], late[1], late[1])
            #expect(try client.refusal()?.reason == .protocolError)
            // Somebody without a token uploads nothing, and sees nobody's private database.
            let stranger = try RawClient(greeting: server.endpoint)
            let theirs = upload([WireChunks([Self.chunk]).encoded()], stranger)
            try stranger.send(theirs)
            #expect(throws: ServiceError.self) { _ = try stranger.answer(to: theirs[0]) }
            #expect(try await eventually { server.node.callsInProgress == 0 })
        }
    }

    @Test func messagesWithoutCredit() async throws {
        let small = limits {
            $0.initialCredit = 100
            $0.uploadWindowBytes = 100
        }
        try await withServer(limits: small) { server in
            let token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            let chunk = Self.compressed(SampleAsset.stream(200))
            let message = WireChunks([chunk]).encoded()
            // In one piece: no credit can have come back meanwhile.
            try client.send(upload([message, message], client))
            #expect(try client.refusal()?.reason == .protocolError)
            let other = try RawClient(greeting: server.endpoint, token: token)
            _ = try other.perform(.accountsWhoAmI)
        }
    }

    /// A full disk refuses chunks, keeps nothing of them, and takes them once there is room.
    @Test func aFullDiskRefusesChunks() async throws {
        let packs = FaultyPacks()
        try await withServer(packs: packs) { server in
            let token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            _ = try prepare([Self.list.bytes], client)
            packs.isFull.store(true, ordering: .relaxed)
            let refused = try refusal(of: [Self.chunk], client)
            #expect(refused?.code == .serviceUnavailable && refused?.reason == .diskFull)
            #expect(try packs.all().isEmpty)
            #expect(try prepare([Self.list.bytes], client).map { try? $0.get() } == [[0]])
            packs.isFull.store(false, ordering: .relaxed)
            #expect(try refusal(of: [Self.chunk], client) == nil)
            #expect(try prepare([Self.list.bytes], client).map { try? $0.get() } == [[]])
        }
    }

    /// An asset that was prepared or uploaded but is named by no record is neither read nor waited
    /// for.
    @Test func whatNoRecordNamesIsNotThere() async throws {
        try await withServer { server in
            let token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            func expectNothing() throws {
                let request = DownloadAssetRequest(database: .private, asset: Self.list.digest)
                let call = client.call(.assetsDownload, request.encoded())
                try client.send(call)
                let refusal = #expect(throws: ServiceError.self) { try client.answer(to: call) }
                #expect(refusal?.code == .assetNotAvailable)
                #expect(refusal?.reason != .assetIncomplete)
            }
            try expectNothing()
            _ = try prepare([Self.list.bytes], client)
            try expectNothing()
            #expect(try refusal(of: [Self.chunk], client) == nil)
            try expectNothing()
        }
    }

    /// Many callers who send more than the disk takes: the node's bound holds for them together.
    @Test func manyUploadsHoldLittle() async throws {
        let packs = FaultyPacks()
        try await withServer(packs: packs) { server in
            let token = try await server.makeUser("ada")
            let healthy = try RawClient(greeting: server.endpoint, token: token)
            _ = try healthy.save([Record("small", ["n": 1])])[0].get()
            _ = try prepare([Self.list.bytes], healthy)
            packs.isStalled.store(true, ordering: .relaxed)
            defer { packs.isStalled.store(false, ordering: .relaxed) }
            let callers = try (0..<12).map { _ in
                try RawClient(greeting: server.endpoint, token: token)
            }
            let chunk = WireChunks([Self.chunk]).encoded()
            let messages = Array(repeating: chunk, count: (3 << 20) / chunk.count)
            let limits = Limits.standard
            var highest = 0
            for caller in callers {
                caller.patience = 100
                // What the node doesn't read any more stays in the socket.
                for _ in 0..<4 { try? caller.send(upload(messages, caller)) }
                highest = max(highest, server.node.meter.heldBytes.value)
                #expect(try healthy.fetch("small")[0].refusal == nil)
            }
            #expect(highest > limits.nodeUnansweredBytes / 2, "nothing was held up")
            #expect(highest <= 2 * limits.nodeUnansweredBytes, "\(highest) bytes were held")
            for caller in callers { caller.close() }
            packs.isStalled.store(false, ordering: .relaxed)
            #expect(try await eventually { server.node.meter.heldBytes.value < 1 << 20 })
            // The one in which the chunk lies.
            #expect(try await eventually { try packs.all().count <= 1 })
        }
    }

    /// Bytes that wait for the disk are counted, even if their caller gives up.
    @Test func cancelledUploadsStillCount() async throws {
        let packs = FaultyPacks()
        try await withServer(packs: packs) { server in
            let token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            _ = try prepare([Self.list.bytes], client)
            packs.isStalled.store(true, ordering: .relaxed)
            defer { packs.isStalled.store(false, ordering: .relaxed) }
            let chunk = WireChunks([Self.chunk]).encoded()
            let messages = Array(repeating: chunk, count: (1 << 20) / chunk.count)
            for _ in 0..<3 {
                let frames = upload(messages, client)
                try client.send(frames.dropLast())
                // Calls that are cancelled before a thread begins with them are dropped.
                let threads = 2 * server.node.configuration.readers
                #expect(try await eventually { packs.stalledWrites.value == threads })
                try client.send(Frame(.cancel, stream: frames[0].stream))
                #expect(throws: ServiceError.self) { _ = try client.answer(to: frames[0]) }
            }
            #expect(server.node.callsInProgress == 0)
            #expect(server.node.meter.heldBytes.value > 1 << 20)
            client.close()
            #expect(try await eventually { server.node.meter.connections.value == 0 })
            #expect(server.node.meter.heldBytes.value > 1 << 20)
            packs.isStalled.store(false, ordering: .relaxed)
            #expect(try await eventually { server.node.meter.heldBytes.value == 0 })
            // These packs belong to writes that a thread had begun.
            #expect(try packs.all().count <= 4)
        }
    }

    /// A client dies at any byte of an upload: what stays is what rows name, and the next one ends
    /// it.
    @Test func clientsDieAnywhere() async throws {
        let packs = MemoryPacks()
        try await withServer(packs: packs) { server in
            let token = try await server.makeUser("ada")
            let content = SampleAsset.stream(300_000)
            let list = content.withUnsafeBytes { ChunkList(cutting: $0) }
            var messages: [Bytes] = []
            var start = 0
            for entry in list.entries {
                let bytes = content[start..<start + entry.size]
                start += entry.size
                let chunk = Chunk(
                    digest: entry.digest,
                    size: entry.size,
                    isCompressed: false,
                    content: bytes
                )
                messages.append(WireChunks([chunk]).encoded())
            }
            var dice = SeededGenerator(seed: 14)
            for _ in 0..<100 {
                let client = try RawClient(greeting: server.endpoint, token: token)
                _ = try prepare([list.bytes], client)
                var bytes: Bytes = []
                for frame in upload(messages, client) { FrameEncoder.append(frame, to: &bytes) }
                try client.send(bytes[..<Int.random(in: 0..<bytes.count, using: &dice)])
                client.close()
            }
            let client = try RawClient(greeting: server.endpoint, token: token)
            _ = try prepare([list.bytes], client)
            let frames = upload(messages, client)
            try client.send(frames)
            _ = try client.answer(to: frames[0])
            #expect(try prepare([list.bytes], client).map { try? $0.get() } == [[]])
            #expect(try DerivedRows.differences(in: server.node.gate.engine) == [])
            let isClean = try await eventually {
                let rows = try ReadTransaction(server.node.gate.engine, reach: .disk)
                    .rows(.records, .all(.pack))
                return try rows.count == packs.all().count && server.node.callsInProgress == 0
            }
            #expect(isClean)
        }
    }
}

/// Packs on a disk that is full at times, or stands still.
final class FaultyPacks: PackFiles {
    private let packs = MemoryPacks()
    let isFull = Atomic<Bool>(false)
    let isStalled = Atomic<Bool>(false)
    /// Writes that stood still so far.
    let stalledWrites = Atomic<Int>(0)
    let stallsReads = Atomic<Bool>(false)
    /// As for a process that may open no more files.
    let isUnreadable = Atomic<Bool>(false)

    func write(_ pack: PackNumber, _ pieces: [ArraySlice<UInt8>]) throws(PackError) {
        if isStalled.load(ordering: .relaxed) { stalledWrites.add(1) }
        while isStalled.load(ordering: .relaxed) { usleep(1_000) }
        if isFull.load(ordering: .relaxed) { throw .full }
        try packs.write(pack, pieces)
    }

    func read(_ pack: PackNumber, _ range: Range<Int>) throws(PackError) -> Bytes? {
        while stallsReads.load(ordering: .relaxed) { usleep(1_000) }
        if isUnreadable.load(ordering: .relaxed) { throw .failed("too many open files") }
        return try packs.read(pack, range)
    }

    func remove(_ pack: PackNumber) -> Int { packs.remove(pack) }

    func all() throws(PackError) -> [PackNumber: Int] { try packs.all() }

    func origin() throws(PackError) -> Incarnation? { try packs.origin() }

    func setOrigin(_ run: Incarnation) throws(PackError) { try packs.setOrigin(run) }

    func copy(to directory: String) throws(PackError) { try packs.copy(to: directory) }
}
