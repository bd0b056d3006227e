// A service that throttles, falls silent or sends half of a file.

import CumulusModel
import CumulusSystem
import CumulusTerminal
import Synchronization
import Testing

@testable import CumulusTransfer

@Suite struct SourceClientTests {
    /// Gives the replies in their order, the last one again and again; nil means silence.
    private final class Script: SourceTransport {
        private let replies: [SourceReply?]
        private let count = Mutex(0)
        private let file: [UInt8]

        init(_ replies: [SourceReply?], file: [UInt8] = []) {
            self.replies = replies
            self.file = file
        }

        var asked: Int { count.withLock { $0 } }

        private func next() throws -> SourceReply {
            let number = count.withLock { count in
                count += 1
                return count
            }
            guard let reply = replies[min(number, replies.count) - 1] else {
                throw CancellationError()
            }
            return reply
        }

        func send(_ ask: SourceAsk) async throws -> SourceReply { try next() }

        func stream(_ url: String, to take: (Bytes) throws -> Void) async throws -> SourceReply {
            let reply = try next()
            if reply.status == 200 { for byte in file { try take([byte]) } }
            return reply
        }

        func close() async {}
    }

    private func client(_ script: Script, patience: Duration = .seconds(3)) throws -> SourceClient {
        let address = try SourceAddress(
            base: "https://a",
            container: "c",
            environment: .development
        )
        let credentials = SourceCredentials.user(token: "t", api: "api")
        return SourceClient(address, credentials, over: script, patience: patience)
    }

    private static let throttled = SourceReply(
        status: 429,
        body: Bytes(#"{"serverErrorCode": "THROTTLED", "retryAfter": 0.01}"#.utf8)
    )

    @Test func itWaitsAndAsksAgain() async throws {
        let done = SourceReply(status: 200, renewedToken: "t2", body: Bytes("{}".utf8))
        let script = Script([Self.throttled, Self.throttled, done])
        let client = try client(script)
        #expect(try await client.ask(.caller) == .object([]))
        #expect(script.asked == 3)
        #expect(client.renewedToken?.token == "t2")
    }

    @Test func patienceEnds() async throws {
        let busy = try client(Script([Self.throttled]), patience: .milliseconds(50))
        let refused = await #expect(throws: ServiceError.self) { try await busy.ask(.caller) }
        #expect(refused?.code == .serviceUnavailable)
        #expect(refused?.message.contains("THROTTLED") == true)
        let silent = try client(Script([nil]), patience: .milliseconds(50))
        let lost = await #expect(throws: ServiceError.self) { try await silent.ask(.caller) }
        #expect(lost?.code == .networkUnavailable)
    }

    @Test func refusalsAndNonsenseAreToldAtOnce() async throws {
        let denied = SourceReply(
            status: 403,
            body: Bytes(#"{"serverErrorCode": "ACCESS_DENIED", "reason": "no"}"#.utf8)
        )
        let script = Script([denied])
        let error = await #expect(throws: ServiceError.self) {
            try await client(script).ask(.caller) { $0 }
        }
        #expect(error?.code == .permissionFailure && script.asked == 1)
        let page = Script([SourceReply(status: 200, body: Bytes("<html>".utf8))])
        let problem = await #expect(throws: InputProblem.self) {
            try await client(page).ask(.caller) { $0 }
        }
        #expect(problem?.message.contains("is no JSON") == true)
    }

    @Test func aFileOfAnotherSizeIsNone() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "file-\(UUID())")
            .path(percentEncoded: false)
        defer { unlink(path) }
        let good = SourceReply(status: 200)
        let busy = SourceReply(status: 503, retryAfter: "0.01")
        let script = Script([busy, good], file: [1, 2, 3])
        let whole = SourceAsset(checksum: "", size: 3, url: "https://a")
        _ = try await client(script).download(whole, to: path)
        #expect(try OpenFile(reading: path).readToEnd() == Data([1, 2, 3]))
        let longer = SourceAsset(checksum: "", size: 4, url: "https://a")
        var error = await #expect(throws: ServiceError.self) {
            try await client(script).download(longer, to: path)
        }
        #expect(error?.code == .assetNotAvailable)
        #expect(error?.message.contains("has 3 bytes, and its record says 4") == true)
        let shorter = SourceAsset(checksum: "", size: 2, url: "https://a/secret")
        error = await #expect(throws: ServiceError.self) {
            try await client(script).download(shorter, to: path)
        }
        #expect(error?.message.contains("has more than the 2 bytes") == true)
        #expect(error?.message.contains("secret") == false)
        let gone = Script([SourceReply(status: 410)])
        error = await #expect(throws: ServiceError.self) {
            try await client(gone).download(whole, to: path)
        }
        #expect(error?.code == .assetNotAvailable && gone.asked == 1)
    }

    @Test func theServicesClockIsBelieved() async throws {
        func time(_ date: String?) async throws -> Int64 {
            let reply = SourceReply(status: 200, date: date, body: Bytes("{}".utf8))
            return try await client(Script([reply])).answer(.caller).time
        }
        #expect(try await time("Sun, 06 Nov 1994 08:49:37 GMT") == 784_111_777_000)
        #expect(try await time("Thu, 29 Feb 2024 00:00:00 GMT") == 1_709_164_800_000)
        let before = Int64(Date().timeIntervalSince1970 * 1_000)
        for date in [
            nil, "", "yesterday", "Sun, 06 Nov 1994 08:49:99 GMT", "Sun, 06 X 1994 1:1:1 GMT",
        ] {
            #expect(try await time(date) >= before)
        }
    }

    @Test func aNewTokenIsKeptBeforeTheNextRequest() async throws {
        let kept = Mutex<[String]>([])
        let replies = ["t2", "t2", "t3"].map {
            SourceReply(status: 200, renewedToken: $0, body: Bytes("{}".utf8))
        }
        let script = Script(replies)
        let client = try client(script)
        client.keepTokens { key, token in
            #expect(key == client.key)
            kept.withLock { $0.append(token) }
        }
        for _ in 0..<3 { _ = try await client.ask(.caller) }
        #expect(kept.withLock { $0 } == ["t2", "t3"])
        // A disk that is full ends it; the request is not made again.
        let full = try self.client(Script(replies))
        full.keepTokens { _, _ in throw OutputProblem("full") }
        await #expect(throws: OutputProblem.self) { try await full.ask(.caller) }
    }

    @Test func redirectsOfFilesStaySecret() {
        let from = "https://a.example/x/y?z"
        #expect(
            HTTPTransport.target(of: "https://b.example/f?s=1", from: from)
                == "https://b.example/f?s=1"
        )
        #expect(HTTPTransport.target(of: "/f", from: from) == "https://a.example/f")
        #expect(HTTPTransport.target(of: "http://b.example/f", from: from) == nil)
        #expect(HTTPTransport.target(of: "file:///etc/passwd", from: from) == nil)
        #expect(
            HTTPTransport.target(of: "/f", from: "http://127.0.0.1:1/x") == "http://127.0.0.1:1/f"
        )
    }

    @Test func whatIsBusyIsWaitedForWithinThePatience() async throws {
        var wait = SourceWait(patience: .milliseconds(200))
        let busy = SourceRefusal(code: "TRY_AGAIN_LATER", reason: "", retryAfter: 0.01)
        let began = ContinuousClock.now
        var hasWaited = try await wait.pause(for: busy)
        #expect(hasWaited && ContinuousClock.now - began >= .milliseconds(10))
        hasWaited = try await wait.pause(
            for: SourceRefusal(code: "THROTTLED", reason: "", retryAfter: 60)
        )
        #expect(!hasWaited)
    }
}
