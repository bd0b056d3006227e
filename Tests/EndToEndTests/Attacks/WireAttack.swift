// An attacker with dice: sends valid frames with small damage, and sorts what the node makes of
// each into verdicts. Some are the contract's golden requests, one of each method, others are made
// to be accepted often.
//
// Behind each damaged frame stands a PING. The verdict is known when its PONG and the ends of all
// calls are there, or the connection is closed: one of them has to come. What leaves the node
// waiting for the rest of a frame is completed with zeros, or given up.

import CumulusModel
import CumulusRequests
import CumulusTesting
import CumulusWire

struct WireAttack {
    private(set) var verdicts: [String: Int] = [:]
    /// Accepted messages that don't say the same after being encoded again.
    private(set) var unstable: [String] = []
    private let endpoint: String
    private let token: String
    private var dice: SeededGenerator
    private var client: RawClient?
    private var stream: UInt32 = 1
    private var pings: UInt8 = 0
    private let goldens: [(method: Method, request: Bytes)]

    init(_ endpoint: String, token: String, seed: UInt64) throws {
        goldens = try WireAttack.readGoldens()
        self.endpoint = endpoint
        self.token = token
        dice = SeededGenerator(seed: seed)
    }

    var report: String {
        verdicts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }

    /// Sends one damaged frame and counts the verdict.
    mutating func sendOne() throws {
        let isGreeting = Int.random(in: 0..<10, using: &dice) == 0
        let verdict = try isGreeting ? sendGreeting() : sendFrame()
        verdicts[verdict, default: 0] += 1
    }

    // MARK: Greetings

    private mutating func sendGreeting() throws -> String {
        let bytes = Damage.mutation(of: RawClient.greeting(token: token), using: &dice)
        var judge = FrameDecoder(frameLimit: Limits.standard.greetingBytes)
        let frames = read(bytes, with: &judge)
        let client = try RawClient(endpoint)
        try client.send(bytes)
        if frames?.isEmpty == true { return "greeting incomplete" }
        do {
            try client.readHello()
            return "greeting accepted"
        } catch let error as ServiceError {
            return "greeting refused \(error.code.rawValue)"
        } catch RawClient.Failure.closed {
            return "closed"
        }
    }

    /// The frames in bytes; nil where they can't be cut into frames.
    private func read(_ bytes: Bytes, with decoder: inout FrameDecoder) -> [Frame]? {
        bytes.withUnsafeBytes { decoder.append($0) }
        var frames: [Frame] = []
        do {
            while let frame = try decoder.next() { frames.append(frame) }
        } catch {
            return nil
        }
        return frames
    }

    // MARK: Frames

    private mutating func sendFrame() throws -> String {
        let client = try self.client ?? RawClient(greeting: endpoint, token: token)
        if self.client == nil { stream = 1 }
        self.client = client
        var bytes = damagedFrame()
        var judge = FrameDecoder(frameLimit: Limits.standard.frameBytes, expectsPreface: false)
        var frames = read(bytes, with: &judge)
        for _ in 0..<300 where frames != nil && judge.isMidFrame {
            bytes.append(0)
            frames = read([0], with: &judge).flatMap { more in frames.map { $0 + more } }
        }
        do {
            try client.send(bytes)
            guard let frames else { return try expectEnd(of: client) }
            if judge.isMidFrame {
                self.client = nil
                return "incomplete"
            }
            return try verdict(on: frames, client)
        } catch RawClient.Failure.closed {
            self.client = nil
            return "closed"
        }
    }

    /// What can't be cut into frames has to end the connection.
    private mutating func expectEnd(of client: RawClient) throws -> String {
        self.client = nil
        _ = try client.refusal()
        return "closed"
    }

