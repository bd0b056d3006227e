// Acting as a user: what the operator may not do itself, such as saving records, it does with the
// rights of a user whose password or token it has.

import Crypto
import CumulusModel
import CumulusNode
import CumulusWire

extension ConsoleCall {
    /// The signed-in users, as the pages are told.
    static func members(of session: ConsoleSession?) -> [JSON.Member] {
        guard let session else { return [.init("isSignedIn", .bool(false))] }
        var members: [JSON.Member] = [
            .init("isSignedIn", .bool(true)), .init("token", .string(session.header)),
            .init("expires", .integer(session.expires)),
        ]
        if let actor = session.actor {
            members.append(
                .init(
                    "user",
                    [
                        "recordName": .string(actor.user),
                        "container": .string(actor.scope.container),
                        "environment": .string(actor.scope.environment.name),
                    ]
                )
            )
        }
        return members
    }

    func signOut() async throws -> ConsoleReply {
        _ = await withoutUser()
        return .session(nil)
    }

    /// Signs in by name and password, or by an access token.
    func actAsUser() async throws -> ConsoleReply {
        let scope = try scope()
        let old = await withoutUser()
        let token: Bytes
        let user: String
        do {
            if let text = try values.string("accessToken") {
                token = Bytes(text.split { $0.isWhitespace }.joined().utf8)
            } else {
                token = try await signIn(in: scope).token
            }
            user = try await self.user(of: token, in: scope)
        } catch let error as ServiceError where error.code == .notAuthenticated {
            // 401 would mean that the operator has to sign in.
            throw WebError(.accessDenied, error.message)
        }
        var session = old
        session.actor = ConsoleSession.Actor(
            scope: scope,
            digest: Bytes(SHA256.hash(data: token)),
            user: user,
            isOwn: !values.names("accessToken")
        )
        return .session(session)
    }

    private func user(of token: Bytes, in scope: ScopeID) async throws -> String {
        let calls = try await enter(scope, .session(digest: Bytes(SHA256.hash(data: token))))
        defer { calls.close() }
        return calls.user
    }

    private func signIn(in scope: ScopeID) async throws -> OpenedSession {
        let request = SignInRequest(
            name: try bytes("name"),
            password: try bytes("password"),
            label: "console"
        )
        let calls = try await enter(scope, .nothing)
        defer { calls.close() }
        guard let first = try await calls.read(.accountsSignIn, request.encoded()).first else {
            throw WebContext.resultMissing
        }
        return try OpenedSession(wire: first)
    }

    /// The session without its user, whose session ends if the console opened it.
    func withoutUser() async -> ConsoleSession {
        var session = session
        guard let actor = session.actor else { return session }
        session.actor = nil
        guard actor.isOwn,
            let calls = try? await enter(actor.scope, .session(digest: actor.digest))
        else { return session }
        // It ends by itself otherwise.
        _ = try? await calls.read(
            .accountsRevoke,
            RevokeSessionsRequest(id: actor.digest).encoded()
        )
        calls.close()
        return session
    }
}
