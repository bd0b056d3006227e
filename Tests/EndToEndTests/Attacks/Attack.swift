// The attacks beside which a user is served: one case for each, with what its threads send.
//
// `BesideAttacksTests` prepares each, begins it and ends it. An attack keeps within what the node
// allows one caller, or is refused: its connections, calls in progress and records are few enough
// to be counted here. Each attack has a user of its own, or none, so that no attack uses up the
// budget of another. All send to real sockets of a node that is a process of its own.

import CumulusModel
import CumulusTesting
import CumulusWire
import Foundation

enum Attack: String, CaseIterable, Sendable {
    case flood = "a flood of saves"
    case heavyQueries = "64 heavy queries at once"
    case strangersQueries = "the same without a token"
    case subscriptions = "heavy subscriptions"
    case longShare = "shares with 40,000 people"
    case oldShare = "a share that remembers 1,500 people"
    case types = "types without end"
    case halfRequests = "half requests over HTTP"
    case wrongPasswords = "wrong passwords"
    case refusedCalls = "refused calls of 8 addresses"

    /// The target of an attack, and its caller.
    struct Target: Sendable {
        var endpoint: String
        var webEndpoint: String
        /// The attack's own user.
        var token: String
        /// A user who saves what the subscriptions are to be told of.
        var otherToken: String

        fileprivate func connect() throws -> RawClient { try client(token) }

        fileprivate func connectAsOther() throws -> RawClient { try client(otherToken) }

        /// Connects without a token.
        fileprivate func connect(from source: String?) throws -> RawClient {
            try client("", from: source)
        }

        private func client(_ token: String, from source: String? = nil) throws -> RawClient {
            let client = try RawClient(greeting: endpoint, token: token, from: source)
            client.patience = AttackRun.patience
            return client
        }
    }

    /// Saves the records and subscriptions that the attack needs.
    func prepare(_ target: Target) throws {
        switch self {
        case .heavyQueries: try Attack.fill(.private, by: target)
        case .strangersQueries: try Attack.fill(.public, by: target)
        case .subscriptions: try Attack.subscribe(target)
        default: break
        }
    }

    func begin(_ target: Target) -> AttackRun {
        AttackRun(works(target))
    }

    /// The work of each thread.
    private func works(_ target: Target) -> [AttackRun.Work] {
        switch self {
        case .flood: (0..<4).map { Attack.flood(target, $0) }
        case .heavyQueries: [Attack.heavyQueries(target)]
        case .strangersQueries: [Attack.strangersQueries(target)]
        case .subscriptions: [Attack.savesThatAreTold(target)]
        case .longShare: [Attack.longShare(target)]
        case .oldShare: [Attack.oldShare(target)]
        case .types: [Attack.types(target)]
        case .halfRequests: [Attack.halfRequests(target)]
        case .wrongPasswords: (0..<4).map { Attack.wrongPasswords(target, $0) }
        case .refusedCalls: (0..<8).map { Attack.refusedCalls(target, $0) }
        }
    }

    /// As many as one user may have in progress.
    private static let callsAtOnce = CallerLimits.standard.callsAtOnce

    /// An address of this machine that no other attacker has; nil where it has only one.
    private static func source(_ number: Int) -> String? {
        #if os(Linux)
            "127.9.0.\(number + 1)"
        #else
            nil
        #endif
    }

    // MARK: Saves

    /// One of four connections, which together have as many saves of 10 KB in progress as may be.
    private static func flood(_ target: Target, _ number: Int) -> AttackRun.Work {
        let saves = (0..<10).map { index in
            let id = Record.ID(recordName: "flood\(number)-\(index)")
            var record = Record(recordType: "Flood", recordID: id)
            record["text"] = .string(String(repeating: "x", count: 1_000))
            return record.encodedSave(allKeys: true)
        }
        let message = RawRequest.save(encoded: saves, policy: 2)
        return { run in
            run.keepBusy(callsAtOnce / 4, on: target.connect, .recordsModify, message)
        }
    }

    /// Saves with three new types of 100 fields each, far beyond what one user may add.
    private static func types(_ target: Target) -> AttackRun.Work {
        { run in
            var number = 0
            let prefix = newPrefix()
            run.repeatTurns(on: target.connect) { client in
                number += 1
                let records = (0..<3).map { record(ofNewType: "\(prefix)\(number)n\($0)") }
                _ = try client.save(records).map { try $0.get() }
            }
        }
    }

