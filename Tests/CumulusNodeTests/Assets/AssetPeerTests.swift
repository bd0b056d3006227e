// Assets between nodes: the record comes at once, its bytes follow, or come when somebody asks.

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

@Suite(.serialized) struct AssetPeerTests {
    private static let key = Bytes(repeating: 0x5A, count: 32)
    private static let content = SampleAsset.stream(1_200_000)

    /// Two nodes that pull from each other, and what lies in their packs.
    private func withPair(
        _ body: (_ servers: [TestServer], _ packs: [MemoryPacks]) async throws -> Void
    ) async throws {
        let packs = [MemoryPacks(), MemoryPacks()]
        try await withPair(packs) { try await body($0, packs) }
    }

    private func withPair(
        _ packs: [any PackFiles],
        _ body: (_ servers: [TestServer]) async throws -> Void
    ) async throws {
        var servers: [TestServer] = []
        for packs in packs {
            servers.append(try await TestServer(packs: packs, clusterKey: Self.key))
        }
        defer { Task { [servers] in for server in servers { try await server.stop() } } }
        servers[0].follow([servers[1]])
        servers[1].follow([servers[0]])
        try await body(servers)
    }

    private func save(
        _ name: String,
        _ content: Bytes,
        at server: TestServer,
        _ token: String
    ) async throws -> Asset {
        let folder = try TemporaryFolder()
        let container = server.container(token: token, assetDirectory: folder.path)
        var record = Record(recordType: "Photo", recordID: Record.ID(recordName: name))
        record["image"] = .asset(Asset(data: Data(content)))
        let saved = try await container.privateCloudDatabase.save(record)
        await container.close()
        guard case .asset(let asset) = saved["image"] else { throw CancellationError() }
        return asset
    }

    /// What a client of a node gets; waits for the record first.
    private func download(
        _ name: String,
        at server: TestServer,
        _ token: String,
        timeout: Duration = .seconds(30)
    ) async throws -> Bytes {
        let folder = try TemporaryFolder()
        let container = server.container(
            token: token,
            timeout: timeout,
            assetDirectory: folder.path
        )
        defer { Task { await container.close() } }
        let database = container.privateCloudDatabase
        let id = Record.ID(recordName: name)
        _ = try await eventually { (try? await database.record(for: id)) != nil }
        guard case .asset(let asset) = try await database.record(for: id)["image"] else {
            throw CancellationError()
        }
        let url = try #require(try await database.download(asset).fileURL)
        return try Bytes(Data(contentsOf: url))
    }

    @Test func bytesFollowByThemselves() async throws {
        try await withPair { servers, packs in
            let token = try await servers[0].makeUser("ada")
            _ = try await save("p", Self.content, at: servers[0], token)
            let isThere = try await eventually {
                try packs[1].all().values.reduce(0, +) == Self.content.count
            }
            #expect(isThere)
            servers[1].clockLead += 100
            #expect(try await eventually { try Self.differences(servers[1]) == [] })
            try await servers[0].node.gate.engine.expectNothingWanted()
            #expect(try await download("p", at: servers[1], token) == Self.content)
        }
    }

    /// A node that takes a zone over in full, since what was deleted there is forgotten.
    @Test func bytesFollowAWholeZone() async throws {
        try await withPair { servers, packs in
            await servers[1].unfollow()
            let token = try await servers[0].makeUser("ada")
            _ = try await save("p", Self.content, at: servers[0], token)
            let container = servers[0].container(token: token)
            let database = container.privateCloudDatabase
            let brief = try await database.save(Record(recordType: "Photo"))
            _ = try await database.deleteRecord(withID: brief.recordID)
            await container.close()
            var forgetful = Collector.Schedule()
            forgetful.keepMilliseconds = -1_000
            forgetful.retentionMilliseconds = -1_000
            try await servers[0].collect(forgetful)
            servers[1].follow([servers[0]])
            let isThere = try await eventually {
                try packs[1].all().values.reduce(0, +) == Self.content.count
            }
            #expect(isThere)
            servers[1].clockLead += 100
            #expect(try await eventually { try Self.differences(servers[1]) == [] })
            #expect(try await download("p", at: servers[1], token) == Self.content)
        }
    }

