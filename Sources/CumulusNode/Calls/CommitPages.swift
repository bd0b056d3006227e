// The commits of a scope, page by page, as long as a peer pulls.
//
// `PeerCalls` begins them. A page of commits that this run has just made is put together on the
// loop, from memory; all others are read from the log on a reader thread. In a burst the commits of
// a few milliseconds go into one page. hot: once per page for a peer.

import CumulusModel
import CumulusReplication
import CumulusStorage
import CumulusWire

struct CommitPages: Sendable {
    let node: Node
    let scope: ScopeID
    let number: ScopeNumber

    /// A page with so many commits is part of a burst: more are on their way.
    private static let burst = 8
    /// How long the commits of a burst are gathered: a message costs both nodes as much as several
    /// commits do.
    private static let gatheringMilliseconds: Int64 = 4
    /// How long news of runs that the peer takes elsewhere waits for commits to go with.
    private static let newsMilliseconds: Int64 = 200

    /// What a peer was told beside commits.
    struct Told: Sendable {
        /// How often it was asked to report; nil if it was not sent a page yet.
        var asks: UInt64?
        /// When news that was left for a later page has to be told.
        var newsDue: Instant?
    }

    /// What is asked before the commits are looked up, so that later ones are news.
    private struct Moment {
        let rings: UInt64
        let wantsReport: Bool
        let asks: UInt64
        let now: Instant

        init(_ pages: CommitPages) {
            let node = pages.node
            rings = node.gate.bell.count(of: pages.number)
            wantsReport = node.replicas.isWanted(pages.scope)
            asks = node.replicas.asks(pages.scope)
            now = node.environment.now()
        }

        /// Whether news of runs that the peer takes elsewhere is told without commits.
        func tellsNews(_ told: Told) -> Bool {
            told.asks != asks || told.newsDue.map { $0 <= now } ?? false
        }
    }

    private var byteLimit: Int { node.configuration.limits.pageBytes }

    /// The next commits; how to go on is part of the page.
    func page(of outbound: OutboundCommits, after told: Told = Told()) throws -> Page {
        var outbound = outbound
        let moment = Moment(self)
        let (snapshot, vector) = try node.gate.latestVector(of: number)
        let batch = try outbound.next(
            snapshot,
            vector,
            byteLimit: byteLimit,
            tellsNews: moment.tellsNews(told)
        )
        guard let batch else {
            throw ServiceError(
                .changeTokenExpired,
                .logTruncated,
                "the log of this node begins later than that; take its state instead"
            )
        }
        return page(batch, outbound, moment, after: told)
    }

    /// The next commits, if all that the peer lacks is in memory; throws `.notInMemory` otherwise.
    private func pageFromMemory(
        of outbound: OutboundCommits,
        after told: Told
    ) throws(EngineError) -> Page {
        var outbound = outbound
        let moment = Moment(self)
        let seq = outbound.position[node.incarnation]
        guard let (vector, commits) = node.gate.visible.recent(of: number, above: seq),
            let batch = outbound.next(
                commits,
                of: node.incarnation,
                vector,
                byteLimit: byteLimit,
                tellsNews: moment.tellsNews(told)
            )
        else { throw .notInMemory }
        return page(batch, outbound, moment, after: told)
    }

    private func page(
        _ batch: OutboundCommits.Batch,
        _ rest: OutboundCommits,
        _ moment: Moment,
        after told: Told
    ) -> Page {
        let response = PullResponse(
            commits: batch.commits,
            vector: told.asks == nil ? batch.vector : batch.news,
            wantsReport: moment.wantsReport
        )
        var after = Told(asks: moment.asks)
        if batch.leavesNews {
            after.newsDue = told.newsDue ?? moment.now + CommitPages.newsMilliseconds
        }
        var page = Page(message: response.encoded()) { [after] in
            try self.page(of: rest, after: after)
        }
        page.isSilent =
            batch.commits.isEmpty && batch.news.isEmpty && told.asks == moment.asks
        if batch.isAtEnd {
            page.news = AwaitedNews(scope: number, rings: moment.rings, until: after.newsDue)
            if batch.commits.count >= CommitPages.burst { page.news?.gathering = gathering }
            page.news?.fromMemory = { [after] in try pageFromMemory(of: rest, after: after) }
        }
        return page
    }

    /// For how long commits are gathered: not while callers wait until peers hold theirs.
    private func gathering() -> Int64 {
        node.replicas.isWanted(scope) ? 0 : CommitPages.gatheringMilliseconds
    }
}
