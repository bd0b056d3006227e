// Changes of accounts by operators and users; each is one commit of a few registers in the
// cluster's scope.
//
// Run by `WriteRequest` in the writer. What was looked up or hashed before its turn, a password
// above all, is compared with what is stored now. A change that takes a right away writes a greater
// number than it saw, so that it stands on every node; see `RegisterRule`. Most of the changes are
// in `SessionChanges`; others are in `People`, `ServiceKeys` and `Subjects`.

package import CumulusModel
package import CumulusStorage

package protocol AccountChange: ClusterChange {
    /// The registers to write, and the answer once they are written.
    typealias Plan = Result<(registers: [Commit.Register], outcome: Outcome), ServiceError>

    func plan(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Plan
}

extension AccountChange {
    package static var isOperators: Bool { false }

    package func run(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<Outcome, ServiceError> {
        switch try plan(for: asker, in: scope, &transaction) {
        case .failure(let error): return .failure(error)
        case .success(let (registers, outcome)):
            if !registers.isEmpty { try ScopeRegisters(of: scope).set(registers, &transaction) }
            return .success(outcome)
        }
    }
}

/// A change of a user whom an operator names, or of the caller itself.
package protocol UserChange: AccountChange where Outcome == Bool {
    /// The user's name; nil means the caller itself.
    var user: String? { get }

    /// Returns the registers to write; none if nothing changes.
    func registers(
        of user: Users.User,
        in scope: ScopeNumber,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> [Commit.Register]
}

extension UserChange {
    package func keeps(_ isChanged: Bool) -> Bool { isChanged }

    /// Plans the change; the outcome is whether something was changed.
    package func plan(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Plan {
        switch try find(for: asker, transaction) {
        case .failure(let error): return .failure(error)
        case .success(let user):
            let registers = try registers(of: user, in: scope, transaction)
            return .success((registers, !registers.isEmpty))
        }
    }

    private func find(
        for asker: Asker,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> Result<Users.User, ServiceError> {
        guard let user else {
            guard let owner = asker.credential?.session,
                let session = try Sessions.find(
                    owner.digest,
                    now: transaction.now,
                    in: transaction
                ), session.user.id == owner.userID
            else { return .failure(Sessions.refusal) }
            return .success(session.user)
        }
        guard asker.caller.role == .operator else {
            return .failure(
                ServiceError(.permissionFailure, "only an operator may do this to another user")
            )
        }
        guard let known = try Users.find(user, in: transaction) else {
            return .failure(Users.unknown(user))
        }
        return .success(known)
    }
}

/// Disables a user, or enables it again.
package struct SetDisabled: UserChange {
    package let user: String?
    private let isDisabled: Bool

    package init(_ isDisabled: Bool, user: String) {
        self.isDisabled = isDisabled
        self.user = user
    }

    package var onlyDeletes: Bool { isDisabled }

    /// Returns the register of the next number.
    ///
    /// Disabling writes the next odd number even if the user is disabled already. It then outlasts
    /// an enabling that didn't know of it.
    package func registers(
        of user: Users.User,
        in scope: ScopeNumber,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> [Commit.Register] {
        let number = try transaction.accountNumber(AccountRegister.state, user.id, scope)
        let isOdd = number % 2 == 1
        if !isDisabled, !isOdd { return [] }
        let next = number + (isDisabled && isOdd ? 2 : 1)
        return [AccountRegister.number(AccountRegister.state, user.id, next)]
    }
}

extension Users {
    package static func unknown(_ name: String) -> ServiceError {
        ServiceError(
            .unknownItem,
            "there is no user '\(name)'; add one with 'cumulus user add \(name)'"
        )
    }
}
