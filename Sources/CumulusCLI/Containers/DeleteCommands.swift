// `cumulus user delete` and `cumulus container delete`: what the operator deletes for good.

import ArgumentParser
import Cumulus
import CumulusTerminal

extension UserCommand {
    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a user with all that it has, on all nodes, for good.",
            discussion: help(
                "cumulus user delete alice --token-file operator.token",
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

extension ContainerCommand {
    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a container with all that is in it, on all nodes, for good.",
            discussion: help(
                "cumulus container delete iCloud.com.example --token-file operator.token",
                "cumulus container delete iCloud.com.example --yes --json",
                note: """
                    It says what goes along, and asks for the name. Both environments are closed \
                    at once, and their records, zones, assets, shares, subscriptions, roles and \
                    service keys go. Users stay. The name can't be used again.
                    """
            )
        )

        @Argument(help: "Name of the container.") var name: String
        @OptionGroup var options: DeletionOptions

        func run() async throws {
            let name = name
            try await options.delete("container", name) { node, onlyShows in
                try await node.deleteContainer(name, onlyShows: onlyShows)
            }
        }
    }
}
