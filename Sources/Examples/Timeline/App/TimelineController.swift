// The app's model of the timeline: what is written here, and what syncs bring.
//
// Made by `AppDelegate`; used by `TimelineScreen`. Everything runs on the main queue.

import CloudKit

@MainActor
final class TimelineController {
    static let subscriptions = [
        "entries": (type: Entry.recordType, key: Entry.Key.text),
        "comments": (type: Comment.recordType, key: Comment.Key.text),
    ]

    let manager = CloudKitManager()
    private let store: TimelineStore
    private let engine: SyncEngine

    /// Without a connection entries are kept here until there is one again.
    var isInAirplaneMode = false
    /// The signed-in user; nil if there is none.
    var user: CKRecord.ID?
    /// Called for each change by others.
    var announce: (String) -> Void = { _ in }

    init(store: TimelineStore = TimelineStore()) {
        self.store = store
        engine = SyncEngine(manager, store)
    }

    /// Up to which notification this device has been told.
    var notificationToken: CKServerChangeToken? {
        get { return store.notificationToken }
        set {
            store.notificationToken = newValue
            try? store.save()
        }
    }

    // MARK: - Reading

    var entries: [Entry] { return store.entries }

    func comments(on entry: Entry) -> [Comment] { return store.comments(on: entry) }

    var unsyncedCount: Int {
        return store.entries.filter { !$0.isSynced }.count
            + store.comments.filter { !$0.isSynced }.count
    }

    func isMine(_ entry: Entry) -> Bool {
        guard let author = entry.author else { return true }
        return author == user?.recordName || author == CKCurrentUserDefaultName
    }

    // MARK: - Writing

    func write(_ text: String, completion: @escaping (SyncOutcome) -> Void) {
        store.add(Entry(text: text))
        keepAndSync(completion)
    }

    func comment(_ text: String, on entry: Entry, completion: @escaping (SyncOutcome) -> Void) {
        store.add(Comment(text: text, on: entry))
        keepAndSync(completion)
    }

    private func keepAndSync(_ completion: @escaping (SyncOutcome) -> Void) {
        do {
            try store.save()
        } catch {
            return completion(SyncOutcome(error: error))
        }
        sync(completion: completion)
    }

    /// Deletes an entry everywhere, and its comments with it.
    func delete(_ entry: Entry, completion: @escaping (Error?) -> Void) {
        guard entry.isSynced else {
            store.remove(entry.name)
            return completion(Result { try store.save() }.error)
        }
        guard !isInAirplaneMode else { return completion(CKError(.networkUnavailable)) }
        manager.deleteRecord(withID: entry.recordID) { error in
            if error == nil || (error as? CKError)?.code == .unknownItem {
                self.store.remove(entry.name)
                completion(Result { try self.store.save() }.error)
            } else {
                completion(error)
            }
        }
    }

    // MARK: - Syncing

    func sync(completion: @escaping (SyncOutcome) -> Void) {
        guard !isInAirplaneMode else { return completion(SyncOutcome()) }
        engine.performFullSync { outcome in
            for entry in outcome.fetchedEntries where !self.isMine(entry) {
                self.announce("New entry: \(entry.text)")
            }
            for comment in outcome.fetchedComments {
                let entry = self.entries.first { $0.name == comment.entryName }
                self.announce("New comment on '\(entry?.text ?? "?")': \(comment.text)")
            }
            completion(outcome)
        }
    }

    /// Syncs when a notification says that something changed.
    func handle(_ notification: CKQueryNotification, completion: @escaping (Error?) -> Void) {
        if notification.queryNotificationReason == .recordDeleted, let id = notification.recordID {
            return completion(forget([id]))
        }
        sync { outcome in
            guard outcome.error == nil, notification.recordID == nil else {
                return completion(outcome.error)
            }
            self.forgetWhatIsGone(completion)
        }
    }

    /// Asks for each entry whether it is still there: the notification could not tell what changed.
    func forgetWhatIsGone(_ completion: @escaping (Error?) -> Void) {
        let known = entries.filter { $0.isSynced }.map { $0.recordID }
        manager.fetchDeletedIDs(among: known) { deleted, error in
            completion(error ?? self.forget(deleted))
        }
    }

    /// Removes what others have deleted: a sync only finds what is new.
    func forget(_ ids: [CKRecord.ID]) -> Error? {
        for id in ids {
            if let text = store.remove(id.recordName) { announce("Deleted: \(text)") }
        }
        return Result { try store.save() }.error
    }

    // MARK: - Subscriptions

    func subscribe(completion: @escaping (Error?) -> Void) {
        each(completion) { id, subscription, done in
            self.manager.subscribe(
                toType: subscription.type,
                subscriptionID: id,
                options: [.firesOnRecordCreation, .firesOnRecordDeletion],
                desiredKeys: [subscription.key],
                completion: done
            )
        }
    }

    func unsubscribe(completion: @escaping (Error?) -> Void) {
        each(completion) { id, _, done in self.manager.unsubscribe(id, completion: done) }
    }

    /// Makes a call for each subscription, and tells the first error.
    private func each(
        _ completion: @escaping (Error?) -> Void,
        _ call: (String, (type: String, key: String), @escaping (Error?) -> Void) -> Void
    ) {
        var left = TimelineController.subscriptions.count
        var firstError: Error?
        for (id, subscription) in TimelineController.subscriptions {
            call(id, subscription) { error in
                left -= 1
                firstError = firstError ?? error
                if left == 0 { completion(firstError) }
            }
        }
    }
}

extension Result {
    /// The error of a failure.
    fileprivate var error: Failure? {
        guard case .failure(let error) = self else { return nil }
        return error
    }
}
