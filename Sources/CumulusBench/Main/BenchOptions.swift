// The flags of `cumulus-bench`.
//
// Every path reads them. All options are checked before anything is started, even the ones that a
// path does not use.

import ArgumentParser
import CumulusModel
import CumulusTerminal

struct BenchOptions: ParsableArguments {
    @Option(name: .customLong("seconds"), help: "Seconds per figure. (default: 10)")
    private var givenSeconds: Double?
    @Option(
        name: .customLong("records"),
        help: "Records that are saved before anything is measured. (default: 100000)"
    )
    private var givenRecords: Int?
    @Option(name: .customLong("in-flight"), help: "Calls in flight. (default: 64)")
    private var givenInFlight: Int?
    @Option(name: .customLong("connections"), help: "Connections that share them. (default: 4)")
    private var givenConnections: Int?
    @Option(
        name: .customLong("idle-connections"),
        help: "Connections of the path 'idle'. (default: 10000)"
    )
    private var givenIdleConnections: Int?
    @Option(
        name: .customLong("followers"),
        help: "Devices, and users, that the path 'feed' tells of a save. (default: 1000)"
    )
    private var givenFollowers: Int?
    @Option(
        name: .customLong("topics"),
        help: "Topics beside which the path 'feed' saves. (default: 100000)"
    )
    private var givenTopics: Int?
    @Option(
        name: .customLong("idle-feeds"),
        help: "Feeds that the path 'feed' leaves idle. (default: 10000)"
    )
    private var givenIdleFeeds: Int?
    @Option(
        name: .customLong("megabytes"),
        help: "Megabytes of each file of the path 'asset'. (default: 500)"
    )
    private var givenMegabytes: Int?
    @Option(
        help: "Draw the lines of the path 'asset' from this text. (default: made-up words)",
        completion: .file()
    ) var text: String?
    @Option(
        name: .customLong("profile"),
        help: "Memory of the private node: small or standard. (default: standard)"
    )
    private var givenProfile: String?
    @OptionGroup var nodes: NodeOptions
    @Option(
        name: .customLong("token"),
        help: "Access token of a user there. (default: that in CUMULUS_TOKEN)"
    )
    private var givenToken: String?
    @Option(
        name: .customLong("container"),
        help: "Container there. (default: that in CUMULUS_CONTAINER, or iCloud.dev.cumulus)"
    )
    private var givenContainer: String?
    @Flag(help: "Print JSON, with a sample per second.") var json = false

    var seconds: Double { givenSeconds ?? 10 }
    var records: Int { givenRecords ?? 100_000 }
    var inFlight: Int { givenInFlight ?? 64 }
    /// Never more than calls: the rest would be idle.
    var connections: Int { givenConnections ?? min(4, inFlight) }
    var idleConnections: Int { givenIdleConnections ?? 10_000 }
    var followers: Int { givenFollowers ?? 1_000 }
    var topics: Int { givenTopics ?? 100_000 }
    var idleFeeds: Int { givenIdleFeeds ?? 10_000 }
    var megabytes: Int { givenMegabytes ?? 500 }
    var profile: String { givenProfile ?? "standard" }
    /// The node that is loaded in place of a private one; nil: the command line names none.
    ///
    /// The variable for other commands doesn't count: a load must be asked for.
    var endpoint: String? { nodes.endpoint.isEmpty ? nil : nodes.endpoints.first }
    /// The token of a user of the node of `endpoint`.
    var token: String { Setting(.token, flag: givenToken).value }
    /// The container at the node of `endpoint`; a private node has its own.
    var container: String {
        Setting(.container, flag: givenContainer, standard: BenchNode.container).value
    }

    /// Records of one request of the path 'batch', and of requests that save records beforehand.
    static let batchSize = 200

    func validate() throws {
        guard seconds >= 0.1, seconds <= 3_600 else {
            throw ValidationError("--seconds: from 0.1 to 3600")
        }
        guard (1_000...10_000_000).contains(records) else {
            throw ValidationError("--records: from 1000 to 10000000")
        }
        guard (1...1_000).contains(inFlight) else {
            throw ValidationError("--in-flight: from 1 to 1000")
        }
        guard (1...inFlight).contains(connections) else {
            throw ValidationError("--connections: from 1 to the number of calls in flight")
        }
        guard (1...50_000).contains(idleConnections) else {
            throw ValidationError("--idle-connections: up to 50000")
        }
        guard (1...20_000).contains(followers) else {
            throw ValidationError("--followers: up to 20000")
        }
        guard (101...200_000).contains(topics) else {
            throw ValidationError("--topics: from 101 to 200000")
        }
        guard (1...50_000).contains(idleFeeds) else {
            throw ValidationError("--idle-feeds: up to 50000")
        }
        guard (1...100_000).contains(megabytes) else {
            throw ValidationError("--megabytes: from 1 to 100000")
        }
        guard ["small", "standard"].contains(profile) else {
            throw ValidationError("--profile: small or standard")
        }
        guard endpoint == nil || nodes.endpoints.count == 1 else {
            throw ValidationError("The bench loads one node: name one --endpoint.")
        }
        guard endpoint == nil || !token.isEmpty else {
            throw ValidationError(
                "--endpoint needs the access token of a user there, in CUMULUS_TOKEN or --token"
            )
        }
    }

    // MARK: What does nothing

    /// Refuses options that change nothing about a path: their user expects an effect.
    func check(_ path: Bench.Path) throws {
        guard
            ![.replicate, .lag, .query, .asset, .feed, .auth, .http].contains(path)
                || endpoint == nil
        else {
            throw ValidationError("The path '\(path)' has nodes of its own: leave out --endpoint.")
        }
        for (name, isGiven, paths) in uses where isGiven && !paths.contains(path) {
            throw ValidationError("The path '\(path)' has no use for \(name): leave it out.")
        }
        let ofOthers = [
            ("--token", givenToken != nil), ("--container", givenContainer != nil),
            ("--tls", nodes.tls != nil), ("--authority", nodes.authority != nil),
            ("--timeout", nodes.timeout != nil),
        ]
        let ofPrivate = [
            ("--profile", givenProfile != nil), ("--megabytes", givenMegabytes != nil),
            ("--text", text != nil), ("--followers", givenFollowers != nil),
            ("--topics", givenTopics != nil), ("--idle-feeds", givenIdleFeeds != nil),
        ]
        for (name, isGiven) in endpoint == nil ? ofOthers : ofPrivate where isGiven {
            let node = endpoint == nil ? "A private node" : "The node of --endpoint"
            throw ValidationError("\(node) has no use for \(name): leave it out.")
        }
    }

    /// The options that are not for all paths: whether they are given, and what they are for.
    private var uses: [(name: String, isGiven: Bool, paths: [Bench.Path])] {
        let loaded: [Bench.Path] = [.all, .fetch, .save, .query, .replicate, .feed, .auth, .http]
        return [
            ("--seconds", givenSeconds != nil, loaded + [.batch, .lag]),
            ("--records", givenRecords != nil, loaded + [.batch]),
            ("--in-flight", givenInFlight != nil, loaded + [.lag]),
            ("--connections", givenConnections != nil, loaded + [.batch, .asset]),
            ("--idle-connections", givenIdleConnections != nil, [.all, .idle]),
            ("--followers", givenFollowers != nil, [.all, .feed]),
            ("--topics", givenTopics != nil, [.all, .feed]),
            ("--idle-feeds", givenIdleFeeds != nil, [.all, .feed]),
            ("--megabytes", givenMegabytes != nil, [.all, .asset]),
            ("--text", text != nil, [.all, .asset]),
        ]
    }
}
