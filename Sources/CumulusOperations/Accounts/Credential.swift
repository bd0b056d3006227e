// What a caller showed when its connection began, and at which epoch of the accounts it was judged.
//
// Kept by a connection and carried by its requests. Once the accounts have moved on, it is judged
// again by a few reads: by the connection before the next call and before what a stream tells, by
// the writer before a request whose wait in the queue outlasted a revocation.

package import CumulusModel
package import CumulusStorage

package struct Credential: Hashable, Sendable {
    /// Whom it let in: it never lets in somebody else on the same connection.
    package enum Subject: Hashable, Sendable {
        /// A user, by a token.
        case user(SessionOwner)
        /// A server, by the service key with this id, in this scope.
        case server(key: Bytes, ScopeID)
        /// A user on whose behalf the node itself calls, without a session.
        case account(Users.User)
    }

    /// A user and the token of its session.
    package struct SessionOwner: Hashable, Sendable {
        package let userID: Bytes
        /// SHA-256 of the token.
        package let digest: Bytes
    }

    package let subject: Subject
    /// Milliseconds since 1970 UTC; 0: never.
    package let expires: Int64
    /// `WriterState.accountsVersion` of the state in which it was judged.
    package let epoch: UInt64

    package init(_ session: Sessions.Session, epoch: UInt64) {
        subject = .user(SessionOwner(userID: session.user.id, digest: session.digest))
        expires = session.token.expires
        self.epoch = epoch
    }

    package init(_ key: ServiceKeys.Key, epoch: UInt64) {
        subject = .server(key: key.id, key.scope)
        expires = key.expires
        self.epoch = epoch
    }

    package init(_ user: Users.User, epoch: UInt64) {
        subject = .account(user)
        expires = 0
        self.epoch = epoch
    }

    /// The user and its session; nil if the caller has no session.
    package var session: SessionOwner? {
        if case .user(let owner) = subject { owner } else { nil }
    }

    /// The same, judged again; nil if it lets nobody in any more.
    ///
    /// - Parameters:
    ///   - epoch: Of the state that is read, or of one before it.
    ///   - now: Milliseconds since 1970 UTC.
    package func judged<Reader: RowReader & ~Copyable>(
        at epoch: UInt64,
        now: Int64,
        in reader: borrowing Reader
    ) throws(EngineError) -> Credential? {
        switch subject {
        case .user(let owner):
            guard let session = try Sessions.find(owner.digest, now: now, in: reader),
                session.user.id == owner.userID
            else { return nil }
            return Credential(session, epoch: epoch)
        case .server(let id, let scope):
            let key = try ServiceKeys.find(id, of: scope, now: now, in: reader)
            return key.map { Credential($0, epoch: epoch) }
        case .account(let user):
            guard try Users.find(user.name, in: reader) == user,
                try !Users.isDisabled(user, in: reader)
            else { return nil }
            return Credential(user, epoch: epoch)
        }
    }

    /// The answer to a caller whose credential is not valid any more.
    package var refusal: ServiceError {
        switch subject {
        case .user: Sessions.refusal
        case .server: ServiceKeys.refusal
        case .account: Users.refusal
        }
    }
}
