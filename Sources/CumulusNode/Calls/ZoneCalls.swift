// The calls on zones: list, fetch, modify, and an operator's list of what every zone holds.
//
// Called through `MethodTable`.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusWire

enum ZoneCalls {
    static func list(_ context: CallContext) throws {
        try context.parsing {
            try $0.listZones(context.message)
        } then: { request in
            try context.read { context in
                let zones = try request.run(context.number, by: context.caller, in: context.reader)
                return Page(message: Answers.zones(zones))
            }
        }
    }

    static func fetch(_ context: CallContext) throws {
        try context.parsing {
            try $0.fetchZones(context.message)
        } then: { request in
            try context.read { context in
                let zones = try request.run(context.number, by: context.caller, in: context.reader)
                return Page(message: Answers.fetched(zones))
            }
        }
    }

    static func modify(_ context: CallContext) throws {
        try context.parsing {
            try $0.modifyZones(context.message)
        } then: { request in
            context.concerns(share: request.leftShare, in: request.database)
            let ending = try context.sharesEnding(with: request)
            try context.write(request) { outcome in
                context.noteRefusal(among: outcome, of: request)
                context.concerns(share: outcome.share, in: request.database)
                context.note(ending, outcome, of: request)
                return [Answers.modified(outcome, request)]
            }
        }
    }

    // MARK: Status

    /// Zones in one message: it fits into a frame, whatever their names are.
    private static let zonesPerPage = 500

    static func status(_ context: CallContext) throws {
        try context.readFromDisk { context in
            let place = try ZoneDigest.Place(context.number, in: context.reader)
            return try status(from: place, context)
        }
    }

    private static func status(
        from place: ZoneDigest.Place,
        _ context: ReadContext
    ) throws -> Page {
        let read = try ZoneDigest.page(from: place, limit: zonesPerPage, in: context.reader)
        let message = Answers.zoneStatus(read.zones)
        guard let next = read.next else { return Page(message: message) }
        return Page(message: message) { try status(from: next, context) }
    }
}
