// Limits per caller as callers meet them: on a node with real sockets.

import Cumulus
import CumulusAssets
import CumulusModel
import CumulusStorage
import CumulusTesting
import CumulusTransport
import CumulusWire
import Testing

@testable import CumulusNode

@Suite(.serialized) struct CallerLimitTests {
    private func limits(_ limits: CallerLimits) -> Limits {
        var all = Limits.standard
        all.perCaller = limits
        return all
    }

    /// How many of the calls were answered, and what the others were refused with.
    private func endings(
        of calls: [Frame],
        _ client: RawClient
    ) throws -> (answered: Int, refusals: [ServiceError]) {
        var (answered, refusals, open) = (0, [ServiceError](), Set(calls.map(\.stream)))
        while !open.isEmpty {
            let frame = try client.nextFrame()
            guard frame.isEnd, open.remove(frame.stream) != nil else { continue }
            if frame.kind == .status {
                refusals.append(try ServiceError(wire: frame.payload))
            } else {
                answered += 1
            }
        }
        return (answered, refusals)
    }

    /// Calls that arrive in one piece, so at one time.
    @Test func aBurstIsAnsweredAndTheRestIsToldWhenToComeAgain() async throws {
        let limits = limits(CallerLimits(callsPerSecond: 1, callsBurst: 3))
        try await withServer(limits: limits) { server in
            let client = try RawClient(greeting: server.endpoint)
            let calls = (0..<8).map { _ in client.call(.accountsWhoAmI) }
            try client.send(calls)
            let (answered, refusals) = try endings(of: calls, client)
            // One more if the machine took a break of a second amid them.
            #expect((3...4).contains(answered))
            for refusal in refusals {
                #expect(refusal.code == .requestRateLimited && refusal.reason == .overloaded)
                #expect((1...1_000).contains(refusal.retryAfterMilliseconds ?? 0))
            }
            try await Task.sleep(for: .milliseconds(1_100))
            _ = try client.perform(.accountsWhoAmI)
        }
    }

    /// Nothing is written, so saves stay in progress.
    @Test func callsAtOnceCountOverAllConnectionsOfAUser() async throws {
        let engine = MemoryEngine()
        let token = try await makeToken(in: engine)
        let other = try await makeToken(in: engine, user: "eve")
        let limits = limits(CallerLimits(callsAtOnce: 2))
        try await withServer(engine: engine, limits: limits, startsThreads: false) { server in
            let first = try RawClient(greeting: server.endpoint, token: token)
            let second = try RawClient(greeting: server.endpoint, token: token)
            _ = try first.beginSave(Record("a"))
            _ = try first.beginSave(Record("b"))
            #expect(try await eventually { server.node.callsInProgress == 2 })
            let third = try second.beginSave(Record("c"))
            let refusal = try error { _ = try second.answer(to: third) }
            #expect(refusal.code == .requestRateLimited && refusal.message.contains("2 calls"))
            #expect(refusal.retryAfterMilliseconds != nil)
            let neighbour = try RawClient(greeting: server.endpoint, token: other)
            _ = try neighbour.beginSave(Record("d"))
            #expect(try await eventually { server.node.callsInProgress == 3 })
            // What a connection held is free when it ends.
            first.close()
            #expect(try await eventually { server.node.callsInProgress == 1 })
            _ = try second.beginSave(Record("c"))
            _ = try second.beginSave(Record("e"))
            #expect(try await eventually { server.node.callsInProgress == 3 })
        }
    }

    @Test func aCancelledCallMakesRoom() async throws {
        let engine = MemoryEngine()
        let token = try await makeToken(in: engine)
        let limits = limits(CallerLimits(callsAtOnce: 1))
        try await withServer(engine: engine, limits: limits, startsThreads: false) { server in
            let client = try RawClient(greeting: server.endpoint, token: token)
            let save = try client.beginSave(Record("a"))
            try client.send(Frame(.cancel, stream: save.stream))
            #expect(try error { _ = try client.answer(to: save) }.code == .operationCancelled)
            _ = try client.beginSave(Record("b"))
            #expect(try await eventually { server.node.callsInProgress == 1 })
        }
    }

