// Accounts, and what operators do: status, containers, users, tokens.
//
// `operator.proto`.
//
// Folder: the messages of operators. Read `Operator+Wire`, then `Members+Wire` and `Schema+Wire`.

import CCumulusWire
package import CumulusModel

/// How a node is.
package struct NodeStatus: Hashable, Sendable {
    package var nodeID: Bytes = []
    package var incarnation: UInt64 = 0
    package var clusterID: Bytes = []
    package var softwareVersion = ""
    /// "ready", or why it isn't.
    ///
    /// "catching up" is a node that was started and does not hold yet what its peers held when they
    /// met; "joining", a new one that has taken no state yet.
    package var state = ""
    /// What a node waits for that is joining; empty in every other state.
    package var notReady = ""
    /// Milliseconds since 1970 UTC.
    package var started: Int64 = 0
    package var connections: UInt32 = 0
    package var calls: UInt64 = 0
    package var commits: UInt64 = 0
    package var flushes: UInt64 = 0
    package var freeBytes: UInt64 = 0
    package var profile = ""
    package var callsInProgress: UInt32 = 0
    package var scopes: [Scope] = []
    package var peers: [Peer] = []
    /// Of the files with chunks.
    package var assetBytes: UInt64 = 0
    /// Assets that records name and that are not whole there.
    package var wantedAssets: UInt32 = 0
    /// What the logs of commits take of the disk, and what they may take, in bytes.
    package var logBytes: UInt64 = 0
    package var logLimit: UInt64 = 0
    /// Bytes that a user's private database may take, and a container's public one; 0: no limit.
    package var (privateQuota, publicQuota): (UInt64, UInt64) = (0, 0)
    /// What the engine was handed since the start: rows, and bytes of their keys and values.
    package var (rows, rowBytes): (UInt64, UInt64) = (0, 0)

    /// What the node holds of one scope.
    package struct Scope: Hashable, Sendable {
        /// Empty: the cluster's own.
        package var container: String
        package var environment: UInt32
        package var commits: UInt64
        package var digest: Bytes
        /// Entries of its short vector, and further ones of its whole one.
        package var (liveRuns, retiredRuns): (UInt32, UInt32)
        /// Zones with forgotten deletions.
        package var horizons: UInt32
        /// Equal on nodes that have applied the same commits; empty: the node did not tell.
        package var applied: Bytes

        package init(
            container: String,
            environment: UInt32,
            commits: UInt64,
            digest: Bytes,
            liveRuns: UInt32 = 0,
            retiredRuns: UInt32 = 0,
            horizons: UInt32 = 0,
            applied: Bytes = []
        ) {
            self.container = container
            self.environment = environment
            self.commits = commits
            self.digest = digest
            (self.liveRuns, self.retiredRuns) = (liveRuns, retiredRuns)
            self.horizons = horizons
            self.applied = applied
        }
    }

    /// A node that this one pulls from.
    package struct Peer: Hashable, Sendable {
        package var endpoint: String
        /// Empty: not connected.
        package var nodeID: Bytes
        /// Milliseconds since 1970 UTC: of the connection, or of its end.
        package var since: Int64
        /// Why it is not connected; empty: it is, or nothing is known yet.
        package var problem: String

        package init(endpoint: String, nodeID: Bytes = [], since: Int64, problem: String = "") {
            self.endpoint = endpoint
            self.nodeID = nodeID
            self.since = since
            self.problem = problem
        }
    }

    package init() {}

    package func encoded() -> Bytes {
        var writer = CanonicalWriter(reserving: 128)
        writer.field(1, bytes: nodeID)
        writer.field(2, fixed64: incarnation)
        writer.field(3, bytes: clusterID)
        writer.field(4, text: softwareVersion)
        writer.field(5, text: state)
        writer.field(6, signed: started)
        writer.field(7, varint: UInt64(connections))
        writer.field(8, varint: calls)
        writer.field(9, varint: commits)
        writer.field(10, varint: flushes)
        writer.field(11, varint: freeBytes)
        writer.field(12, text: profile)
        writer.field(13, varint: UInt64(callsInProgress))
        for scope in scopes {
            writer.message(14) { writer in
                writer.field(1, text: scope.container)
                writer.field(2, varint: UInt64(scope.environment))
                writer.field(3, varint: scope.commits)
                writer.field(4, bytes: scope.digest)
                writer.field(5, varint: UInt64(scope.liveRuns))
                writer.field(6, varint: UInt64(scope.retiredRuns))
                writer.field(7, varint: UInt64(scope.horizons))
                writer.field(8, bytes: scope.applied)
            }
        }
        for peer in peers {
            writer.message(15) { writer in
                writer.field(1, text: peer.endpoint)
                writer.field(2, bytes: peer.nodeID)
                writer.field(3, signed: peer.since)
                writer.field(4, text: peer.problem)
            }
        }
        writer.field(16, varint: assetBytes)
        writer.field(17, varint: UInt64(wantedAssets))
        writer.field(18, varint: logBytes)
        writer.field(19, varint: logLimit)
        writer.field(20, varint: privateQuota)
        writer.field(21, varint: publicQuota)
        writer.field(22, varint: rows)
        writer.field(23, varint: rowBytes)
        writer.field(24, text: notReady)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__node_status_response__unpack)
        let raw = message.raw
        nodeID = raw.node_id.swiftBytes
        incarnation = raw.incarnation
        clusterID = raw.cluster_id.swiftBytes
        softwareVersion = raw.software_version.swiftText
        state = raw.state.swiftText
        started = raw.started
        connections = raw.connections
        calls = raw.calls
        commits = raw.commits
        flushes = raw.flushes
        freeBytes = raw.free_bytes
        profile = raw.profile.swiftText
        callsInProgress = raw.calls_in_progress
        assetBytes = raw.asset_bytes
        wantedAssets = raw.wanted_assets
        logBytes = raw.log_bytes
        logLimit = raw.log_limit
        (privateQuota, publicQuota) = (raw.private_quota, raw.public_quota)
        (rows, rowBytes) = (raw.rows, raw.row_bytes)
        notReady = raw.not_ready.swiftText
        scopes = elements(raw.n_scopes, raw.scopes).map { raw in
            Scope(
                container: raw.container.swiftText,
                environment: UInt32(raw.environment.rawValue),
                commits: raw.commits,
                digest: raw.digest.swiftBytes,
                liveRuns: raw.live_runs,
                retiredRuns: raw.retired_runs,
                horizons: raw.horizons,
                applied: raw.applied.swiftBytes
            )
        }
        peers = elements(raw.n_peers, raw.peers).map { raw in
            Peer(
                endpoint: raw.endpoint.swiftText,
                nodeID: raw.node_id.swiftBytes,
                since: raw.since,
                problem: raw.problem.swiftText
            )
        }
    }
}

