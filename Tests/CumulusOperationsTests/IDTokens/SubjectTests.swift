// Which user a subject is, on one node and on two that don't know of each other.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct SubjectTests {
    private let store: TestStore
    private static let key = Bytes(repeating: 7, count: 32)

    init() throws {
        store = try TestStore()
    }

    private func ada(_ change: (inout ProvenSubject) -> Void = { _ in }) throws -> ProvenSubject {
        var subject = ProvenSubject(
            issuer: TestIssuer.url,
            subject: "ada",
            userID: Subjects.userID(of: "ada", at: TestIssuer.url, key: Self.key),
            displayName: "Ada",
            email: try Handle(.email, Bytes("ada@example.org".utf8))
        )
        change(&subject)
        return subject
    }

    @discardableResult
    private func run<Asked: ClusterChange>(
        _ change: Asked,
        _ caller: Caller = .administrator,
        at store: TestStore
    ) throws -> Result<Asked.Outcome, ServiceError> {
        try store.run(WriteRequest(change, caller: caller))
    }

    private func signIn(
        _ subject: ProvenSubject,
        _ digest: UInt8 = 1,
        at other: TestStore? = nil
    ) throws -> Users.User {
        let session = NewSession(digest: Bytes(repeating: digest, count: 32))
        let change = SignInSubject(subject, session)
        return try run(change, .anonymous, at: other ?? store).get().user
    }

    /// Whether a sign-in gets the one answer of all refusals.
    private func isRefused(_ subject: ProvenSubject) throws -> Bool {
        do {
            _ = try signIn(subject)
            return false
        } catch let error as ServiceError {
            return error.code == .notAuthenticated && error.message == Subjects.refusal.message
        }
    }

    private func handles(_ user: Users.User, at store: TestStore) throws -> [People.HeldHandle] {
        try People.handles(of: user.id, in: store.reader)
    }

    @Test func theFirstSignInMakesAUserAndTheNextFindsIt() throws {
        let user = try signIn(try ada())
        #expect(user.name == "oidc-" + user.id.hex)
        #expect(try Users.find(user.name, in: store.reader) == user)
        #expect(try People.profile(of: user.id, in: store.reader).displayName == "Ada")
        #expect(try handles(user, at: store).map(\.handle.text) == ["ada@example.org"])
        #expect(try handles(user, at: store).map(\.verifiedBy) == [TestIssuer.url])
        // Later claims of the issuer, or another key, lead to the same user.
        let later = try ada {
            ($0.displayName, $0.mayBeMade) = ("Countess", false)
            $0.userID = Bytes(repeating: 9, count: 16)
        }
        #expect(try signIn(later, 2) == user)
        #expect(try People.profile(of: user.id, in: store.reader).displayName == "Ada")
        let sessions = try Sessions.all(of: user.id, now: store.now, in: store.reader)
        #expect(sessions.map(\.token.details?.password) == [nil, nil])
        #expect(sessions.map(\.token.details?.kind) == [.session, .session])
    }

    @Test func aSubjectIsUniqueAtItsIssuerOnly() throws {
        let user = try signIn(try ada())
        let other = try ada {
            $0.issuer = "https://other.example.org"
            $0.userID = Subjects.userID(of: "ada", at: $0.issuer, key: Self.key)
        }
        #expect(try signIn(other, 2).id != user.id)
        let ids = [
            Subjects.userID(of: "b", at: "a", key: Self.key),
            Subjects.userID(of: "", at: "ab", key: Self.key),
            Subjects.userID(of: "b", at: "a", key: Bytes(repeating: 8, count: 32)),
        ]
        #expect(Set(ids).count == 3 && ids.allSatisfy { $0.count == 16 })
    }

    @Test func noUserIsMadeWhereThatIsNotAllowed() throws {
        let subject = try ada { $0.mayBeMade = false }
        #expect(try isRefused(subject))
        #expect(try Users.all(in: store.reader).isEmpty)
    }

    @Test func anOperatorNamesTheUserOfASubject() throws {
        let subject = try ada { ($0.user, $0.mayBeMade) = ("alice", true) }
        #expect(try isRefused(subject), "there is no such user")
        try run(AddUser(name: "alice", id: Bytes(repeating: 1, count: 16)), at: store)
        let user = try signIn(subject)
        #expect(user.name == "alice")
        #expect(try Users.all(in: store.reader).map(\.name) == ["alice"])
        #expect(try handles(user, at: store).isEmpty)
    }

    @Test func aDisabledUserIsRefused() throws {
        let user = try signIn(try ada())
        try run(SetDisabled(true, user: user.name), at: store)
        #expect(try isRefused(try ada()))
        try run(SetDisabled(false, user: user.name), at: store)
        #expect(try signIn(try ada(), 2) == user)
    }

    @Test func anAddressThatSomebodyHasStaysTheirs() throws {
        try run(AddUser(name: "alice", id: Bytes(repeating: 1, count: 16)), at: store)
        let subject = try ada()
        let email = try #require(subject.email)
        let given = SetHandle(email, user: "alice", isHeld: true)
        try run(given, at: store)
        #expect(try handles(signIn(subject), at: store).isEmpty)
        // An address that was taken from its user is free, even for a later subject.
        try run(SetHandle(email, user: "alice", isHeld: false), at: store)
        let bob = try ada {
            $0.subject = "bob"
            $0.userID = Subjects.userID(of: "bob", at: $0.issuer, key: Self.key)
        }
        #expect(try handles(signIn(bob, 2), at: store).count == 1)
    }

    @Test func aNameThatSomebodyElseHasOpensNothing() throws {
        let subject = try ada()
        let name = "oidc-" + subject.userID.hex
        try run(AddUser(name: name, id: Bytes(repeating: 1, count: 16)), at: store)
        #expect(try isRefused(subject))
    }

    /// Copies one node's commits of the cluster's scope to another node.
    private func hand(from one: TestStore, to other: TestStore) throws {
        let scope = try #require(try one.reader.scope(.cluster))
        let run = one.state.incarnation
        let last = try one.reader.vector(of: scope)[run]
        for seq in 1...last {
            let key = RowKey.commit(scope, Dot(run, seq))
            let bytes = try #require(try one.reader.get(key))
            let commit = try Commit(bytes)
            try other.change { (transaction: inout WriteTransaction) throws(EngineError) in
                let cluster = try transaction.makeScope(.cluster)
                try transaction.apply(commit, bytes: bytes, in: cluster)
            }
        }
    }

    @Test func twoNodesMakeOneUser() throws {
        let other = try TestStore(seed: 2)
        other.now += 5
        let first = try signIn(try ada(), 1)
        let second = try signIn(try ada { $0.displayName = "Countess" }, 2, at: other)
        #expect(first.id == second.id && first.name == second.name)
        try hand(from: store, to: other)
        try hand(from: other, to: store)
        for store in [store, other] {
            #expect(try Users.find(first.name, in: store.reader) == first)
            #expect(try People.profile(of: first.id, in: store.reader).displayName == "Countess")
            #expect(try handles(first, at: store).map(\.handle.text) == ["ada@example.org"])
            let sessions = try Sessions.all(of: first.id, now: other.now, in: store.reader)
            #expect(sessions.map(\.digest) == [1, 2].map { Bytes(repeating: $0, count: 32) })
            #expect(try signIn(try ada(), 3, at: store).id == first.id)
        }
    }

    /// If two nodes should ever make two ids, both keep the first one.
    @Test func theFirstIDStands() throws {
        let other = try TestStore(seed: 2)
        other.now += 5
        let first = try signIn(try ada())
        _ = try signIn(try ada { $0.userID = Bytes(repeating: 9, count: 16) }, 2, at: other)
        try hand(from: store, to: other)
        try hand(from: other, to: store)
        for store in [store, other] { #expect(try signIn(try ada(), 3, at: store).id == first.id) }
    }
}
