// Values to bytes and back, at random; and what the library makes of the same bytes.

import CumulusModel
import CumulusRequests
import CumulusTesting
import CumulusWire
import Testing

@Suite struct RoundTripTests {
    private static func text(using dice: inout SeededGenerator) -> String {
        ["", "a", "Grüße", "漢字", "x\u{0}y", String(repeating: "n", count: 300)]
            .randomElement(using: &dice) ?? ""
    }

    private static func bytes(using dice: inout SeededGenerator) -> Bytes {
        (0..<Int.random(in: 0...40, using: &dice)).map { _ in .random(in: 0...255, using: &dice) }
    }

    private static func number(using dice: inout SeededGenerator) -> UInt32 {
        UInt32(truncatingIfNeeded: dice.next()) >> UInt32.random(in: 1...31, using: &dice)
    }

    private static func zone(using dice: inout SeededGenerator) -> WireZoneID {
        WireZoneID(name: bytes(using: &dice), owner: bytes(using: &dice))
    }

    private static func record(using dice: inout SeededGenerator) -> WireRecordID {
        let zone = Bool.random(using: &dice) ? nil : zone(using: &dice)
        return WireRecordID(name: bytes(using: &dice), zone: zone)
    }

    private static func list<Value>(
        using dice: inout SeededGenerator,
        _ make: (inout SeededGenerator) -> Value
    ) -> [Value] {
        (0..<Int.random(in: 0...4, using: &dice)).map { _ in make(&dice) }
    }

    /// A request that no node has to accept: any nodes in any order.
    private static func query(
        _ database: DatabaseScope,
        _ zone: WireZoneID?,
        _ keys: [Bytes]?,
        using dice: inout SeededGenerator
    ) -> QueryRecordsRequest {
        var query = Query(recordType: text(using: &dice))
        query.predicate.nodes = (0..<Int.random(in: 0..<9, using: &dice)).map { _ in
            node(using: &dice)
        }
        query.sortDescriptors = (0..<Int.random(in: 0..<3, using: &dice)).map { _ in
            var key = Query.SortDescriptor(
                key: text(using: &dice),
                ascending: Bool.random(using: &dice)
            )
            if Bool.random(using: &dice) {
                key.relativeLocation = Location(latitude: 1, longitude: -2)
            }
            return key
        }
        query.allowsExtensions = Bool.random(using: &dice)
        var request = QueryRecordsRequest(query, database: database, zone: zone)
        request.keys = keys
        request.limit = number(using: &dice)
        request.cursor = bytes(using: &dice)
        request.counts = Bool.random(using: &dice)
        request.explains = Bool.random(using: &dice)
        return request
    }

    private static func node(using dice: inout SeededGenerator) -> Query.Node {
        switch Int.random(in: 0..<6, using: &dice) {
        case 0: return .constant(Bool.random(using: &dice))
        case 1: return .and
        case 2: return .or
        case 3: return .not
        default:
            let relations = Query.Relation.allCases
            let operands = RandomFields.fields(upTo: 3, using: &dice).values
                .filter { $0.list == nil }
                .map { Query.Operand.value($0) }
            return .comparison(
                Query.Comparison(
                    text(using: &dice),
                    relations[Int.random(in: 0..<relations.count, using: &dice)],
                    Bool.random(using: &dice) ? operands : operands + [.now]
                )
            )
        }
    }

    /// A subscription that no node has to accept.
    private static func subscription(using dice: inout SeededGenerator) -> WireSubscription {
        var subscription = WireSubscription(id: bytes(using: &dice), kind: nil)
        switch Int.random(in: 0..<4, using: &dice) {
        case 0:
            let zone = zone(using: &dice)
            subscription.kind = .zone(.init(zone, recordType: bytes(using: &dice)))
        case 1: subscription.kind = .database(.init(bytes(using: &dice)))
        case 2: break
        default:
            subscription.kind = .query(
                WireSubscription.QueryKind(
                    recordType: bytes(using: &dice),
                    predicate: list(using: &dice, node),
                    zone: Bool.random(using: &dice) ? zone(using: &dice) : nil,
                    options: number(using: &dice),
                    allowsExtensions: Bool.random(using: &dice)
                )
            )
        }
        if Bool.random(using: &dice) { subscription.info = info(using: &dice) }
        return subscription
    }

