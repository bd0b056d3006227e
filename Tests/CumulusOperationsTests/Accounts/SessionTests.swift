// Which tokens let their bearers in, and what ends that.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct SessionTests {
    private let store: TestStore
    private static let day: Int64 = 24 * 3_600_000

    init() throws {
        store = try TestStore()
        _ = try administer(AddUser(name: "ada", id: Self.id(1))).get()
        _ = try administer(AddUser(name: "bob", id: Self.id(2))).get()
    }

    private static func id(_ number: UInt8) -> Bytes { Bytes(repeating: number, count: 16) }

    /// A fake hash, since hashing takes long.
    private static func hashed(_ number: UInt8) -> HashedPassword {
        HashedPassword(salt: Self.id(number), hash: Bytes(repeating: number, count: 32))
    }

    private func administer<Asked: ClusterChange>(
        _ change: Asked
    ) throws -> Result<Asked.Outcome, ServiceError> {
        try store.run(WriteRequest(change, caller: .administrator))
    }

    private func change<Asked: AccountChange>(
        _ change: Asked,
        by caller: Caller = .administrator,
        _ credential: Credential? = nil
    ) throws -> Result<Asked.Outcome, ServiceError> {
        try store.run(
            WriteRequest(change, caller: caller, credential: credential)
        )
    }

    private func code<Outcome>(
        _ answer: Result<Outcome, ServiceError>
    ) -> ServiceError.Code? {
        guard case .failure(let error) = answer else { return nil }
        return error.code
    }

    private func proof(_ name: String = "ada") throws -> PasswordProof {
        let user = try #require(try Users.find(name, in: store.reader))
        let password = try #require(try Passwords.find(of: user.id, in: store.reader))
        return PasswordProof(user: user, password: password.version)
    }

    private func token(_ number: Int) -> Bytes { Bytes("token \(number)".utf8) }

    private func signIn(
        _ number: Int,
        _ proof: PasswordProof
    ) throws -> Result<BegunSession, ServiceError> {
        let session = NewSession(digest: Sessions.digest(of: token(number)), label: "n\(number)")
        return try change(SignIn(proof, session), by: .anonymous)
    }

    private func session(_ token: Bytes) throws -> Sessions.Session? {
        try Sessions.find(Sessions.digest(of: token), now: store.now, in: store.reader)
    }

    /// Gives Ada a password and this many sessions.
    private func signInAda(_ count: Int = 1) throws {
        _ = try change(ResetPassword(Self.hashed(1), user: "ada")).get()
        for number in 0..<count {
            _ = try signIn(number, proof()).get()
            store.now += 1
        }
    }

    // MARK: Tokens

    /// Writes a token as earlier releases did: the name, and nothing else.
    private func writeOldToken(_ token: Bytes, of name: String) throws {
        let register = Commit.Register(
            namespace: "token",
            key: [Sessions.digest(of: token)],
            value: Bytes(name.utf8)
        )
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            let scope = try transaction.makeScope(.cluster)
            try ScopeRegisters(of: scope).set([register], &transaction)
        }
    }

    @Test func aTokenOfAReleaseBeforeIsGoodUntilItsUserIsKeptOut() throws {
        try writeOldToken([1], of: "ada")
        store.now += 4_000 * Self.day
        #expect(try session([1])?.user.name == "ada")
        _ = try change(SetDisabled(true, user: "ada")).get()
        #expect(try session([1]) == nil)
        _ = try change(SetDisabled(false, user: "ada")).get()
        #expect(try session([1])?.user.name == "ada")
        _ = try change(EndSessions(user: "ada")).get()
        #expect(try session([1]) == nil)
        #expect(try session([2]) == nil)
    }

    @Test func anOperatorsTokenOutlastsPasswordsAndCanBeMadeAfterAllWereEnded() throws {
        _ = try administer(AddToken([1], user: "ada")).get()
        try signInAda()
        store.now += 4_000 * Self.day
        #expect(try session([1])?.token.details?.kind == .access)
        _ = try change(EndSessions(user: "ada")).get()
        #expect(try session([1]) == nil)
        _ = try administer(AddToken([2], user: "ada")).get()
        #expect(try session([2])?.user.name == "ada")
    }

    @Test func aTokenLeadsToNoOtherUserOfTheName() throws {
        _ = try administer(AddToken([1], user: "ada")).get()
        // Another node knew this name first.
        var value = CanonicalWriter()
        value.delimited(Self.id(9))
        value.varint(0)
        let row = RegisterRow(
            stamp: Stamp(HybridTime(milliseconds: 1), Dot(Incarnation(7), 1)),
            value: value.bytes
        )
        try store.change { (transaction: inout WriteTransaction) throws(EngineError) in
            let scope = try transaction.makeScope(.cluster)
            try ScopeRegisters(of: scope).join(row, into: "user", [Bytes("ada".utf8)], &transaction)
        }
        #expect(try Users.find("ada", in: store.reader)?.id == Self.id(9))
        #expect(try session([1]) == nil)
    }

    // MARK: Sessions

    @Test func aSessionEndsAfterThirtyDaysUnlessItIsUsed() throws {
        try signInAda()
        let first = try #require(try session(token(0)))
        #expect(first.user.name == "ada" && first.token.details?.label == "n0")
        #expect(!first.isDue(now: store.now))
        store.now += 16 * Self.day
        #expect(try session(token(0))?.isDue(now: store.now) == true)
        let credential = Credential(first, epoch: store.state.accountsVersion)
        #expect(try change(RenewSession(), by: .alice, credential).get() == true)
        #expect(try change(RenewSession(), by: .alice, credential).get() == false)
        store.now += 29 * Self.day
        #expect(try session(token(0)) != nil)
        store.now += 2 * Self.day
        #expect(try session(token(0)) == nil)
        #expect(code(try change(RenewSession(), by: .alice, credential)) == .notAuthenticated)
    }

    @Test func aPasswordThatChangesEndsWhatWasOpenedWithAnother() throws {
        try signInAda(2)
        let old = try proof()
        let session = try #require(try session(token(0)))
        let credential = Credential(session, epoch: store.state.accountsVersion)
        let next = NewSession(digest: Sessions.digest(of: token(7)))
        let changing = ChangePassword(Self.hashed(2), old, next)
        #expect(code(try change(changing, by: .bob)) == .notAuthenticated)
        let user = try change(changing, by: .alice, credential).get().user
        #expect(user.name == "ada")
        #expect(try self.session(token(0)) == nil && self.session(token(1)) == nil)
        #expect(try self.session(token(7))?.user == user)
        // A proof of the old password comes too late.
        #expect(code(try signIn(8, old)) == .notAuthenticated)
        #expect(throws: Never.self) { try signIn(8, proof()).get() }
        // A password that an operator sets has the same effect.
        _ = try change(ResetPassword(Self.hashed(3), user: "ada")).get()
        #expect(try self.session(token(7)) == nil && self.session(token(8)) == nil)
    }

    /// A new hash by a sign-in is of the same password.
    @Test func aPasswordThatIsHashedAnewEndsNoSession() throws {
        let weak = try #require(
            HashedPassword(Self.id(1), salt: Self.id(1), cost: .init(rounds: 1 << 4))
        )
        _ = try change(ResetPassword(weak, user: "ada")).get()
        _ = try signIn(0, proof()).get()
        let before = try #require(try Passwords.find(of: Self.id(1), in: store.reader))
        for (number, hashed) in [(1, Self.hashed(7)), (2, Self.hashed(8))] {
            let session = NewSession(digest: Sessions.digest(of: token(number)))
            _ = try change(
                SignIn(proof(), session, rehashed: hashed),
                by: .anonymous
            ).get()
            // The second sign-in finds a hash that is strong enough.
            let stored = try #require(try Passwords.find(of: Self.id(1), in: store.reader))
            #expect(stored.hashed == Self.hashed(7) && stored.version == before.version)
        }
        try store.restart()
        for number in 0...2 { #expect(try session(token(number)) != nil) }
        _ = try change(ResetPassword(Self.hashed(9), user: "ada")).get()
        for number in 0...2 { #expect(try session(token(number)) == nil) }
        let stored = try #require(try Passwords.find(of: Self.id(1), in: store.reader))
        #expect(stored.hashed == Self.hashed(9) && stored.version != before.version)
    }

    @Test func aTruncationMayEndTheSessionsOfAll() throws {
        try signInAda(1)
        _ = try change(ResetPassword(Self.hashed(2), user: "bob")).get()
        _ = try signIn(5, proof("bob")).get()
        _ = try administer(AddToken([1], user: "bob")).get()
        _ = try administer(Truncate(endsSessions: false)).get()
        #expect(try session(token(0)) != nil && session(token(5)) != nil && session([1]) != nil)
        for _ in 0..<2 {
            _ = try administer(Truncate(endsSessions: true)).get()
            #expect(try session(token(0)) == nil && session(token(5)) == nil)
            #expect(try session([1]) == nil)
            _ = try signIn(5, proof("bob")).get()
            _ = try administer(AddToken([1], user: "bob")).get()
            #expect(try session(token(5)) != nil && session([1]) != nil)
        }
    }

    @Test func aRevokedSessionStaysSoAndLeavesTheOthers() throws {
        try signInAda(2)
        let digest = Sessions.digest(of: token(0))
        #expect(try Sessions.all(of: Self.id(1), now: store.now, in: store.reader).count == 2)
        #expect(
            try change(RevokeSession(digest: digest, user: "bob")).get() == false,
            "it isn't Bob's"
        )
        #expect(try session(token(0)) != nil)
        #expect(try change(RevokeSession(digest: digest, user: "ada")).get() == true)
        #expect(try change(RevokeSession(digest: digest, user: "ada")).get() == false)
        #expect(try session(token(0)) == nil && session(token(1)) != nil)
        let left = try Sessions.all(of: Self.id(1), now: store.now, in: store.reader)
        #expect(left.map(\.digest) == [Sessions.digest(of: token(1))])
        try store.restart()
        #expect(try session(token(0)) == nil && session(token(1)) != nil)
    }

    @Test func aUserEndsItsOwnSessionsOnly() throws {
        try signInAda(2)
        _ = try change(ResetPassword(Self.hashed(2), user: "bob")).get()
        _ = try signIn(5, proof("bob")).get()
        let bob = Credential(try #require(try session(token(5))), epoch: 0)
        let digest = Sessions.digest(of: token(0))
        let others: [any UserChange] = [
            RevokeSession(digest: digest, user: "ada"), EndSessions(user: "ada"),
            SetDisabled(true, user: "ada"), ResetPassword(Self.hashed(3), user: "ada"),
        ]
        for other in others {
            #expect(code(try change(other, by: .bob, bob)) == .permissionFailure)
        }
        #expect(
            try change(RevokeSession(digest: digest, user: nil), by: .bob, bob).get() == false
        )
        #expect(try session(token(0)) != nil)
        #expect(try change(EndSessions(user: nil), by: .bob, bob).get() == true)
        #expect(try session(token(5)) == nil && session(token(0)) != nil)
        // Ending the sessions moved the epoch, so the credential is checked again.
        #expect(code(try change(EndSessions(user: nil), by: .bob, bob)) == .notAuthenticated)
    }

    @Test func theOldestSessionEndsForAFurtherOne() throws {
        try signInAda(Sessions.mostPerUser + 2)
        let left = try Sessions.all(of: Self.id(1), now: store.now, in: store.reader)
        #expect(left.count == Sessions.mostPerUser)
        #expect(try session(token(0)) == nil && session(token(1)) == nil)
        #expect(try session(token(2)) != nil)
    }

    @Test func aDisabledUserStaysOutUntilItIsEnabled() throws {
        try signInAda()
        let proof = try proof()
        for expected in [true, true] {
            #expect(
                try change(SetDisabled(true, user: "ada")).get() == expected,
                "twice is more than once"
            )
        }
        #expect(try session(token(0)) == nil)
        #expect(code(try signIn(1, proof)) == .notAuthenticated)
        #expect(code(try change(SetDisabled(true, user: "eve"))) == .unknownItem)
        #expect(try change(SetDisabled(false, user: "ada")).get() == true)
        #expect(try change(SetDisabled(false, user: "ada")).get() == false)
        #expect(try session(token(0)) != nil)
        _ = try signIn(1, proof).get()
    }

    @Test func aNameIsRegisteredOnceAndOpensASession() throws {
        let session = NewSession(digest: Sessions.digest(of: token(0)))
        let register = RegisterUser(name: "eve", id: Self.id(5), Self.hashed(5), session)
        let begun = try change(register, by: .anonymous).get()
        let user = begun.user
        #expect(user.id == Self.id(5) && begun.expires == store.now + Sessions.lifetime)
        #expect(try self.session(token(0))?.user == user)
        #expect(try proof("eve").user == user)
        #expect(code(try change(register, by: .anonymous)) == .invalidArguments)
    }

    // MARK: Waiting requests

    /// A revocation came after the request was queued and before its turn.
    @Test func theWriterJudgesACallerAgain() throws {
        try signInAda(2)
        let epoch = store.state.accountsVersion
        let sessions = try (0...1).map { try #require(try session(token($0))) }
        let save = ModifyRecords(database: .private, saves: [SaveItem("n")])
        let requests = sessions.map { session in
            let caller = Caller(role: .user(session.user.recordName(in: store.scope.container)))
            var request = store.request(save, by: caller)
            request.asker.credential = Credential(session, epoch: epoch)
            return request
        }
        let revoke = WriteRequest(
            RevokeSession(digest: sessions[0].digest, user: "ada"),
            caller: .administrator
        )
        // The caller is refused in the same batch, and in the next one.
        for _ in 0..<2 {
            let answers = try store.batch { (group: inout GroupCommit) throws(EngineError) in
                try store.run(revoke, in: &group)
                return [
                    try store.run(requests[0], in: &group),
                    try store.run(requests[1], in: &group),
                ]
            }
            #expect(code(answers[0]) == .notAuthenticated)
            #expect(code(answers[1]) == nil)
        }
    }

    /// A full disk must not stop anybody who shuts somebody out.
    @Test func whatTakesAccessAwayIsTakenOnAFullDisk() {
        let hashed = Self.hashed(1)
        let changes: [(any AccountChange, Bool)] = [
            (SetDisabled(true, user: "ada"), true), (SetDisabled(false, user: "ada"), false),
            (RevokeSession(digest: [], user: nil), true), (EndSessions(user: nil), true),
            (ResetPassword(hashed, user: "ada"), false), (RenewSession(), false),
        ]
        for (change, expected) in changes {
            #expect(change.onlyDeletes == expected, "\(change)")
        }
    }

    /// Rows are read only if the epoch has moved.
    @Test func anUnmovedEpochIsTakenAtItsWord() throws {
        try signInAda()
        let session = try #require(try session(token(0)))
        let epoch = store.state.accountsVersion
        _ = try change(SetDisabled(true, user: "ada")).get()
        #expect(store.state.accountsVersion > epoch)
        let judged = { (credential: Credential) in
            try credential.judged(at: epoch + 1, now: store.now, in: store.reader)
        }
        #expect(try judged(Credential(session, epoch: epoch)) == nil)
        _ = try change(SetDisabled(false, user: "ada")).get()
        let again = try #require(try judged(Credential(session, epoch: epoch)))
        #expect(again.epoch == epoch + 1 && again.session?.digest == session.digest)
    }
}
