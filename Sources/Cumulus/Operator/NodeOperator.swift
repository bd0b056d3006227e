// What an operator does to a node: status, containers, users and their tokens.
//
// For the command line. Needs the operator token of the node, which lies in its data directory.

package import CumulusModel
import CumulusTransport
import CumulusWire

package struct NodeOperator: Sendable {
    package struct Status: Sendable {
        package var nodeID: String
        package var incarnation: String
        package var clusterID: String
        package var version: String
        /// "ready", or why it isn't; "damaged": a row was found that can't be read; "catching up":
        /// what its peers had when it was started is not all here yet.
        package var state: String
        package var started: Timestamp
        package var connections: Int
        package var calls: UInt64
        package var callsInProgress: Int
        package var commits: UInt64
        package var flushes: UInt64
        package var freeBytes: UInt64
        package var assetBytes: UInt64
        /// Assets that records name and that are not whole there; 1,000: that many, or more.
        package var wantedAssets: Int
        package var profile: String
        package var scopes: [Scope]
        package var peers: [Peer]
    }

    /// What a node holds of one scope; nodes with equal numbers hold the same.
    package struct Scope: Sendable {
        /// Empty: the cluster's own.
        package var container: String
        package var environment: String
        package var commits: UInt64
        package var digest: String
        /// Entries of its short vector, and further ones of its whole one.
        package var (liveRuns, retiredRuns): (UInt32, UInt32)
        /// Zones of which deletions are forgotten.
        package var horizons: UInt32
    }

    /// A node that the node pulls from.
    package struct Peer: Sendable {
        package var endpoint: String
        /// Empty: not connected.
        package var nodeID: String
        /// Of the connection, or of its end.
        package var since: Timestamp
    }

    /// How concurrent changes of a type's records come together.
    package struct TypeMergePolicy: Hashable, Sendable {
        package var recordType: String
        package var policy: MergePolicy

        package init(recordType: String, policy: MergePolicy) {
            self.recordType = recordType
            self.policy = policy
        }
    }

    /// A node that belongs to the cluster, or did.
    package struct Member: Sendable {
        package var nodeID: String
        /// Empty: it didn't say.
        package var endpoint: String
        package var isRemoved: Bool
        /// It is the node that answers.
        package var isThis: Bool
        package var reports: [Report]
        /// Milliseconds by which its clock was ahead when it was heard last.
        package var clockOffset: Int64
        /// nil: not since the node that answers was started.
        package var heard: Timestamp?
        /// With the node that answers, now.
        package var isConnected: Bool
        /// Where another process listens that has its id, and was refused; empty: none was lately.
        package var twin: String
    }

    /// How far a member has read a scope, as it said last.
    package struct Report: Sendable {
        /// Empty: the cluster's own.
        package var container: String
        package var environment: String
        /// Commits of the node that answers, which the member lacked.
        package var missing: UInt64
        /// nil: it never said.
        package var reported: Timestamp?
        /// Whether it held the same records when it had read as much; nil: never compared.
        package var holdsTheSame: Bool?
        /// When the oldest of the missing commits was made; nil: none, or not known.
        package var oldestMissing: Timestamp?
        /// The commits that it had read of each run: a node has a new one each time it starts.
        package var vector: [String: UInt64]
    }

    /// What a node holds of a zone.
    package struct ZoneStatus: Sendable {
        package var database: DatabaseScope
        package var owner: String
        package var zone: String
        package var records: UInt64
        package var bytes: UInt64
        /// Nodes that have applied the same commits have the same, in hexadecimal digits.
        package var digest: String
        /// The commits of each run up to which deletions are forgotten.
        package var horizon: [String: UInt64]
    }

    /// What a comparison of two nodes found.
    package struct Verdict: Sendable {
        package struct Difference: Sendable {
            package var container: String
            package var environment: String
            package var database: String
            package var owner: String
            package var zone: String
            package var recordName: String
            package var what: String
        }

        package var records: UInt64
        /// Not compared: one node had read more about them than the other.
        package var unsettled: UInt64
        package var different: UInt64
        package var repaired: UInt64
        /// The first of them.
        package var differences: [Difference]
        /// Of assets of the node that was asked: read and checked.
        package var chunks: UInt64
        /// They are fetched anew.
        package var damagedChunks: UInt64
        /// Which records name, and which lack chunks.
        package var incompleteAssets: UInt64
    }

    package struct User: Sendable {
        package var name: String
        package var created: Timestamp
        /// In the container that was asked for; empty if none was.
        package var recordName: String
    }

    let core: ClientCore

    package init(endpoint: String, token: String, timeout: Duration = .seconds(10)) {
        var configuration = Container.Configuration(endpoints: [endpoint])
        configuration.timeout = timeout
        self.init(configuration, token: token)
    }

    /// Reaches a node as the configuration says.
    package init(_ configuration: Container.Configuration, token: String) {
        var hello = Hello()
        hello.role = WireRole.operator.rawValue
        hello.software = "Cumulus for Swift"
        hello.softwareVersion = Release.version
        hello.token = Array(token.utf8)
        core = ClientCore(
            ClientSettings(configuration, hello: hello),
            environment: .system(configuration)
        )
    }

    package func close() async {
        await core.close()
    }

    package func status() async throws -> Status {
        let wire = try await call(.operatorStatus) { try NodeStatus(wire: $0) }
        return Status(
            nodeID: wire.nodeID.hex,
            incarnation: Incarnation(wire.incarnation).digits,
            clusterID: wire.clusterID.hex,
            version: wire.softwareVersion,
            state: wire.state,
            started: Timestamp(millisecondsSince1970: wire.started),
            connections: Int(wire.connections),
            calls: wire.calls,
            callsInProgress: Int(wire.callsInProgress),
            commits: wire.commits,
            flushes: wire.flushes,
            freeBytes: wire.freeBytes,
            assetBytes: wire.assetBytes,
            wantedAssets: Int(wire.wantedAssets),
            profile: wire.profile,
            scopes: wire.scopes.map { scope in
                let environment = Environment(rawValue: UInt8(clamping: scope.environment))
                return Scope(
                    container: scope.container,
                    environment: environment?.name ?? "",
                    commits: scope.commits,
                    digest: scope.digest.hex,
                    liveRuns: scope.liveRuns,
                    retiredRuns: scope.retiredRuns,
                    horizons: scope.horizons
                )
            },
            peers: wire.peers.map { peer in
                let since = Timestamp(millisecondsSince1970: peer.since)
                return Peer(endpoint: peer.endpoint, nodeID: peer.nodeID.hex, since: since)
            }
        )
    }

    package func members() async throws -> [Member] {
        try await list(.operatorListMembers) {
            try OperatorMessages.members(wire: $0).map(Member.init)
        }
    }

    /// Takes a node off the cluster's list.
    ///
    /// False if it isn't on it. `nodeID` is in hexadecimal digits.
    package func removeMember(_ nodeID: String) async throws -> Bool {
        try await call(.operatorRemoveMember, name: Bytes(hex: nodeID) ?? []) {
            try OperatorMessages.memberExisted(wire: $0)
        }
    }

    /// Lets the node make a directory, on its machine, that a node can be started from.
    package func backUp(to path: String) async throws -> (bytes: UInt64, files: UInt32) {
        try await call(.operatorBackUp, name: Bytes(path.utf8)) {
            try OperatorMessages.backUp(wire: $0)
        }
    }

    /// Lets the node compare all that it holds with what a peer holds.
    ///
    /// `repairs`: what differs is replaced by what the peer holds.
    package func verify(with peer: String, repairs: Bool) async throws -> Verdict {
        let request = VerifyRequest(nodeID: Bytes(hex: peer) ?? [], repairs: repairs)
        return Verdict(
            try await call(.operatorVerify, message: request.encoded()) {
                try WireVerdict(wire: $0)
            }
        )
    }

    /// Lets the node hand over what only it has, and leave the cluster.
    package func leave() async throws {
        try await call(.operatorLeave) { _ in }
    }

    /// Marks as lost what callers saw beyond the state to which the cluster went back.
    ///
    /// Returns how many scopes were marked.
    package func truncate() async throws -> Int {
        try await call(.operatorTruncate) { try OperatorMessages.truncated(wire: $0) }
    }

    // MARK: Schema

    /// The schema of a container's environment, in the schema language.
    package func schema(of container: String, _ environment: Environment) async throws -> String {
        try await call(.schemaRead, container: container, environment) {
            String(decoding: try ReadSchemaResponse.ckdb(wire: $0), as: UTF8.self)
        }
    }

    /// Makes development's schema what a text in the schema language says, or tells what would
    /// change.
    ///
    /// - Parameter drops: Types and fields that the text lacks go, with what records hold of them.
    /// - Returns: The changes, a line each.
    package func importSchema(
        _ ckdb: String,
        of container: String,
        _ environment: Environment,
        onlyValidates: Bool = false,
        drops: Bool = false
    ) async throws -> [String] {
        let request = ImportSchemaRequest(
            ckdb: Bytes(ckdb.utf8),
            onlyValidates: onlyValidates,
            drops: drops
        )
        return try await call(
            .schemaImport,
            message: request.encoded(),
            container: container,
            environment,
            repeats: onlyValidates || !drops
        ) { try SchemaChanges.changes(wire: $0) }
    }

    /// Adds to production what development has, or tells what would be added.
    ///
    /// - Returns: The changes, a line each.
    package func deploySchema(of container: String, onlyShows: Bool) async throws -> [String] {
        try await call(
            .schemaDeploy,
            message: DeploySchemaRequest.encoded(onlyShows: onlyShows),
            container: container,
            .production
        ) { try SchemaChanges.changes(wire: $0) }
    }

    /// Makes development what production is, without records, or tells what would change.
    ///
    /// - Returns: The changes of the schema, a line each, and how many zones go.
    package func resetSchema(
        of container: String,
        _ environment: Environment,
        onlyShows: Bool
    ) async throws -> (changes: [String], zones: Int) {
        let response = try await call(
            .schemaReset,
            message: ResetSchemaRequest.encoded(onlyShows: onlyShows),
            container: container,
            environment,
            repeats: onlyShows
        ) { try ResetSchemaResponse(wire: $0) }
        return (response.changes, Int(clamping: response.zones))
    }

    // MARK: Zones

    /// What the node holds of each zone of a container.
    package func zones(
        of container: String,
        _ environment: Environment,
        _ visit: (ZoneStatus) throws -> Void
    ) async throws {
        var header = CallHeader(.operatorZoneStatus)
        header.container = Bytes(container.utf8)
        header.environment = UInt32(environment.rawValue)
        let stream = try await PageStream.open(core, header, [])
        while let message = try await stream.next() {
            let page = try decoding { try WireZoneStatus.list(wire: message) }
            for zone in page.compactMap(ZoneStatus.init) { try visit(zone) }
        }
    }

    // MARK: Indexes

    /// An index as the node that answers keeps it.
    package struct Index: Hashable, Sendable {
        package var recordType: String
        package var field: String
        /// "values", "elements", "words" or "cells".
        package var form: String
        package var type: String
        package var isReady: Bool
        /// Records that were looked at, of one that is being built.
        package var looked: UInt64
        package var records: UInt64
        /// What a verification found.
        package var rows: UInt64
        package var missing: UInt64
        package var wrong: UInt64
    }

    package enum IndexAction: Sendable {
        case list
        case rebuild
        case verify
    }

    /// Lists, rebuilds or verifies the indexes of one record type and one field, or of all.
    package func indexes(
        _ action: IndexAction,
        of container: String,
        _ environment: Environment,
        recordType: String = "",
        field: String = ""
    ) async throws -> [Index] {
        let method: Method =
            switch action {
            case .list: .indexesList
            case .rebuild: .indexesRebuild
            case .verify: .indexesVerify
            }
        let request = IndexesRequest(
            recordType: Bytes(recordType.utf8),
            field: Bytes(field.utf8)
        )
        return try await call(
            method,
            message: request.encoded(),
            container: container,
            environment
        ) { try WireIndex.list(wire: $0).map(Index.init) }
    }

    // MARK: Merge policies

    /// The types of a container's environment whose records don't merge by fields.
    package func mergePolicies(
        in container: String,
        _ environment: Environment
    ) async throws -> [TypeMergePolicy] {
        try await call(.operatorListMergePolicies, container: container, environment) {
            try WireMergePolicy.list(wire: $0).map(TypeMergePolicy.init)
        }
    }

    /// Sets how concurrent changes of a type's records come together.
    ///
    /// True if it was set already.
    package func setMergePolicy(
        _ policy: TypeMergePolicy,
        in container: String,
        _ environment: Environment
    ) async throws -> Bool {
        let message = policy.wire.encoded()
        return try await call(
            .operatorSetMergePolicy,
            message: message,
            container: container,
            environment
        ) { try WireMergePolicy.existed(wire: $0) }
    }

    package func containers() async throws -> [String] {
        try await list(.operatorListContainers) { try OperatorMessages.containers(wire: $0) }
    }

    /// Makes a container.
    ///
    /// True if it was there already.
    package func createContainer(_ name: String) async throws -> Bool {
        try await call(.operatorCreateContainer, name: Bytes(name.utf8)) {
            try OperatorMessages.containerExisted(wire: $0)
        }
    }

    package func users(in container: String?) async throws -> [User] {
        try await list(.operatorListUsers, container: container) {
            try OperatorMessages.users(wire: $0).map(User.init)
        }
    }

    /// Makes a user, or finds the one with this name.
    package func addUser(
        _ name: String,
        in container: String?
    ) async throws -> (user: User, existed: Bool) {
        try await call(.operatorAddUser, name: Bytes(name.utf8), container: container) {
            let (user, existed) = try OperatorMessages.addedUser(wire: $0)
            return (User(user), existed)
        }
    }

    /// Makes an access token for a user.
    ///
    /// It is told only now.
    package func addToken(forUser name: String) async throws -> String {
        try await call(.operatorAddToken, name: Bytes(name.utf8)) {
            String(decoding: try OperatorMessages.token(wire: $0), as: UTF8.self)
        }
    }

    /// A list that comes in as many messages as it takes.
    private func list<Item>(
        _ method: Method,
        container: String? = nil,
        _ decode: (Bytes) throws -> [Item]
    ) async throws -> [Item] {
        var header = CallHeader(method)
        header.container = Bytes((container ?? "").utf8)
        let messages = try await core.read(method, [], header: header)
        return try decoding { try messages.flatMap(decode) }
    }

    private func call<Value>(
        _ method: Method,
        name: Bytes? = nil,
        message: Bytes = [],
        container: String? = nil,
        _ environment: Environment? = nil,
        repeats: Bool = true,
        _ decode: (Bytes) throws -> Value
    ) async throws -> Value {
        var header = CallHeader(method)
        header.container = Bytes((container ?? "").utf8)
        header.environment = environment.map { UInt32($0.rawValue) } ?? 0
        let message = name.map { OperatorMessages.request(name: $0) } ?? message
        let messages =
            repeats
            ? try await core.read(method, message, header: header)
            : try await core.once(message, header: header)
        return try decoding { try decode(messages.first ?? []) }
    }
}

