// The call that queries records: the cursor that comes is opened, and the one that goes is sealed.
//
// Called through `MethodTable`. A page may have to read every record of a zone, so it is read on a
// reader thread, turn by turn, and given up when nobody waits for it any more. A page that took
// several turns is read anew if its caller may find something else by then.

import CumulusModel
import CumulusOperations
import CumulusWire

enum QueryCalls {
    static func query(_ context: CallContext) throws {
        try context.parsing { _ in
            try QueryRecordsRequest(wire: context.message)
        } then: {
            try query($0, context)
        }
    }

    private static func query(_ request: QueryRecordsRequest, _ context: CallContext) throws {
        let cursor = try cursor(request.cursor, try context.scope(), context)
        let query = try context.parser.queryRecords(request, from: cursor)
        guard context.reaches(cursor?.seen) else { return }
        context.concerns("\(query.database.name)/\(query.query.recordType)")
        let token = context.token
        try context.readFromDisk { try begin(query, token, explains: request.explains, $0) }
    }

    private static func begin(
        _ query: QueryRecords,
        _ token: CallToken,
        explains: Bool,
        _ context: ReadContext
    ) throws -> Page {
        let environment = context.node.environment
        let circumstances = QueryRecords.Circumstances(
            caller: context.caller,
            now: environment.wallClock(),
            refusal: { token.refusal(now: environment.now()) }
        )
        let reading = try query.begin(
            context.scope,
            context.number,
            circumstances,
            in: context.queryState
        )
        return try page(of: reading, Turns(), context, explains: explains) {
            try begin(query, token, explains: explains, $0)
        }
    }

    /// The turns that a page has taken so far.
    private struct Turns {
        var count = 0
        var nanoseconds: UInt64 = 0
    }

    /// - Parameter again: Begins to read the page anew.
    private static func page(
        of reading: QueryReading,
        _ turns: Turns,
        _ context: ReadContext,
        explains: Bool,
        again: @escaping Read
    ) throws -> Page {
        var (reading, turns) = (reading, turns)
        let start = context.node.environment.nanoseconds()
        let found = try reading.next()
        turns.nanoseconds += context.node.environment.nanoseconds() - start
        turns.count += 1
        guard var found else {
            return .unfinished { [reading, turns] in
                try page(of: reading, turns, context, explains: explains, again: again)
            }
        }
        if turns.count > 1 {
            let newest = try context.newest(for: reading.databaseScope)
            guard try reading.isAllowed(in: newest.queryState) else { return try again(newest) }
        }
        found.work.microseconds = turns.nanoseconds / 1_000
        let cursor = found.next.map(context.node.mint.make) ?? []
        let urls = context.node.shareURLs
        return Page(message: Answers.found(found, cursor: cursor, explains: explains, urls))
    }

    /// Opens a cursor; nil means the request has none.
    private static func cursor(
        _ bytes: Bytes,
        _ scope: ScopeID,
        _ context: CallContext
    ) throws(ServiceError) -> QueryCursor? {
        guard !bytes.isEmpty else { return nil }
        guard let cursor = context.node.mint.cursor(bytes) else {
            throw .cursorUnusable("no node of this cluster made it, or it is damaged")
        }
        // Vectors of two scopes can't be compared.
        guard cursor.scope == scope else {
            throw .cursorUnusable("it is of another container or environment")
        }
        if context.isLost(cursor.seen, since: cursor.truncation) {
            throw .cursorUnusable("what it continues was lost with the restore of a backup")
        }
        return cursor
    }
}

extension ReadContext {
    fileprivate var queryState: QueryRecords.State {
        QueryRecords.State(reader, zones: view.zones, schemas: view.schemas)
    }
}
