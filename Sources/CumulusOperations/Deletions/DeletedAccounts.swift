// Drops what opened the account of a deleted user: sessions with their tokens, the password and a
// link that resets it, the profile, the list of handles, and the subject at an identity provider.
//
// Each node drops the rows by itself, without a commit, and again if another node's state brings
// them back: the deletion stands, so they are of no use on any node. `ExpiredTokens` drops tokens
// that no list names. What stays is the name with the user's id, and the id among the deleted ones:
// they are the reason why nobody comes in.

package import CumulusModel
package import CumulusStorage

package enum DeletedAccounts {
    /// The rows that one turn of the writer drops, about.
    private static let rowsAtOnce = 300

    /// Whether nothing is left to be dropped.
    package static func isEmpty(
        of userID: Bytes,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Bool {
        try rows(of: userID, in: reader).isEmpty
    }

    /// Drops some rows, in the writer; true if nothing is left.
    package static func drop(
        of userID: Bytes,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        let rows = try rows(of: userID, in: transaction)
        for key in rows.prefix(rowsAtOnce) { transaction.put(key, nil) }
        return rows.count <= rowsAtOnce
    }

    private static func rows<Reader: RowReader & ~Copyable>(
        of userID: Bytes,
        in reader: borrowing Reader
    ) throws(EngineError) -> [RowKey] {
        guard let scope = try reader.scope(.cluster) else { return [] }
        var found: [RowKey] = []
        for (digest, _) in try reader.registerRows(scope, AccountRegister.session, below: [userID])
        {
            for namespace in [AccountRegister.token, AccountRegister.revoked] {
                let key = RowKey.register(scope, namespace, digest)
                if try reader.get(key) != nil { found.append(key) }
            }
            found.append(.register(scope, AccountRegister.session, [userID] + digest))
        }
        for (handle, _) in try reader.registerRows(scope, AccountRegister.held, below: [userID]) {
            found.append(.register(scope, AccountRegister.held, [userID] + handle))
        }
        for namespace in [
            AccountRegister.password, AccountRegister.profile, AccountRegister.reset,
            AccountRegister.state, AccountRegister.revoked,
        ] {
            let key = RowKey.register(scope, namespace, [userID])
            if try reader.get(key) != nil { found.append(key) }
        }
        return found
    }

    // MARK: Subjects

    /// The subjects of deleted users among the next ones after a key, and the key to go on from;
    /// nil at the end.
    package static func subjects(
        after last: Bytes?,
        limit: Int,
        in reader: ReadTransaction
    ) throws(EngineError) -> (found: [RowKey], last: Bytes?) {
        guard let scope = try reader.scope(.cluster) else { return ([], nil) }
        var range = KeyRange.registers(scope, AccountRegister.subject)
        if let last { range.start = last + [0] }
        let rows = try reader.rows(.meta, range, limit: limit)
        var found: [RowKey] = []
        for (key, value) in rows {
            let userID = try reader.decoding(key) { () throws(MalformedBytes) in
                try RegisterRow(row: value).value.map { (value) throws(MalformedBytes) in
                    var reader = CanonicalReader(value)
                    return try reader.delimitedBytes()
                }
            }
            guard let userID, try Users.isDeleted(userID, scope, in: reader) else { continue }
            found.append(RowKey(.register, bytes: key))
        }
        return (found, rows.count < limit ? nil : rows.last?.key)
    }
}
