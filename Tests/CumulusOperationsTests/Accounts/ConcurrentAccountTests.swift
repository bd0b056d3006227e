// Two nodes change one account without knowing of each other; then both apply the other's commits.
//
// `AccountHistoryTests` plays such cases at random; these two have numbers in the list of cases.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct ConcurrentAccountTests {
    private let stores: [TestStore]
    private static let id = Bytes(repeating: 1, count: 16)

    /// Two nodes that know Ada and her password.
    init() throws {
        let store = try TestStore()
        let add = AddUser(name: "ada", id: Self.id)
        _ = try store.run(WriteRequest(add, caller: .administrator)).get()
        let reset = ResetPassword(Self.hashed(1), user: "ada")
        _ = try store.run(WriteRequest(reset, caller: .administrator)).get()
        stores = [store, try TestStore(copying: store, seed: 2)]
    }

    /// A fake hash, since scrypt takes long.
    private static func hashed(_ number: UInt8) -> HashedPassword {
        HashedPassword(
            salt: Bytes(repeating: number, count: 16),
            hash: Bytes(repeating: number, count: 32)
        )
    }

    private func change(
        _ change: some AccountChange,
        by caller: Caller = .administrator,
        at node: Int
    ) throws {
        let request = WriteRequest(change, caller: caller)
        _ = try stores[node].run(request).get()
    }

    private func exchange() throws { try exchangeClusterCommits(stores[0], stores[1]) }

    private func proof(at node: Int) throws -> PasswordProof {
        let reader = stores[node].reader
        let user = try #require(try Users.find("ada", in: reader))
        let password = try #require(try Passwords.find(of: user.id, in: reader))
        return PasswordProof(user: user, password: password.version)
    }

    private func signIn(_ digest: Bytes, at node: Int) throws {
        let session = NewSession(digest: digest, label: "test")
        try change(SignIn(proof(at: node), session), by: .anonymous, at: node)
    }

    private func isOpen(_ digest: Bytes, at node: Int) throws -> Bool {
        let store = stores[node]
        return try Sessions.find(digest, now: store.now, in: store.reader) != nil
    }

    /// Case 4: a password is changed on A, and the old one signs in on B.
    @Test func aPasswordIsChangedBesideASignInWithTheOldOne() throws {
        try change(ResetPassword(Self.hashed(2), user: "ada"), at: 0)
        let old = Bytes(repeating: 7, count: 32)
        stores[1].now += 3_600_000
        try signIn(old, at: 1)
        #expect(try isOpen(old, at: 1), "the node knows no other password")
        try exchange()
        for node in 0...1 {
            #expect(try !isOpen(old, at: node), "node \(node)")
            let new = Bytes(repeating: UInt8(10 + node), count: 32)
            try signIn(new, at: node)
            #expect(try isOpen(new, at: node), "node \(node)")
        }
    }

    /// Case 5: a user is disabled on A, and its profile changes on B.
    @Test func aUserIsDisabledBesideAChangeOfItsProfile() throws {
        let digest = Bytes(repeating: 7, count: 32)
        try signIn(digest, at: 1)
        try exchange()
        try change(SetDisabled(true, user: "ada"), at: 0)
        stores[1].now += 3_600_000
        let profile = People.Profile(displayName: "Ada", isDiscoverable: true)
        try change(SetProfile(profile, user: "ada"), at: 1)
        #expect(try isOpen(digest, at: 1))
        try exchange()
        for node in 0...1 {
            #expect(try !isOpen(digest, at: node), "node \(node)")
            let found = try People.profile(of: Self.id, in: stores[node].reader)
            #expect(found.displayName == "Ada", "node \(node)")
        }
    }
}

/// Each node applies what the other one has in the cluster's scope.
func exchangeClusterCommits(_ first: TestStore, _ second: TestStore) throws {
    for (one, other) in [(first, second), (second, first)] {
        let scope = try #require(try one.reader.scope(.cluster))
        let target = try #require(try other.reader.scope(.cluster))
        let known = try other.reader.vector(of: target)
        for dot in try one.reader.vector(of: scope).dots
        where known[dot.incarnation] < dot.seq {
            for seq in (known[dot.incarnation] + 1)...dot.seq {
                let key = RowKey.commit(scope, Dot(dot.incarnation, seq))
                let bytes = try #require(try one.reader.get(key))
                let commit = try Commit(bytes)
                try other.change { (transaction: inout WriteTransaction) throws(EngineError) in
                    try transaction.apply(commit, bytes: bytes, in: target)
                }
            }
        }
    }
}
