// Every method, asked by every kind of caller, answers as the matrix says; and callers who were
// shut out while they were connected get 9 from all of them.

import CumulusModel
import CumulusOperations
import CumulusRequests
import CumulusTesting
import CumulusWire
import Testing

@testable import CumulusNode

@Suite(.serialized) struct AccessMatrixTests {
    private static let key = Bytes(repeating: 0x5C, count: 32)

    /// Also what makes a new method fail that nobody thought of here.
    @Test func everyMethodHasARow() {
        let methods = Set(AccessMatrix.rows.map(\.method))
        #expect(MethodTable.entries.map(\.method).filter { !methods.contains($0) } == [])
        for row in AccessMatrix.rows {
            #expect(row.expected.count == AccessMatrix.Who.allCases.count, "\(row.method)")
        }
    }

    @Test func everyCallerGetsWhatTheMatrixSays() async throws {
        try await withScene { scene in
            for row in AccessMatrix.rows {
                let message = try row.message(scene.matrix)
                for (who, expected) in zip(AccessMatrix.Who.allCases, row.expected) {
                    guard expected != "-", let client = scene.clients[who] else { continue }
                    let outcome = try client.outcome(of: row, message, asking: who)
                    let isRefusal = outcome == "9" || outcome == "10"
                    #expect(
                        expected == "·" ? !isRefusal : outcome == expected,
                        "\(row.method) of \(row.target) by \(who): \(outcome), not \(expected)"
                    )
                }
            }
        }
    }

    /// Methods whose requests and answers are values in this process.
    @Test func whoCallsByValueGetsTheSame() async throws {
        try await withScene { scene in
            var count = 0
            for who in AccessMatrix.Who.allCases where who != .peer {
                let connection = try await scene.enter(as: who)
                for row in AccessMatrix.rows {
                    let message = try row.message(scene.matrix)
                    let outcome = try await connection.outcome(of: row, message, asking: who)
                    let place = try #require(AccessMatrix.Who.allCases.firstIndex(of: who))
                    guard let outcome, row.expected[place] != "-" else { continue }
                    count += 1
                    #expect(
                        outcome == row.expected[place],
                        "\(row.method) of \(row.target) by \(who): \(outcome)"
                    )
                }
                connection.close()
            }
            #expect(count == 9 * 5)
        }
    }

    /// Disabled, revoked, with another password, expired: each method refuses them, and so does a
    /// new connection, as it does one with a token that nobody gave out.
    @Test func whoIsShutOutGets9FromEveryMethod() async throws {
        try await withScene { scene in
            let admin = try #require(scene.clients[.operator])
            var tokens: [String: String] = [:]
            for name in ["disabled", "revoked"] {
                tokens[name] = try await scene.server.makeUser(name)
            }
            for name in ["changed", "expired"] {
                _ = try await scene.server.makeUser(name)
                try admin.setPassword("a good password", of: name)
                let opened = try #require(scene.clients[.anonymous])
                    .signIn(name, "a good password")
                tokens[name] = String(decoding: opened.token, as: UTF8.self)
            }
            let clients = try tokens.mapValues {
                try RawClient(greeting: scene.server.endpoint, token: $0)
            }
            try admin.setDisabled(true, "disabled")
            try admin.revoke(of: "revoked")
            try admin.setPassword("another password", of: "changed")
            scene.server.clockLead += Sessions.lifetime + 1
            tokens["forged"] = "cumulus_" + String(repeating: "ab", count: 32)
            for (name, client) in clients {
                for entry in MethodTable.entries {
                    let row = AccessMatrix.Row(entry.method, .own, "")
                    let outcome = try client.outcome(of: row, [0xFF], asking: .other)
                    #expect(outcome == "9", "\(entry.method) by one who is \(name): \(outcome)")
                }
            }
            for (name, token) in tokens {
                let greeting = try error {
                    _ = try RawClient(greeting: scene.server.endpoint, token: token)
                }
                #expect(greeting.code == .notAuthenticated, "\(name)")
                #expect(greeting.message == Sessions.refusal.message, "\(name)")
            }
        }
    }

    // MARK: The scene

    struct Scene {
        let server: TestServer
        let matrix: AccessMatrix
        let clients: [AccessMatrix.Who: RawClient]
        let tokens: [AccessMatrix.Who: String]

        /// Lets a caller in that is in the node's own process.
        func enter(as who: AccessMatrix.Who) async throws -> LocalConnection {
            let scope = ScopeID(container: TestServer.container, environment: .development)
            let proof: LocalEntrance.Proof =
                switch tokens[who] {
                case let token?: .session(digest: Sessions.digest(of: Bytes(token.utf8)))
                case nil where who == .operator:
                    .operatorToken(Bytes(TestServer.operatorToken.utf8))
                case nil: .nothing
                }
            let entrance = LocalEntrance(scope, proof, isSecret: true)
            return try await LocalConnection.open(entrance, on: server.node).connection
        }
    }

    func withScene(_ body: (Scene) async throws -> Void) async throws {
        let server = try await TestServer(clusterKey: Self.key)
        do {
            try await body(try await scene(at: server))
        } catch {
            try await server.stop()
            throw error
        }
        try await server.stop()
    }

    private func scene(at server: TestServer) async throws -> Scene {
        try await server.importSchema(AccessMatrix.schema)
        let admin = try RawClient.administering(server)
        var clients: [AccessMatrix.Who: RawClient] = [.operator: admin]
        clients[.anonymous] = try RawClient(greeting: server.endpoint)
        clients[.peer] = try RawClient(
            greeting: server.endpoint,
            asPeer: Bytes(repeating: 9, count: 16),
            key: Self.key
        )
        var tokens: [AccessMatrix.Who: String] = [:]
        for (who, name) in [(AccessMatrix.Who.owner, "ada"), (.other, "bob"), (.moderator, "mod")] {
            let token = try await server.makeUser(name)
            tokens[who] = token
            clients[who] = try RawClient(greeting: server.endpoint, token: token)
        }
        let role = SetRoleRequest(
            user: Bytes("mod".utf8),
            role: Bytes("Moderator".utf8),
            isGiven: true
        )
        _ = try admin.perform(.administering(.rolesSet), role.encoded())
        let ada = try #require(clients[.owner])
        let user = try WhoAmIResponse(wire: ada.perform(.accountsWhoAmI)[0]).caller.user
        let matrix = AccessMatrix(owner: user)
        let zone = WireZoneID(name: Bytes(AccessMatrix.zone.utf8), owner: [])
        let making = ModifyZonesRequest(database: .private, saves: [zone], deletes: [])
        _ = try ada.perform(.zonesModify, making.encoded(), requestID: RawRequest.newID())
        for target in [AccessMatrix.Target.privateZone, .note, .report] {
            let saved = try ada.modify(matrix.save(target), id: RawRequest.newID())
            _ = try #require(saved.saves.first).get()
        }
        _ = try ada.perform(
            .subscriptionsModify,
            AccessMatrix.subscribing("target-subscription", to: "Report"),
            requestID: RawRequest.newID()
        )
        return Scene(server: server, matrix: matrix, clients: clients, tokens: tokens)
    }
}

