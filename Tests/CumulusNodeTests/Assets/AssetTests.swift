// Assets through a node and the client: up and down, what travels and what doesn't, whose they are,
// and when they go.

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

@Suite struct AssetTests {
    private static let content = SampleAsset.stream(3_000_000)

    /// A container of a user, with a cache of its own.
    private func container(
        _ server: TestServer,
        user: String = "ada",
        folder: TemporaryFolder
    ) async throws -> Container {
        server.container(token: try await server.makeUser(user), assetDirectory: folder.path)
    }

    // MARK: Up and down

    @Test(arguments: [0, 1, 70_000, 3_000_000]) func contentComesBack(size: Int) async throws {
        try await withServer { server in
            let folder = try TemporaryFolder()
            let container = try await container(server, folder: folder)
            let database = container.privateCloudDatabase
            let content = Bytes(Self.content.prefix(size))
            var record = Record(recordType: "Photo", recordID: Record.ID(recordName: "p"))
            record["image"] = .asset(Asset(data: Data(content)))
            let saved = try await database.save(record)
            let asset = try self.asset(saved["image"])
            #expect(asset.size == UInt64(size) && asset.digest.count == 32)
            let fetched = try await database.record(for: record.recordID)
            let there = try self.asset(fetched["image"])
            #expect(there == asset && there.fileURL == nil)
            let url = try #require(try await database.download(there).fileURL)
            #expect(try Bytes(Data(contentsOf: url)) == content)
            await container.close()
        }
    }

    @Test func textIsCompressedOnItsWay() async throws {
        try await withServer { server in
            let folder = try TemporaryFolder()
            let container = try await container(server, folder: folder)
            let database = container.privateCloudDatabase
            let text = Data((0..<100_000).map { "line \($0)\n" }.joined().utf8)
            var record = Record(recordType: "Text", recordID: Record.ID(recordName: "t"))
            record["file"] = .asset(Asset(data: text))
            let progress = AssetProgress()
            let saved = try await database.save(record, progress: progress)
            let step = progress.latest
            #expect(step.completedBytes == UInt64(text.count) && step.fractionCompleted == 1)
            #expect(step.transferredBytes < UInt64(text.count / 2) && step.skippedBytes == 0)
            let asset = try self.asset(saved["file"])
            let down = AssetProgress()
            let url = try #require(try await database.download(asset, progress: down).fileURL)
            #expect(try Data(contentsOf: url) == text)
            #expect(down.latest.transferredBytes < UInt64(text.count / 2))
            await container.close()
        }
    }

    /// Existing chunks do not travel again: neither of an equal file, nor most of an edited one.
    @Test func onlyWhatIsMissingTravels() async throws {
        try await withServer { server in
            let folder = try TemporaryFolder()
            let container = try await container(server, folder: folder)
            let database = container.privateCloudDatabase
            func save(_ name: String, _ content: Bytes) async throws -> (Asset, AssetProgress.Step)
            {
                var record = Record(recordType: "File", recordID: Record.ID(recordName: name))
                record["file"] = .asset(Asset(data: Data(content)))
                let progress = AssetProgress()
                let saved = try await database.save(record, progress: progress)
                return (try self.asset(saved["file"]), progress.latest)
            }
            let (first, sent) = try await save("a", Self.content)
            #expect(sent.transferredBytes >= UInt64(Self.content.count))
            let (again, second) = try await save("b", Self.content)
            #expect(again == first && second.transferredBytes == 0)
            #expect(second.skippedBytes == UInt64(Self.content.count))
            let edited = Self.content[..<500] + Bytes("new".utf8) + Self.content[500...]
            let (other, third) = try await save("c", Bytes(edited))
            #expect(third.transferredBytes < UInt64(Self.content.count / 2))
            _ = try await database.download(first)
            let down = AssetProgress()
            let url = try #require(try await database.download(other, progress: down).fileURL)
            #expect(try Bytes(Data(contentsOf: url)) == Bytes(edited))
            #expect(down.latest.transferredBytes < UInt64(Self.content.count / 2))
            await container.close()
        }
    }