    private static func info(
        using dice: inout SeededGenerator
    ) -> Subscription.NotificationInfo {
        var info = Subscription.NotificationInfo()
        for part in Subscription.NotificationInfo.texts where Bool.random(using: &dice) {
            info[keyPath: part.path] = "x" + text(using: &dice)
        }
        for part in Subscription.NotificationInfo.lists {
            info[keyPath: part.path] = list(using: &dice, text)
        }
        for part in Subscription.NotificationInfo.flags {
            info[keyPath: part.path] = Bool.random(using: &dice)
        }
        return info
    }

    private static func expectLibraryAgrees(_ message: String, _ bytes: Bytes) {
        #expect(LibraryCodec.messages[message]?(bytes)?.hex == bytes.hex, "\(message)")
    }

    /// The tolerant reader makes of a request what the library does.
    private static func expectBothRead<Request: Coded & Equatable>(
        _ request: Request,
        _ message: String,
        _ read: (Bytes) throws -> Request
    ) throws {
        let bytes = request.encoded()
        expectLibraryAgrees(message, bytes)
        #expect(try read(bytes) == request, "\(message)")
        #expect(try Request(tolerant: bytes, growth: 16) == request, "\(message)")
    }

    @Test func fields() throws {
        for seed in UInt64(1)...2_000 {
            var dice = SeededGenerator(seed: seed)
            let value = RandomFields.value(using: &dice)
            let field = WireRecordField("f", value).encoded()
            Self.expectLibraryAgrees("Field", field)
            #expect(try WireSamples.field(field).value == value)
        }
    }

    /// A negative zero counts as zero where zero is left out, as in the bodies that nodes store.
    @Test func aNegativeZeroIsLeftOutOfAPlace() throws {
        var place = Location(latitude: -0.0, longitude: -0.0)
        #expect(place.encoded() == [])
        place.altitude = -0.0
        #expect(place.encoded().hex == "190000000000000080")
        let read = try Location(tolerant: place.encoded(), growth: 128)
        #expect(read.altitude?.sign == .minus)
    }

    @Test func assets() throws {
        let asset = Asset(digest: Bytes(repeating: 7, count: 32), size: .max)
        for value: FieldValue in [.asset(asset), .list([.asset(asset), .asset(asset)])] {
            let field = WireRecordField("f", value).encoded()
            Self.expectLibraryAgrees("Field", field)
            #expect(try WireSamples.field(field).value == value)
        }
    }

    @Test func encryptedValues() throws {
        let kinds = FieldKind.allCases.filter(\.isEncryptable)
        for kind in kinds.map(Optional.some) + [nil] {
            for isList in kind == nil ? [true] : [false, true] {
                let value = SealedValue(kind: kind, isList: isList, bytes: [1, 0, 0xFF])
                let field = WireRecordField("f", sealed: value).encoded()
                Self.expectLibraryAgrees("Field", field)
                #expect(try WireSamples.sealedField(field)?.value == value)
            }
        }
    }

    /// A mixed list is sent as it is, so that the node can say what is wrong with it.
    @Test func mixedListsKeepTheirKinds() throws {
        let field = WireRecordField("f", .list([1, 2, "a", 3.5])).encoded()
        #expect(field.hex == "0a016652111a02020412016122080000000000000c40")
        #expect(try WireSamples.field(field).value == .list(["a", 1, 2, 3.5]))
        // A list in a list is a field that the node does not know.
        #expect(WireRecordField("f", .list([.list([])])).encoded().hex == "0a016652025200")
    }