package enum MetricsResponse {
    package static func encoded(text: String) -> Bytes {
        var writer = CanonicalWriter(reserving: text.utf8.count + 8)
        writer.field(1, text: text)
        return writer.bytes
    }

    package static func text(wire bytes: Bytes) throws(MalformedMessage) -> String {
        let message = try CMessage(answer: bytes, cumulus__v1__metrics_response__unpack)
        return message.raw.text.swiftText
    }
}

/// Whom the server takes the caller for.
package struct WireCaller: Hashable, Sendable {
    package var role: UInt32
    package var user: String

    package init(role: UInt32, user: String) {
        self.role = role
        self.user = user
    }

    /// The bytes of a `WhoAmIResponse`.
    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.message(1) { writer in
            writer.field(1, varint: UInt64(role))
            writer.field(2, text: user)
        }
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__who_am_iresponse__unpack)
        let caller = message.raw.caller?.pointee
        role = caller.map { UInt32($0.role.rawValue) } ?? 0
        user = caller?.user.swiftText ?? ""
    }
}

/// A user as operators see it.
package struct WireUser: Hashable, Sendable {
    package var name: String
    package var id: Bytes
    package var created: Int64
    /// In the container of the call's header; empty if that names none.
    package var recordName: String
    /// Only lists say it.
    package var isDisabled: Bool

    package init(
        name: String,
        id: Bytes,
        created: Int64,
        recordName: String,
        isDisabled: Bool
    ) {
        self.name = name
        self.id = id
        self.created = created
        self.recordName = recordName
        self.isDisabled = isDisabled
    }

    package func encode(_ field: Int, to writer: inout CanonicalWriter) {
        writer.message(field) { writer in
            writer.field(1, text: name)
            writer.field(2, bytes: id)
            writer.field(3, signed: created)
            writer.field(4, text: recordName)
            writer.field(5, varint: isDisabled ? 1 : 0)
        }
    }

    init(wire raw: Cumulus__V1__User) {
        name = raw.name.swiftText
        id = raw.user_id.swiftBytes
        created = raw.created
        recordName = raw.record_name.swiftText
        isDisabled = raw.is_disabled != 0
    }
}

