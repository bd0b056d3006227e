// Which user the subject of an identity provider is, and the session that its ID token opens.
//
// The register of a subject leads to a user id. The first sign-in makes both: the id follows from
// the cluster's key, so two nodes that don't know of each other make the same id, and with it the
// same name. Run as an `AccountChange` in the writer, after the node has checked the token.

import Crypto
package import CumulusModel
package import CumulusStorage

/// A subject whose token counts, and what its issuer says of it.
package struct ProvenSubject: Hashable, Sendable {
    /// The issuer's URL.
    package var issuer: String
    /// The subject's name, which is unique at the issuer.
    package var subject: String
    /// The id of the user that may be made for it.
    package var userID: Bytes
    /// The user whom the operator named for the subject; nil if the operator named none.
    package var user: String?
    /// Whether a user may be made for the subject.
    package var mayBeMade: Bool
    /// The display name of a new user; may be empty.
    package var displayName: String
    /// The address of a new user, unless another user has it.
    package var email: Handle?

    package init(
        issuer: String,
        subject: String,
        userID: Bytes,
        user: String? = nil,
        mayBeMade: Bool = true,
        displayName: String = "",
        email: Handle? = nil
    ) {
        self.issuer = issuer
        self.subject = subject
        self.userID = userID
        self.user = user
        self.mayBeMade = mayBeMade
        self.displayName = displayName
        self.email = email
    }
}

package enum Subjects {
    /// The one answer to every ID token that opens no session, whatever the cause.
    package static let refusal = ServiceError(
        .notAuthenticated,
        """
        the ID token does not count here: its issuer, audience, signature, nonce or time is not \
        right, or its user is disabled or unknown; sign in at the identity provider again, or ask \
        an operator
        """
    )

    /// The id of the user that is made for a subject, the same on all nodes of a cluster.
    ///
    /// - Parameter key: The key of the cluster.
    package static func userID(of subject: String, at issuer: String, key: Bytes) -> Bytes {
        var input = CanonicalWriter()
        input.raw(Bytes("cumulus subject".utf8))
        input.delimited(issuer.utf8)
        input.delimited(subject.utf8)
        let code = HMAC<SHA256>.authenticationCode(
            for: input.bytes,
            using: SymmetricKey(data: key)
        )
        return Bytes(code.prefix(16))
    }

    /// The user that was made for a subject; nil before its first sign-in.
    static func user<Reader: RowReader & ~Copyable>(
        of subject: ProvenSubject,
        _ scope: ScopeNumber,
        in reader: borrowing Reader
    ) throws(EngineError) -> Users.User? {
        guard
            let value = try reader.register(scope, AccountRegister.subject, key(subject))?.value
        else { return nil }
        let id = try reader.decoding(Bytes(subject.subject.utf8)) { () throws(MalformedBytes) in
            var reader = CanonicalReader(value)
            return try reader.delimitedBytes()
        }
        let living = try living(id, scope, in: reader)
        let user = try Users.find(name(of: living), in: reader)
        return user?.id == living ? user : nil
    }

    /// The id itself, or if its user was deleted the id of the user who comes after it.
    ///
    /// It follows from the deleted one, so it is the same on all nodes.
    private static func living<Reader: RowReader & ~Copyable>(
        _ userID: Bytes,
        _ scope: ScopeNumber,
        in reader: borrowing Reader
    ) throws(EngineError) -> Bytes {
        var id = userID
        while try Users.isDeleted(id, scope, in: reader) {
            id = Bytes(SHA256.hash(data: Bytes("cumulus subject again".utf8) + id).prefix(16))
        }
        return id
    }

    fileprivate static func key(_ subject: ProvenSubject) -> [Bytes] {
        [Bytes(subject.issuer.utf8), Bytes(subject.subject.utf8)]
    }

    /// The name of a user that was made for a subject.
    fileprivate static func name(of userID: Bytes) -> String { "oidc-" + userID.hex }

    /// The registers that make a user; nil if another user has its name.
    fileprivate static func registers(
        for subject: ProvenSubject,
        _ scope: ScopeNumber,
        in transaction: borrowing WriteTransaction
    ) throws(EngineError) -> (user: Users.User, registers: [Commit.Register])? {
        let id = try living(subject.userID, scope, in: transaction)
        let new = Users.User(name: name(of: id), id: id, created: transaction.now)
        let known = try Users.find(new.name, in: transaction)
        guard known == nil || known?.id == id else { return nil }
        var value = CanonicalWriter()
        value.delimited(id)
        var registers = [
            Commit.Register(
                namespace: AccountRegister.subject,
                key: key(subject),
                value: value.bytes
            )
        ]
        if let known { return (known, registers) }
        registers.append(try Users.register(of: new, scope, in: transaction))
        if !subject.displayName.isEmpty {
            let profile = People.Profile(displayName: subject.displayName)
            registers.append(People.register(of: profile, id))
        }
        if let email = subject.email {
            registers += try People.claim(
                email,
                for: id,
                verifiedBy: subject.issuer,
                scope,
                in: transaction
            )
        }
        return (new, registers)
    }
}

/// Opens a session without a password, for the user of a subject whom an identity provider vouches
/// for.
package struct SignInSubject: AccountChange {
    package typealias Outcome = BegunSession

    private let subject: ProvenSubject
    private let session: NewSession

    package init(_ subject: ProvenSubject, _ session: NewSession) {
        self.subject = subject
        self.session = session
    }

    package func plan(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Plan {
        let known =
            if let name = subject.user {
                try Users.find(name, in: transaction)
            } else {
                try Subjects.user(of: subject, scope, in: transaction)
            }
        var (user, registers): (Users.User?, [Commit.Register]) = (known, [])
        if known == nil, subject.user == nil, subject.mayBeMade,
            let made = try Subjects.registers(for: subject, scope, in: transaction)
        {
            (user, registers) = made
        }
        guard let user, try !Users.isDisabled(user.id, scope, in: transaction) else {
            return .failure(Subjects.refusal)
        }
        let begun = try session.begin(of: user, password: nil, scope, in: transaction)
        return .success((registers + begun.registers, begun.outcome))
    }
}
