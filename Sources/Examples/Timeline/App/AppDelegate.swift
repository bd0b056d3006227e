// The app's life: who is signed in, and the notifications that arrive.
//
// Started by `Main`. On Apple's systems a push service calls `didReceiveRemoteNotification`; here
// that is `CKNotificationReceiver`.

import CloudKit
import ExampleTerminal

@MainActor
final class AppDelegate {
    private let terminal: Terminal
    let controller = TimelineController()

    init(_ terminal: Terminal) {
        self.terminal = terminal
        controller.announce = { terminal.announce($0) }
    }

    // MARK: - The start

    /// Finds out who is signed in, and registers for notifications.
    func applicationDidFinishLaunching(completion: @escaping () -> Void) {
        controller.manager.checkCloudKitAvailability { status, error in
            switch status {
            case .available: return self.signIn(completion)
            case .noAccount:
                self.terminal.say("Signed out: the timeline can be read; what you write stays here")
            default:
                let reason = error?.localizedDescription ?? "the server can't be reached"
                self.terminal.say("Not connected: \(reason)")
            }
            completion()
        }
    }

    private func signIn(_ completion: @escaping () -> Void) {
        controller.manager.fetchLoggedInUserID { id, error in
            self.controller.user = id
            if let error = error { self.terminal.say(error.localizedDescription) }
            self.registerForRemoteNotifications(completion)
        }
    }

    /// Looks what was deleted while the app did not run, and begins to listen.
    ///
    /// The next sync finds entries that were added meanwhile.
    private func registerForRemoteNotifications(_ completion: @escaping () -> Void) {
        let last = controller.notificationToken
        controller.manager.fetchNotifications(since: last) { notifications, token, error in
            if (error as? CKError)?.code == .changeTokenExpired {
                // The server does not remember that far back.
                self.receiveNotifications(since: nil)
                return self.controller.forgetWhatIsGone { _ in completion() }
            }
            let deleted = notifications.compactMap { notification -> CKRecord.ID? in
                guard let notification = notification as? CKQueryNotification,
                    notification.queryNotificationReason == .recordDeleted
                else { return nil }
                return notification.recordID
            }
            if let error = error ?? self.controller.forget(deleted) {
                self.terminal.say(error.localizedDescription)
            }
            self.controller.notificationToken = token ?? last
            self.receiveNotifications(since: token ?? last)
            completion()
        }
    }

    private func receiveNotifications(since token: CKServerChangeToken?) {
        let receiver = CKNotificationReceiver(since: token)
        Task {
            do {
                try await receiver.run { userInfo in
                    await self.application(didReceiveRemoteNotification: userInfo)
                    await self.keep(receiver.token)
                }
            } catch {
                self.terminal.say("Notifications end: \(error.localizedDescription)")
            }
        }
    }

    // MARK: - Notifications

    /// The next start goes on from here; what was handled since may come again.
    private func keep(_ token: CKServerChangeToken?) {
        if let token = token { controller.notificationToken = token }
    }

    private func application(didReceiveRemoteNotification userInfo: [AnyHashable: Any]) {
        guard
            let notification = CKNotification(fromRemoteNotificationDictionary: userInfo)
                as? CKQueryNotification
        else { return }
        controller.handle(notification) { error in
            if let error = error { self.terminal.say(error.localizedDescription) }
        }
    }
}
