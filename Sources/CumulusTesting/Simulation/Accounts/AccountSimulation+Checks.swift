// The invariants of every history of accounts, on each node as far as it has heard and on all of
// them in the end.
//
// A1: no session is let in that was opened with another password than the present one, that was
// revoked or ended, or whose user is disabled. A2: in the end all nodes hold the same. A3: a
// disabled user stays so unless somebody enabled it with a greater number. A4: so does a role that
// was taken away. A5: a password that an operator set stands unless somebody changed it who had
// heard of it. A6: nothing of one of two people with one name leads to the other one's account, and
// the first of them keeps the name (`name`). A7: a deleted user comes in on no node that has heard
// of the deletion, and has no name there.
//
// The same user of an OpenID issuer who signs in on two nodes is not here: there is no such sign-in
// yet.

import CumulusModel
import CumulusOperations
import CumulusStorage

extension AccountSimulation {
    /// Checks the invariants of a step, at the node that it changed.
    mutating func check(_ one: Int) throws {
        let reader = stores[one].reader
        let now = stores[one].now
        let heard = try heard(at: one)
        let isDisabled = try stateNumber(at: one) % 2 == 1
        let present = try password(at: one)
        let lastEnd = try ended(at: one).last?.done
        let revoked = Set(
            heard.compactMap { done -> Bytes? in
                if case .revoked(let digest) = done.event { digest } else { nil }
            }
        )
        for session in opened {
            guard try Sessions.find(session.digest, now: now, in: reader) != nil else { continue }
            let isEnded = lastEnd.map { !session.known.covers($0.stamp.dot) } ?? false
            if isDisabled || isEnded || revoked.contains(session.digest)
                || session.password != present
            {
                verdict.violate("A1", "node \(one) lets in session \(session.digest.hex)")
            }
        }
        for (digest, id) in tokens {
            let found = try Sessions.find(digest, now: now, in: reader)
            if let found, found.user.id != id {
                verdict.violate("A6", "a token of \(id.hex) leads to \(found.user.id.hex)")
            }
        }
        try checkDeleted(heard, at: one)
    }

    private mutating func checkDeleted(_ heard: [Done], at one: Int) throws {
        let deleted = AccountSimulation.deleted(among: heard)
        if deleted.isEmpty { return }
        let (reader, now) = (stores[one].reader, stores[one].now)
        if let user = try Users.find("alice", in: reader), deleted.contains(user.id) {
            verdict.violate("A7", "node \(one) finds \(user.id.hex), which was deleted")
        }
        for (digest, id) in tokens where deleted.contains(id) {
            if try Sessions.find(digest, now: now, in: reader) != nil {
                verdict.violate("A7", "node \(one) lets in \(id.hex), which was deleted")
            }
        }
    }

    private static func deleted(among heard: [Done]) -> Set<Bytes> {
        Set(
            heard.compactMap { done -> Bytes? in
                if case .deleted(let id) = done.event { id } else { nil }
            }
        )
    }

    /// Checks the invariants when each node has read all commits.
    mutating func check() throws {
        for one in stores.indices { try check(one) }
        try checkEqual()
        let heard = try heard(at: 0)
        try checkState(heard)
        try checkRole(heard)
        try checkPassword(heard)
        try checkName(heard)
    }

    private mutating func checkEqual() throws {
        let namespaces = [
            [
                AccountRegister.user, AccountRegister.state, AccountRegister.password,
                AccountRegister.token, AccountRegister.session, AccountRegister.revoked,
                AccountRegister.deleted,
            ],
            [RoleAssignment.namespace, SchemaRegister.roleNamespace],
        ]
        for (scope, namespaces) in zip(scopes, namespaces) {
            for namespace in namespaces {
                let rows = try stores.indices.map { one in
                    let number = try number(of: scope, at: one)
                    return try stores[one].reader.registerRows(number, namespace).map {
                        Held(key: $0.key, row: $0.row)
                    }
                }
                if rows.contains(where: { $0 != rows[0] }) {
                    verdict.violate("A2", "the nodes hold other registers '\(namespace)'")
                }
            }
        }
    }

    private struct Held: Equatable {
        var key: [Bytes]
        var row: RegisterRow
    }