    @Test func greetings() throws {
        for seed in UInt64(1)...200 {
            var dice = SeededGenerator(seed: seed)
            var hello = Hello()
            hello.protocolVersion = Self.number(using: &dice)
            hello.role = Self.number(using: &dice)
            hello.software = Self.text(using: &dice)
            hello.softwareVersion = Self.text(using: &dice)
            hello.container = Self.bytes(using: &dice)
            hello.environment = Self.number(using: &dice)
            hello.deviceID = Self.bytes(using: &dice)
            hello.token = Self.bytes(using: &dice)
            hello.largestFrame = Self.number(using: &dice)
            hello.nodeID = Self.bytes(using: &dice)
            hello.clusterID = Self.bytes(using: &dice)
            hello.nonce = Self.bytes(using: &dice)
            hello.proof = Self.bytes(using: &dice)
            hello.endpoint = Self.text(using: &dice)
            hello.incarnation = dice.next()
            hello.keyID = Self.bytes(using: &dice)
            hello.signature = Self.bytes(using: &dice)
            hello.features = Features(rawValue: dice.next())
            try Self.expectBothRead(hello, "Hello") { try Hello(wire: $0) }

            var answer = ServerHello()
            answer.software = Self.text(using: &dice)
            answer.softwareVersion = Self.text(using: &dice)
            answer.nodeID = Self.bytes(using: &dice)
            answer.incarnation = dice.next()
            answer.clusterID = Self.bytes(using: &dice)
            answer.limits.itemsPerRequest = Int(max(1, Self.number(using: &dice)))
            answer.limits.zonesPerDatabase = Int(max(1, Self.number(using: &dice)))
            answer.limits.perCaller = CallerLimits(
                callsPerSecond: Int(Self.number(using: &dice)),
                callsBurst: Int(Self.number(using: &dice)),
                bytesPerSecond: Int(dice.next() >> 1),
                callsAtOnce: Int(Self.number(using: &dice))
            )
            answer.limits.requestMemoryMilliseconds = Int64(max(1, Self.number(using: &dice)))
            answer.clock = Int64(bitPattern: dice.next())
            answer.callerRole = Self.number(using: &dice)
            answer.callerUser = Self.text(using: &dice)
            answer.proof = Self.bytes(using: &dice)
            Self.expectLibraryAgrees("ServerHello", answer.encoded())
            #expect(try ServerHello(wire: answer.encoded()) == answer)

            let notice = DrainNotice(
                message: Self.text(using: &dice),
                endpoints: Self.list(using: &dice, Self.text)
            )
            Self.expectLibraryAgrees("Drain", notice.encoded())
            #expect(try DrainNotice(wire: notice.encoded()) == notice)
        }
    }

    @Test func pulls() throws {
        for seed in UInt64(1)...200 {
            var dice = SeededGenerator(seed: seed)
            var vector = VersionVector()
            for _ in 0..<Int.random(in: 0...4, using: &dice) {
                let shift = UInt64.random(in: 0..<64, using: &dice)
                vector[Incarnation(dice.next() | 1)] = dice.next() >> shift
            }
            let elsewhere = Self.list(using: &dice) { $0.next() }
            let request = PullRequest(vector: vector, run: dice.next(), elsewhere: elsewhere)
            try Self.expectBothRead(request, "PullRequest") { try PullRequest(wire: $0) }
            let commits = Self.list(using: &dice, Self.bytes)
            let response = PullResponse(
                commits: commits,
                vector: vector,
                wantsReport: Bool.random(using: &dice)
            )
            Self.expectLibraryAgrees("PullResponse", response.encoded())
            #expect(try PullResponse(wire: response.encoded()) == response)
        }
    }

