// Web services whose content and refusals a test sets: what a migration reads from them is decided
// here, answer by answer.

import CumulusModel
import CumulusTransfer
import Foundation
import Synchronization
import Testing

/// A part of a database: its default zone, or a zone with the log of its changes.
struct ScriptedZone {
    /// By name.
    var records: [String: JSON] = [:]
    /// Names in the order of their changes; the last pages are of the newest.
    var log: [String] = []

    mutating func save(_ record: JSON) {
        guard case .string(let name)? = record["recordName"] else { return }
        records[name] = record
        log.append(name)
    }

    mutating func delete(_ name: String) {
        records[name] = nil
        log.append(name)
    }
}

final class ScriptedService: SourceTransport {
    static let ada = "_0123456789abcdef0123456789abcdef"
    static let bob = "_fedcba9876543210fedcba9876543210"

    struct Content {
        var caller = ScriptedService.ada
        var pageSize = 2
        var zonePageSize = 100
        /// By database and name, such as "private/Trips" and "public/_defaultZone".
        var zones: [String: ScriptedZone] = [:]
        /// Lists by database.
        var subscriptions: [String: [JSON]] = [:]
        var files: [String: [UInt8]] = [:]
        /// Refusals of whole requests by the end of their path.
        var refusals: [String: JSON] = [:]
        /// Refusals by record name, or of a zone's changes by the zone's name: given so many times.
        var entries: [String: (refusal: JSON, times: Int)] = [:]
        var requests: [String] = []
        /// Called after a request was answered, with its path.
        var then: (@Sendable (inout Content, String) -> Void)?
        /// Answers markers and tokens with BAD_REQUEST.
        var refusesTokens = false

        mutating func save(_ place: String, _ record: JSON) {
            zones[place, default: ScriptedZone()].save(record)
        }
    }

    private let content: Mutex<Content>

    init(_ content: Content = Content()) { self.content = Mutex(content) }

    func change(_ body: (inout Content) throws -> Void) rethrows {
        try content.withLock { try body(&$0) }
    }

    func requests(_ end: String) -> Int {
        content.withLock { $0.requests.count { $0.hasSuffix(end) } }
    }

    // MARK: Records

    static func note(
        _ name: String,
        _ title: String,
        modified: Int64 = 1_000,
        by user: String = ada,
        more: [JSON.Member] = []
    ) -> JSON {
        .object(
            [
                JSON.Member("recordName", .string(name)), JSON.Member("recordType", "Note"),
                JSON.Member("fields", ["title": ["value": .string(title), "type": "STRING"]]),
                JSON.Member(
                    "created",
                    ["timestamp": .integer(1_000), "userRecordName": .string(user)]
                ),
                JSON.Member(
                    "modified",
                    ["timestamp": .integer(modified), "userRecordName": .string(user)]
                ),
            ] + more
        )
    }

    static func refusal(_ code: String, after seconds: Double? = nil) -> JSON {
        var members = [JSON.Member("serverErrorCode", .string(code)), JSON.Member("reason", "no")]
        if let seconds { members.append(JSON.Member("retryAfter", .decimal(seconds))) }
        return .object(members)
    }

    // MARK: Answers

    func close() async {}

    func send(_ ask: SourceAsk) async throws -> SourceReply {
        let url = try #require(URLComponents(string: ask.url))
        let path = url.path.split(separator: "/").dropFirst(4).joined(separator: "/")
        let body = ask.body.isEmpty ? JSON.null : try JSONReader.read(ask.body.utf8)
        return try content.withLock { content in
            content.requests.append(path)
            defer { content.then?(&content, path) }
            if let (_, refusal) = content.refusals.first(where: { path.hasSuffix($0.key) }) {
                return SourceReply(status: 400, body: Bytes(refusal.text.utf8))
            }
            guard let answer = try content.answer(path, body) else {
                let refusal = ScriptedService.refusal("BAD_REQUEST")
                return SourceReply(status: 400, body: Bytes(refusal.text.utf8))
            }
            return SourceReply(status: 200, body: Bytes(answer.text.utf8))
        }
    }

    func stream(_ url: String, to take: (Bytes) throws -> Void) async throws -> SourceReply {
        guard let bytes = content.withLock({ $0.files[url] }) else {
            return SourceReply(status: 410)
        }
        try take(bytes)
        return SourceReply(status: 200)
    }
}

extension ScriptedService.Content {
    /// nil: the request is refused for its token.
    fileprivate mutating func answer(_ path: String, _ body: JSON) throws -> JSON? {
        let database = String(path.prefix { $0 != "/" })
        switch path.dropFirst(database.count + 1) {
        case "users/caller": return ["userRecordName": .string(caller)]
        case "subscriptions/list": return ["subscriptions": .array(subscriptions[database] ?? [])]
        case "records/query": return query(database, body)
        case "records/lookup":
            guard case .array(let names)? = body["records"] else { return nil }
            let zone = zones[place(database, body["zoneID"])] ?? ScriptedZone()
            let found = names.compactMap(\.name).map { name in
                entry(name) ?? zone.records[name] ?? Self.missing(name)
            }
            return ["records": .array(found)]
        case "changes/database": return databaseChanges(database, body)
        case "changes/zone": return zoneChanges(database, body)
        default: return nil
        }
    }