    /// Begins names that no earlier run of an attack has made.
    private static func newPrefix() -> String {
        "New" + UUID().uuidString.replacing("-", with: "")
    }

    private static func record(ofNewType type: String) -> Record {
        var record = Record(recordType: type, recordID: Record.ID(recordName: type))
        for field in 0..<100 { record["a_field_of_this_type_\(field)"] = .int64(Int64(field)) }
        return record
    }

    // MARK: Comparisons

    private static let type = "Open"
    private static let records = 6_000

    private static func record(_ name: String, _ number: Int) -> Record {
        var record = Record(recordType: type, recordID: Record.ID(recordName: name))
        record["n"] = .int64(Int64(number))
        record["text"] = "some words to read"
        return record
    }

    /// Saves the records that the heavy queries look through.
    private static func fill(_ database: DatabaseScope, by target: Target) throws {
        let client = try target.connect()
        let most = Limits.standard.itemsPerRequest
        for first in stride(from: 0, to: records, by: most) {
            let batch = (first..<min(first + most, records)).map { record("open\($0)", $0) }
            for result in try client.save(batch, in: database) { _ = try result.get() }
        }
    }

    /// Comparisons that all hold for each of the records, so that every one is evaluated.
    private static func unequal(to numbers: Range<Int>) -> [Query.Node] {
        let comparisons = numbers.map { number in
            Query.Node.comparison(
                Query.Comparison("n", .notEquals, [.value(.int64(Int64(-1 - number)))])
            )
        }
        return comparisons + Array(repeating: .and, count: comparisons.count - 1)
    }

    /// 500 comparisons with each of 6,000 records, which are counted.
    private static func heavyQuery(_ database: DatabaseScope) -> Bytes {
        var query = Query(recordType: type)
        query.predicate.nodes = unequal(to: 0..<500)
        query.allowsExtensions = true
        var request = QueryRecordsRequest(query, database: database, zone: nil)
        request.counts = true
        return request.encoded()
    }

    private static func heavyQueries(_ target: Target) -> AttackRun.Work {
        let message = heavyQuery(.private)
        return { run in run.keepBusy(callsAtOnce, on: target.connect, .recordsQuery, message) }
    }

    private static func strangersQueries(_ target: Target) -> AttackRun.Work {
        let message = heavyQuery(.public)
        return { run in
            let connect = { try target.connect(from: source(0)) }
            run.keepBusy(callsAtOnce, on: connect, .recordsQuery, message)
        }
    }

    // MARK: Subscriptions

    /// Makes as many subscriptions as one user may have to a type, of 100 comparisons each.
    private static func subscribe(_ target: Target) throws {
        _ = try target.connectAsOther().save([record("told", 0)], in: .public)[0].get()
        let client = try target.connect()
        let most = Limits.standard.subscriptionComparisonsPerDatabase
        for first in stride(from: 0, to: most, by: 100) {
            let predicate = Query.Predicate(nodes: unequal(to: first..<first + 100))
            let kind = Subscription.Kind.query(recordType: type, predicate: predicate)
            try save(Subscription(id: "heavy\(first)", kind: kind), by: client)
        }
    }

    private static func save(_ subscription: Subscription, by client: RawClient) throws {
        let request = ModifySubscriptionsRequest(
            database: .public,
            saves: [WireSubscription(subscription)],
            deletes: []
        )
        let answer = try client.perform(
            .subscriptionsModify,
            request.encoded(),
            requestID: RawRequest.newID()
        )
        let refusal = try ModifySubscriptionsResponse(wire: answer[0]).saves[0]
        if let refusal { throw refusal }
    }

    /// Another user's saves of 100 records, each held against all the subscriptions.
    private static func savesThatAreTold(_ target: Target) -> AttackRun.Work {
        let saves = (0..<100).map { record("told\($0)", $0).encodedSave(allKeys: true) }
        let message = RawRequest.save(encoded: saves, in: .public, policy: 2)
        return { run in
            run.repeatTurns(on: target.connectAsOther) { client in
                let answer = try client.modify(message, id: RawRequest.newID())
                for result in answer.saves { _ = try result.get() }
            }
        }
    }