    private mutating func verdict(on frames: [Frame], _ client: RawClient) throws -> String {
        var open: Set<UInt32> = []
        for frame in frames where frame.kind == .call {
            if frame.stream % 2 == 1, frame.stream >= stream {
                open.insert(frame.stream)
                stream = frame.stream &+ 2
            }
            if stream < 3 || stream > UInt32(Int32.max) { self.client = nil }
        }
        // Damaged names make new records: a list of them may be long.
        for stream in open {
            try client.send(Frame(.credit, stream: stream, payload: [0x01, 0, 0, 0]))
        }
        pings &+= 1
        let mark = Bytes(repeating: pings, count: 8)
        try client.send(Frame(.ping, payload: mark))
        var verdict = "no answer"
        var isMarked = false
        while !isMarked || !open.isEmpty {
            let answer = try client.nextFrame()
            switch answer.kind {
            case .pong where answer.payload == mark: isMarked = true
            case .message where answer.isEnd:
                if open.remove(answer.stream) != nil {
                    verdict = "answered"
                    checkStability(frames.first { $0.stream == answer.stream })
                }
            // A stream that is followed has no end of its own.
            case .message where Self.isFollowed(frames.first { $0.stream == answer.stream }):
                try client.send(Frame(.cancel, stream: answer.stream))
            case .status:
                let error = try ServiceError(wire: answer.payload)
                if answer.stream == 0 { continue }
                open.remove(answer.stream)
                verdict = "refused \(error.code.rawValue)"
            default: continue
            }
        }
        return verdict
    }

    private static func isFollowed(_ call: Frame?) -> Bool {
        guard let call, let header = try? CallHeader.split(call.payload).header else {
            return false
        }
        let followed: [Method] = [.changesFollowDatabase, .changesFollowZone, .feedsFollow]
        return followed.contains { $0.rawValue == header.method }
    }

    /// An accepted value that is encoded again reads the same.
    private mutating func checkStability(_ call: Frame?) {
        guard let call, let (header, message) = try? CallHeader.split(call.payload) else { return }
        let isStable: Bool? =
            switch Method(rawValue: header.method) {
            case .recordsFetch:
                (try? FetchRecordsRequest(wire: message)).map { request in
                    (try? FetchRecordsRequest(wire: request.encoded())) == request
                }
            case .recordsList:
                (try? ListRecordsRequest(wire: message)).map { request in
                    (try? ListRecordsRequest(wire: request.encoded())) == request
                }
            case .recordsQuery:
                (try? QueryRecordsRequest(wire: message)).map { request in
                    (try? QueryRecordsRequest(wire: request.encoded())) == request
                }
            case .zonesFetch:
                (try? FetchZonesRequest(wire: message)).map { request in
                    (try? FetchZonesRequest(wire: request.encoded())) == request
                }
            case .zonesModify:
                (try? ModifyZonesRequest(wire: message)).map { request in
                    (try? ModifyZonesRequest(wire: request.encoded())) == request
                }
            case .subscriptionsModify:
                (try? ModifySubscriptionsRequest(wire: message)).map { request in
                    (try? ModifySubscriptionsRequest(wire: request.encoded())) == request
                }
            case .changesDatabase, .changesFollowDatabase:
                (try? FetchDatabaseChangesRequest(wire: message)).map { request in
                    (try? FetchDatabaseChangesRequest(wire: request.encoded())) == request
                }
            case .feedsFollow:
                (try? FollowFeedRequest(wire: message)).map { request in
                    (try? FollowFeedRequest(wire: request.encoded())) == request
                }
            case .feedsMarkRead:
                (try? MarkReadRequest(wire: message)).map { request in
                    (try? MarkReadRequest(wire: request.encoded())) == request
                }
            case .changesZone, .changesFollowZone:
                (try? FetchZoneChangesRequest(wire: message)).map { request in
                    (try? FetchZoneChangesRequest(wire: request.encoded())) == request
                }
            case .recordsModify: try? RequestStability.isKept(message)
            default: true
            }
        if isStable != true { unstable.append(call.payload.hex) }
    }

    // MARK: Material

    /// A valid frame with damage: mostly in its payload, so that it is still a frame.
    private mutating func damagedFrame() -> Bytes {
        var frame = validFrame()
        if Int.random(in: 0..<5, using: &dice) > 0 {
            frame.payload = Damage.mutation(of: frame.payload, using: &dice)
            return encoded(frame)
        }
        return Damage.mutation(of: encoded(frame), using: &dice)
    }

    private func encoded(_ frame: Frame) -> Bytes {
        var bytes: Bytes = []
        FrameEncoder.append(frame, to: &bytes)
        return bytes
    }

