// The calls on records: fetch, modify, list, and the list of conflicts.
//
// `MethodTable` lists them. hot: fetch and modify, once per call.
//
// Folder: what each family of calls reads and answers, in the forms that methods have. Read one
// family, such as `RecordCalls`.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

enum RecordCalls {
    static let methods: [MethodEntry] = [
        .init(
            .recordsFetch,
            .parts,
            parse: RequestParser.fetchRecords,
            read: { fetch($0, $1) },
            encode: { Answers.fetched($0.results, for: $0.ids, $1.shareURLs) }
        ),
        .init(
            .recordsModify,
            .parts,
            .requestID,
            admit: admit,
            parse: RequestParser.modifyRecords,
            write: modify,
            encode: modified
        ),
        .init(
            .recordsList,
            .parts,
            .credit,
            parse: RequestParser.listRecords,
            read: list,
            encode: { Answers.listed($0.records, of: $0.zone, $1.shareURLs) }
        ),
        .init(
            .recordsListConflicts,
            .parts,
            [.token, .credit],
            parse: unread,
            read: listConflicts,
            encode: { conflicts, _ in Answers.conflicts(conflicts) }
        ),
    ]

    // MARK: Fetch

    /// Records that were fetched, with the ids that asked for them.
    struct Fetched {
        let results: [Result<RecordView, ServiceError>]
        let ids: ArraySlice<Result<RecordAddress, ServiceError>>
    }

    static func fetch(_ request: FetchRecords, _ context: CallContext) -> Reading<Fetched> {
        .inMemory { try part(of: request, from: 0, $0) }
    }

    /// The records from the `start`-th on, until the message is large enough.
    private static func part(
        of request: FetchRecords,
        from start: Int,
        _ context: ReadContext
    ) throws -> Part<Fetched> {
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
        let ids = request.ids[start..<end]
        var part = Part(Fetched(results: results, ids: ids))
        if context.node.audit != nil, request.database != .private {
            part.refused = RefusedItem(among: results, of: ids, in: request.database)
        }
        guard end < request.ids.count else { return part }
        part.next = {
            try self.part(of: request, from: end, try context.newest(for: request.database))
        }
        return part
    }

    // MARK: Modify

    @Sendable static func admit(_ context: CallContext) throws {
        if context.caller.role == .anonymous { throw Authorisation.userNeeded }
    }

    static func modify(
        _ request: ModifyRecords,
        _ context: CallContext
    ) throws -> ModifyRecords {
        context.concerns(share: request.namedShare, in: request.database)
        let allowance = context.calls.schemaAllowance(in: try context.scope())
        return request.growingSchema(within: allowance)
    }

    private static func modified(
        _ outcome: ModifyOutcome,
        _ request: ModifyRecords,
        _ context: CallContext
    ) -> [Bytes] {
        note(outcome, of: request, context)
        return Answers.modified(
            outcome,
            request,
            context.node.shareURLs,
            limit: context.limits.answerBytes
        )
    }

    /// Notes what the audit log says of a change.
    static func note(_ outcome: ModifyOutcome, of request: ModifyRecords, _ context: CallContext) {
        context.noteRefusal(among: outcome, of: request)
        context.concerns(share: outcome.share, in: request.database)
    }

    // MARK: Lists

    /// Records of a list, and their zone.
    private struct Listed {
        let records: [RecordView]
        let zone: ZoneAddress
    }

    private static func list(_ request: ListRecords, _ context: CallContext) -> Reading<Listed>? {
        .onDisk { context in
            let opened = try request.open(
                context.number,
                by: context.caller,
                in: context.reader,
                schemas: context.view.schemas
            )
            return try part(of: request, opened, ListRecords.Page(), context)
        }
    }

    /// Goes on with a page, and then with those behind it.
    private static func part(
        of request: ListRecords,
        _ opened: ListRecords.Opened,
        _ begun: ListRecords.Page,
        _ context: ReadContext,
        asking present: ListRecords.Present? = nil
    ) throws -> Part<Listed> {
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
        let listed = Listed(records: read.records, zone: request.zone)
        guard let next = read.next else { return Part(listed) }
        return Part(listed) {
            try goOn(with: ListRecords.Page(from: next), of: request, opened, context)
        }
    }

    /// Asks anew what the caller may read, and goes on with a page.
    private static func goOn(
        with begun: ListRecords.Page,
        of request: ListRecords,
        _ opened: ListRecords.Opened,
        _ context: ReadContext
    ) throws -> Part<Listed> {
        let newest = try context.newest(for: request.database)
        let present = try request.askAgain(
            opened,
            newest.number,
            in: newest.reader,
            schemas: newest.view.schemas
        )
        return try part(of: request, opened, begun, context, asking: present)
    }

    private static func listConflicts(
        _: Void,
        _ context: CallContext
    ) -> Reading<[ListConflicts.Item]>? {
        .onDisk { try conflicts(ListConflicts.Page(), $0) }
    }

    private static func conflicts(
        _ begun: ListConflicts.Page,
        _ context: ReadContext
    ) throws -> Part<[ListConflicts.Item]> {
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
        guard let next = read.next else { return Part(read.items) }
        return Part(read.items) { try conflicts(ListConflicts.Page(before: next), context) }
    }
}
