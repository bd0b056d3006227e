// What a signed-in caller showed when its connection began, and at which epoch of the accounts it
// was judged.
//
// Kept by a connection and carried by its requests. Once the accounts have moved on, it is judged
// again by a few reads: by the connection before the next call and before what a stream tells, by
// the writer before a request whose wait in the queue outlasted a revocation.

package import CumulusModel
package import CumulusStorage

package struct Credential: Hashable, Sendable {
    /// SHA-256 of the token.
    package let digest: Bytes
    /// Whom it let in: a token never lets in somebody else on the same connection.
    package let userID: Bytes
    /// Milliseconds since 1970 UTC; 0: never.
    package let expires: Int64
    /// `WriterState.accountsVersion` of the state in which it was judged.
    package let epoch: UInt64

    package init(_ session: Sessions.Session, epoch: UInt64) {
        digest = session.digest
        userID = session.user.id
        expires = session.token.expires
        self.epoch = epoch
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
        guard let session = try Sessions.find(digest, now: now, in: reader),
            session.user.id == userID
        else { return nil }
        return Credential(session, epoch: epoch)
    }
}

extension WriteRequest {
    /// Why the caller may not come in any more, as far as this batch knows; nil if it may.
    func callerRefusal(
        in transaction: borrowing WriteTransaction
    ) throws(EngineError) -> ServiceError? {
        let epoch = transaction.state.accountsVersion
        guard let credential, credential.epoch != epoch else { return nil }
        let judged = try credential.judged(at: epoch, now: transaction.now, in: transaction)
        return judged == nil ? Sessions.refusal : nil
    }
}
