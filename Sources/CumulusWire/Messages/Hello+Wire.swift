// The greeting: HELLO of both sides, and the header that stands before each call.
//
// `connection.proto`. What callers say is read by CumulusRequests.

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
    /// Chunks of assets without compression, both ways: the node compresses and expands them.
    package static let plainChunks = Features(rawValue: 2)
}

/// The dialler's first frame.
package struct Hello: Coded, Hashable {
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
    /// Callers that prove something send it: peers, and clients with a service key.
    package var nonce: Bytes = []
    package var proof: Bytes = []
    /// Where others reach the caller; empty: they can't.
    package var endpoint = ""
    /// This run of the caller's process.
    package var incarnation: UInt64 = 0
    /// The id of a service key; empty: the caller shows none.
    package var keyID: Bytes = []
    /// Made with the service key: ECDSA, DER.
    package var signature: Bytes = []

    package init() {}

    package var roughCount: Int { 128 }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &protocolVersion)
        try coder.number(2, &role)
        try coder.text(3, &software)
        try coder.text(4, &softwareVersion)
        try coder.bytes(5, &container)
        try coder.number(6, &environment)
        try coder.bytes(7, &deviceID)
        try coder.bytes(8, &token)
        try coder.number(9, &largestFrame)
        var bits = features.rawValue
        try coder.number(10, &bits)
        features = Features(rawValue: bits)
        try coder.bytes(11, &nodeID)
        try coder.bytes(12, &clusterID)
        try coder.bytes(13, &nonce)
        try coder.bytes(14, &proof)
        try coder.text(15, &endpoint)
        try coder.fixed64(16, &incarnation)
        try coder.bytes(17, &keyID)
        try coder.bytes(18, &signature)
    }
}

/// The server's answer to `Hello`.
package struct ServerHello: WireMessage, Hashable {
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

    package var roughCount: Int { 192 }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &protocolVersion)
        try coder.text(2, &software)
        try coder.text(3, &softwareVersion)
        try coder.bytes(4, &nodeID)
        try coder.fixed64(5, &incarnation)
        try coder.bytes(6, &clusterID)
        try coder.message(7, &limits)
        try coder.signed(8, &clock)
        var caller = WireCaller(role: callerRole, user: callerUser)
        try coder.message(9, &caller)
        (callerRole, callerUser) = (caller.role, caller.user)
        try coder.bytes(11, &proof)
        try coder.text(12, &notReady)
        try coder.flag(13, &lacksNodes)
    }
}

/// `Limits` of connection.proto.
extension Limits: Coded {
    /// What a server doesn't say is as usual: with a limit of 0 nothing could be done.
    ///
    /// A limit per caller of 0 means that there is none, which is also what an older server has.
    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try code(1, \.itemsPerRequest, &coder)
        try code(2, \.requestBytes, &coder)
        try code(3, \.recordBytes, &coder)
        try code(4, \.nameBytes, &coder)
        try code(5, \.fieldsPerType, &coder)
        try code(6, \.ownersPerRecord, &coder)
        try code(7, \.frameBytes, &coder)
        try code(8, \.streamsPerConnection, &coder)
        try code(9, \.unansweredBytes, &coder)
        try code(10, \.initialCredit, &coder)
        try code(11, \.requestMemoryMilliseconds, &coder)
        try code(12, \.zonesPerDatabase, &coder)
        try code(13, \.assetBytes, &coder)
        try code(14, \.userAssetBytes, &coder)
        try code(15, \.assetsPerRequest, &coder)
        try code(16, \.subscriptionsPerDatabase, &coder)
        try code(17, \.ownersPerRequest, &coder)
        try code(18, \.perCaller.callsPerSecond, &coder)
        try code(19, \.perCaller.callsBurst, &coder)
        try code(20, \.perCaller.bytesPerSecond, &coder)
        try code(21, \.perCaller.callsAtOnce, &coder)
    }

    private mutating func code<Value: FixedWidthInteger>(
        _ field: Int,
        _ limit: WritableKeyPath<Limits, Value>,
        _ coder: inout some Coder
    ) throws(MalformedBytes) {
        var number = UInt64(self[keyPath: limit])
        try coder.number(field, &number)
        guard coder.reads else { return }
        self[keyPath: limit] = number == 0 ? Limits()[keyPath: limit] : Value(clamping: number)
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
    case webAppsList = 160
    case webAppsSet = 161
    case webAppsRemove = 162
    case accountsMakeResetLink = 176
    case accountsResetPassword = 177
    case operatorDeleteUser = 178
    case operatorDeleteContainer = 179
    case operatorListOperators = 180
    case operatorAddOperator = 181
    case operatorRemoveOperator = 182
    case pushesRegister = 190
    case pushesList = 191
    case pushesEnd = 192
    case pushesServices = 193
}

/// Stands before the first message of a call.
package struct CallHeader: Coded, Hashable {
    /// `Method`, or a number that this release doesn't know.
    package var method: UInt32 = 0
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

    package init() {}

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

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.number(1, &method)
        try coder.number(2, &timeout)
        try coder.bytes(3, &requestID)
        try coder.list(4, &causalTokens)
        try coder.bytes(5, &traceContext)
        try coder.bytes(6, &container)
        try coder.number(7, &environment)
        try coder.optional(8, &replicas)
    }

    /// The payload of a CALL frame.
    package func encoded(before message: Bytes) -> Bytes {
        let header = encoded()
        var payload = CanonicalWriter(reserving: header.count + message.count + 2)
        payload.delimited(header)
        payload.raw(message)
        return payload.bytes
    }
}

/// `Drain`: the server is about to go, and takes no new calls.
package struct DrainNotice: WireMessage, Hashable {
    package var message = ""
    /// Where to go instead.
    package var endpoints: [String] = []

    package init() {}

    package init(message: String, endpoints: [String] = []) {
        self.message = message
        self.endpoints = endpoints
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.text(1, &message)
        try coder.list(2, &endpoints)
    }
}
