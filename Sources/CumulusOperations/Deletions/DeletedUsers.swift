// Deletes users for good, on all nodes, also on nodes that hear of it late.
//
// The design: a deletion is one register of the cluster's scope, which names the user's id and
// which nothing takes back. Everything else follows from it.
// - Access. A deleted id has no name, no session, no handle and no profile: whatever looks up a
//   user asks whether the id is deleted. So nothing that a node writes about the user without
//   knowing of the deletion (a session, a handle, a password) lets anybody in.
// - Names. The name is free at once. Its next user has a register of its own, whose key names the
//   deleted user (`Users.place`), and another id. Two nodes that hear of things in another order
//   agree, because each key keeps its first user.
// - Data. What the user has in a container goes by ordinary commits (`UserTraces`): zones are
//   deleted, shares of others are left, roles are taken away, subscriptions end. So participants
//   and feeds hear of it as of any other deletion, and a late change of a deleted zone is lost as
//   always. The node that took the deletion makes these commits. Another node makes them for what
//   it still finds a minute later: zones and shares that came from a node that had been cut off.
// - Accounts. Each node drops the rows about the user that open an account (`DeletedAccounts`),
//   without a commit, as it drops expired tokens: they are of no use on any node.
//
// Public records that the user created stay, and so does the record name of their creator, which
// leads to nobody any more.
//
// Folder: how users and containers end for good. Read `DeletedUsers`, then `UserTraces` and
// `DeletedAccounts`; `DeletedContainers` and `ContainerTraces`. `Holdings` counts what goes along.

package import CumulusModel
package import CumulusStorage

/// Deletes a user: nobody comes in as this user from now on, and its data goes in the background.
package struct DeleteUser: AccountChange {
    package typealias Outcome = Users.User

    private let name: String

    package init(_ name: String) {
        self.name = name
    }

    package static var isOperators: Bool { true }
    package var onlyDeletes: Bool { true }

    /// Plans the register of the deletion, and those that free the user's handles.
    package func plan(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Plan {
        if let refusal = try Feature.deletion.refusal(in: transaction) { return .failure(refusal) }
        guard let user = try Users.find(name, in: transaction) else {
            return .failure(Users.unknown(name))
        }
        let handles = try People.release(handlesOf: user.id, scope, in: transaction)
        let deletion = Commit.Register(
            namespace: AccountRegister.deleted,
            key: [user.id],
            value: []
        )
        return .success(([deletion] + handles, user))
    }
}

extension Users {
    /// Whether a user was deleted.
    static func isDeleted<Reader: RowReader & ~Copyable>(
        _ userID: Bytes,
        _ scope: ScopeNumber,
        in reader: borrowing Reader
    ) throws(EngineError) -> Bool {
        if reader.broken.contains(.deletedUsers) { return false }
        return try reader.register(scope, AccountRegister.deleted, [userID])?.value != nil
    }
}

/// The users who were deleted.
package enum DeletedUsers {
    package struct Deletion: Hashable, Sendable {
        package var userID: Bytes
        /// The commit that deleted the user.
        package var stamp: Stamp

        /// The user's record name in a container.
        package func recordName(in container: String) -> String {
            Users.User(name: "", id: userID, created: 0).recordName(in: container)
        }
    }

    /// The next deletions after a user, by user ids; fewer than `limit` at the end.
    package static func page(
        after userID: Bytes?,
        limit: Int,
        in reader: ReadTransaction
    ) throws(EngineError) -> [Deletion] {
        guard let scope = try reader.scope(.cluster) else { return [] }
        let namespace = AccountRegister.deleted
        var range = KeyRange.registers(scope, namespace)
        if let userID { range.start = RowKey.register(scope, namespace, [userID]).bytes + [0] }
        return try reader.rows(.meta, range, limit: limit).map { (key, value) throws(EngineError) in
            var parts = KeyReader(key)
            _ = try parts.number(ScopeNumber.self)
            _ = try parts.content()
            let row = try reader.decoding(key) { () throws(MalformedBytes) in
                try RegisterRow(row: value)
            }
            return Deletion(userID: try parts.content(), stamp: row.stamp)
        }
    }
}

/// Which node deletes what a deleted user has, or what is in a deleted container.
enum DeletionTurns {
    /// For so long after a deletion only its own node does it, in milliseconds.
    private static let patience: Int64 = 60_000

    /// Whether this node does it.
    ///
    /// - Parameters:
    ///   - deletion: The commit of the deletion.
    ///   - now: Milliseconds since 1970 UTC.
    static func isDue(_ deletion: Stamp, now: Int64, _ state: WriterState) -> Bool {
        state.owes(for: deletion.dot.incarnation) || deletion.time.milliseconds + patience <= now
    }
}
