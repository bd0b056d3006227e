// A container on a Cumulus server: where an app begins.
//
// Holds the connection settings; its databases share one set of connections.
//
// Folder: where an app begins: a container, its settings and its session. Read `Container`, then
// `ClientSettings` and `Session`.

import CumulusAssets
public import CumulusModel
import CumulusTransport
import CumulusWire

/// A container of one environment, on a server or a cluster of them.
///
/// Connections are made when they are first needed and made again when they are lost. Call
/// ``close()`` when you are done with the container.
public struct Container: Sendable {
    /// How a container is reached.
    public struct Configuration: Sendable {
        /// Addresses of nodes, "host:port" or "host" (port 7420); tried in turn.
        public var endpoints: [String]
        /// The environment whose records and schema are used.
        public var environment: Environment = .development
        /// A user's token: of a session (``Container/signIn(name:password:label:)``), or made by an
        /// operator; nil means anonymous.
        public var accessToken: String?
        /// The key that a server uses instead of a user's token; the container has one of the two.
        public var serviceKey: ServiceKey?
        /// Names this device to the server; at most 64 bytes.
        public var deviceID: String = ""
        /// How long a call may take, retries included.
        public var timeout: Duration = .seconds(60)
        /// How many connections are kept.
        public var connections = 1
        /// How many nodes are to hold a change before it counts as made.
        public var writeConcern = WriteConcern.standard
        /// Whether connections are encrypted.
        public var tls = TLS.automatic
        /// A PEM file with the authorities whose certificates nodes may show; nil: the system's.
        public var authority: String?
        /// Keys of encrypted fields: the first one seals, each may open.
        public var encryptionKeys: [EncryptionKey] = []
        /// The directory of downloaded assets; nil means a folder of the container in the user's
        /// caches.
        public var assetDirectory: String?
        /// Bytes that downloaded assets may take; the least recently used go first.
        public var assetCacheBytes: UInt64 = 1 << 30
        /// The session that the first calls must cover: another container's ``Container/session``.
        public var session: Session?
        /// Milliseconds that a node which owes an answer may be silent before it is asked, and
        /// again before another one is.
        package var silenceMilliseconds: Int64 = 10_000
        /// Whether calls fail as soon as it is known that no node listens at any endpoint; without
        /// it, and once a node was reached, they wait until their time is up.
        package var failsFast = false
        package var firstStream: UInt32 = 1

        /// Settings for nodes at these addresses.
        public init(endpoints: [String] = ["127.0.0.1:7420"]) {
            self.endpoints = endpoints
        }

        /// The address that a text means, as "host:port"; nil if it means none.
        package static func address(from text: String) -> String? {
            Endpoint.address(from: text)
        }

        /// The form that `address(from:)` accepts, for messages.
        package static let addressForm = Endpoint.form

        /// Whether that address stands for all of a machine.
        package static func isWildcard(_ text: String) -> Bool {
            Endpoint.split(text).map { Endpoint.isWildcard($0.host) } ?? false
        }
    }

    /// Whether connections to nodes are encrypted (TLS 1.3).
    public enum TLS: String, CaseIterable, Sendable {
        /// All but those to this machine; those too, if an authority is named.
        case automatic
        /// All.
        case always
        /// The connection has no TLS.
        ///
        /// Nodes refuse tokens from other machines over it, unless they are configured to accept
        /// them.
        case never
    }

    /// How many nodes are to hold a change, durably, before it counts as made.
    ///
    /// If that takes longer than the call may, it fails with `serviceUnavailable`, and the message
    /// says where the change is: it is made nevertheless, and travels on.
    public enum WriteConcern: Hashable, Sendable {
        /// The node's own setting.
        case standard
        /// The node that is asked.
        case local
        /// The node that is asked and so many others.
        case replicated(Int)

        var replicas: UInt32? {
            switch self {
            case .standard: nil
            case .local: 0
            case .replicated(let count): UInt32(clamping: count)
            }
        }
    }

    /// Name of the container, such as "iCloud.com.example.notes".
    public let containerIdentifier: String
    let core: ClientCore

    /// A container on the nodes that the configuration names; nothing is connected yet.
    public init(identifier: String, configuration: Configuration = Configuration()) {
        self.init(
            identifier: identifier,
            configuration: configuration,
            environment: .system(configuration)
        )
    }

    package init(
        identifier: String,
        configuration: Configuration,
        environment: ClientEnvironment
    ) {
        containerIdentifier = identifier
        var hello = Hello()
        hello.software = "Cumulus for Swift"
        hello.softwareVersion = Release.version
        hello.container = Array(identifier.utf8)
        hello.environment = UInt32(configuration.environment.rawValue)
        hello.deviceID = Array(configuration.deviceID.utf8)
        // If both are set, the server refuses the caller and says why.
        hello.token = Array((configuration.accessToken ?? "").utf8)
        hello.features = .causalTokens
        if !ChunkCodec.compresses { hello.features.insert(.plainChunks) }
        core = ClientCore(
            ClientSettings(
                configuration,
                hello: hello,
                signer: configuration.serviceKey.map {
                    GreetingSigner(
                        key: $0,
                        scope: ScopeID(
                            container: identifier,
                            environment: configuration.environment
                        )
                    )
                }
            ),
            environment: environment
        )
    }

