// The call that queries records: the cursor that comes is opened, and the one that goes is sealed.
//
// `MethodTable` lists it. A page may have to read every record of a zone, so it is read on a reader
// thread, turn by turn, and given up when nobody waits for it any more. A page that took several
// turns is read anew if its caller may find something else by then.

import CumulusModel
import CumulusOperations
import CumulusRequests
import CumulusWire

enum QueryCalls {
    static let methods: [MethodEntry] = [
        .init(
            .recordsQuery,
            .message,
            parse: decoded(QueryRecordsRequest.init(wire:)),
            read: query,
            encode: encoded
        )
    ]

    /// A page, and whether its caller wants to know what it took.
    struct Found {
        let page: QueryRecords.Page
        let explains: Bool
    }

    static func query(
        _ request: QueryRecordsRequest,
        _ context: CallContext
    ) throws -> Reading<Found>? {
        let cursor = try cursor(request.cursor, try context.scope(), context)
        let query = try context.parser.queryRecords(request, from: cursor)
        guard context.reaches(cursor?.seen) else { return nil }
        context.concerns("\(query.database.name)/\(query.query.recordType)")
        let search = Search(query: query, token: context.token, explains: request.explains)
        return .onDisk { try search.begin($0) }
    }

    private static func encoded(_ found: Found, _ node: Node) -> Bytes {
        let cursor = found.page.next.map(node.mint.make) ?? []
        return Answers.found(found.page, cursor: cursor, explains: found.explains, node.shareURLs)
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

    /// A query on its way through the store.
    private struct Search: Sendable {
        let query: QueryRecords
        let token: CallToken
        let explains: Bool

        /// The turns that a page has taken so far.
        struct Turns {
            var count = 0
            var nanoseconds: UInt64 = 0
        }

        /// Begins to read the page, also anew.
        func begin(_ context: ReadContext) throws -> Part<Found> {
            let (token, environment) = (token, context.node.environment)
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
            return try part(of: reading, Turns(), context)
        }

        private func part(
            of reading: QueryReading,
            _ turns: Turns,
            _ context: ReadContext
        ) throws -> Part<Found> {
            var (reading, turns) = (reading, turns)
            let start = context.node.environment.nanoseconds()
            let found = try reading.next()
            turns.nanoseconds += context.node.environment.nanoseconds() - start
            turns.count += 1
            guard var found else {
                return .unfinished { [reading, turns] in try part(of: reading, turns, context) }
            }
            if turns.count > 1 {
                let newest = try context.newest(for: reading.databaseScope)
                guard try reading.isAllowed(in: newest.queryState) else {
                    return try begin(newest)
                }
            }
            found.work.microseconds = turns.nanoseconds / 1_000
            return Part(Found(page: found, explains: explains))
        }
    }
}

extension ReadContext {
    fileprivate var queryState: QueryRecords.State {
        QueryRecords.State(reader, zones: view.zones, schemas: view.schemas)
    }
}