    /// How a large file was cut is remembered beside what was downloaded: an edited one is uploaded
    /// right, and by another process.
    @Test func aFileIsUploadedAgain() async throws {
        try await withServer { server in
            let (folder, other) = (try TemporaryFolder(), try TemporaryFolder())
            let token = try await server.makeUser("ada")
            let path = "\(folder.path)/film"
            var content = Bytes(repeating: 7, count: 8 << 20) + Self.content
            content += Bytes(repeating: 9, count: 8 << 20)
            for edit in 0..<3 {
                if edit > 0 { content[(9 << 20) + 2_500_000 * edit] ^= 1 }
                try Data(content).write(to: URL(filePath: path))
                let container = server.container(token: token, assetDirectory: folder.path)
                var record = Record(recordType: "File", recordID: Record.ID(recordName: "\(edit)"))
                record["file"] = .asset(Asset(fileURL: URL(filePath: path)))
                let saved = try await container.privateCloudDatabase.save(record)
                let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
                #expect(names.count { $0.hasSuffix(".cuts") } == 1)
                let reader = server.container(token: token, assetDirectory: other.path)
                let asset = try asset(saved["file"])
                let url = try await reader.privateCloudDatabase.download(asset).fileURL
                #expect(try Bytes(Data(contentsOf: try #require(url))) == content)
                await container.close()
                await reader.close()
            }
        }
    }

