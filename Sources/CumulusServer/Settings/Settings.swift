// The table of settings: each one once, in the groups of the help.
//
// Read by `Configuration`, `Flags` and `config show`. The article Settings has the same rows, and a
// test compares them.

import CumulusModel
import CumulusNode
import CumulusSystem
import Logging
import PostgresStorage
import RocksDBStorage

struct Settings: SettingGroup {
    static let title = ""
    static let table: Settings = Settings()
    /// All of them, in the order of the groups.
    static let rows: [SettingRow] = table.rows

    let node = NodeSettings()
    let cluster = ClusterSettings()
    let tls = TLSSettings()
    let users = UserSettings()
    let web = WebSettings()
    let grpc = GRPCSettings()
    let engine = EngineSettings()
    let callers = CallerSettings()
}

struct NodeSettings: SettingGroup {
    static let title = "The node and its log"

    let data = Setting("data", .text("directory"), "cumulus-data")
        .help("Directory of the node's data")
    let store = Setting("store", .text("url"), none: "RocksDB in the data directory")
        .help(
            """
            PostgreSQL database of the node's data, such as postgres://cumulus@db.example/cumulus; \
            the data directory keeps the audit log and copies of the keys
            """
        )
    let storePassword = Setting("store-password-file", .text("file"), none: "none")
        .help("File with the password for --store, which goes before one in its URL")
    let standby = Setting("standby")
        .help("With --store: wait while another cumulusd holds the store, and take over at its end")
    let container = Setting("container", .text("name"), "iCloud.dev.cumulus")
        .help("Container that is made if it doesn't exist; empty: none")
    let fromBackup = Setting("from-backup", .text("directory"), none: "none")
        .help("Backup of another node that a new one begins with; ignored if there is a store")
    let lostAssets = Setting("lost-assets")
        .help("Start although all packs of assets are gone, and no other node may have them")
    let readOnly = Setting("read-only")
        .help("Show what the store holds; take no changes and no part in the cluster")
    let drain = Setting("drain-milliseconds", .number(0...86_400_000, "milliseconds"), "8000")
        .help("How long calls in progress may take after SIGTERM")
    let logLevel = Setting<Logger.Level>("log-level", .choice("level"), "info")
        .help("The least level that is logged, on standard error")
    let logFormat = Setting<LogFormat>("log-format", .choice("format"), "text")
        .help("Lines, or JSON objects with time, level, message and metadata, one per line")
}

struct ClusterSettings: SettingGroup {
    static let title = "Addresses and the cluster"

    let listen = Setting("listen", .text("host:port"), "127.0.0.1:7420")
        .help("Address and port; port 0 takes a free one")
    let advertise = Setting("advertise", .text("host:port"), none: "the one it listens on")
        .help("Address that other nodes reach this one by")
    let peers = Setting("peers", .text("host:port,..."), none: "none")
        .help("Addresses of other nodes of the cluster, separated by commas")
    let key = Setting("cluster-key", .text("file"), none: "cluster.key in the data directory")
        .help("File with the key that all nodes share; without one --store keeps it")
    let replicas = Setting("replicas", .number(0...16, "nodes"), "0")
        .help("Other nodes that are to hold a change before it is answered")
}

struct TLSSettings: SettingGroup {
    static let title = "TLS"

    let certificate = Setting("tls-certificate", .text("file"), none: "plain TCP")
        .help("PEM file with the node's certificate")
    let key = Setting("tls-key", .text("file"), none: "none")
        .help("PEM file with the certificate's key")
    let authority = Setting("tls-authority", .text("file"), none: "the system's authorities")
        .help("PEM file with the authority of the other nodes' certificates")
    let insecure = Setting("insecure").help("Allow plain TCP beyond this machine")
    let insecureCredentials = Setting("insecure-credentials")
        .help("Accept tokens over plain TCP from other machines")
}

struct UserSettings: SettingGroup {
    static let title = "Users"

    let registration = Setting("registration").help("Let anybody register as a user")
    let issuers = Setting("issuers", .text("file"), none: "none")
        .help("JSON file of identity providers whose ID tokens let users in, the same on all nodes")
    let shareURL = Setting("share-url", .text("url"), "cumulus:")
        .help("What the URLs of shares begin with, such as https://notes.example.com")
    let lease = Setting("access-lease", .number(0...86_400, "seconds"), "0")
        .help(
            """
            Seconds without a report of another member after which users are let in to their \
            private databases only, the same on all nodes: \(Configuration.shortestLease) or more, \
            or 0 for never
            """
        )
    let leaseClosesAll = Setting("access-lease-all")
        .help("With --access-lease: close the private databases too")
    let webhooks = Setting("webhooks", .text("file"), none: "none")
        .help("JSON file of HTTPS endpoints that subscriptions may name, the same on all nodes")
    let pushes = Setting("pushes", .text("file"), none: "none")
        .help("JSON file of services that wake devices, with their keys, the same on all nodes")
}

struct WebSettings: SettingGroup {
    static let title = "HTTP"

