// The app's life: who is signed in, and the notifications that arrive.
//
// Started by `Main`. On Apple's systems a push service calls `didReceiveRemoteNotification`; here
// that is `CKNotificationReceiver`.

import CloudKit
import ExampleTerminal

@MainActor
final class AppDelegate {
    private let container = CKContainer.default()
    private let terminal: Terminal
    let controller = PostController()

    init(_ terminal: Terminal) {
        self.terminal = terminal
    }

    // MARK: - The start

    /// Finds out whether somebody is signed in, and registers for notifications.
    func applicationDidFinishLaunching() async throws {
        switch try await container.accountStatus() {
        case .available: break
        case .noAccount: return terminal.say("Signed out: posts can be read, not written")
        default: return terminal.say("Not connected: the server can't be reached")
        }
        let receiver = CKNotificationReceiver(container: container, since: try await lastToken())
        Task {
            do {
                try await receiver.run { userInfo in
                    guard let note = CKNotification(fromRemoteNotificationDictionary: userInfo)
                    else { return }
                    await self.application(didReceiveRemoteNotification: note)
                }
            } catch {
                terminal.say("Notifications end: \(error.localizedDescription)")
            }
        }
    }

    /// The token of the last notification, so that none is missed from here on.
    private func lastToken() async throws -> CKServerChangeToken? {
        try await withCheckedThrowingContinuation { done in
            let operation = CKFetchNotificationChangesOperation()
            operation.fetchNotificationChangesCompletionBlock = { token, error in
                if let error {
                    done.resume(throwing: error)
                } else {
                    done.resume(returning: token)
                }
            }
            container.add(operation)
        }
    }

    // MARK: - Notifications

    private func application(didReceiveRemoteNotification notification: CKNotification) async {
        guard let notification = notification as? CKQueryNotification else { return }
        do {
            switch try await controller.news(of: notification) {
            case .posts(let posts):
                for post in posts { terminal.announce("New post: \(post.caption)") }
            case .comments(let comments, let post):
                for comment in comments {
                    terminal.announce("New comment on '\(post.caption)': \(comment.text)")
                }
            case nil: break
            }
        } catch {
            terminal.say("News could not be fetched: \(error.localizedDescription)")
        }
    }
}
