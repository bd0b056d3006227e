// Two nodes of one cluster, each with its web services, and a user who is known to both.

import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

struct WebPair {
    let servers: [TestServer]
    let doors: [NodeDoor]
    let gateways: [WebGateway]
    /// Stays signed in.
    let user: WebUser

    /// The same caller at a node.
    func at(_ node: Int, _ user: WebUser? = nil) -> WebUser {
        let user = user ?? self.user
        return WebUser(
            gateway: gateways[node],
            door: doors[node],
            token: user.token,
            session: user.session
        )
    }

    /// The nodes exchange what they have.
    func link() {
        servers[0].follow([servers[1]])
        servers[1].follow([servers[0]])
    }

    /// They don't any more.
    func cut() async {
        for server in servers { await server.unfollow() }
    }

    /// Repeats a request until its answer is what is waited for, for a while; returns the last one.
    func waiting(
        _ ask: () async throws -> WebUser.Answer,
        until isRight: (WebUser.Answer) -> Bool
    ) async throws -> WebUser.Answer {
        for _ in 0..<500 {
            let answer = try await ask()
            if isRight(answer) { return answer }
            try await Task.sleep(for: .milliseconds(20))
        }
        return try await ask()
    }

    /// Another user, known to both nodes.
    func makeUser(_ name: String) async throws -> WebUser {
        let user = try await WebPair.make(name, gateways[0], doors[0], servers[0])
        _ = try await waiting {
            try await at(1, user).get("public/users/caller")
        } until: {
            $0.status == 200
        }
        return user
    }

    fileprivate static func make(
        _ name: String,
        _ gateway: WebGateway,
        _ door: NodeDoor,
        _ server: TestServer
    ) async throws -> WebUser {
        var user = try await WebUser.make(name, gateway, door, server)
        let sealed = try #require(Base64URL.decode((user.token ?? "").utf8))
        var token = try WebToken(content: try #require(door.open(sealed)))
        token.isKept = true
        user.token = gateway.token(token)
        return user
    }
}

extension WebUser {
    /// The same caller, with what an answer gave it to carry.
    func carrying(_ answer: Answer) -> WebUser {
        var user = self
        user.token = answer.headers["X-Apple-CloudKit-Web-Auth-Token"] ?? token
        return user
    }
}

/// Runs a test against two linked nodes that know the schema and the user.
func withWebPair(_ body: (WebPair) async throws -> Void) async throws {
    var limits = Limits.standard
    limits.causalWaitMilliseconds = 200
    var servers: [TestServer] = []
    for _ in 0..<2 {
        let key = Bytes(repeating: 7, count: 32)
        servers.append(try await TestServer(limits: limits, clusterKey: key))
    }
    do {
        let api = WebAPIToken(scope: WebUser.scope, origins: ["https://app"])
        let doors = servers.map { server in
            NodeDoor(server.node) { $0 == WebUser.apiDigest ? api : nil }
        }
        let gateways = doors.map { WebGateway($0) }
        servers[0].follow([servers[1]])
        servers[1].follow([servers[0]])
        try await servers[0].importSchema(WebUser.schema)
        let user = try await WebPair.make("web", gateways[0], doors[0], servers[0])
        let pair = WebPair(servers: servers, doors: doors, gateways: gateways, user: user)
        let query = #"{"query": {"recordType": "Note"}}"#
        let known = try await pair.waiting {
            try await pair.at(1).post("private/records/query", query)
        } until: {
            $0.status == 200
        }
        #expect(known.status == 200, "\(known.json.text)")
        try await body(pair)
    } catch {
        for server in servers { try? await server.stop() }
        throw error
    }
    for server in servers { try await server.stop() }
}
