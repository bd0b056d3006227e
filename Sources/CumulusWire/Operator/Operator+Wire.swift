// Accounts, and what operators do: status, containers, users, tokens.
//
// `operator.proto`.
//
// Folder: the messages of operators. Read `Operator+Wire`, then `Members+Wire` and `Schema+Wire`.

package import CumulusModel

/// `NodeStatusResponse`: how a node is.
package struct NodeStatus: WireMessage, Hashable {
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
    /// Where browsers find the console, as a URL without its path, such as `http://127.0.0.1:7480`.
    ///
    /// It has no host if all of the machine's do. Empty: the node serves no HTTP.
    package var console = ""
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
    /// What the files with chunks take of the disk.
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

    /// `ScopeStatus`: what the node holds of one scope.
    package struct Scope: Coded, Hashable {
        /// Empty: the cluster's own.
        package var container = ""
        package var environment: UInt32 = 0
        package var commits: UInt64 = 0
        package var digest: Bytes = []
        /// Entries of its short vector, and further ones of its whole one.
        package var (liveRuns, retiredRuns): (UInt32, UInt32) = (0, 0)
        /// Zones with forgotten deletions.
        package var horizons: UInt32 = 0
        /// Equal on nodes that have applied the same commits; empty: the node did not tell.
        package var applied: Bytes = []

        package init() {}

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

        package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.text(1, &container)
            try coder.number(2, &environment)
            try coder.number(3, &commits)
            try coder.bytes(4, &digest)
            try coder.number(5, &liveRuns)
            try coder.number(6, &retiredRuns)
            try coder.number(7, &horizons)
            try coder.bytes(8, &applied)
        }
    }

    /// `PeerStatus`: a node that this one pulls from.
    package struct Peer: Coded, Hashable {
        package var endpoint = ""
        /// Empty: not connected.
        package var nodeID: Bytes = []
        /// Milliseconds since 1970 UTC: of the connection, or of its end.
        package var since: Int64 = 0
        /// Why it is not connected; empty: it is, or nothing is known yet.
        package var problem = ""

        package init() {}

        package init(endpoint: String, nodeID: Bytes = [], since: Int64, problem: String = "") {
            self.endpoint = endpoint
            self.nodeID = nodeID
            self.since = since
            self.problem = problem
        }

        package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
            try coder.text(1, &endpoint)
            try coder.bytes(2, &nodeID)
            try coder.signed(3, &since)
            try coder.text(4, &problem)
        }
    }

    package init() {}

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &nodeID)
        try coder.fixed64(2, &incarnation)
        try coder.bytes(3, &clusterID)
        try coder.text(4, &softwareVersion)
        try coder.text(5, &state)
        try coder.signed(6, &started)
        try coder.number(7, &connections)
        try coder.number(8, &calls)
        try coder.number(9, &commits)
        try coder.number(10, &flushes)
        try coder.number(11, &freeBytes)
        try coder.text(12, &profile)
        try coder.number(13, &callsInProgress)
        try coder.list(14, &scopes)
        try coder.list(15, &peers)
        try coder.number(16, &assetBytes)
        try coder.number(17, &wantedAssets)
        try coder.number(18, &logBytes)
        try coder.number(19, &logLimit)
        try coder.number(20, &privateQuota)
        try coder.number(21, &publicQuota)
        try coder.number(22, &rows)
        try coder.number(23, &rowBytes)
        try coder.text(24, &notReady)
        try coder.text(25, &console)
    }
}

package struct MetricsResponse: WireMessage, Hashable {
    package var text = ""

    package init() {}

    package init(text: String) {
        self.text = text
    }

    package var roughCount: Int { text.utf8.count + 8 }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.text(1, &text)
    }
}

/// `Caller`: whom the server takes the caller for.
package struct WireCaller: Coded, Hashable {
    package var role: UInt32 = 0
    package var user = ""

    package init() {}

    package init(role: UInt32, user: String) {
        self.role = role
        self.user = user
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &role)
        try coder.text(2, &user)
    }
}

package struct WhoAmIResponse: WireMessage, Hashable {
    package var caller = WireCaller()

    package init() {}

    package init(_ caller: WireCaller) {
        self.caller = caller
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.message(1, &caller)
    }
}

// MARK: - Containers

package typealias ListContainersResponse = TextsMessage

/// The container's name.
package typealias CreateContainerRequest = BytesRequest
/// Whether it existed.
package typealias CreateContainerResponse = FlagMessage

// MARK: - Users

/// `User`, as operators see it.
package struct WireUser: Coded, Hashable {
    package var name = ""
    package var id: Bytes = []
    package var created: Int64 = 0
    /// In the container of the call's header; empty if that names none.
    package var recordName = ""
    /// Only lists say it.
    package var isDisabled = false

    package init() {}

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

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.text(1, &name)
        try coder.bytes(2, &id)
        try coder.signed(3, &created)
        try coder.text(4, &recordName)
        try coder.flag(5, &isDisabled)
    }
}

/// The user's name; empty: all users.
package typealias ListUsersRequest = BytesRequest
package typealias ListUsersResponse = MessageList<WireUser>

/// The user's name.
package typealias AddUserRequest = BytesRequest

package struct AddUserResponse: WireMessage, Hashable {
    package var user = WireUser()
    package var existed = false

    package init() {}

    package init(user: WireUser, existed: Bool) {
        self.user = user
        self.existed = existed
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        guard try coder.has(1, true) else { throw MalformedBytes("it holds no user") }
        try coder.message(1, &user)
        try coder.flag(2, &existed)
    }
}

/// The user's name.
package typealias AddTokenRequest = BytesRequest
/// The token.
package typealias AddTokenResponse = BytesMessage