extension NodeOperator.TypeMergePolicy {
    fileprivate init(_ wire: WireMergePolicy) {
        recordType = String(decoding: wire.recordType, as: UTF8.self)
        switch wire.unit {
        case WireMergePolicy.units.groups:
            policy = .groups(
                wire.groups.map { group in
                    FieldGroup(group.map { String(decoding: $0, as: UTF8.self) })
                }
            )
        case WireMergePolicy.units.record: policy = .record
        default: policy = .fields
        }
    }

    fileprivate var wire: WireMergePolicy {
        var wire = WireMergePolicy(
            recordType: Bytes(recordType.utf8),
            unit: WireMergePolicy.units.fields
        )
        switch policy {
        case .fields: break
        case .record: wire.unit = WireMergePolicy.units.record
        case .groups(let groups):
            wire.unit = WireMergePolicy.units.groups
            wire.groups = groups.map { group in group.fields.map { Bytes($0.utf8) } }
        }
        return wire
    }
}

extension NodeOperator.User {
    fileprivate init(_ wire: WireUser) {
        name = wire.name
        created = Timestamp(millisecondsSince1970: wire.created)
        recordName = wire.recordName
    }
}

extension Timestamp {
    /// nil for 0: it never was.
    fileprivate init?(wire milliseconds: Int64) {
        if milliseconds == 0 { return nil }
        self.init(millisecondsSince1970: milliseconds)
    }
}

