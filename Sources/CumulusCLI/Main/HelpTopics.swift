// What help texts share: the end of each, and the pages of `cumulus help` that are about no
// command.
//
// Options that all commands have are shown once, by `cumulus help connection`, and exit codes by
// `cumulus help errors`. The groups of options that these pages show are hidden in the commands.

import ArgumentParser
import CumulusTerminal

/// The end of a command's `--help`: a note, examples, and where to read on.
func help(_ examples: String..., note: String? = nil) -> String {
    help(
        examples,
        note: note,
        end: """
            Server, profile and token: 'cumulus help connection'.
            Exit codes and errors: 'cumulus help errors'.
            """
    )
}

/// `cumulus help connection`: the options of all commands that ask a node.
struct ConnectionTopic: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "connection",
        abstract: "Options and variables of all commands that ask a node.",
        discussion: """
            A value comes from its flag, or else from its variable, or else from the profile, or \
            else it is the default; 'cumulus config show' says which. 'cumulus login' makes \
            profiles, 'cumulus use' chooses one, 'cumulus whoami' says who asks. The variables \
            are called like the options: \(variables).

            A command of users asks as the user with --token or --token-file, as a server with \
            --key and --key-id, else without a user. A command of operators takes the \
            operator's token with --token-file, CUMULUS_OPERATOR_TOKEN_FILE or the profile; it \
            lies in the node's data directory as operator.token. A token's file may be a pipe. Of \
            several nodes an operator's command asks the first that answers; 'cumulus status' \
            shows each, and what is about one node ('backup', 'top', 'cluster leave', 'cluster \
            verify', 'cluster status --zones') takes one address.

            Examples:
              cumulus login --operator --token-file <(ssh host cat data/operator.token)
              cumulus record get hello --endpoint a.example.org --token-file alice.token
              cumulus zone list --profile work
              CUMULUS_CLIENT_PROFILE=none cumulus record list --database public
            """,
        shouldDisplay: false
    )

    private static var variables: String {
        Setting.Name.allCases.compactMap(\.variable).joined(separator: ", ")
    }

    @OptionGroup(title: "Profile") var profile: ProfileOption
    @OptionGroup(title: "Server") var nodes: NodeOptions
    @OptionGroup(title: "Container") var scope: ScopeOptions
    @OptionGroup(title: "Caller") var caller: CallerOptions

    func run() throws { throw CleanExit.helpRequest(self) }
}

/// `cumulus help errors`: exit codes, and errors as JSON.
struct ErrorTopic: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "errors",
        abstract: "Exit codes, and how errors look.",
        discussion: exitCodeText,
        shouldDisplay: false
    )

    func run() throws { throw CleanExit.helpRequest(self) }
}
