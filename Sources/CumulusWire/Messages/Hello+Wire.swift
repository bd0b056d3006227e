// The greeting: HELLO of both sides, and the header that stands before each call.
//
// `connection.proto`. Encoded in canonical form by hand, decoded by libprotobuf-c; tests hold both
// against each other.

import CCumulusWire
package import CumulusModel

/// What a caller claims to be.
package enum WireRole: UInt32, Sendable {
    case client = 1
    case peer = 2
    case `operator` = 3
}

/// What a caller understands, and a server offers, beyond the first release.
package struct Features: OptionSet, Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// CAUSAL frames, which say how far the server's answers reach.
    package static let causalTokens = Features(rawValue: 1)
}

/// The dialler's first frame.
package struct Hello: Hashable, Sendable {
    package var protocolVersion: UInt32 = 1
    /// `WireRole`, or a number that this release doesn't know.
    package var role: UInt32 = WireRole.client.rawValue
    package var software: String = ""
    package var softwareVersion: String = ""
    package var container: Bytes = []
    /// `Environment`, or a number that this release doesn't know.
    package var environment: UInt32 = 0
    package var deviceID: Bytes = []
    package var token: Bytes = []
    package var largestFrame: UInt32 = 0
    /// What the caller understands beyond the first release.
    package var features: Features = []
    /// Peers only, like all that follows but for `nonce` and what belongs to a service key.
    package var nodeID: Bytes = []
    package var clusterID: Bytes = []
    /// Of callers that prove something: peers, and clients with a service key.
    package var nonce: Bytes = []
    package var proof: Bytes = []
    /// Where others reach the caller; empty: they can't.
    package var endpoint = ""
    /// This run of the caller's process.
    package var incarnation: UInt64 = 0
    /// Of a service key; empty: the caller shows none.
    package var keyID: Bytes = []
    /// By the service key: ECDSA, DER.
    package var signature: Bytes = []

    package init() {}

    package func encoded() -> Bytes {
        var writer = CanonicalWriter(reserving: 128)
        writer.field(1, varint: UInt64(protocolVersion))
        writer.field(2, varint: UInt64(role))
        writer.field(3, text: software)
        writer.field(4, text: softwareVersion)
        writer.field(5, bytes: container)
        writer.field(6, varint: UInt64(environment))
        writer.field(7, bytes: deviceID)
        writer.field(8, bytes: token)
        writer.field(9, varint: UInt64(largestFrame))
        writer.field(10, varint: features.rawValue)
        writer.field(11, bytes: nodeID)
        writer.field(12, bytes: clusterID)
        writer.field(13, bytes: nonce)
        writer.field(14, bytes: proof)
        writer.field(15, text: endpoint)
        writer.field(16, fixed64: incarnation)
        writer.field(17, bytes: keyID)
        writer.field(18, bytes: signature)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__hello__unpack)
        let raw = message.raw
        protocolVersion = raw.protocol_version
        role = UInt32(raw.role.rawValue)
        software = raw.software.swiftText
        softwareVersion = raw.software_version.swiftText
        container = raw.container.swiftBytes
        environment = UInt32(raw.environment.rawValue)
        deviceID = raw.device_id.swiftBytes
        token = raw.token.swiftBytes
        largestFrame = raw.largest_frame
        features = Features(rawValue: raw.features)
        nodeID = raw.node_id.swiftBytes
        clusterID = raw.cluster_id.swiftBytes
        nonce = raw.nonce.swiftBytes
        proof = raw.proof.swiftBytes
        endpoint = raw.endpoint.swiftText
        incarnation = raw.incarnation
        keyID = raw.key_id.swiftBytes
        signature = raw.signature.swiftBytes
    }
}

