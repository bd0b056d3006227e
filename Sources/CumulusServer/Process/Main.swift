// `cumulusd`: a node of Cumulus. Flags, help texts and exit codes.
//
// Exit codes: 0 after a signal and a clean end, 1 when the node can't start, 64 for flags that make
// no sense, 70 when the store failed while the node was running, 74 when the output can't be
// written.
//
// Folder: the server program, from its flags to its end. Read `Main`, then `Configuration` and
// `Wiring`.

import ArgumentParser
import CumulusModel
import CumulusSystem

@main
struct Main: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cumulusd",
        abstract: "A node of Cumulus, the open record server.",
        discussion: guide,
        version: Release.version,
        subcommands: [Run.self, Config.self, Bound.self],
        defaultSubcommand: Run.self
    )

    static func main() async {
        do {
            var command = try await asyncParseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            end(with: error)
        }
    }

    private static func end(with error: any Error) -> Never {
        let text = fullMessage(for: error)
        let ending = exitCode(for: error)
        guard ending == .success, !text.isEmpty else {
            let message = message(for: error)
            if message.isEmpty || Wiring.namedLogFormat() != "json" { exit(withError: error) }
            Wiring.complain(message, in: "json")
            exit(withError: ending)
        }
        // Help was asked for: the parser would not notice that it can't be written.
        let code = write(text + "\n", to: STDOUT_FILENO)
        if code == 0 { exit() }
        complain("the output can't be written: \(systemText(code))")
        exit(withError: ExitCode(74))
    }

    /// Also of the subcommand that runs when none is named.
    static let guide = """
        Examples:
          cumulusd --data /var/lib/cumulus
          cumulusd --listen 127.0.0.1:0 --profile small
          CUMULUS_DATA=/srv/notes cumulusd --config /etc/cumulus.json
          cumulusd --data b --listen 127.0.0.1:7421 \\
            --cluster-key a/cluster.key --peers 127.0.0.1:7420
          cumulusd config show --config /etc/cumulus.json
          cumulusd run --help    (names every flag)

        The line 'cumulusd ready on ADDRESS' on standard output says that it serves: a new node \
        of a cluster takes a state first. 'cumulusd listens on ADDRESS' comes before. SIGTERM \
        drains: calls in progress end, new ones are refused. A second signal ends it at once.

        Exit codes: 0 ended by a signal, 1 could not start, 64 a flag that doesn't exist, 70 \
        the store failed, 74 the output can't be written, 130 ended by a second signal.
        """
}

