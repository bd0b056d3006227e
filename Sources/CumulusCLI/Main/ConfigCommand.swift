// `cumulus config show`: what the command line would use, and where each value comes from.

import ArgumentParser
import CumulusModel
import CumulusTerminal

struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Look at the settings.",
        discussion: help("cumulus config show"),
        subcommands: [Show.self]
    )

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show each setting and where its value comes from.",
            discussion: help(
                "cumulus config show --profile work",
                "CUMULUS_ENDPOINT=10.0.0.5:7420 cumulus config show --json",
                note: """
                    A flag goes before the environment \
                    (\(Setting.Name.allCases.compactMap(\.variable).joined(separator: ", "))), \
                    that before the profile of 'cumulus login', and that before the default; an \
                    empty variable is not set, but an empty token is refused when it is used. Of \
                    tokens only the beginning is shown.
                    """
            )
        )

        @OptionGroup var replicas: ReplicasOption
        @OptionGroup var encryption: EncryptionOption
        @OptionGroup var role: OperatorOption
        @OptionGroup var connection: DatabaseConnection
        @OptionGroup var output: OutputOptions

        var settings: [Setting] {
            let others = [
                Setting.ofProfile, role.setting(), role.tokenSetting.masked, encryption.setting,
                replicas.setting,
            ]
            return (connection.settings + others).sorted { $0.name < $1.name }
        }

        func run() throws {
            _ = try Setting.profile.get()
            try output.show(
                settings,
                columns: ["SETTING", "VALUE", "ORIGIN"],
                json: { setting in
                    [
                        "setting": .string(setting.name.rawValue), "value": .string(setting.value),
                        "origin": .string(setting.origin),
                    ]
                },
                row: { [$0.name.rawValue, $0.value, $0.origin] }
            )
        }
    }
}