/// The server's answer to `Hello`.
package struct ServerHello: Hashable, Sendable {
    package var protocolVersion: UInt32 = 1
    package var software: String = ""
    package var softwareVersion: String = ""
    package var nodeID: Bytes = []
    package var incarnation: UInt64 = 0
    package var clusterID: Bytes = []
    package var limits = Limits.standard
    /// Milliseconds since 1970 UTC.
    package var clock: Int64 = 0
    package var callerRole: UInt32 = 0
    /// User record name; empty: anonymous.
    package var callerUser: String = ""
    /// To a peer.
    package var proof: Bytes = []
    /// Why clients are refused until the node has taken a state; empty: they are not.
    package var notReady: String = ""
    /// The same node knows of others and has not reached them all.
    package var lacksNodes = false

    package init() {}

    package func encoded() -> Bytes {
        var writer = CanonicalWriter(reserving: 192)
        writer.field(1, varint: UInt64(protocolVersion))
        writer.field(2, text: software)
        writer.field(3, text: softwareVersion)
        writer.field(4, bytes: nodeID)
        writer.field(5, fixed64: incarnation)
        writer.field(6, bytes: clusterID)
        writer.message(7) { limits.encode(to: &$0) }
        writer.field(8, signed: clock)
        writer.message(9) { writer in
            writer.field(1, varint: UInt64(callerRole))
            writer.field(2, text: callerUser)
        }
        writer.field(11, bytes: proof)
        writer.field(12, text: notReady)
        writer.field(13, varint: lacksNodes ? 1 : 0)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__server_hello__unpack)
        let raw = message.raw
        protocolVersion = raw.protocol_version
        software = raw.software.swiftText
        softwareVersion = raw.software_version.swiftText
        nodeID = raw.node_id.swiftBytes
        incarnation = raw.incarnation
        clusterID = raw.cluster_id.swiftBytes
        if let raw = raw.limits?.pointee { limits = Limits(wire: raw) }
        clock = raw.clock
        if let caller = raw.caller?.pointee {
            callerRole = UInt32(caller.role.rawValue)
            callerUser = caller.user.swiftText
        }
        proof = raw.proof.swiftBytes
        notReady = raw.not_ready.swiftText
        lacksNodes = raw.lacks_nodes != 0
    }
}

extension Limits {
    fileprivate func encode(to writer: inout CanonicalWriter) {
        let numbers = [
            itemsPerRequest, requestBytes, recordBytes, nameBytes, fieldsPerType, ownersPerRecord,
            frameBytes, streamsPerConnection, unansweredBytes, initialCredit,
            Int(requestMemoryMilliseconds), zonesPerDatabase, assetBytes, userAssetBytes,
            assetsPerRequest, subscriptionsPerDatabase, ownersPerRequest,
            perCaller.callsPerSecond, perCaller.callsBurst, perCaller.bytesPerSecond,
            perCaller.callsAtOnce,
        ]
        for (index, number) in numbers.enumerated() {
            writer.field(index + 1, varint: UInt64(number))
        }
    }

    /// What a server doesn't say is as usual: with a limit of 0 nothing could be done.
    ///
    /// Of the limits per caller 0 stands for none, which is also what an older server has.
    fileprivate init(wire raw: Cumulus__V1__Limits) {
        self.init()
        func take<Value: FixedWidthInteger>(
            _ limit: WritableKeyPath<Limits, Value>,
            _ number: some FixedWidthInteger
        ) {
            if number != 0 { self[keyPath: limit] = Value(clamping: number) }
        }
        take(\.itemsPerRequest, raw.items_per_request)
        take(\.requestBytes, raw.request_bytes)
        take(\.recordBytes, raw.record_bytes)
        take(\.nameBytes, raw.name_bytes)
        take(\.fieldsPerType, raw.fields_per_type)
        take(\.ownersPerRecord, raw.owners_per_record)
        take(\.frameBytes, raw.frame_bytes)
        take(\.streamsPerConnection, raw.streams_per_connection)
        take(\.unansweredBytes, raw.unanswered_bytes)
        take(\.initialCredit, raw.initial_credit)
        take(\.requestMemoryMilliseconds, raw.request_memory_ms)
        take(\.zonesPerDatabase, raw.zones_per_database)
        take(\.assetBytes, raw.asset_bytes)
        take(\.userAssetBytes, raw.user_asset_bytes)
        take(\.assetsPerRequest, raw.assets_per_request)
        take(\.subscriptionsPerDatabase, raw.subscriptions_per_database)
        take(\.ownersPerRequest, raw.owners_per_request)
        take(\.perCaller.callsPerSecond, raw.calls_per_second)
        take(\.perCaller.callsBurst, raw.calls_burst)
        take(\.perCaller.bytesPerSecond, raw.bytes_per_second)
        take(\.perCaller.callsAtOnce, raw.calls_at_once)
    }
}

