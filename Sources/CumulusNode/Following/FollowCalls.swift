// The calls that follow changes: each stream sends the pages that its caller would fetch, each from
// the newest state of the store.
//
// `MethodTable` lists them. A call waits until this node has read what its token covers, as a fetch
// does.

import CumulusModel
import CumulusOperations
import CumulusRequests
import CumulusStorage
import CumulusWire

enum FollowCalls {
    static let methods: [MethodEntry] = [
        .init(
            .changesFollowDatabase,
            .endlessParts,
            .credit,
            parse: decoded(FetchDatabaseChangesRequest.init(wire:)),
            begin: database
        ),
        .init(
            .changesFollowZone,
            .endlessParts,
            .credit,
            parse: decoded(FetchZoneChangesRequest.init(wire:)),
            begin: zone
        ),
    ]

    private static func database(
        _ request: FetchDatabaseChangesRequest,
        _ context: CallContext
    ) throws {
        let token = try ChangeCalls.token(request.token, try context.scope(), context)
        let fetch = try context.parser.databaseChanges(request, since: token)
        try follow(.database(fetch), from: token, context)
    }

    private static func zone(_ request: FetchZoneChangesRequest, _ context: CallContext) throws {
        let token = try ChangeCalls.token(request.token, try context.scope(), context)
        var fetch = try context.parser.zoneChanges(request, since: token)
        // Many callers follow at the same time, and each holds a page.
        fetch.limit.bytes = context.limits.pageBytes
        try follow(.zone(fetch), from: token, context)
    }

    private static func follow(
        _ fetch: FollowChanges.Fetch,
        from token: ChangeToken?,
        _ context: CallContext
    ) throws {
        guard ChangeCalls.mayGoOn(from: token, context) else { return }
        let (node, scope, caller) = (context.node, try context.scope(), context.caller)
        let mayUse = context.mayUse
        try context.follow {
            guard let number = try node.gate.latest(reach: .disk).scope(scope) else {
                throw Containers.unknown(scope.container)
            }
            let changes = FollowedChanges(
                node: node,
                scope: scope,
                number: number,
                caller: caller,
                mayUse: mayUse
            )
            return try changes.page(of: FollowChanges(fetch))
        }
    }
}

/// A page of changes, encoded.
struct FollowedPage: Sendable {
    var token: ChangeToken
    /// Whether the page has no changes.
    var isEmpty: Bool
    /// The page as it goes over the wire, with the sealed token.
    var message: Bytes
    /// Whether another caller with the same question may be told something else.
    var isPersonal = false
}

/// Reads the pages of one follower.
private struct FollowedChanges: Sendable {
    let node: Node
    let scope: ScopeID
    let number: ScopeNumber
    let caller: Caller
    /// Why a database is closed to the caller by now.
    let mayUse: @Sendable (DatabaseScope) -> ServiceError?

    /// A page that is asked for, and the state in which it is read.
    private struct Asked {
        let follower: FollowChanges
        let view: StoreView
        let version: UInt64
        /// How often the bell had rung before the state was taken.
        let rings: UInt64
        let roles: UserRoles
        /// nil if no other stream may share the page.
        var question: FollowChanges.Question?
    }

    /// The next page of a follower, with the function that reads the page after it.
    func page(of follower: FollowChanges) throws -> Page {
        if let refusal = mayUse(follower.fetch.database) { throw refusal }
        // Count before the store is read: later rings are news.
        let rings = node.gate.bell.count(of: number)
        let (view, version) = node.gate.latestVersion(reach: .disk)
        let roles =
            follower.dependsOnRoles
            ? try view.schemas.roles(of: caller, in: number, view.reader) : UserRoles()
        let asked = Asked(
            follower: follower,
            view: view,
            version: version,
            rings: rings,
            roles: roles,
            question: follower.question(by: caller, with: roles)
        )
        if let known = node.followedPages.known(asked.question, at: version) {
            return try tell(known, asked)
        }
        let reading = try follower.begin(
            scope,
            number,
            by: caller,
            in: view.reader,
            schemas: view.schemas
        )
        return try goOn(with: reading, asked)
    }

    /// Goes on with a page, turn by turn.
    private func goOn(with begun: FollowChanges.Reading, _ asked: Asked) throws -> Page {
        var reading = begun
        guard let found = try reading.turn() else {
            return .unfinished { [reading] in try goOn(with: reading, asked) }
        }
        let page = encoded(found, asked.follower)
        node.followedPages.keep(page, to: asked.question, at: asked.version)
        return try tell(page, asked)
    }

    private func tell(_ page: FollowedPage, _ asked: Asked) throws -> Page {
        var follower = asked.follower
        let isTold = follower.take(isEmpty: page.isEmpty, token: page.token, with: asked.roles)
        let rest = follower
        var answer = Page(message: isTold ? page.message : []) { try self.page(of: rest) }
        answer.isSilent = !isTold
        if page.token.progress == nil {
            let place = try place(of: page.token.subject, asked.view.reader)
            answer.news = AwaitedNews(
                scope: number,
                rings: asked.rings,
                places: place.map { [$0] }
            )
        }
        return answer
    }

    private func encoded(
        _ page: FollowChanges.Page,
        _ follower: FollowChanges
    ) -> FollowedPage {
        let token = node.mint.make(page.token)
        let message =
            switch (page, follower.fetch) {
            case (.zone(let page), .zone(let fetch)):
                Answers.changes(page, of: fetch.zone, token: token, node.shareURLs)
            case (.zone(let page), .database):
                Answers.changes(page, of: ZoneAddress(), token: token, node.shareURLs)
            case (.database(let page), _): Answers.changes(page, token: token)
            }
        return FollowedPage(
            token: page.token,
            isEmpty: page.isEmpty,
            message: message,
            isPersonal: page.isPersonal
        )
    }

    /// The part of the scope whose changes are news to a follower.
    ///
    /// nil means the whole scope: a database to which nothing was written has no number, and what a
    /// shared one shows is written to others.
    private func place(
        of subject: ChangeToken.Subject,
        _ reader: ReadTransaction
    ) throws -> NewsPlace? {
        switch subject {
        case .zones(let database) where database.kind == .shared: nil
        case .zones(let database):
            try reader.database(number, database).map { .database($0) }
        case .records(let zone):
            try reader.database(number, zone.database).map { .zone($0, zone.name) }
        }
    }
}

extension FollowChanges.Fetch {
    fileprivate var database: DatabaseScope {
        switch self {
        case .database(let fetch): fetch.database
        case .zone(let fetch): fetch.database
        }
    }
}
