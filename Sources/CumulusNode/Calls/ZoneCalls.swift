// The calls on zones: list, fetch, modify, and an operator's list of what every zone holds.
//
// `MethodTable` lists them.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusWire

enum ZoneCalls {
    static let methods: [MethodEntry] = [
        .init(
            .zonesList,
            .message,
            parse: RequestParser.listZones,
            read: list,
            encode: { zones, _ in Answers.zones(zones) }
        ),
        .init(
            .zonesFetch,
            .message,
            parse: RequestParser.fetchZones,
            read: fetch,
            encode: { results, _ in Answers.fetched(results) }
        ),
        .init(
            .zonesModify,
            .message,
            .requestID,
            parse: RequestParser.modifyZones,
            begin: modify
        ),
        .init(
            .operatorZoneStatus,
            .parts,
            [.operator, .credit],
            parse: unread,
            read: status,
            encode: { zones, _ in Answers.zoneStatus(zones) }
        ),
    ]

    private static func list(
        _ request: ListZones,
        _ context: CallContext
    ) -> Reading<[LocatedZone]>? {
        .inMemory { context in
            Part(try request.run(context.number, by: context.caller, in: context.reader))
        }
    }

    private static func fetch(
        _ request: FetchZones,
        _ context: CallContext
    ) -> Reading<[Result<LocatedZone, ServiceError>]>? {
        .inMemory { context in
            Part(try request.run(context.number, by: context.caller, in: context.reader))
        }
    }

    /// What the audit log tells of shares that end is looked up before the zones go.
    private static func modify(_ request: ModifyZones, _ context: CallContext) throws {
        context.concerns(share: request.leftShare, in: request.database)
        let ending = try context.sharesEnding(with: request)
        try context.write(request) { outcome in
            context.noteRefusal(among: outcome, of: request)
            context.concerns(share: outcome.share, in: request.database)
            context.note(ending, outcome, of: request)
            return [Answers.modified(outcome, request)]
        }
    }

    // MARK: Status

    /// Zones in one message: it fits into a frame, whatever their names are.
    private static let zonesPerPage = 500

    private static func status(_: Void, _ context: CallContext) -> Reading<[ZoneDigest]>? {
        .onDisk { context in
            try status(from: try ZoneDigest.Position(context.number, in: context.reader), context)
        }
    }

    private static func status(
        from position: ZoneDigest.Position,
        _ context: ReadContext
    ) throws -> Part<[ZoneDigest]> {
        let read = try ZoneDigest.page(from: position, limit: zonesPerPage, in: context.reader)
        guard let next = read.next else { return Part(read.zones) }
        return Part(read.zones) { try status(from: next, context) }
    }
}