    // MARK: Shares

    /// A save of a zone's share with so many people.
    private static func share(
        _ zone: RecordZone.ID,
        _ people: Range<Int>,
        over tag: String? = nil
    ) -> Bytes {
        let id = Record.ID(recordName: Names.zoneShare, zoneID: zone)
        var share = Record(recordType: Names.shareType, recordID: id)
        share.recordChangeTag = tag
        let participants = people.map { number in
            let digits = String(number, radix: 16)
            let name = "_" + String(repeating: "0", count: 32 - digits.count) + digits
            return ShareDetails.Participant(user: name)
        }
        share.shareDetails = ShareDetails(root: "", participants: participants)
        return RawRequest.save([share])
    }

    /// Connects and makes a zone, which may be there.
    private static func connect(_ target: Target, making zone: String) throws -> RawClient {
        let client = try target.connect()
        let id = WireZoneID(name: Bytes(zone.utf8), owner: [])
        let request = ModifyZonesRequest(database: .private, saves: [id], deletes: [])
        _ = try client.perform(
            .zonesModify,
            request.encoded(),
            requestID: RawRequest.newID()
        )
        return client
    }

    /// The longest list that fits into a request; the node refuses it each time.
    private static func longShare(_ target: Target) -> AttackRun.Work {
        let message = share(RecordZone.ID(zoneName: "long"), 0..<40_000)
        return { run in
            let begin = { try connect(target, making: "long") }
            run.repeatTurns(on: begin) { client in
                _ = try client.modify(message, id: RawRequest.newID()).saves[0].get()
            }
        }
    }

    /// Invites 100 people in place of 100 others with each save, from 1,500 of them.
    ///
    /// Each connection begins with a zone of its own, since it doesn't know what became of the last
    /// save of the one before.
    private static func oldShare(_ target: Target) -> AttackRun.Work {
        { run in
            let (people, most) = (Limits.standard.peoplePerShare, 100)
            var (zone, first, tag) = ("", 0, String?.none)
            func begin() throws -> RawClient {
                (zone, first, tag) = (newPrefix(), 0, nil)
                return try connect(target, making: zone)
            }
            run.repeatTurns(on: begin) { client in
                let id = RecordZone.ID(zoneName: zone)
                let message = share(id, first..<first + most, over: tag)
                let answer = try client.modify(message, id: RawRequest.newID())
                tag = try answer.saves[0].get().recordChangeTag
                first = (first + most) % people
            }
        }
    }

    // MARK: Strangers

    /// Holds 1,200 connections that never end their request's head: more than all may have.
    ///
    /// 300 come at once, and then 100 a second in place of the oldest.
    private static func halfRequests(_ target: Target) -> AttackRun.Work {
        { run in
            var held: [RawClient] = []
            run.repeatTurns {
                let client = try RawClient(target.webEndpoint, from: source(1))
                try client.send(Bytes("GET /livez HTTP/1.1\r\nHost: node\r\nX: ".utf8))
                held.append(client)
                if held.count > 1_200 { held.removeFirst(300) }
                if held.count > 300 { Thread.sleep(forTimeInterval: 0.01) }
            }
        }
    }

    /// Signs in with wrong passwords, in turn as the user beside the attack and as nobody.
    private static func wrongPasswords(_ target: Target, _ number: Int) -> AttackRun.Work {
        { run in
            var attempts = 0
            let connect = { try target.connect(from: nil) }
            run.repeatTurns(on: connect) { client in
                attempts += 1
                let name = attempts % 2 == 0 ? "ada" : "nobody\(number)-\(attempts)"
                let request = SignInRequest(
                    name: Bytes(name.utf8),
                    password: Bytes("a wrong password".utf8)
                )
                _ = try client.perform(.accountsSignIn, request.encoded())
            }
        }
    }

    /// Saves without a token, each of them refused and logged by the node.
    private static func refusedCalls(_ target: Target, _ number: Int) -> AttackRun.Work {
        let record = Record(recordType: "Note", recordID: Record.ID(recordName: "nobody's"))
        let message = RawRequest.save([record])
        return { run in
            let connect = { try target.connect(from: source(2 + number)) }
            run.repeatTurns(on: connect) { client in
                _ = try client.perform(.recordsModify, message, requestID: RawRequest.newID())
            }
        }
    }
}
