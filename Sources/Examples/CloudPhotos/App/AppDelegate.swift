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
    private let history: NotificationHistory
    private let controller: PhotosController

    init(_ terminal: Terminal) {
        self.terminal = terminal
        history = NotificationHistory()
        controller = PhotosController(terminal, history)
    }

    var commands: [ExampleCommand] { return controller.commands }

    // MARK: - The start

    /// Finds out who is signed in, and registers for notifications.
    func applicationDidFinishLaunching(completion: @escaping () -> Void) {
        container.accountStatus { status, error in
            DispatchQueue.main.async {
                switch status {
                case .available: return self.signIn(completion)
                case .noAccount:
                    self.terminal.say("Signed out: photos can be looked at, not changed")
                default:
                    let reason = error?.localizedDescription ?? "the server can't be reached"
                    self.terminal.say("Not connected: \(reason)")
                }
                completion()
            }
        }
    }

    private func signIn(_ completion: @escaping () -> Void) {
        container.fetchUserRecordID { id, error in
            DispatchQueue.main.async {
                self.controller.user = id
                self.controller.report(error)
                self.registerForRemoteNotifications(completion)
            }
        }
    }

    private func registerForRemoteNotifications(_ completion: @escaping () -> Void) {
        history.fetch { token, error in
            self.controller.report(error)
            let count = self.history.unread.count
            if count > 0 { self.terminal.say("Unread notifications: \(count)") }
            let receiver = CKNotificationReceiver(container: self.container, since: token)
            Task {
                do {
                    try await receiver.run { userInfo in
                        await self.application(didReceiveRemoteNotification: userInfo)
                    }
                } catch {
                    self.terminal.say("Notifications end: \(error.localizedDescription)")
                }
            }
            completion()
        }
    }

    // MARK: - Notifications

    private func application(didReceiveRemoteNotification userInfo: [AnyHashable: Any]) {
        guard let notification = CKNotification(fromRemoteNotificationDictionary: userInfo),
            let news = notification as? CKQueryNotification
        else { return }
        history.received(news)
        guard let id = news.recordID else { return controller.photosMayHaveChanged() }
        switch news.queryNotificationReason {
        case .recordCreated: controller.photoWasChanged(id, "Added")
        case .recordUpdated: controller.photoWasChanged(id, "Changed")
        case .recordDeleted: controller.photoWasRemoved(id, news.recordFields)
        @unknown default: controller.photosMayHaveChanged()
        }
    }
}