    @Test func streamsThatAreFollowedAreNoCallsAtOnce() async throws {
        let limits = limits(CallerLimits(callsAtOnce: 1))
        try await withServer(limits: limits) { server in
            let token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            let request = FetchDatabaseChangesRequest(database: .private, token: [], limit: 0)
            for _ in 0..<3 {
                let followed = client.call(.changesFollowDatabase, request.encoded())
                try client.send(followed)
                var frame = try client.nextFrame()
                while frame.stream != followed.stream { frame = try client.nextFrame() }
                #expect(frame.kind == .message && !frame.isEnd)
            }
            #expect(try client.fetch("nothing").count == 1)
            #expect(server.callsInProgress == 3)
        }
    }

    @Test func helloTellsTheLimitsToThoseWhomTheyBind() async throws {
        let told = CallerLimits(
            callsPerSecond: 7,
            callsBurst: 8,
            bytesPerSecond: 1 << 40,
            callsAtOnce: 9
        )
        try await withServer(limits: limits(told)) { server in
            let stranger = try RawClient(server.endpoint)
            try stranger.send(RawClient.greeting())
            #expect(try stranger.readHello().limits.perCaller == told)
            var hello = Hello()
            hello.role = WireRole.operator.rawValue
            hello.token = Bytes(TestServer.operatorToken.utf8)
            let admin = try RawClient(server.endpoint)
            try admin.send(RawClient.greeting(hello))
            #expect(try admin.readHello().limits.perCaller == .none)
            let calls = (0..<20).map { _ in admin.call(.operatorStatus) }
            try admin.send(calls)
            #expect(try endings(of: calls, admin).refusals.isEmpty)
        }
    }

    /// An upload would else keep all other calls of its user out for as long as it is too fast.
    @Test func anUploadGetsCreditAsFastAsItsBytesMayCome() async throws {
        let limits = limits(CallerLimits(bytesPerSecond: 23_000))
        try await withServer(limits: limits) { server in
            let token = try await server.makeUser("ada")
            let client = try RawClient(greeting: server.endpoint, token: token)
            let other = try RawClient(greeting: server.endpoint, token: token)
            let chunks = (0..<2).map { Self.chunk(SampleAsset.stream(70_000, from: $0 * 9_999)) }
            var list = ChunkList()
            for chunk in chunks {
                list.append(ChunkList.Entry(digest: chunk.digest, size: chunk.size))
            }
            let prepare = PrepareAssetsRequest(database: .private, lists: [list.bytes])
            _ = try client.perform(.assetsPrepare, prepare.encoded())
            var upload = client.call(
                .assetsUpload,
                UploadChunksRequest(database: .private).encoded()
            )
            upload.isEnd = false
            let messages = chunks.map { WireChunks([$0]).encoded() }
            let began = MonotonicClock.now()
            // The save has 140,000 bytes and the budget 115,000: the rest takes a second.
            try client.send(
                [upload] + messages.map { Frame(.message, stream: upload.stream, payload: $0) }
            )
            #expect(try await eventually { (try? other.perform(.accountsWhoAmI)) == nil })
            let refusal = try error { _ = try other.perform(.accountsWhoAmI) }
            #expect(refusal.code == .requestRateLimited)
            #expect(refusal.message.contains("23000 bytes of requests"))
            let initial = server.node.configuration.limits
            var owed = initial.uploadWindowBytes - initial.initialCredit
            owed += messages.reduce(0) { $0 + $1.count }
            while owed > 0 {
                let frame = try client.nextFrame()
                #expect(frame.kind == .credit && frame.stream == upload.stream)
                owed -= frame.payload.reduce(0) { $0 << 8 | Int($1) }
            }
            #expect(owed == 0)
            #expect(MonotonicClock.now() - began >= 900)
            try client.send(Frame(.message, isEnd: true, stream: upload.stream))
            _ = try client.answer(to: upload)
            _ = try other.perform(.accountsWhoAmI)
        }
    }

    private static func chunk(_ bytes: Bytes) -> Chunk {
        ChunkCodec().chunk(bytes[...], digest: bytes.withUnsafeBytes(Chunk.digest(of:)))
    }

    /// The client waits as long as it is told, so its callers notice nothing but the time.
    @Test func aClientComesAgainByItself() async throws {
        let limits = limits(CallerLimits(callsPerSecond: 50, callsBurst: 5))
        try await withServer(limits: limits) { server in
            let token = try await server.makeUser("ada")
            let container = server.container(token: token)
            let database = container.privateCloudDatabase
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for number in 0..<30 {
                    tasks.addTask { _ = try await database.save(Record("r\(number)")) }
                }
                try await tasks.waitForAll()
            }
            await container.close()
        }
    }
}