    /// As long as a message took, so long the next one waits.
    @Test func halfOfTheTimeIsLeftToOthers() async throws {
        let (source, slow) = (MemoryPacks(), SlowPacks())
        try await withPair([source, slow]) { servers in
            let token = try await servers[0].makeUser("ada")
            let noise = SampleAsset.stream(1_250_000)
            let content = (0..<4).flatMap { number in noise.map { $0 ^ number } }
            _ = try await save("p", content, at: servers[0], token)
            #expect(try await eventually { try slow.all().values.reduce(0, +) == content.count })
        }
        let writes = slow.writes
        #expect(writes.count > 3)
        for (before, after) in zip(writes, writes.dropFirst()) {
            #expect(after.began - before.ended >= SlowPacks.milliseconds - 2)
        }
    }

    /// Small assets arrive while a large one is on its way.
    @Test func smallOnesOvertakeLargeOnes() async throws {
        let (source, slow) = (MemoryPacks(), SlowPacks())
        try await withPair([source, slow]) { servers in
            let token = try await servers[0].makeUser("ada")
            let noise = SampleAsset.stream(1_250_000)
            let large = (0..<30).flatMap { number in noise.map { $0 ^ number } }
            _ = try await save("large", large, at: servers[0], token)
            #expect(try await eventually { slow.writes.count > 1 })
            let small = SampleAsset.stream(2_000, from: 1 << 40)
            let asset = try await save("small", small, at: servers[0], token)
            let engine = servers[1].node.gate.engine
            let isThere = try await eventually { try engine.holds(asset) }
            #expect(isThere)
            #expect(try slow.all().values.reduce(0, +) < large.count)
            #expect(try await eventually { try slow.all().values.reduce(0, +) > large.count })
        }
    }

