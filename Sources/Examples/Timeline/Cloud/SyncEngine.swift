// Keeps the timeline of this device and the server's equal: pushes everything that was not synced,
// then fetches everything that is new.
//
// Called by `TimelineController`: when something was written, when a notification came, and when
// the user asks. Only one sync runs at a time. A request during a sync starts one more after it.

import CloudKit

/// The outcome of a sync.
struct SyncOutcome {
    var pushed = 0
    var fetchedEntries: [Entry] = []
    var fetchedComments: [Comment] = []
    /// Why it ended early.
    var error: Error?
}

final class SyncEngine {
    private let manager: CloudKitManager
    private let store: TimelineStore
    private var isSyncing = false
    private var waiting: [(SyncOutcome) -> Void] = []

    init(_ manager: CloudKitManager, _ store: TimelineStore) {
        self.manager = manager
        self.store = store
    }

    func performFullSync(completion: @escaping (SyncOutcome) -> Void) {
        waiting.append(completion)
        startNext()
    }

    private func startNext() {
        guard !isSyncing, !waiting.isEmpty else { return }
        isSyncing = true
        let served = waiting
        waiting = []
        sync { outcome in
            self.isSyncing = false
            for (index, completion) in served.enumerated() {
                // Each change is told once.
                completion(index == 0 ? outcome : SyncOutcome(error: outcome.error))
            }
            self.startNext()
        }
    }

    /// Entries go first: a comment names its entry.
    private func sync(completion: @escaping (SyncOutcome) -> Void) {
        var outcome = SyncOutcome()
        func end(_ error: Error?) {
            outcome.error = error
            do {
                try store.save()
            } catch {
                outcome.error = outcome.error ?? error
            }
            completion(outcome)
        }
        push(store.entries) { count, error in
            outcome.pushed += count
            guard error == nil else { return end(error) }
            let sent = Set(self.store.entries.filter { $0.isSynced }.map { $0.name })
            self.push(self.store.comments.filter { sent.contains($0.entryName) }) { count, error in
                outcome.pushed += count
                guard error == nil else { return end(error) }
                self.fetchNew(self.store.entries) { entries, error in
                    outcome.fetchedEntries = entries
                    for entry in entries { self.store.add(entry) }
                    guard error == nil else { return end(error) }
                    self.fetchNew(self.store.comments) { comments, error in
                        outcome.fetchedComments = comments
                        for comment in comments { self.store.add(comment) }
                        end(error)
                    }
                }
            }
        }
    }

    // MARK: - Pushing

    private func push<Item: CloudKitSyncable>(
        _ items: [Item],
        completion: @escaping (_ count: Int, _ error: Error?) -> Void
    ) {
        let unsynced = items.filter { !$0.isSynced }
        guard !unsynced.isEmpty else { return completion(0, nil) }
        var count = 0
        var firstError: Error?
        manager.saveRecords(
            unsynced.map { $0.makeRecord() },
            perRecordCompletion: { record, error in
                switch (error as? CKError)?.code {
                case nil where error == nil,
                    // It arrived before, and only the answer was lost.
                    .serverRecordChanged?:
                    unsynced.first { $0.recordID == record.recordID }?.isSynced = true
                    count += 1
                case .referenceViolation?:
                    // The entry was deleted meanwhile, so no one will see the comment.
                    self.store.remove(record.recordID.recordName)
                default:
                    firstError = firstError ?? error
                }
            },
            completion: { error in completion(count, error ?? firstError) }
        )
    }

    // MARK: - Fetching

    /// Fetches what the server has and this device has not.
    private func fetchNew<Item: CloudKitSyncable>(
        _ known: [Item],
        completion: @escaping (_ items: [Item], _ error: Error?) -> Void
    ) {
        let held = known.filter { $0.isSynced }.map {
            CKRecord.Reference(recordID: $0.recordID, action: .none)
        }
        let predicate =
            held.isEmpty
            ? NSPredicate(value: true)
            : NSPredicate(format: "NOT (recordID IN %@)", argumentArray: [held])
        manager.fetchRecords(ofType: Item.recordType, predicate: predicate) { records, error in
            completion(records.compactMap { Item(record: $0) }, error)
        }
    }
}
