// The account status of a container, and the streams that tell apps of its changes.
//
// `ClientCore` reports the outcome of each call here; apps read `Container.accountStatusChanges`.
// A stream that falls behind gets the newest status only.

import CumulusModel
import CumulusWire
import Synchronization

final class AccountWatch: Sendable {
    private struct State {
        /// The result of the last call; nil before the first one.
        var status: AccountStatus?
        var isClosed = false
        var watchers: [Int: AsyncStream<AccountStatus>.Continuation] = [:]
        var count = 0
    }

    private let state = Mutex(State())
    /// A container that shows nothing has no account, whatever calls are answered.
    private let isAnonymous: Bool

    init(isAnonymous: Bool) {
        self.isAnonymous = isAnonymous
    }

    /// - Parameter error: The error of a refused call; only code 9 concerns the account.
    func note(refusal error: ServiceError) {
        if error.code == .notAuthenticated { note(.noAccount) }
    }

    func note(_ status: AccountStatus) {
        if isAnonymous { return }
        state.withLock { state in
            guard !state.isClosed, state.status != status else { return }
            state.status = status
            for watcher in state.watchers.values { watcher.yield(status) }
        }
    }

    /// The stream begins with the known status and ends when the container is closed.
    func changes() -> AsyncStream<AccountStatus> {
        let (stream, watcher) = AsyncStream.makeStream(
            of: AccountStatus.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        let number: Int? = state.withLock { state in
            if isAnonymous { watcher.yield(.noAccount) }
            if let status = state.status { watcher.yield(status) }
            if state.isClosed { return nil }
            state.count += 1
            state.watchers[state.count] = watcher
            return state.count
        }
        guard let number else {
            watcher.finish()
            return stream
        }
        watcher.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.watchers.removeValue(forKey: number) }
        }
        return stream
    }

    func close() {
        let watchers = state.withLock { state in
            defer { (state.isClosed, state.watchers) = (true, [:]) }
            return Array(state.watchers.values)
        }
        for watcher in watchers { watcher.finish() }
    }
}

extension Method {
    /// A refusal says that a password or an ID token is wrong, and nothing of the caller.
    private static let opening: Set<UInt32> = Set(
        [Method.accountsSignIn, .accountsRegister, .accountsChangePassword].map(\.rawValue)
    )

    /// Whether answers to calls of that number tell whether the caller is let in.
    static func judgesCaller(_ number: UInt32) -> Bool { !opening.contains(number) }
}
