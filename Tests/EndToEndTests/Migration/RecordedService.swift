// CloudKit's web services as Apple's answer, from recorded answers: a user with one zone and one
// note in its default zone. Each token is good for one request.

import CumulusModel
import CumulusTransfer
import Foundation
import Synchronization
import Testing

final class RecordedService: SourceTransport {
    static let ada = "_0123456789abcdef0123456789abcdef"

    private struct State {
        var token = 0
        var requests: [String] = []
        var throttles = 2
        var spoiled: UInt8 = 0
    }

    private let state = Mutex(State())

    /// Files have other bytes from now on, as many as before.
    func spoilFiles() { state.withLock { $0.spoiled = 7 } }

    /// Paths in the order in which they were asked for.
    var requests: [String] { state.withLock { $0.requests } }

    private static func json(_ name: String) throws -> JSON {
        let tests = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let file = tests.appending(path: "CumulusTransferTests/Fixtures/service/\(name).json")
        return try JSONReader.read(try Data(contentsOf: file))
    }

    func close() async {}

    func send(_ ask: SourceAsk) async throws -> SourceReply {
        let url = try #require(URLComponents(string: ask.url))
        let path = url.path.split(separator: "/").suffix(3).joined(separator: "/")
        let (isGood, isThrottled, token) = state.withLock { state in
            let query = url.queryItems ?? []
            let isGood =
                query.contains { $0.name == "ckAPIToken" && $0.value == "api" }
                && query.contains { $0.name == "ckWebAuthToken" && $0.value == "+\(state.token)/" }
            guard isGood else { return (false, false, state.token) }
            if state.throttles > 0 {
                state.throttles -= 1
                return (true, true, state.token)
            }
            state.token += 1
            state.requests.append(path)
            return (true, false, state.token)
        }
        guard isGood else {
            return SourceReply(
                status: 421,
                body: Bytes(
                    #"{"serverErrorCode": "AUTHENTICATION_REQUIRED", "reason": "no", "uuid": "u"}"#
                        .utf8
                )
            )
        }
        if isThrottled {
            return SourceReply(
                status: 503,
                retryAfter: "0.02",
                body: Bytes("<html>".utf8)
            )
        }
        let body = ask.body.isEmpty ? JSON.null : try JSONReader.read(ask.body.utf8)
        return SourceReply(
            status: 200,
            renewedToken: "+\(token)/",
            body: Bytes(try RecordedService.answer(path, body).text.utf8)
        )
    }

    private static func answer(_ path: String, _ body: JSON) throws -> JSON {
        switch path {
        case "public/users/caller":
            return ["userRecordName": .string(ada), "nameComponents": .null]
        case "private/records/query":
            let isFirst = body["continuationMarker"] == nil && body["query"]?["filterBy"] == nil
            let isNote = body["query"]?["recordType"] == "Note"
            return isFirst && isNote ? try json("query") : ["records": .array([])]
        case "private/changes/database": return try json("changes-database")
        case "private/changes/zone": return try changes(body)
        case "private/subscriptions/list": return try json("subscriptions")
        case "shared/changes/database":
            return ["zones": .array([]), "syncToken": "AQ==", "moreComing": .bool(false)]
        default:
            if path.hasSuffix("records/lookup") { return try lookup(body) }
            return ["subscriptions": .array([])]
        }
    }

    private static func changes(_ body: JSON) throws -> JSON {
        guard case .array(let zones)? = body["zones"], zones[0]["syncToken"] != nil else {
            return try json("changes-zone")
        }
        let zone: JSON = [
            "zoneID": ["zoneName": "Trips"], "records": .array([]), "syncToken": "AQAC",
            "moreComing": .bool(false),
        ]
        return ["zones": .array([zone])]
    }

    /// The records of both zones; everything else is not there.
    private static func lookup(_ body: JSON) throws -> JSON {
        guard case .array(let names)? = body["records"],
            case .array(let zones)? = try json("changes-zone")["zones"],
            case .array(let own)? = zones[0]["records"],
            case .array(let others)? = try json("query")["records"]
        else { return .null }
        let records = own + others
        let found = names.map { name -> JSON in
            records.first { $0["recordName"] == name["recordName"] }
                ?? [
                    "recordName": name["recordName"] ?? .null, "serverErrorCode": "NOT_FOUND",
                    "reason": "Record not found", "uuid": "u",
                ]
        }
        return ["records": .array(found)]
    }

    // MARK: Files

    func stream(_ url: String, to take: (Bytes) throws -> Void) async throws -> SourceReply {
        let sizes = [
            "https://cvws.icloud-content.com/B/x/asset?o=y&e=1": 11,
            "https://cvws.icloud-content.com/B/1": 1, "https://cvws.icloud-content.com/B/2": 2,
        ]
        guard let size = sizes[url] else { return SourceReply(status: 410) }
        let spoiled = state.withLock { $0.spoiled }
        for number in 0..<size { try take([UInt8(number) ^ spoiled]) }
        return SourceReply(status: 200)
    }
}
