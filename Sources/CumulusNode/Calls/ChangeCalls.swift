// The calls that fetch changes: the token that comes is opened, and the one that goes is sealed.
//
// `MethodTable` lists them; `FollowCalls` opens tokens with it too. A call waits until this
// node has read what its token covers, like one that brings a causal token.

import CumulusModel
import CumulusOperations
import CumulusRequests
import CumulusStorage
import CumulusWire

enum ChangeCalls {
    static let methods: [MethodEntry] = [
        .init(
            .changesDatabase,
            .message,
            parse: decoded(FetchDatabaseChangesRequest.init(wire:)),
            read: database,
            encode: { page, node in Answers.changes(page, token: node.mint.make(page.token)) }
        ),
        .init(
            .changesZone,
            .message,
            parse: decoded(FetchZoneChangesRequest.init(wire:)),
            read: zone,
            encode: { found, node in
                let token = node.mint.make(found.page.token)
                return Answers.changes(found.page, of: found.zone, token: token, node.shareURLs)
            }
        ),
    ]

    private static func database(
        _ request: FetchDatabaseChangesRequest,
        _ context: CallContext
    ) throws -> Reading<FetchDatabaseChanges.Page>? {
        let known = request.onlyToken ? [] : request.token
        let token = try token(known, try context.scope(), context)
        var fetch = try context.parser.databaseChanges(request, since: token)
        fetch.onlyToken = request.onlyToken
        fetch.broken = context.node.configuration.broken
        guard mayGoOn(from: token, context) else { return nil }
        return .onDisk { [fetch] context in
            let reading = try fetch.begin(
                context.scope,
                context.number,
                by: context.caller,
                in: context.reader
            )
            return try part(reading)
        }
    }

    /// Goes on with a page of a database's changes, turn by turn.
    private static func part(
        _ begun: FetchDatabaseChanges.Reading
    ) throws -> Part<FetchDatabaseChanges.Page> {
        var reading = begun
        guard let page = try reading.turn() else {
            return .unfinished { [reading] in try part(reading) }
        }
        return Part(page)
    }

    /// Changes of a zone.
    private struct FoundChanges {
        let page: FetchZoneChanges.Page
        let zone: ZoneAddress
    }

    private static func zone(
        _ request: FetchZoneChangesRequest,
        _ context: CallContext
    ) throws -> Reading<FoundChanges>? {
        let known = request.onlyToken ? [] : request.token
        let token = try token(known, try context.scope(), context)
        var fetch = try context.parser.zoneChanges(request, since: token)
        fetch.onlyToken = request.onlyToken
        fetch.broken = context.node.configuration.broken
        guard mayGoOn(from: token, context) else { return nil }
        return .onDisk { [fetch] context in
            let reading = try fetch.begin(
                context.scope,
                context.number,
                by: context.caller,
                in: context.reader
            )
            return try part(of: fetch.zone, reading)
        }
    }

    /// Goes on with a page of a zone's changes, turn by turn.
    private static func part(
        of zone: ZoneAddress,
        _ begun: FetchZoneChanges.Reading
    ) throws -> Part<FoundChanges> {
        var reading = begun
        guard let page = try reading.turn() else {
            return .unfinished { [reading] in try part(of: zone, reading) }
        }
        return Part(FoundChanges(page: page, zone: zone))
    }

    /// Whether this node has read what the token covers; if not, the call begins again later.
    static func mayGoOn(from token: ChangeToken?, _ context: CallContext) -> Bool {
        context.node.configuration.broken.contains(.nodeBehind) || context.reaches(token?.needed)
    }

    /// Opens a change token; nil means the request has none.
    ///
    /// One of another scope is refused before this scope's vector is asked: vectors of two scopes
    /// can't be compared.
    static func token(
        _ bytes: Bytes,
        _ scope: ScopeID,
        _ context: CallContext
    ) throws(ServiceError) -> ChangeToken? {
        guard !bytes.isEmpty else { return nil }
        guard let token = context.node.mint.changes(bytes) else {
            throw .tokenExpired("no node of this cluster made it, or it is damaged")
        }
        try token.check(scope)
        if context.isLost(token.needed, since: token.truncation) {
            throw .tokenExpired("what it covers was lost when the server went back to a backup")
        }
        return token
    }
}