    /// The records that all can read, and signed-in users can add to.
    public var publicCloudDatabase: Database { database(with: .public) }
    /// The records that only the signed-in user sees.
    public var privateCloudDatabase: Database { database(with: .private) }
    /// The records that other users share with the signed-in user.
    public var sharedCloudDatabase: Database { database(with: .shared) }

    /// The database of that scope.
    public func database(with scope: DatabaseScope) -> Database {
        Database(scope, core)
    }

    /// Everything that the calls so far have seen, for another container to begin with.
    public var session: Session { Session(tokens: core.session) }

    /// Makes later calls cover all that another container's calls have seen.
    public func join(_ session: Session) {
        core.join(session.tokens)
    }

    /// The signed-in user's record in this container: of type `Users`, in the default zones of the
    /// public and the private database.
    ///
    /// It is there from the beginning, for its user to fetch and to change; others read the public
    /// one once something was saved in it.
    ///
    /// - Throws: `notAuthenticated` if the caller is anonymous.
    public func userRecordID() async throws -> Record.ID {
        let name = try await core.hello().callerUser
        guard !name.isEmpty else {
            throw ServiceError(
                .notAuthenticated,
                "nobody is signed in; set an access token or a service key in the configuration"
            )
        }
        return Record.ID(recordName: name)
    }

    /// The thread that serves connections, as an executor; where a process has several, another one
    /// each time.
    ///
    /// A task that prefers it makes its calls without changing threads, which spares most of what a
    /// small call costs a client:
    ///
    /// ```swift
    /// let executor = container.connectionExecutor
    /// Task(executorPreference: executor) { try await database.record(for: id) }
    /// ```
    ///
    /// It is for programs that make very many calls. Such a task must neither block nor compute for
    /// long, because all connections of the process stop meanwhile.
    public var connectionExecutor: any TaskExecutor { core.environment.connectionExecutor() }

    /// Ends all connections.
    ///
    /// Calls in flight fail; later ones do too.
    public func close() async {
        await core.close()
    }
}

extension TLSTrust {
    convenience init(_ configuration: Container.Configuration) {
        let mode: Mode =
            switch configuration.tls {
            case .automatic: .automatic
            case .always: .always
            case .never: .never
            }
        self.init(mode, authority: configuration.authority)
    }
}

extension Container.Configuration {
    fileprivate var callMilliseconds: Int64 {
        // Longer ones have no number in milliseconds.
        let (seconds, attoseconds) = min(timeout, .seconds(Int32.max)).components
        return max(1, seconds * 1_000 + attoseconds / 1_000_000_000_000_000)
    }

    /// How long one node may let a call wait before another one is tried, where there are several:
    /// each gets its share of the call's time.
    var attemptMilliseconds: Int64 {
        let longest = Limits.standard.greetingMilliseconds
        guard endpoints.count > 1 else { return longest }
        return min(longest, max(1_000, callMilliseconds / Int64(endpoints.count + 1)))
    }
}

extension ClientSettings {
    init(
        _ configuration: Container.Configuration,
        hello: Hello,
        signer: GreetingSigner? = nil
    ) {
        self.init(
            endpoints: configuration.endpoints.map { Endpoint.address(from: $0) ?? $0 },
            session: configuration.session?.tokens ?? [],
            connections: configuration.connections,
            replicas: configuration.writeConcern.replicas,
            hello: hello,
            signer: signer,
            assetDirectory: configuration.assetDirectory
                ?? AssetCache.standardDirectory(String(decoding: hello.container, as: UTF8.self)),
            assetCacheBytes: configuration.assetCacheBytes,
            keyring: Keyring(
                configuration.encryptionKeys,
                container: String(decoding: hello.container, as: UTF8.self),
                environment: configuration.environment
            ),
            callMilliseconds: configuration.callMilliseconds,
            failsFast: configuration.failsFast,
            attemptMilliseconds: configuration.attemptMilliseconds,
            silenceMilliseconds: min(
                configuration.silenceMilliseconds,
                configuration.attemptMilliseconds
            ),
            firstStream: configuration.firstStream
        )
    }
}

extension Record {
    /// A new record with a random name in the default zone.
    public init(recordType: String) {
        self.init(recordType: recordType, recordID: ID())
    }
}

extension Record.ID {
    /// A new name: 32 random hexadecimal digits.
    public init(zoneID: RecordZone.ID = .default) {
        let words = (0..<4).map { _ in UInt32.random(in: .min ... .max) }
        let bytes = words.flatMap { word in withUnsafeBytes(of: word.bigEndian, Array.init) }
        self.init(recordName: bytes.hex, zoneID: zoneID)
    }
}
