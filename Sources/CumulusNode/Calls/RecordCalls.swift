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
            try context.write(.modifyRecords(request)) { answer in
                guard case .modified(let outcome) = answer else { return [] }
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
                return try page(of: request, opened, from: nil, context)
            }
        }
    }

    private static func page(
        of request: ListRecords,
        _ opened: ListRecords.Opened,
        from start: Bytes?,
        _ context: ReadContext,
        asking present: ListRecords.Present? = nil
    ) throws -> Page {
        let read = try request.page(
            of: opened,
            from: start,
            byteLimit: context.limits.pageBytes,
            in: context.reader,
            asking: present
        )
        let message = Answers.listed(read.records, of: request.zone, context.node.shareURLs)
        guard let next = read.next else { return Page(message: message) }
        return Page(message: message) {
            let newest = try context.newest(for: request.database)
            let present = try request.askAgain(
                opened,
                newest.number,
                in: newest.reader,
                schemas: newest.view.schemas
            )
            return try page(of: request, opened, from: next, context, asking: present)
        }
    }

    static func listConflicts(_ context: CallContext) throws {
        try context.readFromDisk { try conflicts(before: nil, $0) }
    }

    private static func conflicts(before end: Bytes?, _ context: ReadContext) throws -> Page {
        if let refusal = context.mayUse(.private) { throw refusal }
        let read = try ListConflicts().page(
            of: context.number,
            by: context.caller,
            before: end,
            byteLimit: context.limits.pageBytes,
            in: context.reader
        )
        let message = Answers.conflicts(read.items)
        guard let next = read.next else { return Page(message: message) }
        return Page(message: message) { try conflicts(before: next, context) }
    }
}