/// Numbers as in `connection.proto`.
package enum Method: UInt32, CaseIterable, Sendable {
    case recordsFetch = 1
    case recordsModify = 2
    case recordsList = 3
    case recordsListConflicts = 4
    case recordsQuery = 5
    case zonesList = 16
    case zonesFetch = 17
    case zonesModify = 18
    case accountsWhoAmI = 32
    case accountsSignIn = 33
    case accountsRegister = 34
    case accountsSessions = 35
    case accountsRevoke = 36
    case accountsChangePassword = 37
    case accountsProfile = 38
    case accountsSetProfile = 39
    case keysList = 40
    case keysAdd = 41
    case keysRevoke = 42
    case accountsDiscover = 43
    case operatorSetUserState = 44
    case operatorSetPassword = 45
    case operatorSetHandle = 46
    case operatorMetrics = 47
    case operatorStatus = 48
    case operatorListContainers = 49
    case operatorCreateContainer = 50
    case operatorListUsers = 51
    case operatorAddUser = 52
    case operatorAddToken = 53
    case operatorListMembers = 54
    case operatorRemoveMember = 55
    case operatorBackUp = 56
    case operatorTruncate = 57
    case operatorVerify = 58
    case operatorLeave = 59
    case operatorListMergePolicies = 60
    case operatorSetMergePolicy = 61
    case operatorZoneStatus = 62
    case operatorRescue = 63
    case peersPull = 64
    case peersState = 65
    case peersReport = 66
    case peersAsset = 67
    case peersWanted = 68
    case changesDatabase = 80
    case changesZone = 81
    case changesFollowDatabase = 82
    case changesFollowZone = 83
    case schemaRead = 96
    case schemaImport = 97
    case schemaDeploy = 98
    case indexesList = 99
    case indexesRebuild = 100
    case indexesVerify = 101
    case schemaReset = 102
    case rolesList = 103
    case rolesSet = 104
    case assetsPrepare = 112
    case assetsUpload = 113
    case assetsDownload = 114
    case subscriptionsModify = 128
    case subscriptionsFetch = 129
    case feedsFollow = 130
    case feedsMarkRead = 131
    case subscriptionsList = 132
    case subscriptionsEnd = 133
    case sharingMetadata = 144
    case sharingAccept = 145
    case sharingLookUp = 146
    case sharingList = 147
    case sharingStop = 148
}

/// Stands before the first message of a call.
package struct CallHeader: Hashable, Sendable {
    /// `Method`, or a number that this release doesn't know.
    package var method: UInt32
    /// Milliseconds; 0: the server's default.
    package var timeout: UInt32 = 0
    package var requestID: Bytes = []
    /// What the caller has seen, on other nodes perhaps: the answer is not to be older.
    package var causalTokens: [Bytes] = []
    package var traceContext: Bytes = []
    /// Operators and peers only; peers name none for the cluster's own scope.
    package var container: Bytes = []
    package var environment: UInt32 = 0
    /// Other nodes that are to hold a change before its answer; nil means as the node is set up.
    package var replicas: UInt32?

    package init(_ method: Method) {
        self.method = method.rawValue
    }

    /// The same with the trace of the current task.
    package func traced() -> CallHeader {
        guard let trace = TraceContext.current else { return self }
        var header = self
        header.traceContext = Bytes(trace.traceparent.utf8)
        return header
    }

    /// The payload of a CALL frame.
    package func encoded(before message: Bytes) -> Bytes {
        var header = CanonicalWriter(reserving: 48)
        header.field(1, varint: UInt64(method))
        header.field(2, varint: UInt64(timeout))
        header.field(3, bytes: requestID)
        for token in causalTokens { header.present(4, bytes: token) }
        header.field(5, bytes: traceContext)
        header.field(6, bytes: container)
        header.field(7, varint: UInt64(environment))
        if let replicas { header.present(8, varint: UInt64(replicas)) }
        var payload = CanonicalWriter(reserving: header.bytes.count + message.count + 2)
        payload.delimited(header.bytes)
        payload.raw(message)
        return payload.bytes
    }

    /// Splits the payload of a CALL frame.
    package static func split(
        _ payload: Bytes
    ) throws(MalformedMessage) -> (header: CallHeader, message: Bytes) {
        var reader = CanonicalReader(payload)
        let range: Range<Int>
        do {
            range = try reader.delimited()
        } catch {
            throw MalformedMessage(message: "a call's header is cut off")
        }
        let header = try CallHeader(wire: payload[range])
        return (header, Bytes(payload[reader.position...]))
    }

    private init(wire bytes: ArraySlice<UInt8>) throws(MalformedMessage) {
        let message = try CMessage(bytes, cumulus__v1__call_header__unpack)
        let raw = message.raw
        method = UInt32(raw.method.rawValue)
        timeout = raw.timeout_ms
        requestID = raw.request_id.swiftBytes
        causalTokens = elements(raw.n_causal_tokens, raw.causal_tokens).map(\.swiftBytes)
        traceContext = raw.trace_context.swiftBytes
        container = raw.container.swiftBytes
        environment = UInt32(raw.environment.rawValue)
        if raw.has_replicas_case == CUMULUS__V1__CALL_HEADER__HAS_REPLICAS_REPLICAS {
            replicas = raw.replicas
        }
    }
}

/// The server is about to go: no new calls.
package struct DrainNotice: Hashable, Sendable {
    package var message: String
    /// Where to go instead.
    package var endpoints: [String]

    package init(message: String, endpoints: [String] = []) {
        self.message = message
        self.endpoints = endpoints
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, text: message)
        for endpoint in endpoints { writer.present(2, bytes: endpoint.utf8) }
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__drain__unpack)
        let raw = message.raw
        self.message = raw.message.swiftText
        endpoints = elements(raw.n_endpoints, raw.endpoints).map(\.swiftText)
    }
}