    @Test func states() throws {
        for seed in UInt64(1)...200 {
            var dice = SeededGenerator(seed: seed)
            var vector = VersionVector()
            vector[Incarnation(dice.next() | 1)] = dice.next()
            let request = StateRequest(
                vector: vector,
                format: Self.number(using: &dice),
                compares: Bool.random(using: &dice),
                stretches: Self.list(using: &dice) {
                    .init(
                        database: Self.number(using: &$0),
                        owner: Self.bytes(using: &$0),
                        zone: Self.bytes(using: &$0),
                        after: Self.bytes(using: &$0),
                        through: Self.bytes(using: &$0)
                    )
                },
                snapshot: Self.bytes(using: &dice),
                position: .init(
                    parts: Self.number(using: &dice),
                    zone: Self.number(using: &dice),
                    record: Self.bytes(using: &dice),
                    rows: Self.number(using: &dice)
                )
            )
            try Self.expectBothRead(request, "StateRequest") { try StateRequest(wire: $0) }
            let report = ReportRequest(
                vector: vector,
                isAnswer: Bool.random(using: &dice),
                digest: Self.bytes(using: &dice),
                time: Int64(bitPattern: dice.next())
            )
            try Self.expectBothRead(report, "ReportRequest") { try ReportRequest(wire: $0) }

            var response = StateResponse()
            response.vectors = Self.list(using: &dice) {
                .init(incarnation: $0.next(), row: Self.bytes(using: &$0))
            }
            response.zones = Self.list(using: &dice) {
                .init(
                    database: Self.number(using: &$0),
                    owner: Self.bytes(using: &$0),
                    name: Self.bytes(using: &$0),
                    row: Self.bytes(using: &$0),
                    heads: vector,
                    extent: Self.number(using: &$0)
                )
            }
            response.registers = Self.list(using: &dice) {
                .init(
                    namespace: Self.bytes(using: &$0),
                    key: Self.list(using: &$0, Self.bytes),
                    row: Self.bytes(using: &$0)
                )
            }
            response.increments = Self.list(using: &dice) {
                .init(
                    request: Self.bytes(using: &$0),
                    identity: Dot(Incarnation($0.next()), $0.next()),
                    recordName: Self.bytes(using: &$0),
                    field: Self.bytes(using: &$0),
                    row: Self.bytes(using: &$0)
                )
            }
            response.isOffered = Bool.random(using: &dice)
            response.zone = Self.number(using: &dice)
            response.records = Self.list(using: &dice) {
                .init(name: Self.bytes(using: &$0), rows: Self.list(using: &$0, Self.bytes))
            }
            response.isComplete = Bool.random(using: &dice)
            response.goesOn = Bool.random(using: &dice)
            response.digests = Self.list(using: &dice) {
                .init(
                    zone: Self.number(using: &$0),
                    through: Self.bytes(using: &$0),
                    records: $0.next(),
                    digest: Self.bytes(using: &$0)
                )
            }
            response.snapshot = Self.bytes(using: &dice)
            Self.expectLibraryAgrees("StateResponse", response.encoded())
            #expect(try StateResponse(wire: response.encoded()) == response)
        }
    }

    @Test func headers() throws {
        for seed in UInt64(1)...200 {
            var dice = SeededGenerator(seed: seed)
            var header = CallHeader(.recordsFetch)
            header.method = Self.number(using: &dice)
            header.timeout = Self.number(using: &dice)
            header.requestID = Self.bytes(using: &dice)
            header.causalTokens = Self.list(using: &dice, Self.bytes)
            header.traceContext = Self.bytes(using: &dice)
            header.container = Self.bytes(using: &dice)
            header.environment = Self.number(using: &dice)
            header.replicas = Bool.random(using: &dice) ? nil : Self.number(using: &dice)
            let message = Self.bytes(using: &dice)
            let (again, rest) = try CallHeader.split(header.encoded(before: message))
            #expect(again == header)
            #expect(try CallHeader(tolerant: header.encoded(), growth: 16) == header)
            #expect(rest == message)
        }
    }

