// The settings of `cumulusd`: flag before environment before file before default, and where each
// value came from.
//
// Every setting is one row of `Configuration.settings`; flags, variables, the file's keys and
// `config show` follow from it.

import CumulusModel
import CumulusNode
import CumulusSystem
import RocksDBStorage

struct Configuration {
    /// Where a value came from.
    enum Origin: Equatable {
        case flag
        case environment(String)
        case file(String)
        case standard

        var description: String {
            switch self {
            case .flag: "flag"
            case .environment(let name): "environment \(name)"
            case .file(let path): "file \(path)"
            case .standard: "default"
            }
        }
    }

    struct Value: Equatable {
        var text: String
        var origin: Origin
    }

    /// One setting: its name on the command line, what it means, and its default.
    struct Setting {
        var name: String
        var standard: String
        var help: String

        /// `disk-reserve` → `CUMULUS_DISK_RESERVE`.
        var variable: String {
            "CUMULUS_" + name.uppercased().replacing("-", with: "_")
        }

        /// `disk-reserve` → `diskReserve`.
        var fileKey: String {
            let words = name.split(separator: "-")
            return words.dropFirst().reduce(String(words[0])) { $0 + $1.capitalized }
        }
    }

    struct Problem: Error {
        var message: String
    }

    static let settings = [
        Setting(name: "data", standard: "cumulus-data", help: "directory of the node's data"),
        Setting(name: "listen", standard: "127.0.0.1:7420", help: "address and port"),
        Setting(
            name: "http",
            standard: "",
            help: """
                address and port of web services, /console, /livez, /readyz and /metrics; empty: \
                none
                """
        ),
        Setting(
            name: "web-apps",
            standard: "",
            help: """
                JSON file with the web apps whose API tokens are good, the same on all nodes; \
                empty: none are
                """
        ),
        Setting(name: "web-url", standard: "", help: "where browsers reach --http; empty: there"),
        Setting(
            name: "web-host",
            standard: "",
            help: """
                hosts under which browsers find /console and /sign-in, separated by commas, beside \
                IP addresses, localhost and the hosts of http and web-url
                """
        ),
        Setting(
            name: "trusted-proxies",
            standard: "",
            help: """
                proxies before http that say in Forwarded or X-Forwarded-For who calls: \
                addresses and networks such as 10.0.0.0/8, separated by commas; empty: none
                """
        ),
        Setting(
            name: "container",
            standard: "iCloud.dev.cumulus",
            help: "container that is made if it doesn't exist; empty: none"
        ),
        Setting(
            name: "peers",
            standard: "",
            help: "addresses of other nodes of the cluster, separated by commas"
        ),
        Setting(
            name: "advertise",
            standard: "",
            help: "address that other nodes reach this one by; empty: the one it listens on"
        ),
        Setting(
            name: "cluster-key",
            standard: "",
            help:
                "file with the key that all nodes share; empty: cluster.key in the data directory"
        ),
        Setting(
            name: "from-backup",
            standard: "",
            help: """
                backup of another node that a new one begins with, in an empty directory; ignored \
                if there is a store
                """
        ),
        Setting(
            name: "replicas",
            standard: "0",
            help: "how many other nodes are to hold a change before it is answered"
        ),
        Setting(
            name: "retention-days",
            standard: "30",
            help: "how long deletions, conflicts and a missing node's log are remembered"
        ),
        Setting(
            name: "feed-retention-days",
            standard: "30",
            help: "how far feeds and the history of notifications go back"
        ),
        Setting(
            name: "log-keep-seconds",
            standard: "600",
            help: "how long log entries are kept that all nodes have"
        ),
        Setting(
            name: "log-megabytes",
            standard: "",
            help: """
                disk for log entries; beyond it the oldest go, first those that a missing node \
                lacks; empty: a tenth of the file system, at most 8192
                """
        ),
        Setting(
            name: "profile",
            standard: "standard",
            help: """
                memory: small (256 MB; the disk has 500 MB or more) or standard (1 GB; 2 GB or more)
                """
        ),
        Setting(
            name: "cache",
            standard: "",
            help: """
                memory for rows that were read, such as 2GB or 25% of the machine's; empty: what \
                the profile has, \(MemoryProfile.small.blockCacheBytes >> 20) or \
                \(MemoryProfile.standard.blockCacheBytes >> 20) MB
                """
        ),
        Setting(
            name: "disk-reserve",
            standard: "",
            help: """
                free bytes of disk below which only deletes are taken; empty: the least that the \
                profile can do with, \(MemoryProfile.small.reserveBytes) (small) or \
                \(MemoryProfile.standard.reserveBytes) (standard)
                """
        ),
        Setting(name: "threads", standard: "2", help: "event loops"),
        Setting(name: "readers", standard: "2", help: "threads that read from the disk"),
        Setting(
            name: "log-level",
            standard: "info",
            help: "trace, debug, info, notice, warning or error"
        ),
        Setting(name: "log-format", standard: "text", help: "text, or json: an object per line"),
        Setting(
            name: "access-lease",
            standard: "0",
            help: """
                seconds without a report of another member after which users are let in to their \
                private databases only, the same on all nodes; 0: never
                """
        ),
        Setting(
            name: "access-lease-all",
            standard: "false",
            help: "with access-lease: then users are not let in at all"
        ),
        Setting(
            name: "audit-megabytes",
            standard: "16",
            help: """
                disk for audit.log in the data directory with the file before it, and as much for \
                refusals.log; 0: neither is kept
                """
        ),
        Setting(
            name: "tls-certificate",
            standard: "",
            help: "PEM file with the node's certificate; empty: plain TCP"
        ),
        Setting(name: "tls-key", standard: "", help: "PEM file with the certificate's key"),
        Setting(
            name: "tls-authority",
            standard: "",
            help: "PEM file with the authority of the other nodes' certificates"
        ),
        Setting(name: "insecure", standard: "false", help: "allow plain TCP beyond this machine"),
        Setting(
            name: "insecure-credentials",
            standard: "false",
            help: "accept tokens over plain TCP from other machines"
        ),
        Setting(name: "registration", standard: "false", help: "let anybody register as a user"),
        Setting(
            name: "issuers",
            standard: "",
            help: """
                JSON file with the identity providers whose ID tokens let users in, the same on \
                all nodes; empty: none do
                """
        ),
        Setting(
            name: "webhooks",
            standard: "",
            help: """
                JSON file with the HTTPS endpoints that subscriptions may name, the same on all \
                nodes; empty: there are none
                """
        ),
        Setting(
            name: "share-url",
            standard: "cumulus:",
            help: """
                what the URLs of shares begin with, such as https://notes.example.com, which the \
                app opens
                """
        ),
        Setting(
            name: "lost-assets",
            standard: "false",
            help: "start although all packs of assets are gone, and no other node may have them"
        ),
        Setting(
            name: "read-only",
            standard: "false",
            help: "show what the store holds, take no changes and no part in the cluster"
        ),
        Setting(
            name: "drain-milliseconds",
            standard: "8000",
            help: "how long calls in progress may take after SIGTERM"
        ),
        Setting(
            name: "calls-per-second",
            standard: String(CallerLimits.standard.callsPerSecond),
            help: "calls that one user or address may begin per second; 0: no limit"
        ),
        Setting(
            name: "calls-burst",
            standard: String(CallerLimits.standard.callsBurst),
            help: "calls that one may begin at once after a rest, with calls-per-second"
        ),
        Setting(
            name: "bytes-per-second",
            standard: String(CallerLimits.standard.bytesPerSecond),
            help: "bytes of requests that one may send per second; 0: no limit"
        ),
        Setting(
            name: "calls-at-once",
            standard: String(CallerLimits.standard.callsAtOnce),
            help: "calls of one that may be in progress; 0: no limit"
        ),
        Setting(
            name: "limits",
            standard: "",
            help:
                "limits that differ, e.g. itemsPerRequest=10,idleMilliseconds=5000"
        ),
    ]

