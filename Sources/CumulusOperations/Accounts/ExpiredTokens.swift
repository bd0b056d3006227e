// Finds and drops tokens that nobody can use any more, so that sessions don't pile up.
//
// Run by the collector, a bounded step at a time. Each node forgets by itself, without a commit: a
// token that expired a month ago lets nobody in on any node, so it makes no difference which nodes
// still hold it. Its revocation goes with it, once every member has read the revocation: no member
// extends the token after that, and what they did before is here. A token of a deleted user goes at
// once.

package import CumulusModel
package import CumulusStorage

package struct ExpiredTokens: Sendable {
    /// How long a token is kept after it has expired, in milliseconds.
    static let kept: Int64 = 30 * 24 * 3_600_000

    /// What every member has read of the cluster's scope.
    private let stable: VersionVector
    /// Milliseconds since 1970 UTC.
    private let now: Int64

    /// - Parameters:
    ///   - stable: What every member has read of the cluster's scope. This node has read all
    ///     commits that a member made before the member had read that.
    ///   - now: Milliseconds since 1970 UTC.
    package init(stable: VersionVector, now: Int64) {
        self.stable = stable
        self.now = now
    }

    /// Looks at tokens after a key.
    ///
    /// Returns the digests of tokens that may go, and the key to go on from, nil at the end.
    ///
    /// This reads a snapshot, so `drop` looks again.
    package func find(
        after last: Bytes?,
        limit: Int,
        in reader: ReadTransaction
    ) throws(EngineError) -> (digests: [Bytes], last: Bytes?) {
        guard let cluster = try reader.scope(.cluster) else { return ([], nil) }
        var range = KeyRange.registers(cluster, AccountRegister.token)
        if let last { range = KeyRange(start: last + [0], end: range.end) }
        let rows = try reader.rows(.meta, range, limit: limit)
        var digests: [Bytes] = []
        for (key, _) in rows {
            var parts = KeyReader(key)
            _ = try parts.number(ScopeNumber.self)
            _ = try parts.content()
            let digest = try parts.content()
            if try mayGo(digest, cluster, in: reader) != nil { digests.append(digest) }
        }
        return (digests, rows.count < limit ? nil : rows.last?.key)
    }

    /// Drops the given tokens that may still go, with what is kept about them.
    package func drop(
        _ digests: [Bytes],
        in transaction: inout WriteTransaction
    ) throws(EngineError) {
        guard let cluster = try transaction.scope(.cluster) else { return }
        for digest in digests {
            guard let userID = try mayGo(digest, cluster, in: transaction) else { continue }
            transaction.put(.register(cluster, AccountRegister.token, [digest]), nil)
            transaction.put(.register(cluster, AccountRegister.revoked, [digest]), nil)
            transaction.put(.register(cluster, AccountRegister.session, [userID, digest]), nil)
        }
    }

    /// The user of a token that may go; nil if the token stays.
    private func mayGo<Reader: RowReader & ~Copyable>(
        _ digest: Bytes,
        _ cluster: ScopeNumber,
        in reader: borrowing Reader
    ) throws(EngineError) -> Bytes? {
        guard let row = try reader.register(cluster, AccountRegister.token, [digest]),
            let value = row.value
        else { return nil }
        let token = try reader.decoding(digest) { () throws(MalformedBytes) in
            try TokenRow(value)
        }
        let owner = try Users.owner(of: token, scope: cluster, in: reader)
        if let owner, try Users.isDeleted(owner, cluster, in: reader) { return owner }
        // A token that never expires stays, revoked or not.
        guard let details = token.details, details.expires != 0,
            details.expires + ExpiredTokens.kept <= now
        else { return nil }
        let others = [
            try reader.register(cluster, AccountRegister.revoked, [digest]),
            try reader.register(cluster, AccountRegister.session, [details.userID, digest]),
        ]
        let isRead = ([row] + others.compactMap(\.self)).allSatisfy { stable.covers($0.stamp.dot) }
        return isRead ? details.userID : nil
    }
}