    @Test func requests() throws {
        for seed in UInt64(1)...200 {
            var dice = SeededGenerator(seed: seed)
            let databases = DatabaseScope.allCases
            let database = databases[Int.random(in: 0..<databases.count, using: &dice)]
            let keys = Bool.random(using: &dice) ? nil : Self.list(using: &dice, Self.bytes)

            let ids = Self.list(using: &dice, Self.record)
            let fetch = FetchRecordsRequest(database: database, ids: ids, keys: keys)
            try Self.expectBothRead(fetch, "FetchRecordsRequest") {
                try FetchRecordsRequest(wire: $0)
            }

            let zone = Bool.random(using: &dice) ? nil : Self.zone(using: &dice)
            let after = Bool.random(using: &dice) ? [] : Self.bytes(using: &dice)
            let list = ListRecordsRequest(
                database: database,
                zone: zone,
                keys: keys,
                after: after
            )
            try Self.expectBothRead(list, "ListRecordsRequest") { try ListRecordsRequest(wire: $0) }

            let zones = FetchZonesRequest(
                database: database,
                ids: Self.list(using: &dice, Self.zone)
            )
            try Self.expectBothRead(zones, "FetchZonesRequest") { try FetchZonesRequest(wire: $0) }

            let modify = ModifyZonesRequest(
                database: database,
                saves: Self.list(using: &dice, Self.zone),
                deletes: Self.list(using: &dice, Self.zone)
            )
            try Self.expectBothRead(modify, "ModifyZonesRequest") {
                try ModifyZonesRequest(wire: $0)
            }

            let subscriptions = ModifySubscriptionsRequest(
                database: database,
                saves: Self.list(using: &dice, Self.subscription),
                deletes: Self.list(using: &dice, Self.bytes)
            )
            try Self.expectBothRead(subscriptions, "ModifySubscriptionsRequest") {
                try ModifySubscriptionsRequest(wire: $0)
            }

            let wanted = FetchSubscriptionsRequest(database: database, ids: keys)
            try Self.expectBothRead(wanted, "FetchSubscriptionsRequest") {
                try FetchSubscriptionsRequest(wire: $0)
            }

            var zoneChanges = FetchZoneChangesRequest(
                database: database,
                zone: zone,
                token: Self.bytes(using: &dice),
                limit: Self.number(using: &dice),
                keys: keys
            )
            zoneChanges.onlyToken = Bool.random(using: &dice)
            try Self.expectBothRead(zoneChanges, "FetchZoneChangesRequest") {
                try FetchZoneChangesRequest(wire: $0)
            }

            var changes = FetchDatabaseChangesRequest(
                database: database,
                token: Self.bytes(using: &dice),
                limit: Self.number(using: &dice)
            )
            changes.onlyToken = Bool.random(using: &dice)
            try Self.expectBothRead(changes, "FetchDatabaseChangesRequest") {
                try FetchDatabaseChangesRequest(wire: $0)
            }

            let query = Self.query(database, zone, keys, using: &dice)
            try Self.expectBothRead(query, "QueryRecordsRequest") {
                try QueryRecordsRequest(wire: $0)
            }

            let listZones = ListZonesRequest(database: database)
            try Self.expectBothRead(listZones, "ListZonesRequest") {
                try ListZonesRequest(wire: $0)
            }
        }
    }

    @Test func changes() throws {
        for seed in UInt64(1)...200 {
            var dice = SeededGenerator(seed: seed)
            let zones = FetchDatabaseChangesResponse(
                changed: Self.list(using: &dice, Self.zone),
                deleted: Self.list(using: &dice, Self.zone).map {
                    .init(id: $0, cause: UInt32.random(in: 0...2, using: &dice))
                },
                token: Self.bytes(using: &dice),
                moreComing: Bool.random(using: &dice)
            )
            Self.expectLibraryAgrees("FetchDatabaseChangesResponse", zones.encoded())
            #expect(try FetchDatabaseChangesResponse(wire: zones.encoded()) == zones)

            let deleted = Self.list(using: &dice, Self.record).map {
                FetchZoneChangesResponse.Deletion(id: $0, type: Self.bytes(using: &dice))
            }
            let token = Self.bytes(using: &dice)
            let bytes = FetchZoneChangesResponse(
                changed: [WireSamples.encodedRecord],
                deleted: deleted,
                token: token,
                moreComing: true
            ).encoded()
            Self.expectLibraryAgrees("FetchZoneChangesResponse", bytes)
            let again = try FetchZoneChangesResponse(wire: bytes)
            #expect(again.changed.map(\.recordID) == [WireSamples.oslo])
            #expect(again.deleted == deleted)
            #expect(again.token == token)
            #expect(again.moreComing)
        }
    }

    @Test func savesHoldWhatChanged() throws {
        for seed in UInt64(1)...300 {
            var dice = SeededGenerator(seed: seed)
            let id = Record.ID(recordName: "r", zoneID: RecordZone.ID(zoneName: "z"))
            var record = Record(recordType: "T", recordID: id)
            let values = RandomFields.fields(upTo: 5, using: &dice)
            for (name, value) in values { record[name] = value }
            record["removed"] = nil
            record.receive("unchanged", for: "held")
            record.increment("total", by: -5)
            for allKeys in [false, true] {
                let request = ModifyRecordsRequest(
                    database: .public,
                    policy: 0,
                    isAtomic: true,
                    saves: [record.encodedSave(allKeys: allKeys)],
                    deletes: []
                ).encoded()
                Self.expectLibraryAgrees("ModifyRecordsRequest", request)
                let read = try NodeModifyRecordsRequest(wire: request)
                #expect(try NodeModifyRecordsRequest(tolerant: request, growth: 16) == read)
                #expect(read.encoded().hex == request.hex)
                let save = try #require(read.saves.first)
                #expect(read.isAtomic)
                #expect(save.id == WireRecordID(id))
                #expect(save.record.changeTag == [])
                #expect(save.record.parent == nil)
                #expect(save.increments.map(\.delta) == [-5])
                var fields: [String: FieldValue?] = [:]
                for bytes in save.record.fields {
                    let (name, value) = try WireSamples.field(bytes)
                    fields.updateValue(value, forKey: name)
                }
                var expected: [String: FieldValue?] = values
                expected.updateValue(nil, forKey: "removed")
                if allKeys { expected["held"] = "unchanged" }
                #expect(fields == expected)
            }
        }
    }

