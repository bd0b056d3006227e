// The flags of `cumulus bench`.
//
// Read by every path; checked before anything is started.

import ArgumentParser

struct BenchOptions: ParsableArguments {
    @Option(help: "Seconds per figure.") var seconds = 10.0
    @Option(help: "Records that are saved before anything is measured.") var records = 100_000
    @Option(help: "Calls in flight.") var inFlight = 64
    @Option(name: .customLong("connections"), help: "Connections that share them. (default: 4)")
    var connectionLimit: Int?
    @Option(help: "Connections of the path 'idle'.") var idleConnections = 10_000
    @Option(help: "Megabytes of each file of the path 'asset'.") var megabytes = 500
    @Option(
        help: "Draw the lines of the path 'asset' from this text. (default: made-up words)",
        completion: .file()
    ) var text: String?
    @Option(help: "Memory of the private node: small or standard.") var profile = "standard"
    @Option(help: "Load this node instead of a private one.") var endpoint: String?
    @Option(help: "Access token of a user there.") var token: String?
    @Option(help: "Container there.") var container = "iCloud.dev.cumulus"
    @Flag(help: "Print JSON, with a sample per second.") var json = false

    /// Records of one request of the path 'batch', and of those that save records beforehand.
    static let batchSize = 200

    /// Never more than calls: the rest would be idle.
    var connections: Int { connectionLimit ?? min(4, inFlight) }

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
        guard (1...100_000).contains(megabytes) else {
            throw ValidationError("--megabytes: from 1 to 100000")
        }
        guard ["small", "standard"].contains(profile) else {
            throw ValidationError("--profile: small or standard")
        }
        guard endpoint == nil || token != nil else {
            throw ValidationError("--endpoint needs --token, the access token of a user there")
        }
    }
}