    /// A token is the number of zones that were told, or "all": then all are told again.
    private func databaseChanges(_ database: String, _ body: JSON) -> JSON? {
        var start = 0
        if case .string(let token)? = body["syncToken"] {
            if refusesTokens { return nil }
            start = Int(token) ?? 0
        }
        let names = zones.keys.filter {
            $0.hasPrefix(database + "/") && !$0.hasSuffix("_defaultZone")
        }
        let page = names.sorted().dropFirst(start).prefix(zonePageSize)
        let list = page.map { name -> JSON in
            ["zoneID": ["zoneName": .string(String(name.dropFirst(database.count + 1)))]]
        }
        let end = start + page.count
        let isMore = end < names.count
        return [
            "zones": .array(list), "syncToken": .string(isMore ? "\(end)" : "all"),
            "moreComing": .bool(isMore),
        ]
    }

    private func place(_ database: String, _ zone: JSON?) -> String {
        guard case .string(let name)? = zone?["zoneName"] else { return "\(database)/_defaultZone" }
        return "\(database)/\(name)"
    }

    private static func missing(_ name: String) -> JSON {
        [
            "recordName": .string(name), "serverErrorCode": "NOT_FOUND", "reason": "none",
        ]
    }

    /// The refusal that stands in place of a record.
    private mutating func entry(_ name: String) -> JSON? {
        guard let known = entries[name], known.times > 0,
            case .object(let members) = known.refusal
        else { return nil }
        entries[name]?.times -= 1
        return .object([JSON.Member("recordName", .string(name))] + members)
    }

    private mutating func query(_ database: String, _ body: JSON) -> JSON? {
        if refusesTokens, body["continuationMarker"] != nil { return nil }
        let zone = zones[place(database, body["zoneID"])] ?? ScriptedZone()
        var since = Int64.min
        if case .array(let filters)? = body["query"]?["filterBy"],
            case .integer(let time)? = filters[0]["fieldValue"]?["value"]
        {
            since = time
        }
        let names = zone.records.keys.sorted().filter { name in
            guard let record = zone.records[name],
                record["recordType"] == body["query"]?["recordType"],
                case .integer(let time)? = record["modified"]?["timestamp"]
            else { return false }
            return time >= since
        }
        var last = ""
        if case .string(let marker)? = body["continuationMarker"] { last = marker }
        let rest = names.filter { $0 > last }
        let page = rest.prefix(pageSize)
        var members = [
            JSON.Member(
                "records",
                .array(page.map { entry($0) ?? zone.records[$0] ?? .null })
            )
        ]
        if rest.count > page.count, let name = page.last {
            members.append(JSON.Member("continuationMarker", .string(name)))
        }
        return .object(members)
    }

    private mutating func zoneChanges(_ database: String, _ body: JSON) -> JSON? {
        guard case .array(let wishes)? = body["zones"] else { return nil }
        let id = wishes[0]["zoneID"] ?? .null
        let head = [JSON.Member("zoneID", id)]
        func refused(_ members: [JSON.Member]) -> JSON {
            ["zones": .array([.object(head + members)])]
        }
        guard let zone = zones[place(database, id)] else {
            return refused([JSON.Member("serverErrorCode", "ZONE_NOT_FOUND")])
        }
        if case .string(let name)? = id["zoneName"], let refusal = entry(name),
            case .object(let members) = refusal
        {
            return refused(members.filter { $0.key != "recordName" })
        }
        var start = 0
        if case .string(let token)? = wishes[0]["syncToken"] {
            if refusesTokens { return refused([JSON.Member("serverErrorCode", "BAD_REQUEST")]) }
            start = Int(token) ?? 0
        }
        let end = min(start + pageSize, zone.log.count)
        var list: [JSON] = []
        for index in start..<end {
            let name = zone.log[index]
            // A record is told once, where it changed last.
            if zone.log[(index + 1)...].contains(name) { continue }
            let gone: JSON = ["recordName": .string(name), "deleted": .bool(true)]
            list.append(entry(name) ?? zone.records[name] ?? gone)
        }
        return refused([
            JSON.Member("records", .array(list)), JSON.Member("syncToken", .string("\(end)")),
            JSON.Member("moreComing", .bool(end < zone.log.count)),
        ])
    }
}

extension JSON {
    fileprivate var name: String? {
        if case .string(let name)? = self["recordName"] { name } else { nil }
    }
}