    /// The node refuses a field that is set and incremented; it must get to see both.
    @Test func aFieldThatIsSetAndIncrementedIsSentAsBoth() throws {
        var record = Record(recordType: "T", recordID: Record.ID(recordName: "r"))
        record["n"] = 5
        record.increment("n")
        let request = ModifyRecordsRequest(
            database: .public,
            policy: 0,
            isAtomic: true,
            saves: [record.encodedSave(allKeys: false)],
            deletes: []
        ).encoded()
        let save = try #require(NodeModifyRecordsRequest(wire: request).saves.first)
        #expect(save.record.fields.count == 1)
        #expect(save.increments.map(\.delta) == [1])
    }

    @Test func everyErrorKeepsItsCodeAndReason() throws {
        for code in ServiceError.Code.allCases {
            for reason in ServiceError.Reason.allCases {
                var error = ServiceError(code, reason, "what to do")
                if reason.rawValue % 2 == 1 { error.retryAfterMilliseconds = reason.rawValue }
                let hasRecord = code == .serverRecordChanged
                let record = hasRecord ? WireSamples.encodedRecord : nil
                let bytes = error.encoded(serverRecord: record)
                Self.expectLibraryAgrees("Status", bytes)
                let again = try ServiceError(wire: bytes)
                #expect(again.code == code)
                #expect(again.reason == reason)
                #expect(again.message == "what to do")
                #expect(again.retryAfterMilliseconds == error.retryAfterMilliseconds)
                #expect(again.serverRecord?.recordID == (hasRecord ? WireSamples.oslo : nil))
            }
        }
    }

    @Test func operatorMessages() throws {
        for seed in UInt64(1)...100 {
            var dice = SeededGenerator(seed: seed)
            var status = NodeStatus()
            status.nodeID = Self.bytes(using: &dice)
            status.incarnation = dice.next()
            status.state = Self.text(using: &dice)
            status.console = Self.text(using: &dice)
            status.started = Int64(bitPattern: dice.next())
            status.calls = dice.next()
            status.callsInProgress = Self.number(using: &dice)
            (status.privateQuota, status.publicQuota) = (dice.next(), dice.next())
            (status.rows, status.rowBytes) = (dice.next(), dice.next())
            status.scopes = Self.list(using: &dice) { dice in
                NodeStatus.Scope(
                    container: Self.text(using: &dice),
                    environment: Self.number(using: &dice),
                    commits: dice.next(),
                    digest: Self.bytes(using: &dice),
                    applied: Self.bytes(using: &dice)
                )
            }
            status.peers = Self.list(using: &dice) { dice in
                NodeStatus.Peer(
                    endpoint: Self.text(using: &dice),
                    nodeID: Self.bytes(using: &dice),
                    since: Int64(bitPattern: dice.next())
                )
            }
            Self.expectLibraryAgrees("NodeStatusResponse", status.encoded())
            #expect(try NodeStatus(wire: status.encoded()) == status)

            let users = Self.list(using: &dice) { dice in
                WireUser(
                    name: Self.text(using: &dice),
                    id: Self.bytes(using: &dice),
                    created: Int64(bitPattern: dice.next()),
                    recordName: Self.text(using: &dice),
                    isDisabled: Bool.random(using: &dice)
                )
            }
            let list = ListUsersResponse(users[...]).encoded()
            Self.expectLibraryAgrees("ListUsersResponse", list)
            #expect(try ListUsersResponse(wire: list).elements == users)
            let names = Self.list(using: &dice, Self.text)
            let containers = ListContainersResponse(names[...]).encoded()
            Self.expectLibraryAgrees("ListContainersResponse", containers)
            #expect(try ListContainersResponse(wire: containers).texts == names)
        }
    }
}
