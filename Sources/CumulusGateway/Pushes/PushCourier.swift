// Wakes one device: follows the feed of its user as the device would, and pushes what the
// subscriptions tell that have something to show or wake the app.
//
// `PushRunner` runs it on the node that pushes, until it is cancelled or the address is over. All
// that has changed since the last push is told with one push, and the feed is marked as told after
// it. After each failure, and after each wait, the page is read again: so its rights and fields are
// current when the push is sent.

import CumulusModel
import CumulusNode
import CumulusWire
import Logging

struct PushCourier: Sendable {
    private enum Failure: Error, CustomStringConvertible {
        case ended
        case later(String, pause: Int64?)

        var description: String {
            switch self {
            case .ended: "the feed has ended"
            case .later(let why, _): why
            }
        }

        var wish: Int64? {
            if case .later(_, let pause) = self { pause } else { nil }
        }
    }

    /// How a look at the feed ended.
    private enum End {
        /// It is to be followed anew.
        case again
        /// The device has no such address any more.
        case gone
    }

    let target: PushAddresses.Target
    let sender: PushSender
    let door: any PushDoor
    let meter: PushMeter
    let turns: WebhookTurns
    let logger: Logger

    /// How long it waits for the runner to end it, in milliseconds.
    private static let patience: Int64 = 2_000
    /// A longer wait for a turn makes what was read too old to be told, in milliseconds.
    private static let longestTurn: UInt64 = 1_000

    func run() async {
        meter.begin(target)
        var progress = PushProgress(now: door.now, dice: door.random())
        loop: while !Task.isCancelled {
            do {
                switch try await follow(&progress) {
                case .again: break
                case .gone:
                    try await door.end([target])
                    break loop
                }
            } catch {
                if Task.isCancelled { break }
                // The session is over: the runner ends this, unless the session is good again.
                if (error as? ServiceError)?.code == .notAuthenticated {
                    try? await door.sleep(PushCourier.patience)
                    continue
                }
                let wish = (error as? Failure)?.wish
                let pause = progress.fail(wish: wish, dice: door.random())
                meter.count(.failed, target)
                tell(of: error, progress.failures, pause)
                try? await door.sleep(pause)
            }
        }
        meter.end(target)
    }

    /// Logs the first failure as a warning, and the following ones as details.
    private func tell(of error: any Error, _ failures: Int, _ pause: Int64) {
        logger.log(
            level: failures == 1 ? .warning : .debug,
            "a device could not be pushed to; it is tried again",
            metadata: [
                "service": "\(sender.endpoint(of: target.address))", "address": "\(target.id)",
                "user": "\(target.user)", "why": "\(error)", "failures": "\(failures)",
                "pause": "\(pause) ms",
            ]
        )
    }

    private func follow(_ progress: inout PushProgress) async throws -> End {
        let calls = try await door.enter(
            LocalEntrance(target.scope, .push(target), isSecret: true)
        )
        defer { calls.close() }
        if progress.feed == nil { progress.begin(at: try await door.feedAfterMarks(of: target)) }
        progress.restart()
        // A subscription that is newer than the token tells what happened since it was saved.
        let call = FollowFeedRequest(token: progress.feed ?? [], isHistory: true)
        let stream = await calls.follow(.feedsFollow, call.encoded())
        defer { stream.cancel() }
        var isBehind = true
        while let message = try await stream.next() {
            let page = try WebNews.page(message)
            // A feed that is up to date would only tell later events.
            if page.reset != nil, !isBehind { return .again }
            progress.take(page)
            guard page.isCheckpoint else { continue }
            isBehind = false
            if let news = progress.news {
                let wait = progress.wait(now: door.now)
                if wait > 0 {
                    try await door.sleep(wait)
                    return .again
                }
                if let end = try await push(news, calls, &progress) { return end }
            }
            if progress.isMarkDue(behind: page, now: door.now) {
                let mark = MarkReadRequest(ids: [], token: page.token)
                _ = try await calls.change(.feedsMarkRead, mark.encoded())
                progress.mark(now: door.now)
            }
            progress.finish(page)
            meter.wait(target, since: nil)
        }
        throw Failure.ended
    }

    /// Tells the device; returns nil once the service has taken the push, or never will.
    private func push(
        _ news: PushProgress.News,
        _ calls: any WebCalls,
        _ progress: inout PushProgress
    ) async throws -> End? {
        meter.wait(target, since: news.since)
        let told = try await told(by: news, calls)
        let endpoint = sender.endpoint(of: target.address)
        let start = door.nanoseconds()
        await turns.take(endpoint)
        defer { turns.giveBack(endpoint) }
        try Task.checkCancellation()
        let waited = (door.nanoseconds() - start) / 1_000_000
        if waited > PushCourier.longestTurn { return .again }
        guard try await door.isPushed(target) else { return .again }
        progress.send(now: door.now)
        let verdict = try await sender.send(
            told,
            to: target.address,
            now: door.now,
            dice: door.random
        )
        return try judge(verdict, &progress)
    }

    private func told(
        by news: PushProgress.News,
        _ calls: any WebCalls
    ) async throws -> PushNews {
        var isWide = false
        if let notification = news.notification, case .zones = notification.news {
            let subscription = try await WebNews.subscription(of: notification, calls)
            if case .database? = subscription?.kind { isWide = true }
        }
        let subject: PushNews.Subject =
            if let notification = news.notification {
                .notification(notification, isWide: isWide)
            } else {
                .reset(news.reset ?? .all, token: news.resetToken)
            }
        return PushNews(
            subject,
            container: target.scope.container,
            user: target.user,
            hasMore: news.hasMore,
            badge: news.badge
        )
    }

    private func judge(
        _ verdict: PushVerdict,
        _ progress: inout PushProgress
    ) throws -> End? {
        switch verdict {
        case .taken:
            meter.count(.taken, target)
            progress.take(isTaken: true)
            return nil
        case .gone(let since):
            // The device may have registered the address since the service learned that.
            if let since, since < target.registered { break }
            meter.count(.gone, target)
            return .gone
        case .refused: break
        case .unauthorised(let why):
            throw Failure.later("\(why): the service does not take this cluster's key", pause: nil)
        case .later(let why, let pause): throw Failure.later(why, pause: pause)
        }
        meter.count(.refused, target)
        progress.take(isTaken: false)
        logger.warning(
            "a push service refuses a push; it is not sent again",
            metadata: [
                "service": "\(sender.endpoint(of: target.address))", "address": "\(target.id)",
                "user": "\(target.user)", "why": "\(verdict)",
            ]
        )
        return nil
    }
}
