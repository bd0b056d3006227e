// What metadata means: who calls, where, until when, and what can't be read.

import Crypto
import CumulusModel
import CumulusNode
import CumulusWire
import GRPCCore
import Testing

@testable import CumulusGRPC

@Suite struct GRPCHeadTests {
    private static let container: Metadata = ["cumulus-container": "iCloud.dev.cumulus"]
    private static let here = GRPCPeer("ipv4:127.0.0.1:5000")

    private func head(
        _ more: Metadata = [:],
        _ method: Method = .recordsQuery,
        from peer: GRPCPeer = GRPCHeadTests.here,
        isEncrypted: Bool = false,
        in fields: Metadata = GRPCHeadTests.container
    ) throws -> GRPCHead {
        var fields = fields
        fields.add(contentsOf: more)
        let method = try #require(GRPCMethod.all.first { $0.method == method })
        return try GRPCHead(fields, method, from: peer, isEncrypted: isEncrypted)
    }

    private func refusal(_ more: Metadata, _ method: Method = .recordsQuery) -> ServiceError? {
        do {
            _ = try head(more, method)
            return nil
        } catch {
            return error as? ServiceError
        }
    }

    // MARK: Who

    @Test func aTokenIsHashedAndNeverKept() throws {
        let head = try head(["authorization": "Bearer cumulus_ab"])
        let digest = Bytes(SHA256.hash(data: Bytes("cumulus_ab".utf8)))
        guard case .accessToken(digest) = head.entrance.proof else {
            Issue.record("\(head.entrance.proof)")
            return
        }
        #expect(head.entrance.scope.container == "iCloud.dev.cumulus")
        #expect(head.entrance.scope.environment == .development)
        #expect(head.header.container.isEmpty)
    }

    @Test(arguments: ["bearer x", "BEARER x", "Bearer   x"])
    func theSchemeMayBeWrittenAsItLikes(text: String) throws {
        let head = try head(["authorization": .string(text)])
        if case .nothing = head.entrance.proof { Issue.record("\(text) is no token") }
    }

    @Test(arguments: ["Basic YWRhOng=", "x"]) func otherSchemesAreNoToken(text: String) throws {
        let head = try head(["authorization": .string(text)])
        guard case .nothing = head.entrance.proof else {
            Issue.record("\(head.entrance.proof)")
            return
        }
    }

    @Test(arguments: ["Bearer", "Bearer ", "Bearer a b"]) func noTokenBehindBearer(text: String) {
        #expect(refusal(["authorization": .string(text)])?.code == .notAuthenticated)
    }

    @Test func twoTokensAreNone() {
        let error = refusal(["authorization": "Bearer a", "authorization": "Bearer b"])
        #expect(error?.code == .invalidArguments)
    }

    @Test func operatorsAreTakenForThatWhereOnlyTheyMay() throws {
        let token: Metadata = ["authorization": "Bearer secret"]
        var head = try head(token, .operatorStatus, in: [:])
        guard case .operatorToken(Bytes("secret".utf8)) = head.entrance.proof else {
            Issue.record("\(head.entrance.proof)")
            return
        }
        #expect(head.header.environment == 1 && head.header.container.isEmpty)
        var more = token
        more.addString("operator", forKey: "cumulus-role")
        head = try self.head(more)
        guard case .operatorToken = head.entrance.proof else {
            Issue.record("\(head.entrance.proof)")
            return
        }
        #expect(head.header.container == Bytes("iCloud.dev.cumulus".utf8))
        // A user who tries is told so by the node.
        more.replaceOrAddString("client", forKey: "cumulus-role")
        head = try self.head(more, .operatorStatus)
        guard case .accessToken = head.entrance.proof else {
            Issue.record("\(head.entrance.proof)")
            return
        }
        #expect(refusal(["cumulus-role": "king"])?.reason == .invalidValue)
    }