    let address = Setting("http", .text("host:port"), none: "no HTTP")
        .help("Address and port of web services, /console, /livez, /readyz and /metrics")
    let url = Setting("web-url", .text("url"), none: "the address of --http")
        .help("URL at which browsers reach --http, such as that of a proxy")
    let hosts = Setting("web-host", .text("host", isList: true), none: "none")
        .help(
            """
            Host under which browsers find /console and /sign-in, beside IP addresses, localhost \
            and the hosts of --http and --web-url; may be repeated
            """
        )
    let apps = Setting("web-apps", .text("file"), none: "none")
        .help(
            """
            JSON file of further web apps whose API tokens are good, the same on all nodes; \
            'cumulus web add' needs no file
            """
        )
    let metricsFrom = Setting("metrics-from", .text("address,..."), none: "this machine")
        .help("Hosts that are told /metrics: addresses and networks such as 10.0.0.0/8")
    let metricsToken = Setting("metrics-token-file", .text("file"), none: "none")
        .help("File with a token that lets its holders read /metrics from anywhere")
    let withoutConsole = Setting("no-console").help("Serve no /console")
    let proxies = Setting("trusted-proxies", .text("address,..."), none: "none")
        .help(
            """
            Proxies before --http that say in Forwarded or X-Forwarded-For who calls: addresses \
            and networks such as 10.0.0.0/8, separated by commas
            """
        )
}

struct GRPCSettings: SettingGroup {
    static let title = "gRPC"

    let address = Setting("grpc", .text("host:port"), none: "no gRPC")
        .help("Address and port of gRPC, for every language that has it")
}

struct EngineSettings: SettingGroup {
    static let title = "Memory, disk and threads"
    private static let (small, standard) = (MemoryProfile.small, MemoryProfile.standard)

    let profile = Setting<MemoryProfile>("profile", .choice("profile"), "standard")
        .help("Memory of 256 MB and a disk of 500 MB or more, or 1 GB and 2 GB or more")
    let cache = Setting(
        "cache",
        Kind.memory.orNone,
        none: "what the profile has, \(small.blockCacheBytes >> 20) or "
            + "\(standard.blockCacheBytes >> 20) MB"
    )
    .help("Memory for rows that were read, such as 2GB or 25% of the machine's")
    let reserve = Setting(
        "disk-reserve",
        Kind.number(0 ... .max, "bytes").orNone,
        none: "the least that the profile needs, \(small.reserveBytes) or \(standard.reserveBytes)"
    )
    .help("Free bytes of disk below which only deletes are taken")
    let threads = Setting("threads", .number(1...256, "threads"), "2").help("Event loops")
    let readers = Setting("readers", .number(1...256, "threads"), "2")
        .help("Threads that read from the disk")
    let days = Setting("retention-days", .number(1...36_500, "days"), "30")
        .help("How long deletions, conflicts and a missing node's log are remembered")
    let feedDays = Setting("feed-retention-days", .number(1...36_500, "days"), "30")
        .help("How far feeds and the history of notifications go back")
    let logSeconds = Setting("log-keep-seconds", .number(0 ... .max, "seconds"), "600")
        .help("How long log entries are kept that all nodes have, at most --retention-days")
    let logMegabytes = Setting(
        "log-megabytes",
        Kind.number(1...Configuration.largest >> 20, "megabytes").orNone,
        none: "a tenth of the file system, at most 8192"
    )
    .help("Disk for log entries; beyond it the oldest go, first those that a missing node lacks")
    let auditMegabytes = Setting("audit-megabytes", .number(0...1 << 20, "megabytes"), "16")
        .help("Disk for audit.log and audit.log.1, and as much for refusals.log; 0: none is kept")
}

struct CallerSettings: SettingGroup {
    static let title = "Limits"
    private static let standard = CallerLimits.standard
    /// HELLO tells them with 32 bits, and a burst at this rate still fits into a bucket.
    private static let most = Int(UInt32.max)
    private static let least = Configuration.leastBytesPerSecond

    let callsPerSecond = Setting(
        "calls-per-second",
        .number(0...most, "calls"),
        "\(standard.callsPerSecond)"
    )
    .help("Calls that one user or address may begin per second; 0: no limit")
    let callsBurst = Setting("calls-burst", .number(0...most, "calls"), "\(standard.callsBurst)")
        .help("Calls that one may begin at once after a rest, with --calls-per-second")
    let bytesPerSecond = Setting(
        "bytes-per-second",
        .number(0...Configuration.largest, "bytes"),
        "\(standard.bytesPerSecond)"
    )
    .help("Bytes of requests that one may send per second: \(least) or more, or 0 for no limit")
    let callsAtOnce = Setting(
        "calls-at-once",
        .number(0...most, "calls"),
        "\(standard.callsAtOnce)"
    )
    .help("Calls of one that may be in progress; 0: no limit")
    let others = Setting("limits", .text("name=number,..."), none: "none")
        .help("Other limits that differ, such as itemsPerRequest=10,idleMilliseconds=5000")
}

extension SettingRow {
    /// A text of this setting as anybody may see it: without a password in a URL.
    func shown(_ text: String) -> String {
        name == Settings.table.node.store.row.name
            ? PostgresAddress.hidingPassword(in: text) : text
    }
}
