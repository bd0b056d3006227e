// The calls on records: fetch, modify, list, and the list of conflicts.
//
// Called through `MethodTable`. hot: fetch and modify, once per call.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

enum RecordCalls {
    static func fetch(_ context: CallContext) throws {
        try context.parsing {
            try $0.fetchRecords(context.message)
        } then: { request in
            try context.read { try page(of: request, from: 0, $0) }
        }
    }

    /// The records from the `start`-th on, until the message is large enough.
    private static func page(
        of request: FetchRecords,
        from start: Int,
        _ context: ReadContext
    ) throws -> Page {
        let results = try request.run(
            context.number,
            by: context.caller,
            in: context.reader,
            zones: context.view.zones,
            schemas: context.view.schemas,
            from: start,
            byteLimit: context.limits.answerBytes,
            damage: context.node.reportDamage
        )
        let end = start + results.count
        let message = Answers.fetched(
            results,
            for: request.ids[start..<end],
            context.node.shareURLs
        )
        var answer = Page(message: message)
        if context.node.audit != nil, request.database != .private {
            let ids = request.ids[start..<end]
            answer.refused = RefusedItem(among: results, of: ids, in: request.database)
        }
        guard end < request.ids.count else { return answer }
        answer.next = {
            try page(of: request, from: end, try context.newest(for: request.database))
        }
        return answer
    }

    static func modify(_ context: CallContext) throws {
        // Without a look at the message, which may be large.
        if context.caller.role == .anonymous { throw Authorisation.userNeeded }
        try context.parsing {
            try $0.modifyRecords(context.message)
        } then: { request in
            context.concerns(share: request.namedShare, in: request.database)
            let allowance = context.calls.schemaAllowance(in: try context.scope())
            let bounded = request.growingSchema(within: allowance)
            try context.write(bounded) { outcome in
                context.noteRefusal(among: outcome, of: request)
                context.concerns(share: outcome.share, in: request.database)
                return Answers.modified(
                    outcome,
                    request,
                    context.node.shareURLs,
                    limit: context.limits.answerBytes
                )
            }
        }
    }

    // MARK: Lists

    static func list(_ context: CallContext) throws {
        try context.parsing {
            try $0.listRecords(context.message)
        } then: { request in
            try context.readFromDisk { context in
                let opened = try request.open(
                    context.number,
                    by: context.caller,
                    in: context.reader,
                    schemas: context.view.schemas
                )
                return try page(of: request, opened, ListRecords.Page(), context)
            }
        }
    }

    /// Goes on with a page, and then with those behind it.
    private static func page(
        of request: ListRecords,
        _ opened: ListRecords.Opened,
        _ begun: ListRecords.Page,
        _ context: ReadContext,
        asking present: ListRecords.Present? = nil
    ) throws -> Page {
        var read = begun
        let isDone = try request.read(
            &read,
            of: opened,
            byteLimit: context.limits.pageBytes,
            in: context.reader,
            asking: present
        )
        guard isDone else {
            return .unfinished { [read] in try goOn(with: read, of: request, opened, context) }
        }
        let message = Answers.listed(read.records, of: request.zone, context.node.shareURLs)
        guard let next = read.next else { return Page(message: message) }
        return Page(message: message) {
            try goOn(with: ListRecords.Page(from: next), of: request, opened, context)
        }
    }

    /// Asks anew what the caller may read, and goes on with a page.
    private static func goOn(
        with begun: ListRecords.Page,
        of request: ListRecords,
        _ opened: ListRecords.Opened,
        _ context: ReadContext
    ) throws -> Page {
        let newest = try context.newest(for: request.database)
        let present = try request.askAgain(
            opened,
            newest.number,
            in: newest.reader,
            schemas: newest.view.schemas
        )
        return try page(of: request, opened, begun, context, asking: present)
    }

    static func listConflicts(_ context: CallContext) throws {
        try context.readFromDisk { try conflicts(ListConflicts.Page(), $0) }
    }

    private static func conflicts(
        _ begun: ListConflicts.Page,
        _ context: ReadContext
    ) throws -> Page {
        if let refusal = context.mayUse(.private) { throw refusal }
        var read = begun
        let isDone = try ListConflicts().read(
            &read,
            of: context.number,
            by: context.caller,
            byteLimit: context.limits.pageBytes,
            in: context.reader
        )
        guard isDone else { return .unfinished { [read] in try conflicts(read, context) } }
        let message = Answers.conflicts(read.items)
        guard let next = read.next else { return Page(message: message) }
        return Page(message: message) { try conflicts(ListConflicts.Page(before: next), context) }
    }
}
