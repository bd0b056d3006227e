// Ends addresses at which a user's devices are woken.
//
// Run by the writer: for the user itself, or for an operator who names a user. What a service says
// is gone, `Pushes.end` ends.

package import CumulusModel
package import CumulusStorage

package struct EndPushes: ContainerChange {
    /// The name of the user whom an operator means; nil means the caller itself.
    private let user: String?
    /// nil means all.
    private let id: StoredPush.ID?

    /// - Parameters:
    ///   - id: The address; nil means all of the user.
    ///   - user: A user's name, from an operator; nil means the caller itself.
    package init(_ id: StoredPush.ID?, of user: String? = nil) {
        self.id = id
        self.user = user
    }

    package var onlyDeletes: Bool { true }

    package func keeps(_ count: Int) -> Bool { count > 0 }

    /// Ends the addresses; the outcome is their number.
    package func run(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<Int, ServiceError> {
        let owner: String
        if let user {
            guard asker.caller.role == .operator else {
                return .failure(
                    ServiceError(.permissionFailure, "only an operator may end another user's")
                )
            }
            guard let known = try Users.find(user, in: transaction) else {
                return .failure(Users.unknown(user))
            }
            owner = known.recordName(in: asker.scope.container)
        } else {
            guard case .user(let name) = asker.caller.role else {
                return .failure(Sessions.refusal)
            }
            owner = name
        }
        let ended = try transaction.pushes(in: scope, of: owner).filter {
            id == nil || $0.id == id
        }
        if ended.isEmpty { return .success(0) }
        _ = try transaction.perform(
            ended.map { .register($0.removal) },
            in: scope,
            zone: nil,
            author: Author(user: owner)
        )
        return .success(ended.count)
    }
}