    @Test func partsAreRead() async throws {
        try await withServer { server in
            let folder = try TemporaryFolder()
            let container = try await container(server, folder: folder)
            let database = container.privateCloudDatabase
            var record = Record(recordType: "File", recordID: Record.ID(recordName: "f"))
            record["files"] = .list([
                .asset(Asset(data: Data(Self.content))), .asset(Asset(data: Data("small".utf8))),
            ])
            let saved = try await database.save(record)
            let asset = try assets(saved["files"])[0]
            for range: Range<UInt64> in [
                0..<1, 999_999..<1_400_000, 2_999_999..<5_000_000, 7..<7, 9_000_000..<9_000_001,
            ] {
                let part = try await database.bytes(of: asset, in: range)
                #expect(
                    part
                        == Bytes(
                            Self.content[
                                Int(range.lowerBound).clamped(
                                    Self.content
                                )..<Int(range.upperBound).clamped(Self.content)
                            ]
                        )
                )
            }
            let fetched = try await database.record(for: record.recordID, downloadingAssets: true)
            let url = try #require(try assets(fetched["files"])[1].fileURL)
            #expect(try Data(contentsOf: url) == Data("small".utf8))
            await container.close()
        }
    }

    /// A task that is cancelled doesn't wait for the server.
    @Test func aSaveThatIsCancelledEnds() async throws {
        let packs = FaultyPacks()
        try await withServer(packs: packs) { server in
            let folder = try TemporaryFolder()
            let container = try await container(server, folder: folder)
            packs.isStalled.store(true, ordering: .relaxed)
            defer { packs.isStalled.store(false, ordering: .relaxed) }
            let save = Task {
                var record = Record(recordType: "Photo", recordID: Record.ID(recordName: "p"))
                record["image"] = .asset(Asset(data: Data(Self.content)))
                return try await container.privateCloudDatabase.save(record)
            }
            #expect(try await eventually { server.node.meter.heldBytes.value > 1 << 20 })
            save.cancel()
            let error = await #expect(throws: ServiceError.self) { try await save.value }
            #expect(error?.code == .operationCancelled)
            packs.isStalled.store(false, ordering: .relaxed)
            #expect(try await eventually { server.node.callsInProgress == 0 })
            await container.close()
        }
    }

    // MARK: The cache

    /// A caller who asks for an asset that is being downloaded, or for its chunks in another asset,
    /// waits for that download.
    @Test func parallelDownloadsFetchAChunkOnce() async throws {
        try await withServer { server in
            let folder = try TemporaryFolder()
            let container = try await container(server, folder: folder)
            let database = container.privateCloudDatabase
            var record = Record(recordType: "File", recordID: Record.ID(recordName: "f"))
            // All but the last bytes of the second one are the first one's.
            record["files"] = .list([
                .asset(Asset(data: Data(Self.content))),
                .asset(Asset(data: Data(Self.content + Bytes("and more".utf8)))),
            ])
            let files = try assets(try await database.save(record)["files"])
            let progress = (0..<9).map { _ in AssetProgress() }
            let paths = try await withThrowingTaskGroup(of: String?.self) { group in
                for (number, progress) in progress.enumerated() {
                    group.addTask {
                        try await database.download(files[number % 2], progress: progress)
                            .fileURL?.path()
                    }
                }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(paths.count == 2 && !paths.contains(nil))
            let travelled = progress.reduce(0) { $0 + $1.latest.transferredBytes }
            // The last chunk, which differs, has at most 1 MiB.
            let most = UInt64(Self.content.count + 1 << 20)
            #expect(travelled >= UInt64(Self.content.count) && travelled <= most)
            await container.close()
        }
    }

    @Test func theLeastRecentlyUsedGoesFirst() async throws {
        try await withServer { server in
            let folder = try TemporaryFolder()
            let container = server.container(
                token: try await server.makeUser("ada"),
                assetDirectory: folder.path,
                assetCacheBytes: 2_500_000
            )
            let database = container.privateCloudDatabase
            var record = Record(recordType: "File", recordID: Record.ID(recordName: "f"))
            record["files"] = .list(
                (0..<3).map { number in
                    let part = Self.content[number * 900_000..<(number + 1) * 900_000]
                    return .asset(Asset(data: Data(part)))
                }
            )
            let files = try assets(try await database.save(record)["files"])
            func travels(_ number: Int) async throws -> Bool {
                let progress = AssetProgress()
                let asset = try await database.download(files[number], progress: progress)
                let url = try #require(asset.fileURL)
                let content = Self.content[number * 900_000..<(number + 1) * 900_000]
                #expect(try Bytes(Data(contentsOf: url)) == Bytes(content))
                return progress.latest.transferredBytes > 0
            }
            for number in [0, 1] { #expect(try await travels(number)) }
            #expect(try await !travels(0))
            // There is room for two.
            #expect(try await travels(2))
            for number in [0, 2] { #expect(try await !travels(number)) }
            #expect(try await travels(1))
            await container.close()
        }
    }

    // MARK: Whose they are

    @Test func anotherDatabasesAssetIsNotThere() async throws {
        try await withServer { server in
            let folder = try TemporaryFolder()
            let ada = try await container(server, folder: folder)
            var record = Record(recordType: "Photo", recordID: Record.ID(recordName: "p"))
            record["image"] = .asset(Asset(data: Data(Self.content)))
            let saved = try await ada.privateCloudDatabase.save(record)
            let asset = try self.asset(saved["image"])
            let other = try TemporaryFolder()
            let bob = try await container(server, user: "bob", folder: other)
            for database in [bob.privateCloudDatabase, bob.publicCloudDatabase] {
                // Its digest alone opens nothing, and doesn't tell that somebody has it.
                let unknown = Asset(digest: Bytes(repeating: 7, count: 32), size: asset.size)
                let refusal = await error { _ = try await database.download(asset) }
                let nothing = await error { _ = try await database.download(unknown) }
                #expect(refusal?.code == .assetNotAvailable && nothing?.code == refusal?.code)
                #expect(
                    refusal?.message.replacing(asset.digest.hex, with: "")
                        == nothing?.message.replacing(unknown.digest.hex, with: "")
                )
                var theft = Record(recordType: "Photo", recordID: Record.ID(recordName: "q"))
                theft["image"] = .asset(asset)
                let saving = await error { _ = try await database.save(theft) }
                #expect(saving?.code == .assetNotAvailable)
                // All of it has to be sent.
                var mine = Record(recordType: "Photo", recordID: Record.ID(recordName: "mine"))
                mine["image"] = .asset(Asset(data: Data(Self.content)))
                let progress = AssetProgress()
                _ = try await database.save(mine, progress: progress)
                #expect(progress.latest.skippedBytes == 0)
            }
            await ada.close()
            await bob.close()
        }
    }

    /// A node that can't open its files for a while keeps them.
    @Test func whatCantBeReadNowIsReadLater() async throws {
        let packs = FaultyPacks()
        try await withServer(packs: packs) { server in
            let folder = try TemporaryFolder()
            let token = try await server.makeUser("ada")
            let container = server.container(token: token, assetDirectory: folder.path)
            let database = container.privateCloudDatabase
            // It asks again until its time is up.
            let hurried = server.container(
                token: token,
                timeout: .seconds(3),
                assetDirectory: folder.path
            )
            var record = Record(recordType: "Photo", recordID: Record.ID(recordName: "p"))
            record["image"] = .asset(Asset(data: Data(Self.content)))
            let asset = try self.asset(try await database.save(record)["image"])
            packs.isUnreadable.store(true, ordering: .relaxed)
            let refusal = await error {
                _ = try await hurried.privateCloudDatabase.download(asset)
            }
            await hurried.close()
            #expect(refusal?.message.contains("too many open files") == true, "\(refusal as Any)")
            try await server.collect()
            packs.isUnreadable.store(false, ordering: .relaxed)
            #expect(try packs.all().values.reduce(0, +) == Self.content.count)
            let url = try #require(try await database.download(asset).fileURL)
            #expect(try Bytes(Data(contentsOf: url)) == Self.content)
            await container.close()
        }
    }

    // MARK: When they go

    @Test func anAssetGoesWhenNothingNamesIt() async throws {
        var limits = Limits.standard
        limits.assetGraceMilliseconds = 10_000_000
        let packs = MemoryPacks()
        try await withServer(packs: packs, limits: limits) { server in
            let folder = try TemporaryFolder()
            let container = try await container(server, folder: folder)
            let database = container.privateCloudDatabase
            var record = Record(recordType: "Photo", recordID: Record.ID(recordName: "p"))
            record["image"] = .asset(Asset(data: Data(Self.content)))
            let saved = try await database.save(record)
            let asset = try self.asset(saved["image"])
            server.clockLead += 60_000_000
            try await server.collect()
            #expect(try packs.all().values.reduce(0, +) == Self.content.count)
            _ = try await database.deleteRecord(withID: record.recordID)
            // The first walk notes it, a later one lets it go.
            try await server.collect()
            server.clockLead += 5_000_000
            try await server.collect()
            #expect(try packs.all().values.reduce(0, +) == Self.content.count)
            server.clockLead += 10_000_000
            try await server.collect()
            #expect(try await eventually { try packs.all().isEmpty })
            let gone = await error { _ = try await database.download(asset) }
            #expect(gone?.code == .assetNotAvailable)
            await container.close()
        }
    }

    /// All assets of a user in a database have a limit together; what is gone gives room back.
    @Test func aUsersAssetsHaveALimit() async throws {
        var limits = Limits.standard
        limits.userAssetBytes = 4_000_000
        limits.assetGraceMilliseconds = 10_000
        try await withServer(limits: limits) { server in
            let folder = try TemporaryFolder()
            let ada = try await container(server, folder: folder)
            let bob = try await container(server, user: "bob", folder: folder)
            func save(_ name: String, _ content: Bytes, _ database: Database) async throws {
                var record = Record(recordType: "Photo", recordID: Record.ID(recordName: name))
                record["image"] = .asset(Asset(data: Data(content)))
                _ = try await database.save(record)
            }
            let other = SampleAsset.stream(2_000_000, from: 9_000_000)
            try await save("p", Self.content, ada.privateCloudDatabase)
            let refusal = await error { try await save("q", other, ada.privateCloudDatabase) }
            #expect(refusal?.code == .quotaExceeded)
            #expect(refusal?.message.contains("3000000 of 4000000") == true)
            // The same content takes no more room; other databases and other users have their own.
            try await save("again", Self.content, ada.privateCloudDatabase)
            try await save("q", other, ada.publicCloudDatabase)
            try await save("q", other, bob.privateCloudDatabase)
            for name in ["p", "again"] {
                let id = Record.ID(recordName: name)
                _ = try await ada.privateCloudDatabase.deleteRecord(withID: id)
            }
            for _ in 0..<2 {
                try await server.collect()
                server.clockLead += 15_000
            }
            try await server.collect()
            try await save("q", other, ada.privateCloudDatabase)
            #expect(try DerivedRows.differences(in: server.node.gate.engine) == [])
            await ada.close()
            await bob.close()
        }
    }

    /// In the public database, what was sent and not saved within the time of grace has to be sent
    /// again.
    @Test func leasesEnd() async throws {
        var limits = Limits.standard
        limits.assetGraceMilliseconds = 10_000_000
        try await withServer(limits: limits) { server in
            let folder = try TemporaryFolder()
            let ada = try await container(server, folder: folder)
            let database = ada.publicCloudDatabase
            var record = Record(recordType: "Photo", recordID: Record.ID(recordName: "p"))
            record["image"] = .asset(Asset(data: Data(Self.content.prefix(70_000))))
            let sent = try await database.uploadAssets(of: [record])[0]
            func leases() throws -> Int {
                let reader = ReadTransaction(server.node.gate.engine, reach: .disk)
                return try reader.rows(.log, .all(.lease)).count
            }
            // One of the asset and one of its chunk.
            try await server.collect()
            #expect(try leases() == 2)
            server.clockLead += 15_000_000
            try await server.collect()
            #expect(try leases() == 0)
            let refusal = await error { _ = try await database.save(sent) }
            #expect(refusal?.code == .assetNotAvailable)
            #expect(try DerivedRows.differences(in: server.node.gate.engine) == [])
            await ada.close()
        }
    }

    // MARK: Parts

    private func asset(_ value: FieldValue?) throws -> Asset {
        guard case .asset(let asset) = value else { throw MissingAsset() }
        return asset
    }

    private func assets(_ value: FieldValue?) throws -> [Asset] {
        guard case .list(let elements) = value else { throw MissingAsset() }
        return try elements.map(asset)
    }

    private struct MissingAsset: Error {}

    private func error(_ body: () async throws -> Void) async -> ServiceError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? ServiceError
        }
    }
}

extension Int {
    fileprivate func clamped(_ bytes: Bytes) -> Int { Swift.min(self, bytes.count) }
}
