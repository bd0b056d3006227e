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
}
