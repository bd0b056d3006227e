// What tests of the gateway say again and again: a node for the length of a test, and a caller who
// speaks web services to it.

import Crypto
import CumulusGateway
import CumulusModel
import CumulusNode
import CumulusTesting
import Testing

/// One caller of web services.
struct WebUser {
    static let scope = ScopeID(container: TestServer.container, environment: .development)
    static let apiToken = "0123456789abcdef"
    static let apiDigest = Bytes(SHA256.hash(data: Bytes(apiToken.utf8)))
    static let base = "/database/1/\(TestServer.container)/development"
    static let schema = """
        DEFINE SCHEMA RECORD TYPE Note (
            "___recordID" REFERENCE QUERYABLE,
            "___createTime" TIMESTAMP QUERYABLE SORTABLE,
            title STRING QUERYABLE SORTABLE, stars INT64 QUERYABLE SORTABLE, price DOUBLE,
            tags LIST<STRING> QUERYABLE, photo ASSET, album LIST<ASSET>, post REFERENCE,
            GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator"
        );
        """

    let gateway: WebGateway
    let door: NodeDoor
    /// As it stands in URLs; nil: nobody is signed in.
    var token: String?
    /// The access token of the session; empty: it has no session.
    var session = ""
    /// Tells the tabs of one session apart; nil: requests have none.
    var clientID: String?

    /// A user of the same app.
    static func make(
        _ name: String,
        _ gateway: WebGateway,
        _ door: NodeDoor,
        _ server: TestServer
    ) async throws -> WebUser {
        let session = try await server.makeUser(name)
        let token = WebToken(
            session: Bytes(SHA256.hash(data: Bytes(session.utf8))),
            scope: scope,
            api: apiDigest,
            made: server.node.environment.wallClock(),
            isKept: false
        )
        return WebUser(
            gateway: gateway,
            door: door,
            token: gateway.token(token),
            session: session
        )
    }

    /// The answer to a request.
    struct Answer {
        var status: Int
        var json: JSON
        var headers: [String: String]

        /// The entries of a list.
        func entries(_ key: String) -> [JSON] {
            guard case .array(let entries)? = json[key] else { return [] }
            return entries
        }

        var code: String? { json["serverErrorCode"]?.string }
    }

    func send(_ request: WebRequest) async throws -> Answer {
        let answer = await gateway.answer(request)
        return Answer(
            status: answer.status,
            json: answer.body.isEmpty ? .null : try JSONReader.read(answer.body),
            headers: Dictionary(answer.headers.map { ($0.name, $0.value) }) { first, _ in first }
        )
    }

    /// - Parameter path: Database, entity and action.
    func post(_ path: String, _ body: String) async throws -> Answer {
        try await send(WebRequest("POST", target(path), body: Bytes(body.utf8)))
    }

    func get(_ path: String) async throws -> Answer {
        try await send(WebRequest("GET", target(path)))
    }

    func target(_ path: String) -> String {
        let user = token.map { "&ckWebAuthToken=\($0)" } ?? ""
        let client = clientID.map { "&clientId=\($0)" } ?? ""
        return "\(WebUser.base)/\(path)?ckAPIToken=\(WebUser.apiToken)\(user)\(client)"
    }

    /// Makes operations in one zone; returns the entries.
    func modify(
        _ database: String,
        zone: String? = nil,
        atomic: Bool = true,
        _ operations: String...
    ) async throws -> [JSON] {
        let zone = zone.map { #""zoneID": {"zoneName": "\#($0)"}, "# } ?? ""
        let list = operations.joined(separator: ",")
        let answer = try await post(
            "\(database)/records/modify",
            #"{\#(zone)"atomic": \#(atomic), "operations": [\#(list)]}"#
        )
        #expect(answer.status == 200, "\(answer.json.text)")
        return answer.entries("records")
    }
}

/// An operation on a note.
func operation(
    _ kind: WebOperation.Kind,
    _ name: String,
    tag: String? = nil,
    type: String? = nil,
    _ fields: String = ""
) -> String {
    var members = [#""recordName": "\#(name)""#]
    if let tag { members.append(#""recordChangeTag": "\#(tag)""#) }
    if let type { members.append(#""recordType": "\#(type)""#) }
    if !fields.isEmpty { members.append(#""fields": {\#(fields)}"#) }
    let record = members.joined(separator: ", ")
    return #"{"operationType": "\#(kind.rawValue)", "record": {\#(record)}}"#
}

extension JSON {
    var string: String? { if case .string(let text) = self { text } else { nil } }

    /// The value of a field of a record.
    func field(_ key: String) -> JSON? { self["fields"]?[key]?["value"] }

    var tag: String? { self["recordChangeTag"]?.string }
    var errorCode: String? { self["serverErrorCode"]?.string }
}

/// Runs a test against a node with a schema; the caller is a user of it.
func withWebUser(
    _ api: WebAPIToken = WebAPIToken(scope: WebUser.scope, origins: ["https://app"]),
    idTokens: TokenIssuers? = nil,
    _ body: (WebUser, TestServer) async throws -> Void
) async throws {
    let key = idTokens.map { _ in Bytes(repeating: 7, count: 32) }
    let server = try await TestServer(clusterKey: key, idTokens: idTokens)
    do {
        try await server.importSchema(WebUser.schema)
        let door = NodeDoor(server.node) { $0 == WebUser.apiDigest ? api : nil }
        let gateway = WebGateway(door, signInURL: "https://node.example/sign-in")
        try await body(try await WebUser.make("web", gateway, door, server), server)
    } catch {
        try? await server.stop()
        throw error
    }
    try await server.stop()
}
