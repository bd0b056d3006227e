// The call that queries records: the cursor that comes is opened, and the one that goes is sealed.
//
// Called by `ClientSession+Calls`. A page may have to read every record of a zone, so it is read on
// a reader thread, and given up when nobody waits for it any more.

import CumulusModel
import CumulusOperations
import CumulusWire

extension ClientSession {
    func query(_ call: Call) throws {
        let request = try QueryRecordsRequest(wire: call.message)
        let scope = try callScope(call.header)
        let cursor = try cursor(request.cursor, scope)
        let query = try RequestParser(caller: identity.caller, limits: limits)
            .queryRecords(request, from: cursor)
        guard reaches(cursor?.seen, call), let token = calls[call.stream]?.token else { return }
        readFromDisk(call.stream, scope) { session, number, caller, view in
            let environment = session.node.environment
            let circumstances = QueryRecords.Circumstances(
                caller: caller,
                now: environment.wallClock(),
                refusal: { token.refusal(now: environment.now()) }
            )
            let start = environment.nanoseconds()
            var page = try query.run(
                scope,
                number,
                circumstances,
                in: view.reader,
                zones: view.zones,
                schemas: view.schemas
            )
            page.work.microseconds = (environment.nanoseconds() - start) / 1_000
            let cursor = page.next.map(session.node.mint.make) ?? []
            return Page(
                message: Answers.found(page, cursor: cursor, explains: request.explains)
            )
        }
    }

    /// What a cursor says; nil for none.
    private func cursor(_ bytes: Bytes, _ scope: ScopeID) throws(ServiceError) -> QueryCursor? {
        guard !bytes.isEmpty else { return nil }
        guard let cursor = node.mint.cursor(bytes) else {
            throw .cursorUnusable("no node of this cluster made it, or it is damaged")
        }
        // Vectors of two scopes can't be compared.
        guard cursor.scope == scope else {
            throw .cursorUnusable("it is of another container or environment")
        }
        if isLost(cursor.seen, since: cursor.truncation) {
            throw .cursorUnusable("what it continues was lost with the restore of a backup")
        }
        return cursor
    }
}
