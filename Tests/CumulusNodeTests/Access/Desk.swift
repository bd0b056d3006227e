// What the tests of this folder ask a node for: an operator's calls on users, a stream of a user's.

import CumulusModel
import CumulusTesting
import CumulusWire

extension RawClient {
    /// A connection of the node's operator.
    static func administering(_ server: TestServer) throws -> RawClient {
        var hello = Hello()
        hello.role = WireRole.operator.rawValue
        hello.token = Bytes(TestServer.operatorToken.utf8)
        let client = try RawClient(server.endpoint)
        try client.send(RawClient.greeting(hello))
        try client.readHello()
        return client
    }

    @discardableResult
    func setDisabled(_ isDisabled: Bool, _ name: String) throws -> Bool {
        let request = SetUserStateRequest(user: Bytes(name.utf8), isDisabled: isDisabled)
        let answer = try perform(.operatorSetUserState, request.encoded())[0]
        return try RevokeSessionsResponse(wire: answer).flag
    }

    func setPassword(_ password: String, of name: String) throws {
        let request = SetPasswordRequest(user: Bytes(name.utf8), password: Bytes(password.utf8))
        _ = try perform(.operatorSetPassword, request.encoded())
    }

    /// Ends a session, or all; of the caller's own without a name.
    @discardableResult
    func revoke(_ id: Bytes = [], of name: String = "") throws -> Bool {
        let request = RevokeSessionsRequest(id: id, user: Bytes(name.utf8))
        return try RevokeSessionsResponse(wire: perform(.accountsRevoke, request.encoded())[0]).flag
    }

    func sessions(of name: String = "") throws -> [WireSession] {
        let request = SessionsRequest(Bytes(name.utf8)).encoded()
        return try perform(.accountsSessions, request).flatMap {
            try SessionsResponse(wire: $0).elements
        }
    }

    func signIn(
        _ name: String,
        _ password: String,
        by method: Method = .accountsSignIn
    ) throws -> OpenedSession {
        let request = SignInRequest(
            name: Bytes(name.utf8),
            password: Bytes(password.utf8),
            label: "test"
        )
        return try OpenedSession(wire: perform(method, request.encoded())[0])
    }

    /// Follows the caller's default zone, and reads until it is up to date.
    func followZone() throws -> Frame {
        let zone = WireZoneID(name: Bytes(Names.defaultZone.utf8), owner: [])
        let request = FetchZoneChangesRequest(database: .private, zone: zone, token: [], limit: 0)
        let call = call(.changesFollowZone, request.encoded())
        try send(call)
        while try nextFrame().stream != call.stream {}
        return call
    }

    /// The error that ends a stream.
    func end(of call: Frame) throws -> ServiceError {
        while true {
            let frame = try nextFrame()
            guard frame.stream == call.stream, frame.kind == .status else { continue }
            return try ServiceError(wire: frame.payload)
        }
    }
}
