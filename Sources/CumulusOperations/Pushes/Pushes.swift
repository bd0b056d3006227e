// Which addresses are to be pushed to: those whose session lasts, each for one user.
//
// The node that pushes asks, and asks again when an address or an account has changed. Users and
// operators list the addresses of one user.

import CumulusModel
package import CumulusStorage

package enum Pushes {
    /// What a scope holds.
    package struct Found: Hashable, Sendable {
        /// The addresses to push to, in no order.
        package var valid: [StoredPush] = []
        /// Addresses of devices that another user has registered since.
        package var over: [StoredPush] = []
        /// Addresses whose session is over, or not known here yet.
        package var asleep: [StoredPush] = []
    }

    /// The addresses of a user that are pushed to, oldest first.
    ///
    /// - Parameters:
    ///   - user: User record name.
    ///   - now: Milliseconds since 1970 UTC.
    package static func all(
        of user: String,
        in scope: ScopeNumber,
        now: Int64,
        _ reader: ReadTransaction
    ) throws(EngineError) -> [StoredPush] {
        var valid: [StoredPush] = []
        for push in try reader.pushes(in: scope, of: user)
        where try Sessions.find(push.session, now: now, in: reader) != nil {
            valid.append(push)
        }
        return valid.sorted { ($0.registered, $0.id.bytes.hex) < ($1.registered, $1.id.bytes.hex) }
    }

    /// The addresses of all users of a scope.
    ///
    /// Damaged registers are skipped: the comparison of nodes finds them. A device that several
    /// users have registered is told on behalf of the last one; the others' addresses are over.
    package static func all(
        in scope: ScopeNumber,
        now: Int64,
        _ reader: ReadTransaction
    ) throws(EngineError) -> Found {
        var found = Found()
        for (key, value) in try reader.registers(scope, StoredPush.namespace) {
            guard let push = try? StoredPush(key: key, value: value) else { continue }
            if try Sessions.find(push.session, now: now, in: reader) != nil {
                found.valid.append(push)
            } else {
                found.asleep.append(push)
            }
        }
        let latest = latest(of: found.valid)
        found.over = found.valid.filter { latest[$0.id] != $0 }
        found.valid = Array(latest.values)
        return found
    }

    /// The last registration of each device.
    static func latest(of pushes: [StoredPush]) -> [StoredPush.ID: StoredPush] {
        var latest: [StoredPush.ID: StoredPush] = [:]
        for push in pushes {
            if let other = latest[push.id],
                (push.registered, push.user) < (other.registered, other.user)
            {
                continue
            }
            latest[push.id] = push
        }
        return latest
    }

    /// Ends addresses, unless they were registered anew meanwhile.
    package static func end(
        _ pushes: [StoredPush],
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        var ended: [StoredPush] = []
        for push in pushes {
            let register = try transaction.register(scope, StoredPush.namespace, push.key)
            if register?.value == push.value { ended.append(push) }
        }
        guard !ended.isEmpty else { return }
        try ScopeRegisters(of: scope).set(ended.map(\.removal), &transaction)
    }
}

extension RowReader where Self: ~Copyable {
    /// The addresses of a user in a scope, in the order of their keys; those whose session is over
    /// are among them.
    package borrowing func pushes(
        in scope: ScopeNumber,
        of user: String
    ) throws(EngineError) -> [StoredPush] {
        let prefix = [Bytes(user.utf8)]
        let registers = try registers(scope, StoredPush.namespace, below: prefix)
        return try registers.map { rest, value throws(EngineError) in
            try decoding(value) { () throws(MalformedBytes) in
                try StoredPush(key: prefix + rest, value: value)
            }
        }
    }
}
