// What is kept of a password, and what it is compared with.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct PasswordTests {
    private static let salt = Bytes(0..<16)

    /// The outcome for this password and salt was computed with Python's `hashlib.scrypt`.
    @Test func itIsScryptWithTheWrittenParameters() throws {
        let hashed = try #require(HashedPassword(Bytes("correct horse".utf8), salt: Self.salt))
        let known = "5c662628ac4eb1068a287e2aa2a202ae248e98db04d61d3327e7342db6ec7097"
        let expected = HashedPassword(salt: Self.salt, hash: try #require(Bytes(hex: known)))
        #expect(hashed == expected)
        #expect(expected.matches(Bytes("correct horse".utf8)))
        #expect(!expected.matches(Bytes("correct horsf".utf8)))
        #expect(!expected.matches([]))
        #expect(!HashedPassword.ofNobody.matches(Bytes("correct horse".utf8)))
    }

    /// Keyboards encode one text in two ways, and a node converts both to one.
    @Test func aPasswordIsTheSameInEachForm() throws {
        let (nfc, nfd) = (Bytes("P\u{E4}ssw\u{F6}rd".utf8), Bytes("Pa\u{308}sswo\u{308}rd".utf8))
        #expect(nfc != nfd)
        #expect(Passwords.composed(nfc) == nfc && Passwords.composed(nfd) == nfc)
        #expect(Passwords.readings(of: nfc) == [nfc])
        // A client of an earlier release may have set the password as it was sent.
        #expect(Passwords.readings(of: nfd) == [nfc, nfd])
        for plain in [Bytes("correct horse".utf8), [0xFF, 0x61], []] {
            #expect(Passwords.readings(of: plain) == [plain])
        }
        // The limits apply to the composed form.
        let long = Bytes(String(repeating: "a\u{308}", count: 128).utf8)
        #expect(long.count > Passwords.byteCounts.upperBound)
        try Passwords.check(long)
        let short = Bytes(String(repeating: "a\u{308}", count: 3).utf8)
        #expect(throws: ServiceError.self) { try Passwords.check(short) }
        #expect(throws: ServiceError.self) { try Passwords.check(Bytes(repeating: 0xFF, count: 9)) }
    }

    /// A release with lower settings made this hash; Python's `hashlib.scrypt` confirms it.
    @Test func aHashKeepsItsOwnCost() throws {
        let (password, cost) = (Bytes("correct horse".utf8), HashedPassword.Cost(rounds: 1 << 10))
        let weak = try #require(HashedPassword(password, salt: Self.salt, cost: cost))
        let known = "9df923deed5f4531c279af9f56bd37b1657bef4929e702ce2e811a93388a86a1"
        let hash = try #require(Bytes(hex: known))
        #expect(weak == HashedPassword(salt: Self.salt, hash: hash, cost: cost))
        #expect(weak != HashedPassword(salt: Self.salt, hash: hash))
        let store = try TestStore()
        let add = AddUser(name: "ada", id: Self.salt)
        _ = try store.run(WriteRequest(add, caller: .administrator)).get()
        let reset = ResetPassword(weak, user: "ada")
        _ = try store.run(WriteRequest(reset, caller: .administrator)).get()
        let stored = try #require(try Passwords.find(of: Self.salt, in: store.reader)).hashed
        #expect(stored == weak && stored.isWeak && !HashedPassword.ofNobody.isWeak)
        #expect(stored.matches(password) && !stored.matches(Bytes("correct horsf".utf8)))
    }

    @Test func noPasswordIsStored() throws {
        let store = try TestStore()
        let add = AddUser(name: "ada", id: Self.salt)
        _ = try store.run(WriteRequest(add, caller: .administrator)).get()
        let hashed = HashedPassword(salt: Self.salt, hash: Bytes(repeating: 3, count: 32))
        let reset = ResetPassword(hashed, user: "ada")
        _ = try store.run(WriteRequest(reset, caller: .administrator)).get()
        try store.restart()
        let stored = try #require(try Passwords.find(of: Self.salt, in: store.reader))
        #expect(
            stored.hashed == HashedPassword(salt: Self.salt, hash: Bytes(repeating: 3, count: 32))
        )
        #expect(try DerivedRows.differences(in: store.engine) == [])
        #expect(try LogReplay.differences(in: store.engine) == [])
    }

    @Test(arguments: [0, 7, 257]) func aLengthThatIsNotAllowedIsRefused(count: Int) throws {
        #expect(throws: ServiceError.self) {
            try Passwords.check(Bytes(repeating: 0x61, count: count))
        }
    }

    @Test func textOfTheRightLengthIsTaken() throws {
        for count in [8, 256] { try Passwords.check(Bytes(repeating: 0x61, count: count)) }
        try Passwords.check(Bytes("пароль-и-соль".utf8))
        #expect(throws: ServiceError.self) {
            try Passwords.check(Bytes(repeating: 0xFF, count: 8))
        }
    }

    @Test func bytesAreComparedWhole() {
        let bytes: Bytes = [1, 2, 3]
        #expect(bytes.isEqualInConstantTime(to: [1, 2, 3]))
        #expect(!bytes.isEqualInConstantTime(to: [1, 2, 4]))
        #expect(!bytes.isEqualInConstantTime(to: [1, 2]))
        #expect(!Bytes().isEqualInConstantTime(to: []))
    }
}
