// `cumulus use`: which profile the following commands use.

import ArgumentParser
import CumulusModel
import CumulusTerminal

struct UseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "use",
        abstract: "Choose the profile of the following commands, or list all profiles.",
        discussion: help(
            "cumulus use",
            "cumulus use work",
            "cumulus use none",
            "cumulus use --json",
            note: """
                'cumulus login' makes profiles. --profile and CUMULUS_CLIENT_PROFILE choose one \
                for a command, and go before the one that is in use. 'none' is no profile.
                """
        )
    )

    @Argument(help: "Name of the profile, or none; lists all if left out.") var name: String?
    @OptionGroup var output: OutputOptions

    func run() throws {
        let file = try ProfileFile.read()
        guard let name else { return try list(file) }
        try choose(name, file)
    }

    private func choose(_ name: String, _ file: ProfileFile) throws {
        guard ProfileFile.path != nil else {
            throw UsageProblem(
                "there is no home directory for profiles: set HOME or XDG_CONFIG_HOME"
            )
        }
        var file = file
        let isNone = name == ProfileChoice.none
        let profile = isNone ? nil : try file.profile(name)
        file.current = isNone ? nil : name
        try file.write()
        try output.show(
            .object(
                [.init("profile", isNone ? .null : .string(name))] + (profile?.shown ?? [])
            ),
            rows: [["profile", name]] + (profile?.rows ?? [])
        )
        let setting = Setting(.profile, flag: nil)
        guard !setting.isStandard, setting.value != name else { return }
        complain("\(setting.source) is '\(setting.value)', and goes before this choice.")
    }

    private func list(_ file: ProfileFile) throws {
        let current = output.profile.named ?? file.current
        let profiles = file.names.compactMap { name in
            file.profiles[name].map { (name: name, profile: $0) }
        }
        try output.show(
            profiles,
            columns: ["PROFILE", "IN USE", "AS", "ENDPOINT", "CONTAINER", "ENVIRONMENT"],
            json: { name, profile in
                .object(
                    [.init("profile", .string(name)), .init("inUse", .bool(name == current))]
                        + profile.shown
                )
            },
            row: { name, profile in
                [
                    name, name == current ? "yes" : "", profile.who, profile.endpoint,
                    profile.values[.container] ?? "", profile.values[.environment] ?? "",
                ]
            }
        )
    }
}

extension Profile {
    /// The caller, as people read it.
    fileprivate var who: String { role.rawValue + (user.map { " \($0)" } ?? "") }

    /// What is shown of it beside its name, in the words and the order of 'whoami'.
    var rows: [[String]] {
        let rows = [
            ["endpoint", endpoint], values[.container].map { ["container", $0] },
            values[.environment].map { ["environment", $0] }, ["as", role.rawValue],
            user.map { ["user", $0] },
        ]
        return rows.compactMap(\.self)
    }

    /// What is shown of it: never a token.
    fileprivate var shown: [JSON.Member] {
        func text(_ name: Setting.Name) -> JSON { values[name].map(JSON.string) ?? .null }
        return [
            .init("as", .string(role.rawValue)), .init("user", user.map(JSON.string) ?? .null),
            .init("endpoint", text(.endpoint)), .init("container", text(.container)),
            .init("environment", text(.environment)), .init("tls", text(.tls)),
            .init("authority", text(.authority)),
        ]
    }
}