    private mutating func checkState(_ heard: [Done]) throws {
        guard try stateNumber(at: 0) % 2 == 0 else { return }
        let numbers = heard.compactMap { done -> UInt64? in
            if case .state(let number) = done.event { number } else { nil }
        }
        let enabled = numbers.filter { $0 % 2 == 0 }.max() ?? 0
        if numbers.contains(where: { $0 % 2 == 1 && $0 > enabled }) {
            verdict.violate("A3", "a user is active that nobody enabled")
        }
    }

    private mutating func checkRole(_ heard: [Done]) throws {
        guard try isGiven(at: 0) else { return }
        let changes = heard.compactMap { done -> RoleAssignment? in
            if case .role(let assignment) = done.event { assignment } else { nil }
        }
        let given = changes.filter(\.isGiven).map(\.number).max() ?? 0
        if changes.contains(where: { !$0.isGiven && $0.number >= given }) {
            verdict.violate("A4", "a user has a role that was taken away")
        }
    }

    private mutating func checkPassword(_ heard: [Done]) throws {
        let present = try password(at: 0)
        for done in heard {
            guard case .password(let value, isReset: true) = done.event, value != present else {
                continue
            }
            let isReplaced = heard.contains { other in
                guard case .password(_, let isReset) = other.event,
                    other.stamp.dot != done.stamp.dot
                else { return false }
                // If neither of two resets knew of the other, either may win.
                return isReset ? !done.knew(other) : other.knew(done)
            }
            if !isReplaced { verdict.violate("A5", "an operator's password was undone") }
        }
    }

    private mutating func checkName(_ heard: [Done]) throws {
        // Once a user of the name is deleted, another one may have it.
        guard AccountSimulation.deleted(among: heard).isEmpty else { return }
        var first: (stamp: Stamp, id: Bytes)?
        for done in heard {
            guard case .registered(let id) = done.event else { continue }
            if first.map({ done.stamp < $0.stamp }) ?? true { first = (done.stamp, id) }
        }
        if try Users.find("alice", in: stores[0].reader)?.id != first?.id {
            verdict.violate("name", "a name was taken from its first holder")
        }
    }

    // MARK: What a node holds

    /// The acts that a node has heard of, in the order in which they were done.
    private func heard(at one: Int) throws -> [Done] {
        let vectors = try scopes.map { try vector(of: $0, at: one) }
        return done.filter { vectors[$0.event.isOfContainer ? 1 : 0].covers($0.stamp.dot) }
    }

    /// The ends of all sessions that a node has heard of; the last one counts.
    func ended(at one: Int) throws -> [(number: UInt64, done: Done)] {
        try heard(at: one).compactMap { done -> (number: UInt64, done: Done)? in
            if case .ended(let number) = done.event { (number, done) } else { nil }
        }.sorted { ($0.number, $0.done.stamp) < ($1.number, $1.done.stamp) }
    }

    func row(_ namespace: String, _ key: Bytes, at one: Int) throws -> RegisterRow? {
        try stores[one].reader.register(number(of: .cluster, at: one), namespace, [key])
    }

    func stateNumber(at one: Int) throws -> UInt64 {
        let value = try row(AccountRegister.state, Self.owner, at: one)?.value ?? []
        return value.reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The hash is the end of the register.
    private func password(at one: Int) throws -> Bytes? {
        try row(AccountRegister.password, Self.owner, at: one)?.value.map { Bytes($0.suffix(32)) }
    }

    func proof(at one: Int) throws -> (proof: PasswordProof, password: Bytes)? {
        let reader = stores[one].reader
        guard let user = try Users.find("owner", in: reader),
            let stored = try Passwords.find(of: user.id, in: reader),
            let password = try password(at: one)
        else { return nil }
        return (PasswordProof(user: user, password: stored.version), password)
    }

    func assignment(at one: Int) throws -> RoleAssignment {
        try stores[one].reader.roleAssignment(
            of: Self.role,
            to: ownerName(at: one),
            in: number(of: stores[one].scope, at: one)
        )
    }

    private func isGiven(at one: Int) throws -> Bool {
        let (reader, number) = (
            stores[one].reader, try number(of: stores[one].scope, at: one)
        )
        let schema = try reader.schemaRoles(of: number)
        return try reader.roles(of: ownerName(at: one), in: number, schema).names.contains(
            Self.role
        )
    }

    /// The owner's record name; empty if the node has not heard of it.
    private func ownerName(at one: Int) throws -> String {
        let owner = try Users.find("owner", in: stores[one].reader)
        return owner?.recordName(in: stores[one].scope.container) ?? ""
    }
}
