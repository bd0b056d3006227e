// Somebody who knows the digests of a file on a record that it may not read: on both nodes of a
// cluster it downloads, prepares, sends and names them, and gets what it gets for digests that
// nobody has. Once it may read the record, all of that works.

import Cumulus
import CumulusAssets
import CumulusModel
import CumulusTesting
import CumulusWire
import Foundation
import Testing

@Suite(.timeLimit(.minutes(3))) struct DigestAttackTests {
    private let cluster: FaultCluster
    private let folder: TestFolder
    private static let id = Record.ID(recordName: "hers")
    /// Some chunks.
    private static let content = SampleAsset.stream(1_500_000)
    /// As many, which nobody has.
    private static let unknown = SampleAsset.stream(1_500_000, from: 1_000_000)

    private static let schema = """
        DEFINE SCHEMA
            RECORD TYPE Draft (
                file ASSET,
                GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud"
            );
            RECORD TYPE Page (
                file ASSET,
                GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator"
            );
        """

    init() throws {
        cluster = try FaultCluster(2)
        folder = try TestFolder()
    }

    // MARK: Callers

    private func importSchema(_ schema: String) async throws {
        let file = "\(folder.path)/app.ckdb"
        try schema.write(toFile: file, atomically: true, encoding: .utf8)
        let run = try await CommandLineRun(
            ["schema", "import", file],
            variables: [
                "CUMULUS_ENDPOINT": try cluster.nodes[0].endpoint, "CUMULUS_TLS": "never",
                "CUMULUS_OPERATOR_TOKEN_FILE": cluster.nodes[0].operatorTokenFile,
            ]
        )
        #expect(run.code == 0, "\(run.errors)")
    }

    /// With a cache of its own: what another caller downloaded is not there.
    private func container(_ token: String, on number: Int) throws -> Container {
        var configuration = Container.Configuration(endpoints: [try cluster.nodes[number].endpoint])
        configuration.tls = .never
        configuration.accessToken = token
        configuration.assetDirectory = "\(folder.path)/\(UUID().uuidString)"
        return Container(identifier: NodeProcess.container, configuration: configuration)
    }

    private static func list(_ content: [UInt8]) -> ChunkList {
        content.withUnsafeBytes { ChunkList(cutting: $0) }
    }

    /// The asset, as if it had been read in a field of that record.
    private static func asset(_ content: [UInt8], in name: String = "hers") -> Asset {
        let list = list(content)
        var asset = Asset(digest: list.digest, size: list.size)
        asset.place = Asset.Place(Record.ID(recordName: name), "file")
        return asset
    }

    private static func page(_ name: String, _ asset: Asset) -> Record {
        var record = Record(recordType: "Page", recordID: Record.ID(recordName: name))
        record["file"] = .asset(asset)
        return record
    }

    /// How a call fails, without the digest; nil if it doesn't.
    private func refusal(
        _ content: [UInt8],
        _ body: () async throws -> Void
    ) async -> [String]? {
        do {
            try await body()
            return nil
        } catch let error as ServiceError {
            let list = Self.list(content)
            var message = error.message
            for digest in [list.digest] + list.entries.map(\.digest) {
                message = message.replacing(digest.hex, with: "")
            }
            return ["\(error.code)", "\(error.reason)", message]
        } catch {
            return ["\(error)"]
        }
    }

    private func prepare(_ content: [UInt8], _ client: RawClient) throws -> [Int] {
        let request = PrepareAssetsRequest(database: .public, lists: [Self.list(content).bytes])
        let messages = try client.perform(
            .assetsPrepare,
            request.encoded(),
            requestID: RawRequest.newID()
        )
        return try PrepareAssetsResponse(wire: messages[0]).results[0].get()
    }

    /// Sends the first chunk of some content.
    private func send(_ content: [UInt8], _ client: RawClient) throws {
        let first = Self.list(content)[0]
        let chunk = Chunk(
            digest: first.digest,
            size: first.size,
            isCompressed: false,
            content: content[..<first.size]
        )
        var call = client.call(
            .assetsUpload,
            UploadChunksRequest(database: .public).encoded()
        )
        call.isEnd = false
        let message = WireChunks([chunk]).encoded()
        try client.send(call, Frame(.message, isEnd: true, stream: call.stream, payload: message))
        _ = try client.answer(to: call)
    }

    // MARK: The attack

    @Test func aDigestIsNoKey() async throws {
        try await cluster.use {
            try await cluster.start()
            let ben = try await cluster.nodes[0].makeToken(of: "ben")
            try await importSchema(Self.schema)
            let ada = try container(cluster.token, on: 0)
            var draft = Record(recordType: "Draft", recordID: Self.id)
            draft["file"] = .asset(Asset(data: Data(Self.content)))
            _ = try await ada.publicCloudDatabase.save(draft)
            let there = try container(cluster.token, on: 1)
            let isThere = try await eventually {
                await isReadable(by: there) && isKnown(ben, on: 1)
            }
            #expect(isThere)

            for number in 0...1 { try await attack(as: ben, on: number) }

            let open = #"GRANT READ TO "_world", GRANT WRITE TO "_creator""#
            try await importSchema(
                Self.schema.replacing(#"GRANT READ, WRITE TO "_creator""#, with: open)
            )
            for number in 0...1 { try await use(as: ben, on: number) }
            for container in [ada, there] { await container.close() }
        }
    }

    private func isReadable(by container: Container) async -> Bool {
        let database = container.publicCloudDatabase
        let record = try? await database.record(for: Self.id)
        guard case .asset(let asset) = record?["file"] else { return false }
        let bytes = try? await database.bytes(of: asset, in: 0..<asset.size)
        return bytes == Self.content
    }

    private func isKnown(_ token: String, on number: Int) -> Bool {
        (try? RawClient(greeting: cluster.nodes[number].endpoint, token: token)) != nil
    }

    private func attack(as ben: String, on number: Int) async throws {
        let container = try container(ben, on: number)
        let client = try RawClient(greeting: try cluster.nodes[number].endpoint, token: ben)
        let database = container.publicCloudDatabase
        func expectNothing(
            _ code: ServiceError.Code,
            _ what: String,
            _ body: ([UInt8]) async throws -> Void
        ) async {
            let refused = await refusal(Self.content) { try await body(Self.content) }
            let nothing = await refusal(Self.unknown) { try await body(Self.unknown) }
            #expect(refused?.first == "\(code)", "\(what) on node \(number)")
            #expect(refused == nothing, "\(what) on node \(number)")
        }
        await expectNothing(.assetNotAvailable, "download") { content in
            _ = try await database.download(Self.asset(content))
        }
        await expectNothing(.assetNotAvailable, "bare digest") { content in
            var asset = Self.asset(content)
            asset.place = nil
            _ = try await database.bytes(of: asset, in: 0..<100)
        }
        await expectNothing(.invalidArguments, "send") { content in
            try send(content, client)
        }
        await expectNothing(.assetNotAvailable, "save") { content in
            _ = try await database.save(Self.page("theft", Self.asset(content)))
        }
        for content in [Self.content, Self.unknown] {
            let chunks = Self.list(content).count
            #expect(chunks > 2)
            #expect(try prepare(content, client) == Array(0..<chunks))
            // Also what is there has to be sent.
            try send(content, client)
            #expect(try prepare(content, client) == Array(1..<chunks))
        }
        let half = await refusal(Self.content) {
            _ = try await database.save(Self.page("theft", Self.asset(Self.content)))
        }
        let missing = "of which \(Self.list(Self.content).count - 1) chunks are missing"
        #expect(half?.last?.contains(missing) == true, "\(String(describing: half))")
        await container.close()
    }

    private func use(as ben: String, on number: Int) async throws {
        let container = try container(ben, on: number)
        let client = try RawClient(greeting: try cluster.nodes[number].endpoint, token: ben)
        let database = container.publicCloudDatabase
        let isGranted = try await eventually {
            (try? await database.record(for: Self.id)) != nil
        }
        #expect(isGranted)
        let asset = Self.asset(Self.content)
        let file = try #require(try await database.download(asset).fileURL)
        #expect(try [UInt8](Data(contentsOf: file)) == Self.content)
        #expect(try prepare(Self.content, client) == [])
        let copy = try await database.save(Self.page("copy\(number)", asset))
        guard case .asset(let copied) = copy["file"] else {
            Issue.record("the copy has no file")
            return
        }
        #expect(try await database.bytes(of: copied, in: 0..<copied.size) == Self.content)
        await container.close()
    }
}
