// The calls that fetch changes: the token that comes is opened, and the one that goes is sealed.
//
// Called through `MethodTable`; `FollowCalls` opens tokens with it too. A call waits until this
// node has read what its token covers, like one that brings a causal token.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusWire

enum ChangeCalls {
    static func database(_ context: CallContext) throws {
        try context.parsing { _ in
            try FetchDatabaseChangesRequest(wire: context.message)
        } then: {
            try database($0, context)
        }
    }

    private static func database(
        _ request: FetchDatabaseChangesRequest,
        _ context: CallContext
    ) throws {
        let known = request.onlyToken ? [] : request.token
        let token = try token(known, try context.scope(), context)
        var fetch = try context.parser.databaseChanges(request, since: token)
        fetch.onlyToken = request.onlyToken
        fetch.broken = context.node.configuration.broken
        guard mayGoOn(from: token, context) else { return }
        try context.readFromDisk { [fetch] context in
            let reading = try fetch.begin(
                context.scope,
                context.number,
                by: context.caller,
                in: context.reader
            )
            return try page(reading, context)
        }
    }

    /// Goes on with a page of a database's changes, turn by turn.
    private static func page(
        _ begun: FetchDatabaseChanges.Reading,
        _ context: ReadContext
    ) throws -> Page {
        var reading = begun
        guard let page = try reading.turn() else {
            return .unfinished { [reading] in try self.page(reading, context) }
        }
        let token = context.node.mint.make(page.token)
        return Page(message: Answers.changes(page, token: token))
    }

    static func zone(_ context: CallContext) throws {
        try context.parsing { _ in
            try FetchZoneChangesRequest(wire: context.message)
        } then: {
            try zone($0, context)
        }
    }

    private static func zone(
        _ request: FetchZoneChangesRequest,
        _ context: CallContext
    ) throws {
        let known = request.onlyToken ? [] : request.token
        let token = try token(known, try context.scope(), context)
        var fetch = try context.parser.zoneChanges(request, since: token)
        fetch.onlyToken = request.onlyToken
        fetch.broken = context.node.configuration.broken
        guard mayGoOn(from: token, context) else { return }
        try context.readFromDisk { [fetch] context in
            let reading = try fetch.begin(
                context.scope,
                context.number,
                by: context.caller,
                in: context.reader
            )
            return try page(of: fetch.zone, reading, context)
        }
    }

    /// Goes on with a page of a zone's changes, turn by turn.
    private static func page(
        of zone: ZoneAddress,
        _ begun: FetchZoneChanges.Reading,
        _ context: ReadContext
    ) throws -> Page {
        var reading = begun
        guard let page = try reading.turn() else {
            return .unfinished { [reading] in try self.page(of: zone, reading, context) }
        }
        let token = context.node.mint.make(page.token)
        return Page(message: Answers.changes(page, of: zone, token: token, context.node.shareURLs))
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
