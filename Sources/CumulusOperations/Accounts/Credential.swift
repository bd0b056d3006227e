// What a caller showed when its connection began, and the epoch of the accounts at which that was
// checked.
//
// Kept by a connection and carried by its requests. Once the accounts have changed, it is checked
// again with a few reads: by the connection before the next call and before what a stream tells, by
// the writer before a request whose wait in the queue outlasted a revocation.

package import CumulusModel
package import CumulusStorage

package struct Credential: Hashable, Sendable {
    /// The caller that was let in; nobody else is let in on the same connection.
    package enum Subject: Hashable, Sendable {
        /// A user who showed a token.
        case user(SessionOwner)
        /// A server that showed the service key with this id, in this scope.
        case server(key: Bytes, ScopeID)
        /// A user on whose behalf the node itself calls, without a session.
        case account(Users.User)
        /// An operator of the cluster who showed the token with this SHA-256.
        case `operator`(token: Bytes)
    }

    /// A user and the token of its session.
    package struct SessionOwner: Hashable, Sendable {
        package let userID: Bytes
        /// SHA-256 of the token.
        package let digest: Bytes
    }

    package let subject: Subject
    /// Milliseconds since 1970 UTC; 0 means never.
    package let expires: Int64
    /// The value of `WriterState.accountsVersion` in the state in which it was checked.
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

    package init(_ known: Operators.Operator, epoch: UInt64) {
        subject = .operator(token: known.digest)
        expires = 0
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

    /// The credential, checked again; nil if it no longer lets anybody in.
    ///
    /// - Parameters:
    ///   - epoch: The epoch of the state that is read, or of an earlier state.
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
        case .operator(let digest):
            return try Operators.find(digest, in: reader).map { Credential($0, epoch: epoch) }
        }
    }

    /// The answer to a caller whose credential is not valid any more.
    package var refusal: ServiceError {
        switch subject {
        case .user: Sessions.refusal
        case .server: ServiceKeys.refusal
        case .account: Users.refusal
        case .operator: Operators.refusal
        }
    }
}