    @Test func aCallerIsCountedByItsAddress() throws {
        #expect(try head().entrance.address == [127, 0, 0, 1])
        let far = GRPCPeer("ipv6:[2001:db8::1]:443")
        #expect(far.address.count == 16 && !far.isLoopback)
        #expect(GRPCPeer("ipv6:[::1]:443").isLoopback)
        #expect(GRPCPeer("ipv6:[::ffff:10.0.0.1]:443").address == [10, 0, 0, 1])
        for text in ["", "unix:/tmp/x", "<unknown>", "ipv4:1.2.3.4", "ipv4:x:1"] {
            #expect(GRPCPeer(text).address.isEmpty && !GRPCPeer(text).isLoopback, "\(text)")
        }
        // Secrets don't cross a network in the clear.
        #expect(try !head(from: far).entrance.isSecret)
        #expect(try head(from: far, isEncrypted: true).entrance.isSecret)
        #expect(try head().entrance.isSecret)
    }

    // MARK: Where

    @Test func aContainerHasToBeNamed() throws {
        #expect(throws: ServiceError.self) { try self.head(in: [:]) }
        #expect(throws: ServiceError.self) { try self.head(in: ["cumulus-container": "_b"]) }
        let head = try head(["cumulus-environment": "production"])
        #expect(head.entrance.scope.environment == .production)
        #expect(refusal(["cumulus-environment": "2"])?.reason == .invalidValue)
    }

    // MARK: How

    @Test(arguments: [
        ("1H", 3_600_000), ("2M", 120_000), ("3S", 3_000), ("250m", 250), ("2500u", 2),
        ("1n", 1), ("0S", 1), ("99999999H", UInt32.max),
    ])
    func aDeadline(text: String, milliseconds: UInt32) throws {
        #expect(try head(["grpc-timeout": .string(text)]).header.timeout == milliseconds)
    }

    @Test(arguments: ["", "S", "1", "-1S", "1s", "123456789S", "1.5S", "१S"])
    func aDeadlineThatCannotBeRead(text: String) {
        #expect(refusal(["grpc-timeout": .string(text)])?.reason == .invalidValue, "\(text)")
    }

    @Test func whatTheHeaderOfACallHas() throws {
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        var fields: Metadata = [
            "traceparent": .string(trace), "cumulus-replicas": "2", "cumulus-device": "phone",
            "cumulus-chunks": "plain",
        ]
        fields.addBinary(Bytes(0..<16), forKey: "cumulus-request-id-bin")
        for token in [[1, 2], [3]] as [Bytes] {
            fields.addBinary(token, forKey: "cumulus-causal-bin")
        }
        let head = try head(fields, .recordsModify)
        #expect(head.header.method == Method.recordsModify.rawValue)
        #expect(head.header.timeout == 0)
        #expect(head.header.requestID == Bytes(0..<16))
        #expect(head.header.traceContext == Bytes(trace.utf8))
        #expect(head.header.replicas == 2)
        #expect(head.entrance.seen == [[1, 2], [3]])
        #expect(head.entrance.device == Bytes("phone".utf8))
        #expect(head.entrance.wantsPlainChunks)
        let plain = try self.head()
        #expect(plain.entrance.seen == [] && !plain.entrance.wantsPlainChunks)
        #expect(plain.header.replicas == nil && plain.header.traceContext.isEmpty)
    }

    @Test func twoTracesAreNone() throws {
        let head = try head(["traceparent": "a", "traceparent": "b"])
        #expect(head.header.traceContext.isEmpty)
    }

    @Test func whatCannotBeReadIsRefused() {
        for (key, value) in [
            ("cumulus-replicas", "x"), ("cumulus-replicas", "-1"), ("cumulus-chunks", "gzip"),
            ("cumulus-device", String(repeating: "x", count: 65)),
            ("cumulus-request-id-bin", "not base64!"), ("cumulus-causal-bin", "%"),
        ] {
            let error = refusal([key: .string(value)])
            #expect(error?.code == .invalidArguments, "\(key): \(value)")
            #expect(error?.message.contains(key) == true, "\(key): \(value)")
        }
    }
}
