// How a sync engine learns that there is something to do: by news from the server, and by its bell.

import CumulusModel
import Synchronization

/// A source of news from the server.
package protocol SyncNews: Sendable {
    /// Calls `hear` when something may have changed on the server, and when the server can be
    /// reached again.
    ///
    /// Returns when the task is cancelled, or when the server refuses the database for good; then
    /// it calls `hear` once more, so that the engine's own fetch is refused too.
    func follow(_ hear: @escaping @Sendable () -> Void) async
}

/// News from the user's feed, where a subscription tells that zones of the database changed.
///
/// If there is no feed, because nobody is signed in or the server has none, it asks at an interval.
struct FollowedNews: SyncNews {
    let database: Database
    /// The id of the subscription, which is saved if the user has none with that id.
    var subscriptionID = FollowedNews.standardID
    /// The interval of questions if there is no feed, and of attempts to follow the feed.
    let milliseconds: Int64
    /// How often the engine fetches without news, while there is a feed.
    var reminderMilliseconds: Int64 = 600_000

    /// The id that all devices of a user share, so that they have one subscription.
    static let standardID = "cumulus-sync-engine"

    func follow(_ hear: @escaping @Sendable () -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await remind(hear) }
            group.addTask { await listen(hear) }
            await group.next()
            group.cancelAll()
        }
        guard !Task.isCancelled else { return }
        await PolledNews(database: database, milliseconds: milliseconds).follow(hear)
    }

    private func remind(_ hear: @Sendable () -> Void) async {
        while (try? await database.core.environment.sleep(reminderMilliseconds)) != nil { hear() }
    }

    /// Follows the feed; returns when the task is cancelled, or if there is no feed.
    private func listen(_ hear: @Sendable () -> Void) async {
        while !Task.isCancelled {
            do {
                try await subscribe()
                try await followFeed(hear)
            } catch {
                let error = ServiceError(any: error)
                guard error.isRetriedBySyncEngine, error.code != .notAuthenticated else { return }
            }
            try? await database.core.environment.sleep(milliseconds)
        }
    }

    private func subscribe() async throws {
        let found = try await database.subscriptions(for: [subscriptionID])
        if case .success = found[subscriptionID] { return }
        do {
            try await database.save(Subscription(id: subscriptionID, kind: .database()))
        } catch let error as ServiceError where error.code == .serverRejectedRequest {
            // The app has an equivalent subscription, which tells the same.
        }
    }

    /// Follows the feed from now on.
    ///
    /// Calls `hear` at the first page too, for changes before the feed began.
    private func followFeed(_ hear: @Sendable () -> Void) async throws {
        var feed = FeedSequence(core: database.core, token: nil).makeAsyncIterator()
        while true {
            let (page, isFirst) = try await feed.nextPage()
            if isFirst || page.reset != nil || page.notifications.contains(where: concerns) {
                hear()
            }
        }
    }

    /// Whether a notification says that zones of the database changed.
    private func concerns(_ notification: FeedNotification) -> Bool {
        guard notification.databaseScope == database.databaseScope else { return false }
        if case .zones = notification.news { return true }
        return false
    }
}

/// News by asking at an interval which zones changed, until the server refuses to answer that.
struct PolledNews: SyncNews {
    let database: Database
    let milliseconds: Int64

    func follow(_ hear: @escaping @Sendable () -> Void) async {
        var token: ServerChangeToken?
        var isReached = false
        while !Task.isCancelled {
            do {
                let page = try await database.databaseChanges(since: token)
                let isChanged = !page.modifications.isEmpty || !page.deletions.isEmpty
                if isChanged || !isReached { hear() }
                isReached = true
                token = page.changeToken
                if page.moreComing { continue }
            } catch {
                let error = ServiceError(any: error)
                if error.isLastingRefusal {
                    hear()
                    return
                }
                isReached = false
                if error.code == .changeTokenExpired { token = nil }
            }
            try? await database.core.environment.sleep(milliseconds)
        }
    }
}

extension ServiceError {
    /// Whether the same question of the same caller is refused again: its token is not valid, it
    /// has no permission, or there is no such container.
    fileprivate var isLastingRefusal: Bool {
        switch code {
        case .notAuthenticated: true
        case .internalError: false
        default: !isRetriedBySyncEngine
        }
    }
}

/// Wakes the engine's task.
final class SyncBell: Sendable {
    private struct Hook {
        var isRung = false
        var sleeper: CheckedContinuation<Void, Never>?
    }

    private let hook = Mutex(Hook())

    /// Ends the current wait; without one, the next wait ends at once.
    func ring() {
        let sleeper = hook.withLock { hook in
            let sleeper = hook.sleeper
            hook.isRung = sleeper == nil
            hook.sleeper = nil
            return sleeper
        }
        sleeper?.resume()
    }

    /// Waits until it rings, the time is up or the task is cancelled; nil waits without a limit.
    ///
    /// Only one task may wait at a time. The wait may end early.
    func wait(
        milliseconds: Int64?,
        _ environment: ClientEnvironment
    ) async {
        guard let milliseconds else {
            await wait()
            return
        }
        let alarm = Task(executorPreference: environment.executor) { [self] in
            do {
                try await environment.sleep(milliseconds)
                ring()
            } catch {
                // The wait has ended, and the alarm is cancelled.
            }
        }
        await wait()
        alarm.cancel()
    }

    private func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { sleeper in
                let isRung = hook.withLock { hook in
                    let isRung = hook.isRung
                    hook.isRung = false
                    if !isRung { hook.sleeper = sleeper }
                    return isRung
                }
                if isRung { sleeper.resume() }
            }
        } onCancel: {
            ring()
        }
    }
}
