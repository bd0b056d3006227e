// The call that queries records: the cursor that comes is opened, and the one that goes is sealed.
//
// Called through `MethodTable`. A page may have to read every record of a zone, so it is read on a
// reader thread, and given up when nobody waits for it any more.

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
        try context.readFromDisk { try page(of: query, token, explains: request.explains, $0) }
    }

    private static func page(
        of query: QueryRecords,
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
        let start = environment.nanoseconds()
        var page = try query.run(
            context.scope,
            context.number,
            circumstances,
            in: context.reader,
            zones: context.view.zones,
            schemas: context.view.schemas
        )
        page.work.microseconds = (environment.nanoseconds() - start) / 1_000
        let cursor = page.next.map(context.node.mint.make) ?? []
        let urls = context.node.shareURLs
        return Page(message: Answers.found(page, cursor: cursor, explains: explains, urls))
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
