// Records in the console: queries written as text, what waits in a user's feed, and the endpoints
// of web services for everything else.

import CumulusModel
import CumulusNode
import CumulusWire

extension ConsoleCall {
    /// Notifications that one answer lists.
    private static let mostNews = 200

    // MARK: Web services

    /// An endpoint of web services, for the console's caller.
    func webServices() async throws -> ConsoleReply {
        let route = try WebRoute(method: request.method, target: request.target)
        let calls = try await caller(in: route.scope)
        defer { calls.close() }
        let links = links(route.scope, route.database)
        let context = WebContext(route, values, calls, links, uuid: uuid)
        guard case .object(let members) = try JSONReader.read(await context.answer()) else {
            throw WebContext.resultMissing
        }
        return .json(members)
    }

    /// The links and receipts of the console's caller.
    func links(_ scope: ScopeID, _ database: DatabaseScope) -> WebLinks {
        let proof: WebAccess.Proof = session.actor.map { .session($0.digest) } ?? .nothing
        return WebLinks(
            door: door,
            access: WebAccess(scope, database, proof, api: []),
            base: request.base
        )
    }

    // MARK: Queries

    /// Predicate and order are texts, as `cumulus query` takes them.
    func query() async throws -> ConsoleReply {
        let scope = try scope()
        let database = try database()
        let question = try question()
        let zone = try WebZone.id(in: values, for: "")
        var message = QueryRecordsRequest(
            question,
            database: database,
            zone: zone.map { WireZoneID($0) }
        )
        message.limit = UInt32(min(try values.count("limit") ?? 50, WebLimits.items))
        message.explains = true
        if let cursor = try values.string("cursor") {
            guard let bytes = Base64.decode(cursor) else {
                throw WebError.badRequest("'cursor' must be one that the console gave")
            }
            message.cursor = bytes
        }
        let calls = try await caller(in: scope)
        defer { calls.close() }
        let columns = try await calls.columns(of: [question.recordType])
        let answer = try await calls.query(message)
        let writer = WebRecordWriter(WebFieldWriter(numbersAsStrings: true, user: calls.user))
        let records = answer.records.map {
            writer.json($0, columns: columns[question.recordType] ?? [:])
        }
        var members: [JSON.Member] = [.init("records", .array(records))]
        if !answer.cursor.isEmpty {
            members.append(.init("cursor", .string(Base64.encode(answer.cursor))))
        }
        if let work = answer.work { members.append(.init("work", ConsoleCall.json(work))) }
        return .json(members)
    }

    private func question() throws -> Query {
        var query = Query(
            recordType: try values.needed("type"),
            predicate: try Query.Predicate(format: try values.string("where") ?? "TRUEPREDICATE"),
            sortDescriptors: []
        )
        for word in (try values.string("sort") ?? "").split(separator: ",") {
            let key = word.split { $0 == " " }.joined()
            query.sortDescriptors.append(
                key.hasPrefix("-")
                    ? Query.SortDescriptor(key: String(key.dropFirst()), ascending: false)
                    : Query.SortDescriptor(key: key)
            )
        }
        query.allowsExtensions = try values.flag("extensions") ?? false
        return query
    }

    private static func json(_ work: QueryRecordsResponse.Work) -> JSON {
        [
            "plan": .string(String(decoding: work.plan, as: UTF8.self)),
            "rowsRead": .count(work.rowsRead), "rowsKept": .count(work.rowsKept),
            "microseconds": .count(work.microseconds),
        ]
    }

    // MARK: Feeds

    /// The notifications that the devices of the acting user have not got yet.
    func feed() async throws -> ConsoleReply {
        let calls = try await caller(in: try scope())
        defer { calls.close() }
        let request = FollowFeedRequest(token: [], untilCheckpoint: true, isHistory: true)
        let messages = try await calls.read(.feedsFollow, request.encoded())
        let pages = try messages.map { try WireFeedPage(wire: $0) }
        let news = pages.flatMap(\.notifications)
        let shown = news.suffix(ConsoleCall.mostNews).reversed().map { ConsoleCall.json($0) }
        return .json([
            .init("notifications", .array(shown)), .init("count", .count(UInt64(news.count))),
            .init("unread", .count(UInt64(news.count { !$0.isRead }))),
            .init("isReset", .bool(pages.contains { $0.reset != nil })),
        ])
    }

    private static func json(_ notification: FeedNotification) -> JSON {
        var what = JSON.null
        switch notification.news {
        case .record(let news):
            let reasons = ["created", "updated", "deleted"]
            let reason = reasons[Int(news.reason.rawValue) - 1]
            what = .string("\(news.recordType) \(news.recordID.recordName) \(reason)")
        case .zoneDeleted(let zone): what = .string("zone \(zone.zoneName) deleted")
        case .zones(let zones, let more):
            let names = zones.map(\.zoneName).joined(separator: ", ")
            what = .string("zones changed: \(names)\(more ? " and others" : "")")
        }
        return [
            "id": .string("\(notification.id)"),
            "subscriptionID": .string(notification.subscriptionID),
            "database": .string(notification.databaseScope.name), "what": what,
            "changedAt": .integer(notification.changedAt.millisecondsSince1970),
            "isRead": .bool(notification.isRead),
        ]
    }
}
