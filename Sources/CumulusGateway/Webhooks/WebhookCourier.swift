// Tells a webhook on behalf of one user: follows the user's feed as a device does, and POSTs what
// the subscriptions tell that name the webhook, one notification after the other.
//
// `WebhookRunner` runs it on the node that delivers, until it is cancelled. Undelivered
// notifications are not kept: after each failure the page is read again, so its rights, fields and
// marks are current at the next attempt. If a record was sent before the failure and is gone by
// then, its deletion is sent, since the feed doesn't tell of a record that came and went.

import Crypto
import CumulusModel
import CumulusNode
import CumulusWire
import Logging

struct WebhookCourier: Sendable {
    private struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let webhook: Webhook
    let subscriber: WebhookSubscriber
    let door: any WebDoor
    let client: any WebClient
    let meter: WebhookMeter
    let turns: WebhookTurns
    let logger: Logger

    private var name: String { webhook.entry.name }

    func run() async {
        meter.begin(subscriber)
        var progress = WebhookProgress()
        while !Task.isCancelled {
            do {
                try await follow(&progress)
            } catch {
                if Task.isCancelled { break }
                let pause = progress.fail()
                meter.fail(subscriber)
                tell(of: error, progress.failures, pause)
                try? await door.sleep(pause)
            }
        }
        meter.end(subscriber)
    }

    /// Logs the first failure as a warning, and the following ones as details.
    private func tell(of error: any Error, _ failures: Int, _ pause: Int64) {
        logger.log(
            level: failures == 1 ? .warning : .debug,
            "a webhook could not be delivered; it is tried again",
            metadata: [
                "webhook": "\(name)", "user": "\(subscriber.user)", "why": "\(error)",
                "failures": "\(failures)", "pause": "\(pause) ms",
            ]
        )
    }

    /// Returns when the feed is to be followed anew, from the last page on.
    private func follow(_ progress: inout WebhookProgress) async throws {
        let calls = try await door.enter(
            LocalEntrance(subscriber.scope, .webhook(subscriber), isSecret: true)
        )
        defer { calls.close() }
        if progress.feed == nil {
            progress.begin(at: try await door.feedAfterMarks(of: subscriber))
        }
        // A subscription that is newer than the token tells what happened since it was saved.
        let call = FollowFeedRequest(token: progress.feed ?? [], isHistory: true)
        let stream = await calls.follow(.feedsFollow, call.encoded())
        defer { stream.cancel() }
        var isBehind = true
        while let message = try await stream.next() {
            let page = try WebNews.page(message)
            // A feed that is up to date would only tell later events.
            if page.reset != nil, !isBehind { return }
            try await tell(page, calls, &progress)
            if progress.isMarkDue(behind: page, now: door.now) {
                let mark = MarkReadRequest(ids: [], token: page.token)
                _ = try await calls.change(.feedsMarkRead, mark.encoded())
                progress.mark(now: door.now)
            }
            progress.finish(page)
            if page.isCheckpoint {
                isBehind = false
                meter.rest(subscriber)
            }
        }
        throw Failure(description: "the feed has ended")
    }

    /// Tells all of a page that the endpoint has not taken yet.
    private func tell(
        _ page: WireFeedPage,
        _ calls: any WebCalls,
        _ progress: inout WebhookProgress
    ) async throws {
        let container = subscriber.scope.container
        for notification in page.notifications
        where notification.notificationInfo?.webhook == name {
            let told = try await WebNews.told(by: notification, in: container, calls)
            for told in told where progress.owes(told) {
                let since = notification.changedAt.millisecondsSince1970
                progress.send(notification)
                try await send(told, of: notification.subscriptionName, since: since, &progress)
            }
        }
        for sent in progress.untold(by: page) {
            guard let deletion = try await deletion(behind: sent, calls) else { continue }
            let told = try await WebNews.told(by: deletion, in: container, calls)
            for told in told where progress.owes(told) {
                try await send(told, of: sent.subscriptionName, since: door.now, &progress)
            }
        }
        guard let reset = try await own(page.reset) else { return }
        let told = WebNotification.reset(reset, page.token, in: container)
        try await send(told, since: door.now, &progress)
    }

    /// The deletion of a record that the endpoint knows.
    ///
    /// nil if the user still has it, or if the subscription doesn't tell the webhook of deletions.
    private func deletion(
        behind sent: FeedNotification,
        _ calls: any WebCalls
    ) async throws -> FeedNotification? {
        guard case .record(var news) = sent.news, news.reason != .deleted,
            let subscription = try await WebNews.subscription(of: sent, calls),
            subscription.notificationInfo?.webhook == name,
            subscription.options.contains(.firesOnRecordDeletion),
            !subscription.options.contains(.firesOnce)
        else { return nil }
        let call = FetchRecordsRequest(
            database: sent.databaseScope,
            ids: [WireRecordID(news.recordID)],
            keys: []
        )
        do {
            guard let result = try await calls.fetch(call).first else {
                throw WebContext.resultMissing
            }
            _ = try result.get()
            return nil
        } catch let error as ServiceError where WebhookCourier.gone.contains(error.code) {
            news.reason = .deleted
            news.transition = .left
            news.fields = [:]
            var deletion = sent
            deletion.news = .record(news)
            deletion.isPruned = false
            // The same for each attempt to tell it.
            let hash = Bytes(SHA256.hash(data: sent.id.bytes))
            deletion.id = FeedNotification.ID(
                bytes: Bytes(hash.prefix(FeedNotification.ID.byteCount))
            )
            return deletion
        }
    }

    private static let gone: Set<ServiceError.Code> = [
        .unknownItem, .zoneNotFound, .userDeletedZone,
    ]

    /// The part of a reset that is about subscriptions which name this webhook.
    private func own(_ reset: FeedReset?) async throws -> FeedReset? {
        guard case .subscriptions(let names)? = reset else { return reset }
        let told = try await door.subscriptions(of: subscriber)
        let own = names.filter { told.contains($0) }
        return own.isEmpty ? nil : .subscriptions(own)
    }

    /// Tells the endpoint, unless what it is told of has ended since the page was read.
    ///
    /// - Parameters:
    ///   - subscription: The subscription that tells it; nil for a reset.
    ///   - since: When the change happened, in milliseconds since 1970 UTC.
    private func send(
        _ notification: WebNotification,
        of subscription: SubscriptionName? = nil,
        since: Int64,
        _ progress: inout WebhookProgress
    ) async throws {
        await turns.take(name)
        defer { turns.giveBack(name) }
        // The endpoint may take long for each notification of a page.
        try Task.checkCancellation()
        let named = try await door.subscriptions(of: subscriber)
        // A reset is about all subscriptions that name the webhook.
        let isNamed = subscription.map { named.contains($0) } ?? !named.isEmpty
        guard isNamed else { return }
        meter.send(subscriber, since: since)
        let body = Bytes(notification.text(for: subscriber).utf8)
        let signature = webhook.signature(of: body, seconds: door.now / 1_000)
        let (status, _) = try await client.post(
            body,
            to: webhook.entry.address,
            headers: [
                ("Content-Type", "application/json; charset=UTF-8"),
                (Webhook.signatureHeader, signature),
            ]
        )
        guard (200..<300).contains(status) else {
            throw Failure(description: "\(webhook.entry.address.host) answered \(status)")
        }
        progress.take(notification)
        meter.take(subscriber)
    }
}
