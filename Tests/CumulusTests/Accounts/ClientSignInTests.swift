// Signing in, sessions and passwords, by the client library at a node. Each check of a password
// takes about 100 ms.

import Cumulus
import CumulusModel
import CumulusTesting
import CumulusWire
import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(2))) struct ClientSignInTests {
    private static let password = "correct horse"
    private static let note = Record(recordType: "Note", recordID: .init(recordName: "note"))

    /// A node with a user who has a password, and its operator.
    private func withAda(
        _ body: (TestServer, NodeOperator) async throws -> Void
    ) async throws {
        let server = try await TestServer()
        let admin = server.nodeOperator()
        _ = try await admin.addUser("ada", in: nil)
        try await admin.setPassword(of: "ada", to: Self.password)
        try await body(server, admin)
        await admin.close()
        try await server.stop()
    }

    private func signIn(
        _ server: TestServer,
        _ password: String = Self.password,
        label: String = ""
    ) async throws -> AccessSession {
        let visitor = server.container(deviceID: "phone-1")
        let result: Result<AccessSession, any Error>
        do {
            result = .success(
                try await visitor.signIn(name: "ada", password: password, label: label)
            )
        } catch {
            result = .failure(error)
        }
        await visitor.close()
        return try result.get()
    }

    /// The code with which something fails; nil if it doesn't.
    private func code(of body: () async throws -> Void) async -> ServiceError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? ServiceError)?.code
        }
    }

    /// The code with which a caller is refused.
    private func refusal(_ container: Container) async -> ServiceError.Code? {
        await code { _ = try await container.privateCloudDatabase.allRecordZones() }
    }

    // MARK: Whether the caller is let in

    @Test func theEndOfASessionIsTold() async throws {
        try await withAda { server, admin in
            let ada = server.container(token: try await signIn(server).token)
            var changes = ada.accountStatusChanges.makeAsyncIterator()
            #expect(await refusal(ada) == nil)
            #expect(await changes.next() == .available)
            // A wrong password says nothing of the session.
            let wrong = await code { _ = try await ada.signIn(name: "ada", password: "wrong pass") }
            #expect(wrong == .notAuthenticated)
            try await admin.revokeAllSessions(of: "ada")
            #expect(await refusal(ada) == .notAuthenticated)
            #expect(await changes.next() == .noAccount)
            var later = ada.accountStatusChanges.makeAsyncIterator()
            #expect(await later.next() == .noAccount)
            await ada.close()
            #expect(await changes.next() == nil)
            #expect(await later.next() == nil)
        }
    }

    @Test func signingOutIsTold() async throws {
        try await withAda { server, _ in
            let ends: [@Sendable (Container) async throws -> Void] = [
                { try await $0.signOut() }, { try await $0.revokeAllSessions() },
                { _ = try await $0.changePassword(from: Self.password, to: "battery staple") },
            ]
            for end in ends {
                let ada = server.container(token: try await signIn(server).token)
                var changes = ada.accountStatusChanges.makeAsyncIterator()
                #expect(await ada.accountStatus() == .available)
                #expect(await changes.next() == .available)
                try await end(ada)
                #expect(await changes.next() == .noAccount)
                await ada.close()
            }
            let visitor = server.container()
            var changes = visitor.accountStatusChanges.makeAsyncIterator()
            #expect(await changes.next() == .noAccount)
            _ = try await visitor.signIn(name: "ada", password: "battery staple")
            await visitor.close()
            #expect(await changes.next() == nil)
        }
    }

    /// No call is made: the stream ends.
    @Test func aStreamThatEndsIsTold() async throws {
        try await withAda { server, admin in
            let ada = server.container(token: try await signIn(server).token)
            var changes = ada.accountStatusChanges.makeAsyncIterator()
            var pages = ada.privateCloudDatabase.followDatabaseChanges(since: nil)
                .makeAsyncIterator()
            _ = try await pages.next()
            #expect(await changes.next() == .available)
            try await admin.revokeAllSessions(of: "ada")
            #expect(await code { while try await pages.next() != nil {} } == .notAuthenticated)
            #expect(await changes.next() == .noAccount)
            await ada.close()
        }
    }

    @Test func aSessionIsOpenedListedAndEnded() async throws {
        try await withAda { server, admin in
            let session = try await signIn(server, label: "phone")
            let other = try await signIn(server, label: "laptop")
            let month = Date().addingTimeInterval(29 * 86_400).timeIntervalSince1970 * 1_000
            #expect(session.expires.millisecondsSince1970 > Int64(month))
            let ada = server.container(token: session.token)
            #expect(try await ada.userRecordID() == session.userRecordID)
            try await ada.privateCloudDatabase.save(Self.note)

            let sessions = try await ada.sessions()
            #expect(sessions.map(\.label) == ["phone", "laptop"])
            #expect(sessions.map(\.kind) == [.session, .session])
            #expect(sessions.map(\.isThis) == [true, false])
            #expect(sessions.map(\.deviceID) == ["phone-1", "phone-1"])
            #expect(sessions.first?.expires == session.expires)
            #expect(try await admin.sessions(of: "ada").map(\.id) == sessions.map(\.id))

            let laptop = server.container(token: other.token)
            #expect(await refusal(laptop) == nil)
            let id = try #require(sessions.last?.id)
            #expect(try await ada.revoke(id))
            #expect(try await !ada.revoke(id))
            #expect(await refusal(laptop) == .notAuthenticated)
            // What names no session ends none, least of all each of them.
            #expect(await code { try await ada.revoke("") } == .invalidArguments)
            #expect(try await ada.sessions().map(\.label) == ["phone"])
            await laptop.close()
            await ada.close()
        }
    }

    @Test func whoSignsOutIsOut() async throws {
        try await withAda { server, _ in
            let ada = server.container(token: try await signIn(server).token)
            let session = try await signIn(server)
            let other = server.container(token: session.token)
            try await ada.signOut()
            #expect(await refusal(ada) == .notAuthenticated)
            #expect(await refusal(other) == nil)
            // Twice is once, and nobody is signed out already.
            try await ada.signOut()
            let nobody = server.container()
            try await nobody.signOut()
            #expect(await code { _ = try await nobody.sessions() } == .notAuthenticated)
            try await other.revokeAllSessions()
            #expect(await refusal(other) == .notAuthenticated)
            for container in [ada, other, nobody] { await container.close() }
        }
    }

    /// A keyboard writes é as one character or as two.
    @Test(arguments: [("cafe\u{301} au lait", "caf\u{E9} au lait")])
    func aPasswordIsOneTextHoweverItIsTyped(one: String, other: String) async throws {
        try await withAda { server, admin in
            try await admin.setPassword(of: "ada", to: one)
            let session = try await signIn(server, other)
            let ada = server.container(token: session.token)
            let changed = try await ada.changePassword(from: one, to: other + "!")
            #expect(changed.userRecordID == session.userRecordID)
            _ = try await signIn(server, one + "!")
            await ada.close()
        }
    }

    @Test func aChangedPasswordEndsTheSessionsBefore() async throws {
        try await withAda { server, admin in
            let ada = server.container(token: try await signIn(server).token)
            let guess = await code {
                _ = try await ada.changePassword(from: "wrong horse", to: "battery staple")
            }
            #expect(guess == .notAuthenticated)
            let short = await code {
                _ = try await ada.changePassword(from: Self.password, to: "short")
            }
            #expect(short == .invalidArguments)
            #expect(await refusal(ada) == nil)
            let session = try await ada.changePassword(from: Self.password, to: "battery staple")
            #expect(await refusal(ada) == .notAuthenticated)
            let again = server.container(token: session.token)
            #expect(await refusal(again) == nil)
            let late = await code { _ = try await signIn(server) }
            #expect(late == .notAuthenticated)
            try await admin.setPassword(of: "ada", to: Self.password)
            #expect(await refusal(again) == .notAuthenticated)
            _ = try await signIn(server)
            for container in [ada, again] { await container.close() }
        }
    }

    @Test func anOperatorKeepsAUserOutAndEndsSessions() async throws {
        try await withAda { server, admin in
            let first = server.container(token: try await signIn(server).token)
            let second = server.container(token: try await signIn(server).token)
            #expect(await refusal(first) == nil)
            #expect(try await admin.setState(of: "ada", isDisabled: true))
            #expect(await refusal(first) == .notAuthenticated)
            let disabled = await code { _ = try await signIn(server) }
            #expect(disabled == .notAuthenticated)
            #expect(try await admin.setState(of: "ada", isDisabled: false))
            #expect(try await !admin.setState(of: "ada", isDisabled: false))
            #expect(await refusal(first) == nil)

            let id = try #require(try await admin.sessions(of: "ada").first?.id)
            #expect(try await admin.revoke(id, of: "ada"))
            #expect(try await !admin.revoke(id, of: "ada"))
            #expect(await refusal(first) == .notAuthenticated)
            #expect(await refusal(second) == nil)
            let none = await code { _ = try await admin.revoke("", of: "ada") }
            #expect(none == .invalidArguments)
            try await admin.revokeAllSessions(of: "ada")
            #expect(await refusal(second) == .notAuthenticated)
            #expect(try await admin.sessions(of: "ada").isEmpty)
            let unknown = await code { _ = try await admin.sessions(of: "eve") }
            #expect(unknown == .unknownItem)
            for container in [first, second] { await container.close() }
        }
    }

    @Test func usersRegisterWhereThatIsAllowed() async throws {
        let closed = try await TestServer()
        let visitor = closed.container()
        let refused = await code {
            _ = try await visitor.register(name: "eve", password: Self.password)
        }
        #expect(refused == .permissionFailure)
        await visitor.close()
        try await closed.stop()

        let open = try await TestServer(takesRegistrations: true)
        let newcomer = open.container()
        let session = try await newcomer.register(name: "eve", password: Self.password)
        let eve = open.container(token: session.token)
        try await eve.privateCloudDatabase.save(Self.note)
        let again = try await newcomer.signIn(name: "eve", password: Self.password)
        #expect(again.userRecordID == session.userRecordID)
        let taken = await code {
            _ = try await newcomer.register(name: "eve", password: Self.password)
        }
        #expect(taken == .invalidArguments)
        for container in [newcomer, eve] { await container.close() }
        try await open.stop()
    }

    /// A name that was registered would be taken the next time, and a password wrong that was
    /// changed: neither is sent again, while signing in is.
    @Test func whatAnAnswerSaidThatWasLost() async throws {
        let opened = OpenedSession(token: Bytes("cumulus_1".utf8), expires: 1, user: "_ada")
        let server = try await ScriptedServer(
            [.dropCall, .calls([.answer(opened.encoded()), .drop]), .dropCall]
        )
        var configuration = Container.Configuration(endpoints: [server.endpoint])
        configuration.timeout = .seconds(60)
        let container = Container(
            identifier: TestServer.container,
            configuration: configuration
        )
        let session = try await container.signIn(name: "ada", password: Self.password)
        #expect(session.token == "cumulus_1")
        #expect(server.calls == 2)
        let registered = await #expect(throws: ServiceError.self) {
            _ = try await container.register(name: "ada", password: Self.password)
        }
        let changed = await #expect(throws: ServiceError.self) {
            _ = try await container.changePassword(from: Self.password, to: "battery staple")
        }
        for error in [registered, changed] {
            #expect(error?.code == .serverResponseLost)
            #expect(error?.message.contains("sign in") == true)
        }
        #expect(server.calls == 4)
        await container.close()
        try await server.stop()
    }
}