    /// Names the file with settings.
    static let fileVariable = "CUMULUS_CONFIG"

    private(set) var values: [String: Value] = [:]

    /// Gathers all values; an empty variable is one that is not set.
    ///
    /// `flags` holds what the command line named.
    init(
        flags: [String: String],
        environment: [String: String],
        file: String?
    ) throws {
        let environment = environment.filter { !$0.value.isEmpty }
        let path = file ?? environment[Configuration.fileVariable]
        let fromFile = try path.map { try Configuration.read($0) } ?? [:]
        for setting in Configuration.settings {
            if let text = flags[setting.name] {
                values[setting.name] = Value(text: text, origin: .flag)
            } else if let text = environment[setting.variable] {
                let origin = Origin.environment(setting.variable)
                values[setting.name] = Value(text: text, origin: origin)
            } else if let text = fromFile[setting.fileKey], let path {
                values[setting.name] = Value(text: text, origin: .file(path))
            } else {
                values[setting.name] = Value(text: setting.standard, origin: .standard)
            }
        }
        let known = Set(Configuration.settings.map(\.fileKey))
        if let unknown = fromFile.keys.sorted().first(where: { !known.contains($0) }) {
            throw Problem(
                message:
                    """
                    \(path ?? ""): '\(unknown)' is no setting; known are \
                    \(known.sorted().joined(separator: ", "))
                    """
            )
        }
    }

