// A facade of CloudKit: everything that the app asks of the server. All completions are called on
// the main queue.
//
// Used by `SyncEngine` and `TimelineController`, which know no database.
//
// Folder: the app's calls. Read `CloudKitManager`, its extensions
// `CloudKitManager+Subscriptions` and `CloudKitManager+Users`, then `SyncEngine`.

import CloudKit

class CloudKitManager {
    let container = CKContainer.default()
    var publicDatabase: CKDatabase { return container.publicCloudDatabase }

    // MARK: - Fetching

    func fetchRecord(
        withID recordID: CKRecord.ID,
        completion: @escaping (_ record: CKRecord?, _ error: Error?) -> Void
    ) {
        publicDatabase.fetch(withRecordID: recordID) { record, error in
            DispatchQueue.main.async { completion(record, error) }
        }
    }

    /// Fetches all records that a predicate finds, page by page.
    func fetchRecords(
        ofType type: String,
        predicate: NSPredicate = NSPredicate(value: true),
        sortDescriptors: [NSSortDescriptor]? = nil,
        completion: @escaping (_ records: [CKRecord], _ error: Error?) -> Void
    ) {
        let query = CKQuery(recordType: type, predicate: predicate)
        query.sortDescriptors = sortDescriptors
        fetchPage(CKQueryOperation(query: query), after: [], completion: completion)
    }

    private func fetchPage(
        _ operation: CKQueryOperation,
        after previous: [CKRecord],
        completion: @escaping (_ records: [CKRecord], _ error: Error?) -> Void
    ) {
        var records = previous
        operation.qualityOfService = .userInitiated
        operation.recordFetchedBlock = { record in records.append(record) }
        operation.queryCompletionBlock = { cursor, error in
            if error == nil, let cursor = cursor {
                self.fetchPage(
                    CKQueryOperation(cursor: cursor),
                    after: records,
                    completion: completion
                )
            } else {
                DispatchQueue.main.async { completion(records, error) }
            }
        }
        publicDatabase.add(operation)
    }

    /// Fetches the records that were saved first within a range of dates.
    func fetchRecords(
        ofType type: String,
        from fromDate: Date,
        to toDate: Date,
        completion: @escaping (_ records: [CKRecord], _ error: Error?) -> Void
    ) {
        let start = NSPredicate(format: "%K > %@", argumentArray: ["creationDate", fromDate])
        let end = NSPredicate(format: "%K < %@", argumentArray: ["creationDate", toDate])
        fetchRecords(
            ofType: type,
            predicate: NSCompoundPredicate(andPredicateWithSubpredicates: [start, end]),
            sortDescriptors: [NSSortDescriptor(key: "creationDate", ascending: true)],
            completion: completion
        )
    }

    /// Fetches the records that the signed-in user made.
    func fetchCurrentUserRecords(
        ofType type: String,
        completion: @escaping (_ records: [CKRecord], _ error: Error?) -> Void
    ) {
        fetchLoggedInUserID { recordID, error in
            guard let recordID = recordID else { return completion([], error) }
            let predicate = NSPredicate(
                format: "%K == %@",
                argumentArray: ["creatorUserRecordID", recordID]
            )
            self.fetchRecords(ofType: type, predicate: predicate, completion: completion)
        }
    }

    /// Finds out which of these records are there no more.
    func fetchDeletedIDs(
        among recordIDs: [CKRecord.ID],
        completion: @escaping (_ recordIDs: [CKRecord.ID], _ error: Error?) -> Void
    ) {
        let operation = CKFetchRecordsOperation(recordIDs: recordIDs)
        // Only their existence is asked for.
        operation.desiredKeys = []
        operation.fetchRecordsCompletionBlock = { _, error in
            let errors = (error as? CKError)?.partialErrorsByItemID
            let deleted = recordIDs.filter { (errors?[$0] as? CKError)?.code == .unknownItem }
            DispatchQueue.main.async { completion(deleted, errors == nil ? error : nil) }
        }
        publicDatabase.add(operation)
    }

    // MARK: - Changing

    /// Saves records, each for itself: one that fails keeps no other one from being saved.
    func saveRecords(
        _ records: [CKRecord],
        perRecordCompletion: @escaping (_ record: CKRecord, _ error: Error?) -> Void,
        completion: @escaping (_ error: Error?) -> Void
    ) {
        let operation = CKModifyRecordsOperation(recordsToSave: records, recordIDsToDelete: nil)
        operation.savePolicy = .ifServerRecordUnchanged
        operation.qualityOfService = .userInitiated
        operation.perRecordCompletionBlock = { record, error in
            DispatchQueue.main.async { perRecordCompletion(record, error) }
        }
        operation.modifyRecordsCompletionBlock = { _, _, error in
            DispatchQueue.main.async {
                // Each record's error was told already.
                completion((error as? CKError)?.code == .partialFailure ? nil : error)
            }
        }
        publicDatabase.add(operation)
    }

    func deleteRecord(
        withID recordID: CKRecord.ID,
        completion: @escaping (_ error: Error?) -> Void
    ) {
        publicDatabase.delete(withRecordID: recordID) { _, error in
            DispatchQueue.main.async { completion(error) }
        }
    }
}
