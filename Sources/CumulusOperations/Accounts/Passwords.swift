// Passwords: scrypt, and the register that holds the hash.
//
// Hashing takes about 100 ms and 32 MiB: a node does it on a thread of its own, never in the writer
// and never on a loop. Random bytes come from the caller.

import Crypto
import CryptoExtras
package import CumulusModel
package import CumulusStorage

/// What is kept of a password to recognise it.
package struct HashedPassword: Hashable, Sendable {
    /// scrypt's N, r and p; each hash keeps its own.
    package struct Cost: Hashable, Sendable {
        package var rounds: UInt64
        package var blockSize: UInt64
        package var parallelism: UInt64

        package init(rounds: UInt64, blockSize: UInt64 = 8, parallelism: UInt64 = 1) {
            self.rounds = rounds
            self.blockSize = blockSize
            self.parallelism = parallelism
        }

        /// What new hashes cost.
        package static let standard = Cost(rounds: 1 << 15)

        fileprivate var work: UInt64 { rounds * blockSize * parallelism }
    }

    package private(set) var cost = Cost.standard
    var salt: Bytes
    var hash: Bytes

    package static let saltBytes = 16
    private static let hashBytes = 32

    /// Hashes a password in about 100 ms; returns nil if there is no memory for it.
    ///
    /// - Parameters:
    ///   - salt: `saltBytes` random bytes.
    ///   - cost: Less than the standard cost only in tests.
    package init?(_ password: Bytes, salt: Bytes, cost: Cost = .standard) {
        self.init(salt: salt, hash: [], cost: cost)
        guard let hash = derive(from: password) else { return nil }
        self.hash = hash
    }

    /// Whether the hash is cheaper to guess than a new one, because an earlier release made it.
    package var isWeak: Bool { cost.work < Cost.standard.work }

    /// Whether a password has this hash; takes about 100 ms, whatever the answer is.
    package func matches(_ password: Bytes) -> Bool {
        derive(from: password)?.isEqualInConstantTime(to: hash) ?? false
    }

    /// A hash that no password has; comparing with it makes an unknown name cost as much as a known
    /// one.
    package static let ofNobody = HashedPassword(
        salt: Bytes(repeating: 0, count: saltBytes),
        hash: Bytes(repeating: 0, count: hashBytes)
    )

    /// A hash that was made earlier.
    package init(salt: Bytes, hash: Bytes, cost: Cost = .standard) {
        self.salt = salt
        self.hash = hash
        self.cost = cost
    }

    /// Returns nil if scrypt does not take the parameters.
    private func derive(from password: Bytes) -> Bytes? {
        let key = try? KDF.Scrypt.deriveKey(
            from: password,
            salt: salt,
            outputByteCount: HashedPassword.hashBytes,
            rounds: Int(cost.rounds),
            blockSize: Int(cost.blockSize),
            parallelism: Int(cost.parallelism)
        )
        return key.map { $0.withUnsafeBytes { Bytes($0) } }
    }

    // MARK: Bytes

    func write(to writer: inout CanonicalWriter) {
        writer.varint(cost.rounds)
        writer.varint(cost.blockSize)
        writer.varint(cost.parallelism)
        writer.delimited(salt)
        writer.delimited(hash)
    }

    init(reading reader: inout CanonicalReader) throws(MalformedBytes) {
        cost = Cost(
            rounds: try reader.varint(),
            blockSize: try reader.varint(),
            parallelism: try reader.varint()
        )
        salt = try reader.delimitedBytes()
        hash = try reader.delimitedBytes()
        // The parameters need 1 GiB of memory at most, and the hash has its full length.
        guard (2...1 << 20).contains(cost.rounds), (1...8).contains(cost.blockSize),
            (1...16).contains(cost.parallelism), !salt.isEmpty,
            hash.count == HashedPassword.hashBytes
        else { throw MalformedBytes("a password's hash has parameters that nobody writes") }
    }
}

