// The app's calls to CloudKit, as few as it needs: records, queries, subscriptions.
//
// Used by `PostController`, which knows no database.
//
// Folder: from the app's wishes to CloudKit's calls. Read `CloudManager`, then `PostController` and
// `PostController+Following`.

import CloudKit

/// A facade of the public database.
struct CloudManager: Sendable {
    private let database = CKContainer.default().publicCloudDatabase

    // MARK: - Records

    func save(_ record: CKRecord) async throws -> CKRecord {
        try await database.save(record)
    }

    func fetch(_ id: CKRecord.ID) async throws -> CKRecord {
        try await database.record(for: id)
    }

    func delete(_ id: CKRecord.ID) async throws {
        _ = try await database.deleteRecord(withID: id)
    }

    /// All records that a query finds, page by page.
    func records(
        of type: CKRecord.RecordType,
        where predicate: NSPredicate,
        sortedBy key: String,
        ascending: Bool
    ) async throws -> [CKRecord] {
        let query = CKQuery(recordType: type, predicate: predicate)
        query.sortDescriptors = [NSSortDescriptor(key: key, ascending: ascending)]
        var (results, cursor) = try await database.records(matching: query)
        while let next = cursor {
            let page = try await database.records(continuingMatchFrom: next)
            results += page.matchResults
            cursor = page.queryCursor
        }
        return try results.map { try $0.1.get() }
    }

    /// Raises a number of a record by one, also if others raise it at the same time.
    ///
    /// - Returns: The new value.
    func raise(_ key: String, of id: CKRecord.ID) async throws -> Int {
        var record = try await fetch(id)
        while true {
            let number = (record[key] as? Int ?? 0) + 1
            record[key] = number
            do {
                _ = try await save(record)
                return number
            } catch let error as CKError where error.code == .serverRecordChanged {
                // Somebody was faster: the next try begins with what is there now.
                guard let now = error.serverRecord else { throw error }
                record = now
            }
        }
    }

    // MARK: - Subscriptions

    func isSubscribed(_ id: CKSubscription.ID) async throws -> Bool {
        do {
            _ = try await database.subscription(for: id)
            return true
        } catch let error as CKError where error.code == .unknownItem {
            return false
        }
    }

    /// Asks for a notification of each new record that a predicate finds.
    func subscribe(
        _ id: CKSubscription.ID,
        to type: CKRecord.RecordType,
        where predicate: NSPredicate,
        alert: String
    ) async throws {
        let subscription = CKQuerySubscription(
            recordType: type,
            predicate: predicate,
            subscriptionID: id,
            options: .firesOnRecordCreation
        )
        let info = CKSubscription.NotificationInfo()
        info.alertBody = alert
        info.shouldSendContentAvailable = true
        subscription.notificationInfo = info
        _ = try await database.save(subscription)
    }

    func unsubscribe(_ id: CKSubscription.ID) async throws {
        _ = try await database.deleteSubscription(withID: id)
    }
}
