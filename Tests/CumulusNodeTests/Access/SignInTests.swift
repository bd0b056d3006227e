// Passwords on a real node: signing in, changing them, and what somebody is told who guesses. Each
// check of a password takes about 100 ms.

import Cumulus
import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import CumulusWire
import Synchronization
import Testing

@testable import CumulusNode

@Suite(.serialized) struct SignInTests {
    private static let password = "correct horse"

    /// A node with a user who has a password, and a caller without a token.
    private func withAda(
        _ body: (TestServer, _ admin: RawClient, _ nobody: RawClient) async throws -> Void
    ) async throws {
        try await withServer { server in
            _ = try await server.makeUser("ada")
            let admin = try RawClient.administering(server)
            try admin.setPassword(Self.password, of: "ada")
            try await body(server, admin, try RawClient(greeting: server.endpoint))
        }
    }

    private func connect(_ session: OpenedSession, _ server: TestServer) throws -> RawClient {
        try RawClient(
            greeting: server.endpoint,
            token: String(decoding: session.token, as: UTF8.self)
        )
    }

    /// As if a release with lower settings had hashed it.
    @Test func aWeakHashIsMadeAnewBySigningIn() async throws {
        try await withAda { server, _, nobody in
            let gate = server.node.gate
            let weak = try #require(
                HashedPassword(
                    Bytes(Self.password.utf8),
                    salt: Bytes(repeating: 5, count: HashedPassword.saltBytes),
                    cost: HashedPassword.Cost(rounds: 1 << 10)
                )
            )
            let request = WriteRequest(
                ResetPassword(weak, user: "ada"),
                caller: Caller(role: .operator)
            )
            let token = CallToken(deadline: server.node.environment.now() + 60_000)
            let work = StoreGate.Request(request, token) { _ in }
            #expect(
                gate.submit(StoreGate.QueuedWrite(work, byteCount: 0, loop: InPlaceLoop.shared))
            )
            func stored() throws -> HashedPassword? {
                let reader = gate.latest(reach: .disk)
                return try Users.find("ada", in: reader).flatMap {
                    try Passwords.find(of: $0.id, in: reader)?.hashed
                }
            }
            #expect(try await eventually { try stored() == weak })
            let wrong = try error { _ = try nobody.signIn("ada", "wrong horse") }
            #expect(wrong.code == .notAuthenticated)
            #expect(try stored() == weak)
            let first = try connect(try nobody.signIn("ada", Self.password), server)
            let strong = try #require(try stored())
            #expect(!strong.isWeak && strong.matches(Bytes(Self.password.utf8)))
            let second = try connect(try nobody.signIn("ada", Self.password), server)
            #expect(try stored() == strong)
            for (name, client) in [("one", first), ("two", second)] {
                _ = try client.save([Record(name)])[0].get()
            }
        }
    }

    @Test func anOperatorEndsTheSessionsOfAllAfterARestore() async throws {
        try await withAda { server, _, nobody in
            let ada = try connect(try nobody.signIn("ada", Self.password), server)
            let admin = server.nodeOperator()
            _ = try await admin.truncate()
            _ = try ada.save([Record("note")])[0].get()
            _ = try await admin.truncate(endsSessions: true)
            #expect(try error { _ = try ada.fetch("note") }.code == .notAuthenticated)
            _ = try connect(try nobody.signIn("ada", Self.password), server)
            await admin.close()
        }
    }

    @Test func aPasswordOpensASession() async throws {
        try await withAda { server, admin, nobody in
            let session = try nobody.signIn("ada", Self.password)
            #expect(session.expires > server.node.environment.wallClock())
            let ada = try connect(session, server)
            _ = try ada.save([Record("note")])[0].get()
            let me = try WhoAmIResponse(wire: ada.perform(.accountsWhoAmI)[0]).caller
            #expect(me.user == session.user && !me.user.isEmpty)
            let second = try connect(try nobody.signIn("ada", Self.password), server)
            let sessions = try ada.sessions()
            // The first one is the operator's token.
            #expect(sessions.map(\.kind) == [2, 1, 1])
            #expect(sessions.map(\.isThis) == [false, true, false])
            #expect(try admin.sessions(of: "ada").map(\.id) == sessions.map(\.id))
            #expect(sessions[1].label == "test")
            // One's own others can be ended.
            #expect(try ada.revoke(sessions[2].id))
            #expect(try !ada.revoke(sessions[2].id))
            let ended = try error { _ = try second.fetch("note") }
            #expect(ended.code == .notAuthenticated)
            _ = try ada.fetch("note")[0].get()
            for refused in [
                try error { _ = try ada.sessions(of: "ada") },
                try error { try ada.revoke(of: "ada") },
            ] { #expect(refused.code == .permissionFailure) }
            let anonymous = try error { _ = try nobody.sessions() }
            #expect(anonymous.code == .notAuthenticated)
        }
    }

    @Test func oneTextForAllThatIsWrongAndALimit() async throws {
        try await withAda { _, admin, nobody in
            _ = try admin.perform(
                .operatorAddUser,
                BytesRequest(Bytes("bare".utf8)).encoded()
            )
            let wrong = [("ada", "wrong horse"), ("eve", Self.password), ("bare", Self.password)]
            for (name, password) in wrong {
                let refused = try error { _ = try nobody.signIn(name, password) }
                #expect(refused.code == .notAuthenticated)
                #expect(refused.message == Passwords.refusal.message)
            }
            try admin.setDisabled(true, "ada")
            let disabled = try error { _ = try nobody.signIn("ada", Self.password) }
            #expect(disabled.message == Passwords.refusal.message)
            try admin.setDisabled(false, "ada")
            // It succeeded with the password, and so all attempts are there again.
            _ = try nobody.signIn("ada", Self.password)
            for _ in 0..<10 { _ = try error { _ = try nobody.signIn("ada", "wrong horse") } }
            let limited = try error { _ = try nobody.signIn("ada", Self.password) }
            #expect(limited.code == .requestRateLimited)
            #expect((1...10_000).contains(limited.retryAfterMilliseconds ?? 0))
        }
    }

    @Test func aChangedPasswordEndsWhatItOpened() async throws {
        try await withAda { server, admin, nobody in
            let ada = try connect(try nobody.signIn("ada", Self.password), server)
            let other = try connect(try nobody.signIn("ada", Self.password), server)
            let stream = try other.followZone()
            func change(_ old: String, _ new: String) throws -> OpenedSession {
                let request = ChangePasswordRequest(
                    oldPassword: Bytes(old.utf8),
                    newPassword: Bytes(new.utf8)
                )
                let answer = try ada.perform(.accountsChangePassword, request.encoded())
                return try OpenedSession(wire: answer[0])
            }
            let guessed = try error { _ = try change("wrong horse", "battery staple") }
            #expect(guessed.message == Passwords.refusal.message)
            let short = try error { _ = try change(Self.password, "short") }
            #expect(short.code == .invalidArguments)
            let session = try change(Self.password, "battery staple")
            other.patience = 1_000
            #expect(try other.end(of: stream).code == .notAuthenticated)
            let old = try error { _ = try ada.fetch("note") }
            #expect(old.code == .notAuthenticated)
            _ = try connect(session, server).save([Record("note")])[0].get()
            let late = try error { _ = try nobody.signIn("ada", Self.password) }
            #expect(late.code == .notAuthenticated)
            _ = try nobody.signIn("ada", "battery staple")
            try admin.setPassword("set by an operator", of: "ada")
            let reset = try error { _ = try connect(session, server) }
            #expect(reset.code == .notAuthenticated)
        }
    }

    @Test func usersRegisterWhereThatIsAllowed() async throws {
        try await withServer { server in
            let nobody = try RawClient(greeting: server.endpoint)
            let refused = try error {
                _ = try nobody.signIn("eve", Self.password, by: .accountsRegister)
            }
            #expect(refused.code == .permissionFailure)
        }
        let server = try await TestServer(takesRegistrations: true)
        let nobody = try RawClient(greeting: server.endpoint)
        let session = try nobody.signIn("eve", Self.password, by: .accountsRegister)
        _ = try connect(session, server).save([Record("note")])[0].get()
        #expect(try nobody.signIn("eve", Self.password).user == session.user)
        let taken = try error {
            _ = try nobody.signIn("eve", Self.password, by: .accountsRegister)
        }
        #expect(taken.code == .invalidArguments)
        try await server.stop()
    }

    /// However a keyboard spells a password, and whichever form it was set in.
    @Test func eachFormOfAPasswordOpensASession() async throws {
        try await withAda { server, admin, nobody in
            let forms = ["P\u{E4}ssw\u{F6}rd 1234", "Pa\u{308}sswo\u{308}rd 1234"]
            for set in forms {
                try admin.setPassword(set, of: "ada")
                for shown in forms { _ = try nobody.signIn("ada", shown) }
            }
            let ada = try connect(try nobody.signIn("ada", forms[0]), server)
            let change = ChangePasswordRequest(
                oldPassword: Bytes(forms[1].utf8),
                newPassword: Bytes((forms[1] + "5").utf8)
            )
            _ = try ada.perform(.accountsChangePassword, change.encoded())
            _ = try nobody.signIn("ada", forms[0] + "5")
            let wrong = try error { _ = try nobody.signIn("ada", forms[0]) }
            #expect(wrong.code == .notAuthenticated)
        }
    }

    /// Phones add a space behind a name that they complete.
    @Test func spacesAroundANameDoNotCount() async throws {
        let server = try await TestServer(takesRegistrations: true)
        let nobody = try RawClient(greeting: server.endpoint)
        let session = try nobody.signIn(" eve ", Self.password, by: .accountsRegister)
        for name in ["eve", "eve ", "  eve"] {
            #expect(try nobody.signIn(name, Self.password).user == session.user)
        }
        for name in ["eve", "eve ", "Eve", "e ve"] {
            let taken = try error {
                _ = try nobody.signIn(name, Self.password, by: .accountsRegister)
            }
            #expect(taken.code == .invalidArguments, "\(name)")
        }
        let admin = try RawClient.administering(server)
        let add = BytesRequest(Bytes("EVE".utf8)).encoded()
        let refused = try error { _ = try admin.perform(.operatorAddUser, add) }
        #expect(refused.code == .invalidArguments)
        try await server.stop()
    }

    /// Calls beyond the queue of the thread are refused, the rest is done.
    @Test func aFloodOfPasswordsIsRefused() async throws {
        let thread = PasswordThread(mostWaiting: 2)
        let done = Mutex<[Int]>([])
        // It is not started yet: all of them wait.
        for number in 0..<2 {
            #expect(thread.submit { done.withLock { $0.append(number) } })
        }
        #expect(!thread.submit {})
        let error = await #expect(throws: ServiceError.self) { try await thread.run { 2 } }
        #expect(error?.code == .requestRateLimited && error?.retryAfterMilliseconds != nil)
        thread.start()
        thread.stop()
        #expect(done.withLock { $0 } == [0, 1])
    }
}
