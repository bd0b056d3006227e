// `cumulus user delete`: what the operator deletes for good.

import ArgumentParser
import Cumulus
import CumulusTerminal

extension UserCommand {
    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a user with all that it has, on all nodes, for good.",
            discussion: help(
                "cumulus user delete alice --operator-token-file operator.token",
                "cumulus user delete alice --yes --json",
                note: """
                    It says what goes along, and asks for the name. The user's sessions end, its \
                    private database goes with its shares, and it leaves the shares of others; \
                    public records that it created stay. The name is free again: who gets it is \
                    another user.
                    """
            )
        )

        @Argument(help: "Name of the user.") var name: String
        @OptionGroup var options: DeletionOptions

        func run() async throws {
            let name = name
            try await options.delete("user", name) { node, onlyShows in
                try await node.deleteUser(name, onlyShows: onlyShows)
            }
        }
    }
}