/// The flags of both subcommands; each is a row of `Configuration.settings`.
struct Flags: ParsableArguments {
    @Option(help: "JSON file with settings.") var config: String?
    @Option(help: "Directory of the node's data (default: cumulus-data).") var data: String?
    @Option(help: "Address and port; port 0 takes a free one (default: 127.0.0.1:7420).")
    var listen: String?
    @Option(help: "Address and port of web services, /console and /metrics (default: none).")
    var http: String?
    @Option(help: "JSON file with the web apps whose API tokens are good, with --http.")
    var webApps: String?
    @Option(help: "URL at which browsers reach --http, behind a proxy (default: its address).")
    var webURL: String?
    @Option(help: "Host under which browsers find /console and /sign-in; may be repeated.")
    var webHost: [String] = []
    @Option(help: "Proxies that say who calls --http: addresses or networks, with commas.")
    var trustedProxies: String?
    @Option(help: "Container that is made if it doesn't exist (default: iCloud.dev.cumulus).")
    var container: String?
    @Option(help: "Addresses of other nodes of the cluster, separated by commas.")
    var peers: String?
    @Option(help: "File with the cluster's key (default: cluster.key in the data directory).")
    var clusterKey: String?
    @Option(help: "Address that other nodes reach this one by (default: where it listens).")
    var advertise: String?
    @Option(help: "Backup of another node that a new one begins with.")
    var fromBackup: String?
    @Option(help: "Other nodes that are to hold a change before it is answered (default: 0).")
    var replicas: String?
    @Option(help: "Days that deletions and a missing node's log are remembered (default: 30).")
    var retentionDays: String?
    @Option(help: "Days that feeds and the history of notifications go back (default: 30).")
    var feedRetentionDays: String?
    @Option(help: "Seconds that log entries are kept that all nodes have (default: 600).")
    var logKeepSeconds: String?
    @Option(help: "Megabytes of log kept for a missing node (default: 8192).")
    var logMegabytes: String?
    @Option(help: "Memory: small (256 MB) or standard (1 GB).") var profile: String?
    @Option(help: "Memory for rows that were read, such as 2GB or 25%; default: the profile's.")
    var cache: String?
    @Option(help: "Free bytes of disk below which only deletes are taken (default: the least).")
    var diskReserve: String?
    @Option(help: "Event loops (default: 2).") var threads: String?
    @Option(help: "Threads that read from the disk (default: 2).") var readers: String?
    @Option(help: "trace, debug, info, notice, warning or error (default: info).")
    var logLevel: String?
    @Option(help: "Log lines as text (default) or json: time, level, message and metadata.")
    var logFormat: String?
    @Option(help: "Seconds without a member's report until users are shut out; 0: never (default).")
    var accessLease: String?
    @Flag(help: "With --access-lease: shut them out of their private databases too.")
    var accessLeaseAll = false
    @Option(help: "Megabytes of disk for audit.log, and for refusals.log; 0: none (default: 16).")
    var auditMegabytes: String?
    @Option(help: "PEM file with the node's certificate (default: plain TCP).")
    var tlsCertificate: String?
    @Option(help: "PEM file with the certificate's key.") var tlsKey: String?
    @Option(help: "PEM file with the authority of the other nodes' certificates.")
    var tlsAuthority: String?
    @Flag(help: "Allow plain TCP beyond this machine.") var insecure = false
    @Flag(help: "Accept tokens over plain TCP from other machines.") var insecureCredentials = false
    @Flag(help: "Let anybody register as a user.") var registration = false
    @Option(help: "What the URLs of shares begin with (default: cumulus:).")
    var shareURL: String?
    @Option(help: "JSON file with the identity providers whose ID tokens let users in.")
    var issuers: String?
    @Option(help: "JSON file with the HTTPS endpoints that are told notifications.")
    var webhooks: String?
    @Flag(help: "Start although all packs of assets are gone, and no other node may have them.")
    var lostAssets = false
    @Flag(help: "Show what the store holds; take no changes and no part in the cluster.")
    var readOnly = false
    @Option(help: "Milliseconds that calls may take after SIGTERM (default: 8000).")
    var drainMilliseconds: String?
    @Option(help: "Calls that one user or address may begin per second; 0: no limit.")
    var callsPerSecond: String?
    @Option(help: "Calls that one may begin at once after a rest, with --calls-per-second.")
    var callsBurst: String?
    @Option(help: "Bytes of requests that one may send per second; 0: no limit.")
    var bytesPerSecond: String?
    @Option(help: "Calls of one that may be in progress; 0: no limit.")
    var callsAtOnce: String?
    @Option(help: "Limits that differ from the defaults, e.g. itemsPerRequest=10.")
    var limits: String?