    /// The golden requests of all methods that the contract lists.
    private static func readGoldens() throws -> [(method: Method, request: Bytes)] {
        let files = try Golden.all()
        let rows = try Golden.text("methods.md").matches(of: /\| (\d+) \| `[A-Z_]+` \| `(\w+)`/)
        return rows.flatMap { row -> [(method: Method, request: Bytes)] in
            guard let number = UInt32(row.output.1), let method = Method(rawValue: number)
            else { return [] }
            return files.filter { $0.message == row.output.2 }.map { (method, $0.bytes) }
        }
    }

    /// The methods whose golden requests are sent.
    var goldenMethods: Set<Method> { Set(goldens.map(\.method)) }

    private mutating func validFrame() -> Frame {
        switch Int.random(in: 0..<20, using: &dice) {
        case 15...:
            let golden = goldens[Int.random(in: goldens.indices, using: &dice)]
            return call(golden.method, golden.request)
        default: return ownFrame()
        }
    }

    private mutating func ownFrame() -> Frame {
        switch Int.random(in: 0..<15, using: &dice) {
        case 0: call(.accountsWhoAmI, [])
        case 1: call(.recordsFetch, RawRequest.fetch(["one", "two"]))
        case 2: call(.recordsFetch, RawRequest.fetch(["one"], in: .public))
        case 3...5: call(.recordsModify, RawRequest.save([record()]))
        case 6: call(.recordsList, RawRequest.list(in: .public))
        case 7: call(.zonesList, ListZonesRequest(database: .private).encoded())
        case 8: call(.zonesFetch, FetchZonesRequest(database: .private, ids: [zone]).encoded())
        case 9:
            call(
                .changesZone,
                FetchZoneChangesRequest(
                    database: .private,
                    zone: zone,
                    token: Bool.random(using: &dice) ? [] : Bytes(1...90),
                    limit: 3
                ).encoded()
            )
        case 10:
            call(
                .changesDatabase,
                FetchDatabaseChangesRequest(database: .private, token: [], limit: 3).encoded()
            )
        case 11:
            call(
                .zonesModify,
                ModifyZonesRequest(database: .private, saves: [zone], deletes: []).encoded()
            )
        case 12: call(.recordsQuery, query)
        case 13: Frame(.credit, stream: 1, payload: [0, 1, 0, 0])
        default: Frame(.ping, payload: [1, 2, 3, 4, 5, 6, 7, 8])
        }
    }

    private func call(_ method: Method, _ message: Bytes) -> Frame {
        var header = CallHeader(method)
        header.timeout = 5_000
        header.requestID = RawRequest.newID()
        let payload = header.encoded(before: message)
        return Frame(.call, isEnd: true, stream: stream, payload: payload)
    }

    /// Every kind of node, over the records that other frames save.
    private var query: Bytes {
        var query = Query(recordType: "Note", predicate: .all)
        query.predicate.nodes = [
            .comparison(Query.Comparison("text", .beginsWith, [.value("some")])),
            .comparison(Query.Comparison("count", .isIn, [.value(6), .value(7)])),
            .or,
            .comparison(Query.Comparison("", .containsAnyToken, [.value("some words")])),
            .and,
            .comparison(Query.Comparison("day", .greaterThan, [.now])),
            .not,
            .and,
        ]
        query.sortDescriptors = [Query.SortDescriptor(key: "ratio", ascending: false)]
        query.allowsExtensions = true
        return QueryRecordsRequest(query, database: .private, zone: nil).encoded()
    }

    private let zone = WireZoneID(name: Bytes("Notes".utf8), owner: [])

    /// One of few records, so that lists stay short, with a value of each kind.
    private mutating func record() -> Record {
        let name = "r\(Int.random(in: 0..<20, using: &dice))"
        var record = Record(recordType: "Note", recordID: .init(recordName: name))
        record["text"] = "some text"
        record["count"] = 7
        record["ratio"] = .double(0.5)
        record["day"] = .timestamp(Timestamp(millisecondsSince1970: 1_000_000))
        record["data"] = .bytes([1, 2, 3])
        record["place"] = .location(Location(latitude: 48, longitude: 16))
        record["tags"] = ["a", "b"]
        record["numbers"] = [1, 2, 3]
        return record
    }
}