/// Requests that hold one name: CreateContainer, ListUsers, AddUser, AddToken; and the answers of
/// one field.
package enum OperatorMessages {
    /// A request whose only field is a name.
    package static func request(name: Bytes) -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, bytes: name)
        return writer.bytes
    }

    package static func containerName(wire bytes: Bytes) throws(MalformedMessage) -> Bytes {
        let message = try CMessage(bytes[...], cumulus__v1__create_container_request__unpack)
        return message.raw.container.swiftBytes
    }

    /// Empty means all users.
    package static func listedUserName(wire bytes: Bytes) throws(MalformedMessage) -> Bytes {
        let message = try CMessage(bytes[...], cumulus__v1__list_users_request__unpack)
        return message.raw.name.swiftBytes
    }

    package static func newUserName(wire bytes: Bytes) throws(MalformedMessage) -> Bytes {
        let message = try CMessage(bytes[...], cumulus__v1__add_user_request__unpack)
        return message.raw.name.swiftBytes
    }

    package static func tokenUserName(wire bytes: Bytes) throws(MalformedMessage) -> Bytes {
        let message = try CMessage(bytes[...], cumulus__v1__add_token_request__unpack)
        return message.raw.user.swiftBytes
    }

    /// `CreateContainerResponse`.
    package static func container(existed: Bool) -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, varint: existed ? 1 : 0)
        return writer.bytes
    }

    package static func containerExisted(wire bytes: Bytes) throws(MalformedMessage) -> Bool {
        let message = try CMessage(bytes[...], cumulus__v1__create_container_response__unpack)
        return message.raw.existed != 0
    }

    /// `ListContainersResponse`.
    package static func containers(_ names: ArraySlice<String>) -> Bytes {
        var writer = CanonicalWriter()
        for name in names { writer.present(1, bytes: name.utf8) }
        return writer.bytes
    }

    package static func containers(wire bytes: Bytes) throws(MalformedMessage) -> [String] {
        let message = try CMessage(answer: bytes, cumulus__v1__list_containers_response__unpack)
        return elements(message.raw.n_containers, message.raw.containers).map(\.swiftText)
    }

    /// `ListUsersResponse`.
    package static func users(_ users: ArraySlice<WireUser>) -> Bytes {
        var writer = CanonicalWriter()
        for user in users { user.encode(1, to: &writer) }
        return writer.bytes
    }

    package static func users(wire bytes: Bytes) throws(MalformedMessage) -> [WireUser] {
        let message = try CMessage(answer: bytes, cumulus__v1__list_users_response__unpack)
        return elements(message.raw.n_users, message.raw.users).map(WireUser.init(wire:))
    }

    /// `AddUserResponse`.
    package static func user(_ user: WireUser, existed: Bool) -> Bytes {
        var writer = CanonicalWriter()
        user.encode(1, to: &writer)
        writer.field(2, varint: existed ? 1 : 0)
        return writer.bytes
    }

    package static func addedUser(
        wire bytes: Bytes
    ) throws(MalformedMessage) -> (user: WireUser, existed: Bool) {
        let message = try CMessage(bytes[...], cumulus__v1__add_user_response__unpack)
        guard let user = message.raw.user else {
            throw MalformedMessage(message: "the server's answer holds no user")
        }
        return (WireUser(wire: user.pointee), message.raw.existed != 0)
    }

    /// `AddTokenResponse`.
    package static func token(_ token: Bytes) -> Bytes {
        request(name: token)
    }

    package static func token(wire bytes: Bytes) throws(MalformedMessage) -> Bytes {
        let message = try CMessage(bytes[...], cumulus__v1__add_token_response__unpack)
        return message.raw.token.swiftBytes
    }
}
