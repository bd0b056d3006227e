// The user whose things a command shows or ends, and the caller that asks: the user, or the
// operator.
//
// An option group of the commands on sessions and push addresses.

import ArgumentParser
import Cumulus
import CumulusTerminal

struct UserOwner: ParsableArguments {
    @Option(help: "As the operator: what this user has.") var user: String?
    @OptionGroup var role: OperatorOption
    @OptionGroup var connection: Connection

    func validate() throws {
        guard user != nil else {
            if role.operatorTokenFile == nil { return }
            throw ValidationError(
                "Without --user a user asks about itself: leave out --operator-token-file."
            )
        }
        guard connection.token == nil, connection.key == nil, connection.session == nil else {
            throw ValidationError(
                "With --user the operator asks: --token, --key and --session go without it."
            )
        }
    }

    /// For what users have in the whole cluster: an operator names no container.
    func checkOfCluster() throws {
        guard user == nil || !connection.scope.isNamed else {
            throw ValidationError(
                "With --user the operator asks about the whole cluster: --container and "
                    + "--environment go without it."
            )
        }
    }

    /// Asks as the one or the other.
    func ask<Value>(
        asUser: (Container) async throws -> Value,
        asOperator: (NodeOperator, _ user: String) async throws -> Value
    ) async throws -> Value {
        guard let user else { return try await connection.withContainer { try await asUser($0) } }
        return try await role.withOperator(of: connection.nodes, tokenFile: connection.tokenFile) {
            try await asOperator($0, user)
        }
    }
}