    func configuration() throws -> Configuration {
        var flags: [String: String] = [:]
        flags["data"] = data
        flags["listen"] = listen
        flags["http"] = http
        flags["web-apps"] = webApps
        flags["web-url"] = webURL
        flags["web-host"] = webHost.isEmpty ? nil : webHost.joined(separator: ",")
        flags["trusted-proxies"] = trustedProxies
        flags["container"] = container
        flags["peers"] = peers
        flags["cluster-key"] = clusterKey
        flags["advertise"] = advertise
        flags["from-backup"] = fromBackup
        flags["replicas"] = replicas
        flags["retention-days"] = retentionDays
        flags["feed-retention-days"] = feedRetentionDays
        flags["log-keep-seconds"] = logKeepSeconds
        flags["log-megabytes"] = logMegabytes
        flags["profile"] = profile
        flags["cache"] = cache
        flags["disk-reserve"] = diskReserve
        flags["threads"] = threads
        flags["readers"] = readers
        flags["log-level"] = logLevel
        flags["log-format"] = logFormat
        flags["access-lease"] = accessLease
        flags["access-lease-all"] = accessLeaseAll ? "true" : nil
        flags["audit-megabytes"] = auditMegabytes
        flags["tls-certificate"] = tlsCertificate
        flags["tls-key"] = tlsKey
        flags["tls-authority"] = tlsAuthority
        flags["insecure"] = insecure ? "true" : nil
        flags["insecure-credentials"] = insecureCredentials ? "true" : nil
        flags["registration"] = registration ? "true" : nil
        flags["share-url"] = shareURL
        flags["issuers"] = issuers
        flags["webhooks"] = webhooks
        flags["lost-assets"] = lostAssets ? "true" : nil
        flags["read-only"] = readOnly ? "true" : nil
        flags["drain-milliseconds"] = drainMilliseconds
        flags["calls-per-second"] = callsPerSecond
        flags["calls-burst"] = callsBurst
        flags["bytes-per-second"] = bytesPerSecond
        flags["calls-at-once"] = callsAtOnce
        flags["limits"] = limits
        return try Configuration(
            flags: flags,
            environment: ProcessInfo.processInfo.environment,
            file: config
        )
    }
}

struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the node (the default).",
        discussion: Main.guide
    )
    @OptionGroup var flags: Flags

    func run() async throws {
        var format = Wiring.namedLogFormat()
        do {
            let configuration = try flags.configuration()
            format = configuration["log-format"]
            try await Wiring(configuration).run()
        } catch {
            Wiring.complain("\(error)", in: format)
            throw ExitCode(1)
        }
    }
}

struct Config: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Look at the settings.",
        subcommands: [Show.self]
    )

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print every setting, its value, and where the value came from.",
            discussion: """
                Example: CUMULUS_LISTEN=127.0.0.1:7500 cumulusd config show --json

                A flag goes before the environment, that before the file of --config or \
                \(Configuration.fileVariable), and that before the default. The variables are \
                \(Configuration.settings.map(\.variable).joined(separator: ", ")); an empty one is \
                not set.

                Exit codes: 0 they can be used, 1 they can't, and why is said, 74 the \
                output can't be written.
                """
        )
        @OptionGroup var flags: Flags
        @Flag(help: "Print JSON.") var json = false

        func run() throws {
            do {
                let configuration = try flags.configuration()
                let text = json ? try encoded(configuration) : table(configuration)
                let code = write(text + "\n", to: STDOUT_FILENO)
                guard code == 0 else {
                    complain("the output can't be written: \(systemText(code))")
                    throw ExitCode(74)
                }
                try Wiring(configuration).check()
            } catch let problem as Configuration.Problem {
                complain(problem.message)
                throw ExitCode(1)
            }
        }

        private func table(_ configuration: Configuration) -> String {
            let width = Configuration.settings.map(\.name.count).max() ?? 0
            return Configuration.settings.map { setting in
                let value = configuration.values[setting.name]
                let padding = String(repeating: " ", count: width - setting.name.count)
                let origin = value?.origin.description ?? ""
                return "\(setting.name)\(padding)  \(value?.text ?? "")  (\(origin))"
            }.joined(separator: "\n")
        }

        private func encoded(_ configuration: Configuration) throws -> String {
            let object = configuration.values.mapValues { value in
                ["value": value.text, "origin": value.origin.description]
            }
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            return String(decoding: try encoder.encode(object), as: UTF8.self)
        }
    }
}

/// One line on standard error.
func complain(_ message: String) {
    write("cumulusd: \(message)\n", to: STDERR_FILENO)
}