    private static func read(_ path: String) throws -> [String: String] {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw Problem(message: "the configuration file \(path) can't be read")
        }
        guard let object = try? JSONDecoder().decode([String: FileValue].self, from: data) else {
            throw Problem(message: "the configuration file \(path) is not a JSON object")
        }
        var seen: Set<String> = []
        for key in keys(String(decoding: data, as: UTF8.self)) where !seen.insert(key).inserted {
            throw Problem(message: "the configuration file \(path) has '\(key)' twice")
        }
        return try object.reduce(into: [:]) { texts, member in
            guard let text = member.value.text else {
                throw Problem(
                    message: """
                        the configuration file \(path): '\(member.key)' must be a text, a whole \
                        number, or true or false
                        """
                )
            }
            texts[member.key] = text
        }
    }

    /// The keys as they stand in an object of plain values; the decoder drops one of two alike.
    private static func keys(_ text: String) -> [String] {
        let strings = /("(?:[^"\\]|\\.)*")\s*(:)?/.matchingSemantics(.unicodeScalar)
        return text.matches(of: strings).compactMap { match in
            guard match.output.2 != nil else { return nil }
            let quoted = Data("[\(match.output.1)]".utf8)
            return (try? JSONDecoder().decode([String].self, from: quoted))?.first
        }
    }

    /// A value in the file: a text, a whole number, or true or false; nil for all others.
    private struct FileValue: Decodable {
        let text: String?

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let flag = try? container.decode(Bool.self) {
                text = flag ? "true" : "false"
            } else if let number = try? container.decode(Int.self) {
                text = String(number)
            } else {
                text = try? container.decode(String.self)
            }
        }
    }

    // MARK: Values

    subscript(name: String) -> String { values[name]?.text ?? "" }

    var data: String { self["data"] }
    var container: String? { self["container"].isEmpty ? nil : self["container"] }
    var listen: String { self["listen"] }

    func number(_ name: String) throws -> Int {
        guard let number = Int(self[name]), number >= 0 else {
            throw Problem(message: "\(name): '\(self[name])' is not a number from 0 on")
        }
        return number
    }

    /// A number that makes sense.
    func number(_ name: String, in range: ClosedRange<Int>) throws -> Int {
        let number = try number(name)
        guard range.contains(number) else {
            throw Problem(
                message: """
                    \(name): \(number) is not between \(range.lowerBound) and \(range.upperBound)
                    """
            )
        }
        return number
    }

    func flag(_ name: String) throws -> Bool {
        switch self[name] {
        case "true", "1", "yes": true
        case "false", "0", "no", "": false
        default: throw Problem(message: "\(name): '\(self[name])' is neither true nor false")
        }
    }

    func profile() throws -> MemoryProfile {
        guard let profile = MemoryProfile(rawValue: self["profile"]) else {
            throw Problem(message: "profile: '\(self["profile"])' is neither small nor standard")
        }
        return profile
    }

    /// Other nodes that are to hold a change before its answer.
    func replicas() throws -> Int {
        try number("replicas", in: 0...16)
    }

    /// What the URLs of shares begin with, without a slash at its end.
    func shareURL() throws -> String {
        var url = self["share-url"]
        while url.hasSuffix("/") { url.removeLast() }
        guard (1...200).contains(url.utf8.count), url.utf8.contains(UInt8(ascii: ":")),
            url.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }),
            !url.utf8.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") })
        else {
            throw Problem(
                message: """
                    share-url: '\(self["share-url"])' is not the beginning of a URL; write \
                    something like https://notes.example.com or notes:
                    """
            )
        }
        return url
    }
}
