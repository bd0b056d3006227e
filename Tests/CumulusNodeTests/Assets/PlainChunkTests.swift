// Callers without zstd: their chunks come and go as plain bytes, and the node keeps compressed
// ones.

import Cumulus
import CumulusAssets
import CumulusModel
import CumulusNode
import CumulusStorage
import CumulusTesting
import CumulusWire
import Testing

@Suite struct PlainChunkTests {
    private static let text = Bytes(repeating: 7, count: 50_000)
    private static let list = text.withUnsafeBytes { ChunkList(cutting: $0) }
    private static let chunk = Chunk(
        digest: list[0].digest,
        size: text.count,
        isCompressed: false,
        content: text[...]
    )

    /// A connection of a user whose program knows these features.
    private func client(
        _ server: TestServer,
        _ token: String,
        _ features: Features = []
    ) throws -> RawClient {
        var hello = Hello()
        hello.container = Bytes(TestServer.container.utf8)
        hello.environment = UInt32(Environment.development.rawValue)
        hello.token = Bytes(token.utf8)
        hello.features = features
        let client = try RawClient(server.endpoint)
        try client.send(RawClient.greeting(hello))
        try client.readHello()
        return client
    }

    private func upload(_ client: RawClient) throws {
        let prepare = PrepareAssetsRequest(database: .private, lists: [Self.list.bytes])
        var dice = SeededGenerator(seed: TestServer.environment.random())
        let id = RequestID(milliseconds: TestServer.environment.wallClock(), using: &dice).bytes
        let first = client.call(.assetsPrepare, prepare.encoded(), requestID: id)
        try client.send(first)
        let missing = try PrepareAssetsResponse(wire: client.answer(to: first)[0]).results
        #expect(missing.map { try? $0.get() } == [[0]])

        var call = client.call(.assetsUpload, UploadChunksRequest(database: .private).encoded())
        call.isEnd = false
        let chunks = WireChunks([Self.chunk]).encoded()
        try client.send([
            call, Frame(.message, isEnd: true, stream: call.stream, payload: chunks),
        ])
        let answer = try UploadChunksResponse(wire: client.answer(to: call)[0])
        #expect(answer.chunks == 1)
    }

    /// The chunks of the asset, as a caller gets them.
    private func download(_ client: RawClient) throws -> [Chunk] {
        let request = DownloadAssetRequest(database: .private, asset: Self.list.digest)
        let call = client.call(.assetsDownload, request.encoded())
        try client.send(call)
        return try client.answer(to: call).flatMap { try DownloadAssetResponse(wire: $0).chunks }
    }

    @Test(arguments: [Features.plainChunks, []])
    func theNodeCompressesForThem(features: Features) async throws {
        try await withServer { server in
            let token = try await server.makeUser("ada")
            try upload(try client(server, token, features))
            let container = server.container(token: token)
            let asset = Asset(digest: Self.list.digest, size: UInt64(Self.text.count))
            var record = Record(recordType: "Photo", recordID: Record.ID(recordName: "front"))
            record["image"] = .asset(asset)
            _ = try await container.privateCloudDatabase.save(record)
            let status = try await container.privateCloudDatabase.status(of: asset)
            await container.close()

            // Others' chunks stay as they came: the sender decides.
            let isCompressed = features == .plainChunks
            #expect((status.storedBytes < 1_000) == isCompressed, "\(status.storedBytes) bytes")
            #expect(try download(client(server, token, .plainChunks)) == [Self.chunk])
            let kept = try download(client(server, token))
            #expect(kept.map(\.isCompressed) == [isCompressed])
            #expect(try kept.map { try $0.plain(ChunkCodec()) } == [Self.text[...]])
        }
    }
}
