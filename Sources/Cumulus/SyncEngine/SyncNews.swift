// How a sync engine learns that there is something to do: news from the server, and its bell.

import Synchronization

/// Where news of the server come from.
package protocol SyncNews: Sendable {
    /// Calls `hear` when something may have changed on the server, and when the server can be
    /// reached again; returns when the task is cancelled.
    func follow(_ hear: @escaping @Sendable () -> Void) async
}

/// News by asking: fetches which zones changed at an interval.
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
                isReached = false
                if (error as? ServiceError)?.code == .changeTokenExpired { token = nil }
            }
            try? await database.core.environment.sleep(milliseconds)
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

    /// Waits until it rings, the time is up or the task is cancelled; nil means no time.
    ///
    /// One task waits at a time. It may return early.
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
                // Something else was earlier.
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