    /// Files that are small come together, and lie in few packs.
    @Test func manySmallOnesShareThePacks() async throws {
        let (source, slow) = (MemoryPacks(), SlowPacks())
        try await withPair([source, slow]) { servers in
            let token = try await servers[0].makeUser("ada")
            let folder = try TemporaryFolder()
            let container = servers[0].container(token: token, assetDirectory: folder.path)
            var record = Record(recordType: "Album", recordID: Record.ID(recordName: "a"))
            let contents = (0..<200).map { SampleAsset.stream(2_000, from: $0 << 32) }
            record["images"] = .list(contents.map { .asset(Asset(data: Data($0))) })
            _ = try await container.privateCloudDatabase.save(record)
            await container.close()
            #expect(
                try await eventually { try slow.all().values.reduce(0, +) == 200 * 2_000 }
            )
            #expect(try slow.all().count <= 100)
            servers[1].clockLead += 100
            #expect(try await eventually { try Self.differences(servers[1]) == [] })
        }
    }

    /// A caller who asks before the bytes have come waits for them.
    @Test func whoAsksWaits() async throws {
        try await withPair { servers, _ in
            let token = try await servers[0].makeUser("ada")
            try await waitForUser(token, at: servers[1])
            for number in 0..<3 {
                let content = SampleAsset.stream(600_000, from: UInt64(number) * 100_000)
                _ = try await save("p\(number)", content, at: servers[0], token)
                #expect(try await download("p\(number)", at: servers[1], token) == content)
            }
        }
    }

    /// A disk that lost its packs gets them back.
    @Test func lostBytesComeBack() async throws {
        try await withPair { servers, packs in
            let token = try await servers[0].makeUser("ada")
            _ = try await save("p", Self.content, at: servers[0], token)
            _ = try await eventually {
                try packs[1].all().values.reduce(0, +) == Self.content.count
            }
            for pack in try packs[0].all().keys { packs[0].remove(pack) }
            #expect(try await download("p", at: servers[0], token) == Self.content)
            #expect(try await eventually { try Self.differences(servers[0]) == [] })
        }
    }

    /// An operator's comparison reads every chunk; damaged chunks are fetched anew.
    @Test func damagedBytesAreFoundAndMended() async throws {
        try await withPair { servers, packs in
            let token = try await servers[0].makeUser("ada")
            _ = try await save("p", Self.content, at: servers[0], token)
            _ = try await eventually {
                try packs[1].all().values.reduce(0, +) == Self.content.count
            }
            let pack = try #require(try packs[0].all().keys.min())
            var bytes = try #require(try packs[0].read(pack, 0..<70_000))
            bytes[60_000] ^= 1
            let rest = packs[0].content[pack]?.dropFirst(70_000) ?? []
            try packs[0].write(pack, [bytes[...], rest])
            let admin = NodeOperator(
                endpoint: servers[0].endpoint,
                token: TestServer.operatorToken,
                timeout: .seconds(60)
            )
            let verdict = try await admin.verify(with: servers[1].node.nodeID.hex, repairs: false)
            #expect(verdict.chunks > 1 && verdict.damagedChunks == 1)
            #expect(try await download("p", at: servers[0], token) == Self.content)
            let again = try await admin.verify(with: servers[1].node.nodeID.hex, repairs: false)
            #expect(again.damagedChunks == 0 && again.incompleteAssets == 0)
            await admin.close()
        }
    }

    /// A peer that says nothing is given up for the next one, at once where somebody waits.
    @Test func aSilentPeerIsPassedOver() async throws {
        let silent = FaultyPacks()
        try await withPair([silent, MemoryPacks()]) { servers in
            let token = try await servers[0].makeUser("ada")
            try await waitForUser(token, at: servers[1])
            silent.stallsReads.store(true, ordering: .relaxed)
            defer { silent.stallsReads.store(false, ordering: .relaxed) }
            for number in 0..<4 {
                let content = SampleAsset.stream(70_000, from: UInt64(number) * 100_000)
                // Both take the content from the caller.
                _ = try await save("p\(number)", content, at: servers[0], token)
                _ = try await save("q\(number)", content, at: servers[1], token)
            }
            let third = try await TestServer(clusterKey: Self.key)
            third.follow(servers)
            try await waitForUser(token, at: third)
            for number in 0..<4 {
                let content = SampleAsset.stream(70_000, from: UInt64(number) * 100_000)
                let began = ContinuousClock.now
                #expect(try await download("p\(number)", at: third, token) == content)
                #expect(ContinuousClock.now - began < .seconds(20))
            }
            silent.stallsReads.store(false, ordering: .relaxed)
            try await third.stop()
        }
    }

    /// A node that leaves the cluster stays until another node has the bytes too.
    @Test func whoLeavesHandsTheBytesOver() async throws {
        let packs = FaultyPacks()
        try await withPair([MemoryPacks(), packs]) { servers in
            let token = try await servers[0].makeUser("ada")
            try await waitForUser(token, at: servers[1])
            packs.isStalled.store(true, ordering: .relaxed)
            defer { packs.isStalled.store(false, ordering: .relaxed) }
            _ = try await save("p", Self.content, at: servers[0], token)
            let leaving = servers[0].node
            func deadline(in milliseconds: Int64) -> Instant {
                leaving.environment.now() + milliseconds
            }
            let refusal = await #expect(throws: ServiceError.self) {
                try await leaving.leave(by: deadline(in: 3_000))
            }
            #expect(refusal?.reason == .notReplicated)
            packs.isStalled.store(false, ordering: .relaxed)
            try await leaving.leave(by: deadline(in: 30_000))
            #expect(try packs.all().values.reduce(0, +) == Self.content.count)
            #expect(try await download("p", at: servers[1], token) == Self.content)
        }
    }

    /// Nobody has it: the caller hears that, and who might.
    @Test func whatIsNowhereIsSaidSo() async throws {
        try await withPair { servers, packs in
            let token = try await servers[0].makeUser("ada")
            let asset = try await save("p", Self.content, at: servers[0], token)
            _ = try await eventually {
                try packs[1].all().values.reduce(0, +) == Self.content.count
            }
            for packs in packs { for pack in try packs.all().keys { packs.remove(pack) } }
            for server in servers {
                var problem: ServiceError?
                do {
                    _ = try await download("p", at: server, token, timeout: .seconds(4))
                } catch {
                    problem = error as? ServiceError
                }
                #expect(problem?.code == .assetNotAvailable)
                #expect(problem?.reason == .assetIncomplete)
                #expect(problem?.retryAfterMilliseconds != nil)
                let other = servers.first { $0 !== server }?.endpoint ?? ""
                #expect(problem?.message.contains(other) == true, "\(problem?.message ?? "")")
            }
            // Saving it again brings it back, on both.
            let again = try await save("q", Self.content, at: servers[1], token)
            #expect(again == asset)
            #expect(try await download("p", at: servers[0], token) == Self.content)
        }
    }

    /// What lost is named by the conflict log of both nodes, and so its bytes come as well.
    @Test func whatLostAConflictFollowsToo() async throws {
        try await withPair { servers, packs in
            let token = try await servers[0].makeUser("ada")
            try await waitForUser(token, at: servers[1])
            _ = try await save("p", SampleAsset.stream(9), at: servers[0], token)
            #expect(try await download("p", at: servers[1], token) == SampleAsset.stream(9))
            for server in servers { await server.unfollow() }
            let contents = [
                SampleAsset.stream(300_000), SampleAsset.stream(200_000, from: 1 << 40),
            ]
            // The later one wins; the other one's bytes are at another node.
            for (server, content) in zip(servers, contents) {
                try await replace("p", content, at: server, token)
            }
            servers[0].follow([servers[1]])
            servers[1].follow([servers[0]])
            let all = contents.reduce(9) { $0 + $1.count }
            for packs in packs {
                #expect(try await eventually { try packs.all().values.reduce(0, +) == all })
            }
            for server in servers {
                #expect(try await eventually { try Self.differences(server) == [] })
                try await server.node.gate.engine.expectNothingWanted()
            }
        }
    }

    private func replace(
        _ name: String,
        _ content: Bytes,
        at server: TestServer,
        _ token: String
    ) async throws {
        let folder = try TemporaryFolder()
        let container = server.container(token: token, assetDirectory: folder.path)
        let database = container.privateCloudDatabase
        var record = try await database.record(for: Record.ID(recordName: name))
        record["image"] = .asset(Asset(data: Data(content)))
        _ = try await database.save(record)
        await container.close()
    }

    private static func differences(_ server: TestServer) throws -> [String] {
        try DerivedRows.differences(in: server.node.gate.engine)
    }
}

