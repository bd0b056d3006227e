// A task that is cancelled gets an error, soon, and nobody works for it any more.

import Cumulus
import CumulusAssets
import CumulusModel
import CumulusTesting
import CumulusWire
import Testing

@Suite(.timeLimit(.minutes(5))) struct CancellationTests {
    private static let content = Bytes(repeating: 7, count: 100)
    private static let list = content.withUnsafeBytes { ChunkList(cutting: $0) }
    private static let asset = Asset(digest: list.digest, size: list.size)

    private func container(_ endpoint: String, _ folder: TemporaryFolder) -> Container {
        var configuration = Container.Configuration(endpoints: [endpoint])
        configuration.assetDirectory = folder.path
        configuration.timeout = .seconds(1)
        return Container(identifier: TestServer.container, configuration: configuration)
    }

    /// Otherwise a file that is cut short would look whole.
    @Test func aListThatIsCancelledDoesNotLookWhole() async throws {
        let server = try await TestServer()
        let container = try await server.container(user: "ada")
        let database = container.privateCloudDatabase
        _ = try await database.save(Record(recordType: "Note", recordID: .init(recordName: "r")))
        let reading = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            var records = database.allRecords().makeAsyncIterator()
            while try await records.next() != nil {}
        }
        await #expect(throws: ServiceError.self) { try await reading.value }
        await container.close()
        try await server.stop()
    }

    @Test func aDownloadThatIsCancelledEnds() async throws {
        let folder = try TemporaryFolder()
        let server = try await ScriptedServer([.calls([.ignore])])
        let container = container(server.endpoint, folder)
        let database = container.privateCloudDatabase
        let (first, second) = (download(from: database), download(from: database))
        while server.calls < 1 { try await Task.sleep(for: .milliseconds(1)) }
        // The other one still waits for the same content.
        first.cancel()
        await #expect(throws: ServiceError.self) { try await first.value }
        second.cancel()
        await #expect(throws: ServiceError.self) { try await second.value }
        try await Task.sleep(for: .milliseconds(100))
        #expect(server.calls == 1)
        await container.close()
        try await server.stop()
    }

    private func download(from database: Database) -> Task<Asset, any Error> {
        Task { try await database.download(Self.asset) }
    }

    /// A server that answers and brings nothing is not asked for ever, nor all the time.
    @Test func aDownloadThatBringsNothingEnds() async throws {
        let folder = try TemporaryFolder()
        let answer = DownloadAssetResponse(list: Self.list.bytes).encoded()
        let server = try await ScriptedServer([.answer(answer)])
        let container = container(server.endpoint, folder)
        let error = await #expect(throws: ServiceError.self) {
            try await container.privateCloudDatabase.download(Self.asset)
        }
        #expect(error?.code == .assetNotAvailable)
        #expect(server.calls < 20)
        await container.close()
        try await server.stop()
    }
}
