// How much, and with which dice: the tests of faults take both from the environment, so that
// `cluster/chaos` can ask for more than a test run has time for.

import Foundation

enum Chaos {
    /// Rounds of killing.
    static let rounds = number("CUMULUS_CHAOS_ROUNDS") ?? 20
    /// Kills of a node whose feeds are followed.
    static let kills = number("CUMULUS_CHAOS_KILLS") ?? 5
    /// Mutated frames.
    static let mutations = number("CUMULUS_CHAOS_MUTATIONS") ?? 4_000
    /// Cycles of faults, or restarts.
    static let cycles = number("CUMULUS_CHAOS_CYCLES") ?? 8
    /// The size of a file that is transferred.
    static let megabytes = number("CUMULUS_CHAOS_MEGABYTES") ?? 24
    /// The size of a state that is taken over a link that is cut.
    static let stateMegabytes = number("CUMULUS_CHAOS_MEGABYTES")
    /// Seconds of each attack; nil means the short form, which has only all of them at once.
    static let attackSeconds = number("CUMULUS_CHAOS_SECONDS")
    static let seed = UInt64(number("CUMULUS_CHAOS_SEED") ?? 1)

    /// Whether `cluster/chaos` asked for the run.
    static let isAsked = number("CUMULUS_CHAOS_SEED") != nil

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }
}