extension StorageEngine {
    /// Whether an asset is whole here.
    fileprivate func holds(_ asset: Asset) throws -> Bool {
        let rows = try ReadTransaction(self, reach: .disk).rows(.records, .all(.asset))
        let found = rows.first { Bytes($0.key.suffix(32)) == asset.digest }
        return try found.map { try AssetRow(row: $0.value).isComplete } ?? false
    }

    fileprivate func expectNothingWanted() async throws {
        let isDone = try await eventually {
            try ReadTransaction(self, reach: .disk).rows(.log, .all(.wantedAsset)).isEmpty
        }
        #expect(isDone)
    }
}

/// Packs that take a while to be written, and remember when they were.
private final class SlowPacks: PackFiles {
    static let milliseconds: Int64 = 40

    private let packs = MemoryPacks()
    private let times = Mutex<[(began: Int64, ended: Int64)]>([])

    var writes: [(began: Int64, ended: Int64)] { times.withLock { $0 } }

    func write(_ pack: PackNumber, _ pieces: [ArraySlice<UInt8>]) throws(PackError) {
        let began = TestServer.environment.now().milliseconds
        usleep(UInt32(1_000 * SlowPacks.milliseconds))
        try packs.write(pack, pieces)
        let ended = TestServer.environment.now().milliseconds
        times.withLock { $0.append((began, ended)) }
    }

    func read(_ pack: PackNumber, _ range: Range<Int>) throws(PackError) -> Bytes? {
        try packs.read(pack, range)
    }

    func remove(_ pack: PackNumber) -> Int { packs.remove(pack) }

    func all() throws(PackError) -> [PackNumber: Int] { try packs.all() }

    func origin() throws(PackError) -> Incarnation? { try packs.origin() }

    func setOrigin(_ run: Incarnation) throws(PackError) { try packs.setOrigin(run) }

    func copy(to directory: String) throws(PackError) { try packs.copy(to: directory) }
}
