// The facade of a timeline app, with the names of Swift 3.

import CloudKit
import Foundation

class CloudKitManager {
    let publicDatabase = CKContainer.default().publicCloudDatabase

    func fetchLoggedInUserRecord(_ completion: ((_ record: CKRecord?, _ error: Error?) -> Void)?) {
        CKContainer.default().fetchUserRecordID { recordID, error in
            guard let recordID = recordID else {
                completion?(nil, error)
                return
            }
            self.fetchRecord(withID: recordID, completion: completion)
        }
    }

    func fetchRecord(
        withID recordID: CKRecordID,
        completion: ((_ record: CKRecord?, _ error: Error?) -> Void)?
    ) {
        publicDatabase.fetch(withRecordID: recordID) { record, error in
            completion?(record, error)
        }
    }

    func fetchRecords(
        withType type: String,
        predicate: NSPredicate = NSPredicate(value: true),
        recordFetchedBlock: ((_ record: CKRecord) -> Void)?,
        completion: ((_ records: [CKRecord]?, _ error: Error?) -> Void)?
    ) {
        var fetchedRecords: [CKRecord] = []
        let query = CKQuery(recordType: type, predicate: predicate)
        let queryOperation = CKQueryOperation(query: query)
        let perRecordBlock = { (fetchedRecord: CKRecord) -> Void in
            fetchedRecords.append(fetchedRecord)
            recordFetchedBlock?(fetchedRecord)
        }
        queryOperation.recordFetchedBlock = perRecordBlock

        var queryCompletionBlock: (CKQueryCursor?, Error?) -> Void = { _, _ in }
        queryCompletionBlock = { (queryCursor: CKQueryCursor?, error: Error?) -> Void in
            if let queryCursor = queryCursor {
                let continued = CKQueryOperation(cursor: queryCursor)
                continued.recordFetchedBlock = perRecordBlock
                continued.queryCompletionBlock = queryCompletionBlock
                self.publicDatabase.add(continued)
            } else {
                completion?(fetchedRecords, error)
            }
        }
        queryOperation.queryCompletionBlock = queryCompletionBlock
        queryOperation.resultsLimit = 2
        publicDatabase.add(queryOperation)
    }

    func fetchRecordsFromDateRange(
        _ type: String,
        fromDate: Date,
        toDate: Date,
        completion: ((_ records: [CKRecord]?, _ error: Error?) -> Void)?
    ) {
        let start = NSPredicate(format: "%K > %@", argumentArray: ["creationDate", fromDate])
        let end = NSPredicate(format: "%K < %@", argumentArray: ["creationDate", toDate])
        let predicate = NSCompoundPredicate(
            andPredicateWithSubpredicates: [start, end]
        )
        fetchRecords(withType: type, predicate: predicate, recordFetchedBlock: nil) {
            records,
            error in completion?(records, error)
        }
    }

    func fetchCurrentUserRecords(
        _ type: String,
        completion: ((_ records: [CKRecord]?, _ error: Error?) -> Void)?
    ) {
        fetchLoggedInUserRecord { record, error in
            guard let record = record else {
                completion?(nil, error)
                return
            }
            let predicate = NSPredicate(
                format: "%K == %@",
                argumentArray: ["creatorUserRecordID", record.recordID]
            )
            self.fetchRecords(
                withType: type,
                predicate: predicate,
                recordFetchedBlock: nil,
                completion: completion
            )
        }
    }

    func saveRecords(
        _ records: [CKRecord],
        perRecordCompletion: ((_ record: CKRecord?, _ error: Error?) -> Void)?,
        completion: ((_ records: [CKRecord]?, _ error: Error?) -> Void)?
    ) {
        modifyRecords(records, perRecordCompletion: perRecordCompletion, completion: completion)
    }

    func modifyRecords(
        _ records: [CKRecord],
        perRecordCompletion: ((_ record: CKRecord?, _ error: Error?) -> Void)?,
        completion: ((_ records: [CKRecord]?, _ error: Error?) -> Void)?
    ) {
        let operation = CKModifyRecordsOperation(recordsToSave: records, recordIDsToDelete: nil)
        operation.savePolicy = .changedKeys
        operation.queuePriority = .high
        operation.qualityOfService = .userInteractive
        operation.perRecordCompletionBlock = perRecordCompletion
        operation.modifyRecordsCompletionBlock = { records, _, error in
            completion?(records, error)
        }
        publicDatabase.add(operation)
    }

    func deleteRecordWithID(
        _ recordID: CKRecordID,
        completion: ((_ recordID: CKRecordID?, _ error: Error?) -> Void)?
    ) {
        publicDatabase.delete(withRecordID: recordID) { recordID, error in
            completion?(recordID, error)
        }
    }

    func subscribe(
        _ type: String,
        predicate: NSPredicate,
        subscriptionID: String,
        contentAvailable: Bool,
        alertBody: String? = nil,
        options: CKQuerySubscriptionOptions,
        completion: ((_ subscription: CKSubscription?, _ error: Error?) -> Void)?
    ) {
        let subscription = CKQuerySubscription(
            recordType: type,
            predicate: predicate,
            subscriptionID: subscriptionID,
            options: options
        )
        let notificationInfo = CKNotificationInfo()
        notificationInfo.alertBody = alertBody
        notificationInfo.shouldSendContentAvailable = contentAvailable
        subscription.notificationInfo = notificationInfo
        publicDatabase.save(subscription) { subscription, error in
            completion?(subscription, error)
        }
    }

    func requestDiscoverabilityPermission(completion: @escaping (Bool) -> Void) {
        CKContainer.default().status(forApplicationPermission: .userDiscoverability) { status, _ in
            guard status == .initialState else { return completion(status == .granted) }
            CKContainer.default().requestApplicationPermission(.userDiscoverability) { status, _ in
                completion(status == .granted)
            }
        }
    }

    func isRetryable(_ error: Error) -> Double? {
        guard let error = error as? CKError else { return nil }
        switch error.code {
        case .requestRateLimited, .serviceUnavailable, .zoneBusy:
            return error.userInfo[CKErrorRetryAfterKey] as? Double
        case .networkFailure, .networkUnavailable: return 1
        default: return nil
        }
    }
}
