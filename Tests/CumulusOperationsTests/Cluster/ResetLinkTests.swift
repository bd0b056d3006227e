// Links that reset passwords: good once, for an hour, on both of two nodes, and only as long as the
// password is the one that they were made for.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct ResetLinkTests {
    private let stores: [TestStore]
    private static let id = Bytes(repeating: 1, count: 16)
    private static let hour: Int64 = 3_600_000

    /// Two nodes that know Ada and her password.
    init() throws {
        let store = try TestStore()
        _ = try store.run(
            WriteRequest(AddUser(name: "ada", id: Self.id), caller: .administrator)
        ).get()
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

    @discardableResult
    private func make(
        _ secret: UInt8 = 7,
        at node: Int = 0,
        by caller: Caller = .administrator
    ) throws -> MakeResetLink.Outcome {
        let change = MakeResetLink(user: "ada", secret: Bytes(repeating: secret, count: 32))
        return try stores[node].run(WriteRequest(change, caller: caller)).get()
    }

    @discardableResult
    private func use(
        _ token: Bytes,
        _ number: UInt8 = 2,
        at node: Int = 0
    ) throws -> String {
        let change = UseResetLink(token, Self.hashed(number))
        return try stores[node].run(WriteRequest(change, caller: .anonymous)).get()
    }

    private func isGood(_ token: Bytes, at node: Int = 0) throws -> Bool {
        try ResetLinks.find(token, now: stores[node].now, in: stores[node].reader) != nil
    }

    /// The number of the fake hash of the password that counts.
    private func password(at node: Int = 0) throws -> HashedPassword? {
        try Passwords.find(of: Self.id, in: stores[node].reader)?.hashed
    }

    // MARK: One node

    @Test func aLinkWorksOnce() throws {
        let link = try make()
        #expect(link.token.count == 96 && link.expires == stores[0].now + Self.hour)
        #expect(ResetLinks.userID(of: link.token) == Self.id)
        #expect(try isGood(link.token))
        #expect(try use(link.token) == "ada")
        #expect(try password() == Self.hashed(2))
        #expect(try !isGood(link.token))
        #expect(throws: ServiceError.self) { try use(link.token, 3) }
        #expect(try password() == Self.hashed(2))
    }

    @Test func sessionsOfTheFormerPasswordEnd() throws {
        let user = try #require(try Users.find("ada", in: stores[0].reader))
        let stored = try #require(try Passwords.find(of: user.id, in: stores[0].reader))
        let digest = Bytes(repeating: 9, count: 32)
        let session = NewSession(digest: digest, label: "phone")
        let proof = PasswordProof(user: user, password: stored.version)
        _ = try stores[0].run(WriteRequest(SignIn(proof, session), caller: .anonymous)).get()
        let isOpen = {
            let store = self.stores[0]
            return try Sessions.find(digest, now: store.now, in: store.reader) != nil
        }
        let link = try make()
        #expect(try isOpen())
        try use(link.token)
        #expect(try !isOpen())
    }

    @Test func aLinkEnds() throws {
        let late = try make(1).token
        stores[0].now += Self.hour
        #expect(try !isGood(late))
        // A newer link replaces it.
        let (first, second) = (try make(2).token, try make(3).token)
        #expect(try !isGood(first) && isGood(second))
        // Another password was set meanwhile.
        let reset = ResetPassword(Self.hashed(4), user: "ada")
        _ = try stores[0].run(WriteRequest(reset, caller: .administrator)).get()
        #expect(try !isGood(second))
        // The user is kept out.
        let third = try make(5).token
        let disable = SetDisabled(true, user: "ada")
        _ = try stores[0].run(WriteRequest(disable, caller: .administrator)).get()
        #expect(try !isGood(third))
        for token in [late, first, second, third] {
            #expect(throws: ServiceError.self) { try use(token) }
        }
    }

    @Test func onlyOperatorsMakeThem() throws {
        #expect(throws: ServiceError.self) { try make(by: .anonymous) }
        let unknown = MakeResetLink(user: "eve", secret: Bytes(repeating: 7, count: 32))
        let request = WriteRequest(unknown, caller: .administrator)
        #expect(throws: ServiceError.self) { try stores[0].run(request).get() }
        let token = try make().token
        var other = token
        other[95] = token[95] == UInt8(ascii: "0") ? UInt8(ascii: "1") : UInt8(ascii: "0")
        for wrong in [[], other, Bytes(token.dropLast(2)), token + token, Bytes("x".utf8)] {
            #expect(try !isGood(wrong))
        }
        // Neither the token nor its secret is stored.
        for row in try stores[0].reader.rows(.meta, .all(.register)) {
            #expect(!row.value.hex.contains(Bytes(repeating: 7, count: 32).hex))
            #expect(!row.value.hex.contains(token.hex))
        }
    }

    // MARK: Two nodes

    @Test func bothNodesTakeALink() throws {
        let token = try make().token
        try exchangeClusterCommits(stores[0], stores[1])
        #expect(try use(token, 2, at: 1) == "ada")
        try exchangeClusterCommits(stores[0], stores[1])
        #expect(try !isGood(token) && password() == Self.hashed(2))
    }

    /// Used on two nodes that don't hear of each other, it sets one password in the end.
    @Test func aLinkThatIsUsedTwiceSetsOnePassword() throws {
        let token = try make().token
        try exchangeClusterCommits(stores[0], stores[1])
        try use(token, 2, at: 0)
        try use(token, 3, at: 1)
        try exchangeClusterCommits(stores[0], stores[1])
        #expect(try password(at: 0) == password(at: 1))
        #expect(try !isGood(token, at: 0) && !isGood(token, at: 1))
    }

    // MARK: Bytes

    @Test func theBytesOfALink() throws {
        var link = ResetLink(
            digest: Bytes(repeating: 0xAB, count: 32),
            expires: 1_790_000_000_000,
            order: 1 << 32,
            name: "ada"
        )
        let digest = "20" + String(repeating: "ab", count: 32)
        #expect(link.value.hex == digest + "80b083c5986801808080801003616461")
        #expect(try ResetLink(link.value) == link)
        link.order = nil
        #expect(link.value.hex == digest + "80b083c598680003616461")
        #expect(try ResetLink(link.value + [1]) == link)
        for cut in Damage.truncations(of: link.value) {
            #expect(throws: MalformedBytes.self) { try ResetLink(cut) }
        }
    }
}