extension NodeOperator.Verdict {
    fileprivate init(_ wire: WireVerdict) {
        records = wire.records
        unsettled = wire.unsettled
        different = wire.different
        repaired = wire.repaired
        chunks = wire.chunks
        damagedChunks = wire.damagedChunks
        incompleteAssets = wire.incompleteAssets
        differences = wire.differences.map { difference in
            let environment = Environment(rawValue: UInt8(clamping: difference.environment))
            let what =
                switch difference.kind {
                case .otherContent: "not the same"
                case .missingHere: "missing here"
                case .missingThere: "missing there"
                }
            return Difference(
                container: difference.container,
                environment: environment?.name ?? "",
                database: difference.database.kind.name,
                owner: difference.database.owner,
                zone: difference.zone,
                recordName: difference.recordName,
                what: what
            )
        }
    }
}

extension NodeOperator.Member {
    fileprivate init(_ wire: WireMember) {
        nodeID = wire.nodeID.hex
        endpoint = wire.endpoint
        isRemoved = wire.isRemoved
        isThis = wire.isThis
        reports = wire.reports.map { report in
            let environment = Environment(rawValue: UInt8(clamping: report.environment))
            return NodeOperator.Report(
                container: report.container,
                environment: environment?.name ?? "",
                missing: report.missing,
                reported: Timestamp(wire: report.reported),
                holdsTheSame: report.agreement == 0 ? nil : report.agreement == 1,
                oldestMissing: Timestamp(wire: report.oldestMissing),
                vector: report.vector.byRun
            )
        }
        clockOffset = wire.clockOffset
        heard = Timestamp(wire: wire.heard)
        isConnected = wire.isConnected
        twin = wire.twin
    }
}

extension NodeOperator.ZoneStatus {
    fileprivate init?(_ wire: WireZoneStatus) {
        guard let kind = UInt8(exactly: wire.database).flatMap(DatabaseScope.init(rawValue:))
        else { return nil }
        database = kind
        owner = wire.owner
        zone = wire.zone
        records = wire.records
        bytes = wire.bytes
        digest = wire.digest.hex
        horizon = wire.horizon.byRun
    }
}

extension Incarnation {
    /// As logs name it.
    fileprivate var digits: String { withUnsafeBytes(of: value.bigEndian, Array.init).hex }
}

extension VersionVector {
    fileprivate var byRun: [String: UInt64] {
        Dictionary(dots.map { ($0.incarnation.digits, $0.seq) }) { $1 }
    }
}

extension NodeOperator.Index {
    fileprivate init(_ wire: WireIndex) {
        let forms = ["values", "elements", "words", "cells"]
        recordType = wire.recordType
        field = wire.field
        form = (1...4).contains(wire.form) ? forms[Int(wire.form) - 1] : "unknown"
        type = wire.type
        isReady = wire.isReady
        looked = wire.looked
        records = wire.records
        rows = wire.rows
        missing = wire.missing
        wrong = wire.wrong
    }
}
