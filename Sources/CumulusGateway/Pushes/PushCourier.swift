// Wakes one device: follows the feed of its user as the device would, and pushes what the
// subscriptions tell that have something to show or wake the app.
//
// `PushRunner` runs it on the node that pushes, until it is cancelled or the address is over. All
// that has changed since the last push is told with one push, and the feed is marked as told after
// it. After each push, each failure and each wait the page is read again: so its rights and fields
// are current when the push is sent.

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
        /// The same at once, since the turn to push has come.
        case inTurn
        /// The address is not what it was.
        case changed
        /// The device has no such address any more.
        case gone
    }

    let target: PushAddresses.Target
    let sender: PushSender
    let door: any PushDoor
    let meter: PushMeter
    let turns: WebhookTurns
    let logger: Logger
    /// Told that the session of the address is over; the courier ends then.
    let onLapse: @Sendable (PushAddresses.Target) -> Void

    /// How long it waits for the runner to end it, in milliseconds.
    private static let patience: Int64 = 2_000
    /// A longer wait for a turn makes what was read too old to be told, in milliseconds.
    private static let longestTurn: Int64 = 1_000

    func run() async {
        meter.begin(target)
        var progress = PushProgress(now: door.now, dice: door.random())
        var (hasTurn, isLapsed) = (false, false)
        loop: while !Task.isCancelled {
            do {
                let end = try await follow(&progress, &hasTurn)
                if end != .inTurn { giveBack(&hasTurn) }
                if end == .changed { await rest() }
                if end == .gone {
                    try await door.end([target])
                    break loop
                }
            } catch {
                giveBack(&hasTurn)
                if Task.isCancelled { break loop }
                if (error as? ServiceError)?.code == .notAuthenticated {
                    await rest()
                    isLapsed = !Task.isCancelled
                    break loop
                }
                let wish = (error as? Failure)?.wish
                let pause = progress.fail(wish: wish, dice: door.random())
                meter.count(.failed, target)
                tell(of: error, progress.failures, pause)
                try? await door.sleep(pause)
            }
        }
        giveBack(&hasTurn)
        meter.end(target)
        if isLapsed { onLapse(target) }
    }

    /// Waits for the runner, with nothing to tell.
    private func rest() async {
        meter.wait(target, since: nil)
        try? await door.sleep(PushCourier.patience)
    }

    private func giveBack(_ hasTurn: inout Bool) {
        if hasTurn { turns.giveBack(sender.endpoint(of: target.address)) }
        hasTurn = false
    }

    private var names: Logger.Metadata {
        [
            "service": "\(sender.endpoint(of: target.address))", "address": "\(target.id)",
            "user": "\(target.user)",
        ]
    }

    /// Logs the first failure as a warning, and the following ones as details.
    private func tell(of error: any Error, _ failures: Int, _ pause: Int64) {
        let more: Logger.Metadata = [
            "why": "\(error)", "failures": "\(failures)", "pause": "\(pause) ms",
        ]
        logger.log(
            level: failures == 1 ? .warning : .debug,
            "a device could not be pushed to; it is tried again",
            metadata: names.merging(more) { $1 }
        )
    }

    // MARK: The feed

    private func follow(
        _ progress: inout PushProgress,
        _ hasTurn: inout Bool
    ) async throws -> End {
        let calls = try await door.enter(
            LocalEntrance(target.scope, .push(target), isSecret: true)
        )
        defer { calls.close() }
        if progress.feed == nil { progress.begin(at: try await door.feedAfterMarks(of: target)) }
        await mark(calls, &progress)
        progress.restart()
        // A subscription that is newer than the token tells what happened since it was saved.
        let call = FollowFeedRequest(token: progress.feed ?? [], isHistory: true)
        let stream = await calls.follow(.feedsFollow, call.encoded())
        defer { stream.cancel() }
        let pause = hasTurn ? PushCourier.longestTurn : progress.markPause(now: door.now)
        let alarm = alarm(on: stream, after: pause)
        defer { alarm?.cancel() }
        do {
            return try await read(stream, calls, &progress, &hasTurn)
        } catch let error as ServiceError {
            let isRung = alarm != nil && error.code == .operationCancelled
            guard isRung, !Task.isCancelled else { throw error }
            return .again
        }
    }

    /// Ends the wait for news when something else is due; nil if nothing is.
    private func alarm(on stream: LocalStream, after pause: Int64?) -> Task<Void, Never>? {
        guard let pause else { return nil }
        return Task { [door] in
            if (try? await door.sleep(pause)) != nil { stream.cancel() }
        }
    }

    private func read(
        _ stream: LocalStream,
        _ calls: any WebCalls,
        _ progress: inout PushProgress,
        _ hasTurn: inout Bool
    ) async throws -> End {
        var isBehind = true
        while let message = try await stream.next() {
            let page = try WebNews.page(message)
            // A feed that is up to date would only tell later events.
            if page.reset != nil, !isBehind { return .again }
            progress.take(page, heedsReset: try await WebNews.wakes(page.reset, calls))
            guard page.isCheckpoint else { continue }
            isBehind = false
            guard let news = progress.news else {
                giveBack(&hasTurn)
                progress.finish(page)
                meter.wait(target, since: nil)
                if progress.isMarkDue(now: door.now) { return .again }
                continue
            }
            let wait = progress.wait(now: door.now)
            if wait > 0 {
                giveBack(&hasTurn)
                try await door.sleep(wait)
                return .again
            }
            if let end = try await push(news, calls, &progress, &hasTurn) { return end }
            progress.finish(page)
            meter.wait(target, since: nil)
            await mark(calls, &progress)
            return .again
        }
        throw Failure.ended
    }

    /// Marks the feed as told, if that is due; a mark that the node does not take is owed.
    private func mark(_ calls: any WebCalls, _ progress: inout PushProgress) async {
        guard let feed = progress.feed, progress.isMarkDue(now: door.now) else { return }
        do {
            let mark = MarkReadRequest(ids: [], token: feed)
            _ = try await calls.change(.feedsMarkRead, mark.encoded())
            progress.mark(now: door.now)
        } catch {
            if Task.isCancelled { return }
            progress.failMark(now: door.now, dice: door.random())
            logger.log(
                level: progress.failedMarks == 1 ? .warning : .debug,
                "what a device was told can't be noted; it is tried again",
                metadata: names.merging(["why": "\(error)"]) { $1 }
            )
        }
    }

    // MARK: Pushes

    /// Tells the device; returns nil once the service has taken the push, or never will.
    private func push(
        _ news: PushProgress.News,
        _ calls: any WebCalls,
        _ progress: inout PushProgress,
        _ hasTurn: inout Bool
    ) async throws -> End? {
        meter.wait(target, since: news.since)
        let told = try await told(by: news, calls)
        let start = door.nanoseconds()
        if !hasTurn { await turns.take(sender.endpoint(of: target.address)) }
        hasTurn = true
        try Task.checkCancellation()
        try await sender.prepare(for: target.address, now: door.now)
        let waited = (door.nanoseconds() - start) / 1_000_000
        if waited > PushCourier.longestTurn { return .inTurn }
        guard try await door.isPushed(target) else { return .changed }
        progress.send(now: door.now)
        let verdict = try await sender.send(
            told,
            to: target.address,
            now: door.now,
            dice: door.random
        )
        giveBack(&hasTurn)
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
            badge: news.badge,
            setsBadge: news.setsBadge,
            wakes: news.wakes
        )
    }

    private func judge(
        _ verdict: PushVerdict,
        _ progress: inout PushProgress
    ) throws -> End? {
        switch verdict {
        case .taken:
            meter.count(.taken, target)
            progress.take()
            return nil
        case .gone(let since):
            // The device may have registered the address since the service learned that.
            if let since, since < target.registered { return refused("gone", &progress) }
            meter.count(.gone, target)
            return .gone
        case .refused(let why): return refused(why, &progress)
        case .unauthorised(let why):
            throw Failure.later("\(why): the service does not take this cluster's key", pause: nil)
        case .later(let why, let pause): throw Failure.later(why, pause: pause)
        }
    }

    /// The push is left out; a service that takes none at the address ends it.
    private func refused(_ why: String, _ progress: inout PushProgress) -> End? {
        meter.count(.refused, target)
        let isFirst = !progress.wasRefused
        let isOver = progress.refuse(now: door.now)
        if isFirst || isOver {
            logger.warning(
                isOver
                    ? "a push service takes no push at an address; the address has ended"
                    : "a push service refuses a push; it is not sent again",
                metadata: names.merging(["why": "\(why)"]) { $1 }
            )
        }
        return isOver ? .gone : nil
    }
}
