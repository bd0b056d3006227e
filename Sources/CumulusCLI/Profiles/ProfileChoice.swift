// Which profile a command uses: --profile, CUMULUS_CLIENT_PROFILE, or the one that `cumulus use`
// chose.
//
// Asked once, before the command line is parsed: the settings of all groups of options look at the
// profile while they are parsed.

import ArgumentParser
import CumulusTerminal

enum ProfileChoice {
    /// The name that means no profile.
    static let none = "none"
    /// The names that logins give, if the command line names none.
    static let ofUsers = "default"
    static let ofOperators = "operator"

    /// The profile of a command line, without the program's name.
    static func profile(of words: [String]) -> Result<Setting.Profile?, any Error> {
        Result {
            if let (name, origin) = named(words) {
                return name == none ? nil : try profile(name, origin)
            }
            guard let name = try ProfileFile.read().current else { return nil }
            return try profile(name, "cumulus use")
        }
    }

    /// The profile with that name, as settings see it.
    ///
    /// - Parameter origin: What named it.
    static func profile(_ name: String, _ origin: String) throws -> Setting.Profile {
        let profile = try ProfileFile.read().profile(name)
        return Setting.Profile(name: name, origin: origin, values: profile.values)
    }

    /// The profile that a login is about to replace; nil if no profile has that name.
    static func known(_ name: String) throws -> Setting.Profile? {
        try ProfileFile.read().profiles[name].map {
            Setting.Profile(name: name, origin: "flag", values: $0.values)
        }
    }

    /// The name that the command line or the environment says, and which of them.
    private static func named(_ words: [String]) -> (name: String, origin: String)? {
        let setting = Setting(.profile, flag: flag(words))
        return setting.isStandard ? nil : (setting.value, setting.origin)
    }

    /// The value of the first --profile before a `--`; nil if the words have no --profile.
    private static func flag(_ words: [String]) -> String? {
        let words = words.prefix { $0 != "--" }
        guard let index = words.firstIndex(where: { $0.hasPrefix("--profile") }) else { return nil }
        let word = words[index]
        if word == "--profile" {
            return words.dropFirst(index + 1).first
        }
        return word.hasPrefix("--profile=") ? String(word.dropFirst("--profile=".count)) : nil
    }
}

/// `--profile`, which every command has.
struct ProfileOption: ParsableArguments {
    // `ProfileChoice` reads it from the command line before the parser does.
    @Option(help: "Profile of 'cumulus login' that gives what is not named; none: no profile.")
    var profile: String?

    /// The name in the flag or the environment; nil if neither names a profile.
    var named: String? {
        let setting = Setting(.profile, flag: profile)
        return setting.isStandard ? nil : setting.value
    }
}