extension CallHeader {
    /// A call of an operator's, in the container of the tests.
    fileprivate static func administering(_ method: Method) -> CallHeader {
        var header = CallHeader(method)
        header.container = Bytes(TestServer.container.utf8)
        header.environment = UInt32(Environment.development.rawValue)
        return header
    }
}

extension RawClient {
    fileprivate func outcome(
        of row: AccessMatrix.Row,
        _ message: Bytes,
        asking who: AccessMatrix.Who
    ) throws -> String {
        let header =
            who == .operator ? CallHeader.administering(row.method) : CallHeader(row.method)
        return try outcome(
            of: row.method,
            header,
            message,
            sign: AccessMatrix.signs[row.target] ?? ""
        )
    }

    /// How a call ends, in the words of the matrix; a stream ends with its first message.
    ///
    /// - Parameter sign: What an answer holds that shows the target.
    func outcome(
        of method: Method,
        _ header: CallHeader,
        _ message: Bytes,
        sign: String
    ) throws -> String {
        var header = header
        header.requestID = RawRequest.newID()
        let call = call(header, message)
        let isEndless = MethodTable.entry(method.rawValue)?.answer == .endlessParts
        try send(call)
        var answer: [Bytes] = []
        while true {
            let frame = try nextFrame()
            guard frame.stream == call.stream else { continue }
            if frame.kind == .status {
                return "\(try ServiceError(wire: frame.payload).code.rawValue)"
            }
            guard frame.kind == .message else { continue }
            answer.append(frame.payload)
            if frame.isEnd { break }
            if isEndless {
                try send(Frame(.cancel, stream: call.stream))
                break
            }
        }
        if let refusal = try RawClient.itemError(method, answer) {
            return "\(refusal.code.rawValue)"
        }
        let isShown = method.isRead && answer.contains { $0.contains(Bytes(sign.utf8)) }
        return isShown ? "told" : "ok"
    }

    /// The error of the one item of an answer; nil if it has none.
    static func itemError(_ method: Method, _ answer: [Bytes]) throws -> ServiceError? {
        guard let message = answer.first else { return nil }
        switch method {
        case .recordsFetch: return try FetchRecordsResponse(wire: message).results.first?.refusal
        case .recordsModify:
            let response = try ModifyRecordsResponse(wire: message)
            return response.saves.first?.refusal ?? response.deletes.first ?? nil
        case .zonesFetch: return try FetchZonesResponse(wire: message).results.first?.refusal
        case .zonesModify: return try ModifyZonesResponse(wire: message).saves.first?.refusal
        case .subscriptionsModify:
            return try ModifySubscriptionsResponse(wire: message).saves.first ?? nil
        default: return nil
        }
    }
}

extension LocalConnection {
    /// How a call by value ends, in the words of the matrix; nil if the method has none.
    fileprivate func outcome(
        of row: AccessMatrix.Row,
        _ message: Bytes,
        asking who: AccessMatrix.Who
    ) async throws -> String? {
        let header =
            who == .operator ? CallHeader.administering(row.method) : CallHeader(row.method)
        var shown: [RecordResult] = []
        do {
            switch row.method {
            case .recordsFetch:
                shown = try await fetch(header, try FetchRecordsRequest(wire: message))
            case .recordsQuery:
                let answer = try await query(header, try QueryRecordsRequest(wire: message))
                shown = answer.records.map { .success($0) }
            case .recordsModify:
                let answer = try await modify(header, message)
                if let refusal = answer.saves.first?.refusal ?? answer.deletes.first ?? nil {
                    return "\(refusal.code.rawValue)"
                }
                return "ok"
            default: return nil
            }
        } catch let error as ServiceError {
            return "\(error.code.rawValue)"
        }
        if row.method == .recordsFetch, let refusal = shown.first?.refusal {
            return "\(refusal.code.rawValue)"
        }
        let sign = AccessMatrix.signs[row.target] ?? ""
        let isTold = shown.contains { result in
            (try? result.get()).map { $0.recordID.recordName.contains(sign) } ?? false
        }
        return isTold ? "told" : "ok"
    }
}

extension Method {
    /// Changes show what they changed, which is no news to their caller.
    var isRead: Bool {
        self != .recordsModify && self != .zonesModify && self != .subscriptionsModify
    }
}