extension Bytes {
    /// Compares in a time that doesn't depend on the bytes; nothing is equal to no bytes.
    package func isEqualInConstantTime(to other: Bytes) -> Bool {
        guard count == other.count, !isEmpty else { return false }
        return zip(self, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

package enum Passwords {
    /// The register of a user's password.
    package struct Stored: Hashable, Sendable {
        /// How often an operator set the password, and how often it was changed since.
        var resets: UInt64
        var changes: UInt64
        package var hashed: HashedPassword
        /// Both numbers in one, by which it is told which of two passwords stays.
        var order: UInt64 { resets << 32 | changes }
        /// The commit that set the password; sessions that another password opened have ended.
        package var version: Dot

        init(resets: UInt64, changes: UInt64, hashed: HashedPassword, version: Dot) {
            (self.resets, self.changes) = (resets, changes)
            (self.hashed, self.version) = (hashed, version)
        }
    }

    /// Bytes of UTF-8 that a password may have.
    package static let byteCounts = 8...256

    /// The refusal of a wrong name or password, whatever the cause.
    package static let refusal = ServiceError(
        .notAuthenticated,
        "the name or the password is wrong, or the user is disabled or has no password"
    )

    /// What is kept of a user's password; nil if it has none.
    package static func find<Reader: RowReader & ~Copyable>(
        of userID: Bytes,
        in reader: borrowing Reader
    ) throws(EngineError) -> Stored? {
        guard let scope = try reader.scope(.cluster) else { return nil }
        return try find(of: userID, scope, in: reader)
    }

    static func find<Reader: RowReader & ~Copyable>(
        of userID: Bytes,
        _ scope: ScopeNumber,
        in reader: borrowing Reader
    ) throws(EngineError) -> Stored? {
        guard let row = try reader.register(scope, AccountRegister.password, [userID]),
            let value = row.value
        else { return nil }
        return try reader.decoding(userID) { () throws(MalformedBytes) in
            var reader = CanonicalReader(value)
            let order = try reader.bigEndian()
            let hashed = try HashedPassword(reading: &reader)
            return Stored(
                resets: order >> 32,
                changes: order & 0xFFFF_FFFF,
                hashed: hashed,
                version: reader.isAtEnd ? row.stamp.dot : try reader.dot()
            )
        }
    }

    /// The register that sets a user's password.
    ///
    /// A password that an operator sets counts as a reset, which beats every change that did not
    /// know of it.
    static func register(
        _ hashed: HashedPassword,
        of userID: Bytes,
        after known: Stored?,
        isReset: Bool
    ) -> Commit.Register {
        let last = UInt64(UInt32.max)
        var (resets, changes) = (known?.resets ?? 0, known?.changes ?? 0)
        if isReset {
            (resets, changes) = (min(last, resets + 1), 0)
        } else if known != nil {
            changes = min(last, changes + 1)
        }
        return register(hashed, of: userID, order: resets << 32 | changes, version: nil)
    }

    /// The register that keeps a password with a new hash; no session ends.
    static func register(
        _ hashed: HashedPassword,
        of userID: Bytes,
        inPlaceOf known: Stored
    ) -> Commit.Register {
        register(hashed, of: userID, order: known.order, version: known.version)
    }

    /// - Parameter version: nil means that the register's own commit is the password's version.
    private static func register(
        _ hashed: HashedPassword,
        of userID: Bytes,
        order: UInt64,
        version: Dot?
    ) -> Commit.Register {
        var writer = CanonicalWriter()
        writer.bigEndian(order)
        hashed.write(to: &writer)
        if let version { writer.dot(version) }
        return Commit.Register(
            namespace: AccountRegister.password,
            key: [userID],
            value: writer.bytes
        )
    }

    /// A password in the form in which it is hashed: Unicode's NFC.
    ///
    /// Keyboards write a letter with an accent in two ways. Bytes that are not UTF-8 stay as they
    /// are.
    package static func composed(_ password: Bytes) -> Bytes {
        String(utf8: password[...]).map { Bytes($0.inNFC.utf8) } ?? password
    }

    /// The forms in which a shown password may have been hashed: NFC, and as it was sent.
    ///
    /// Earlier releases hashed passwords as they were sent.
    package static func readings(of password: Bytes) -> [Bytes] {
        let composed = composed(password)
        return composed == password ? [password] : [composed, password]
    }

    /// Refuses a password that can't be set, judged by its NFC form.
    package static func check(_ password: Bytes) throws(ServiceError) {
        let password = composed(password)
        guard byteCounts.contains(password.count), String(utf8: password[...]) != nil else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                """
                a password has \(byteCounts.lowerBound) to \(byteCounts.upperBound) bytes of \
                UTF-8, and not \(password.count)
                """
            )
        }
    }
}
