// The model layer of a bird watcher's app of 2016: a local cache of a zone that is kept by
// operations with blocks, and spots in the public database that everybody sees.
//
// Written as the published guides of that year write it, with the names of Swift 3.

// swift-format-ignore-file: NeverForceUnwrap

import CloudKit
import CoreLocation
import Foundation

class Sighting: NSObject {
    static let recordType = "Sighting"

    let recordID: CKRecordID
    var bird: String
    var count: Int
    var seenAt: Date
    var location: CLLocation?
    /// What the server sent with the record: its change tag above all.
    var systemFields: Data?

    init(bird: String, count: Int, location: CLLocation?, in zoneID: CKRecordZoneID) {
        self.recordID = CKRecordID(recordName: UUID().uuidString, zoneID: zoneID)
        self.bird = bird
        self.count = count
        self.seenAt = Date()
        self.location = location
    }

    init?(record: CKRecord) {
        guard let bird = record["bird"] as? String, let seenAt = record["seenAt"] as? Date else {
            return nil
        }
        self.recordID = record.recordID
        self.bird = bird
        self.count = (record["count"] as? NSNumber)?.intValue ?? 0
        self.seenAt = seenAt
        self.location = record["location"] as? CLLocation
        super.init()
        keepSystemFields(of: record)
    }

    func keepSystemFields(of record: CKRecord) {
        let data = NSMutableData()
        let archiver = NSKeyedArchiver(forWritingWith: data)
        archiver.requiresSecureCoding = true
        record.encodeSystemFields(with: archiver)
        archiver.finishEncoding()
        systemFields = data as Data
    }

    func toRecord() -> CKRecord {
        let record: CKRecord
        if let data = systemFields {
            let unarchiver = NSKeyedUnarchiver(forReadingWith: data)
            unarchiver.requiresSecureCoding = true
            // swift-format-ignore: NeverForceUnwrap
            record = CKRecord(coder: unarchiver)!
        } else {
            record = CKRecord(recordType: Sighting.recordType, recordID: recordID)
        }
        record["bird"] = bird as NSString
        record["count"] = count as NSNumber
        record["seenAt"] = seenAt as NSDate
        record["location"] = location
        return record
    }
}

class SightingCache {
    let container: CKContainer
    let privateDB: CKDatabase
    let publicDB: CKDatabase

    // Use a consistent zone ID across the user's devices.
    let zoneID = CKRecordZoneID(zoneName: "Sightings", ownerName: CKCurrentUserDefaultName)
    let privateSubscriptionId = "private-changes"

    var createdCustomZone = false
    var subscribedToPrivateChanges = false
    var sightings: [CKRecordID: Sighting] = [:]

    private var tokens: [String: Data] = [:]
    private let lock = NSLock()

    init(container: CKContainer = CKContainer.default()) {
        self.container = container
        self.privateDB = container.privateCloudDatabase
        self.publicDB = container.publicCloudDatabase
    }

    // MARK: - Setting up

    func start(completion: @escaping (Error?) -> Void) {
        let group = DispatchGroup()
        var firstError: Error?

        if !createdCustomZone {
            group.enter()
            let customZone = CKRecordZone(zoneID: zoneID)
            let createZoneOperation = CKModifyRecordZonesOperation(
                recordZonesToSave: [customZone],
                recordZoneIDsToDelete: []
            )
            createZoneOperation.modifyRecordZonesCompletionBlock = { (saved, deleted, error) in
                if error == nil {
                    self.createdCustomZone = true
                } else {
                    firstError = error
                }
                group.leave()
            }
            createZoneOperation.qualityOfService = .userInitiated
            privateDB.add(createZoneOperation)
        }

        if !subscribedToPrivateChanges {
            group.enter()
            let operation = createDatabaseSubscriptionOperation(
                subscriptionId: privateSubscriptionId
            )
            operation.modifySubscriptionsCompletionBlock = { (subscriptions, deletedIds, error) in
                if error == nil {
                    self.subscribedToPrivateChanges = true
                } else {
                    firstError = error
                }
                group.leave()
            }
            privateDB.add(operation)
        }

        // Fetch any changes from the server that happened while the app wasn't running.
        group.notify(queue: DispatchQueue.global()) {
            if self.createdCustomZone && firstError == nil {
                self.fetchChanges(in: .private, completion: completion)
            } else {
                completion(firstError)
            }
        }
    }

    func createDatabaseSubscriptionOperation(
        subscriptionId: String
    ) -> CKModifySubscriptionsOperation {
        let subscription = CKDatabaseSubscription(subscriptionID: subscriptionId)
        let notificationInfo = CKNotificationInfo()
        // Send a silent notification.
        notificationInfo.shouldSendContentAvailable = true
        subscription.notificationInfo = notificationInfo
        let operation = CKModifySubscriptionsOperation(
            subscriptionsToSave: [subscription],
            subscriptionIDsToDelete: []
        )
        operation.qualityOfService = .utility
        return operation
    }

    func didReceiveRemoteNotification(
        _ userInfo: [AnyHashable: Any],
        completion: @escaping (Bool) -> Void
    ) {
        let dict = userInfo as! [String: NSObject]
        guard
            let notification = CKNotification(fromRemoteNotificationDictionary: dict)
                as? CKDatabaseNotification
        else {
            completion(false)
            return
        }
        fetchChanges(in: notification.databaseScope) { error in
            completion(error == nil)
        }
    }

    // MARK: - Fetching what changed

    func fetchChanges(in databaseScope: CKDatabaseScope, completion: @escaping (Error?) -> Void) {
        switch databaseScope {
        case .private:
            fetchDatabaseChanges(
                database: privateDB,
                databaseTokenKey: "private",
                completion: completion
            )
        case .shared, .public:
            completion(nil)
        }
    }

    private func fetchDatabaseChanges(
        database: CKDatabase,
        databaseTokenKey: String,
        completion: @escaping (Error?) -> Void
    ) {
        var changedZoneIDs: [CKRecordZoneID] = []
        let operation = CKFetchDatabaseChangesOperation(
            previousServerChangeToken: token(forKey: databaseTokenKey)
        )
        operation.recordZoneWithIDChangedBlock = { (zoneID) in
            changedZoneIDs.append(zoneID)
        }
        operation.recordZoneWithIDWasDeletedBlock = { (zoneID) in
            self.removeAll(in: zoneID)
        }
        operation.changeTokenUpdatedBlock = { (token) in
            self.keep(token, forKey: databaseTokenKey)
        }
        operation.fetchDatabaseChangesCompletionBlock = { (token, moreComing, error) in
            if let error = error {
                completion(error)
                return
            }
            self.keep(token, forKey: databaseTokenKey)
            if changedZoneIDs.isEmpty {
                completion(nil)
                return
            }
            self.fetchZoneChanges(
                database: database,
                zoneIDs: changedZoneIDs,
                completion: completion
            )
        }
        operation.qualityOfService = .userInitiated
        database.add(operation)
    }

    private func fetchZoneChanges(
        database: CKDatabase,
        zoneIDs: [CKRecordZoneID],
        completion: @escaping (Error?) -> Void
    ) {
        // Look up the previous change token for each zone.
        var optionsByRecordZoneID = [CKRecordZoneID: CKFetchRecordZoneChangesOptions]()
        for zoneID in zoneIDs {
            let options = CKFetchRecordZoneChangesOptions()
            options.previousServerChangeToken = token(forKey: zoneID.zoneName)
            optionsByRecordZoneID[zoneID] = options
        }
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: zoneIDs,
            optionsByRecordZoneID: optionsByRecordZoneID
        )
        operation.recordChangedBlock = { (record) in
            guard record.recordType == Sighting.recordType else { return }
            guard let sighting = Sighting(record: record) else {
                NSLog("A sighting without a bird: %@", record.recordID.recordName)
                return
            }
            self.put(sighting)
        }
        operation.recordWithIDWasDeletedBlock = { (recordId, recordType) in
            self.remove(recordId)
        }
        operation.recordZoneChangeTokensUpdatedBlock = { (zoneId, token, data) in
            self.keep(token, forKey: zoneId.zoneName)
        }
        operation.recordZoneFetchCompletionBlock = { (zoneId, changeToken, _, _, error) in
            if let error = error as? CKError, error.code == .changeTokenExpired {
                self.keep(nil, forKey: zoneId.zoneName)
                return
            }
            self.keep(changeToken, forKey: zoneId.zoneName)
        }
        operation.fetchRecordZoneChangesCompletionBlock = { (error) in
            completion(error)
        }
        database.add(operation)
    }

    // MARK: - Saving

    func save(_ sightings: [Sighting], completion: @escaping (Error?) -> Void) {
        let operation = CKModifyRecordsOperation(
            recordsToSave: sightings.map { $0.toRecord() },
            recordIDsToDelete: nil
        )
        operation.savePolicy = .ifServerRecordUnchanged
        operation.isAtomic = false
        operation.perRecordCompletionBlock = { (record, error) in
            guard let sighting = sightings.first(where: { $0.recordID == record.recordID }) else {
                return
            }
            if let error = error as? CKError, error.code == .serverRecordChanged,
                let serverRecord = error.userInfo[CKRecordChangedErrorServerRecordKey] as? CKRecord
            {
                // The larger count stands.
                sighting.count = max(sighting.count, serverRecord["count"] as? Int ?? 0)
                sighting.keepSystemFields(of: serverRecord)
                self.put(sighting)
            } else if error == nil {
                sighting.keepSystemFields(of: record)
                self.put(sighting)
            }
        }
        operation.modifyRecordsCompletionBlock = { (saved, deleted, error) in
            if let ckError = error as? CKError, ckError.code == .partialFailure {
                let errors = ckError.userInfo[CKPartialErrorsByItemIDKey] as? [AnyHashable: Error]
                completion(errors?.values.first)
                return
            }
            if let retry = (error as NSError?)?.userInfo[CKErrorRetryAfterKey] as? NSNumber {
                let when = DispatchTime.now() + retry.doubleValue
                DispatchQueue.main.asyncAfter(deadline: when) {
                    self.save(sightings, completion: completion)
                }
                return
            }
            completion(error)
        }
        privateDB.add(operation)
    }

    func delete(_ sighting: Sighting, completion: @escaping (Error?) -> Void) {
        privateDB.delete(withRecordID: sighting.recordID) { (recordID, error) in
            if let recordID = recordID {
                self.remove(recordID)
            }
            completion(error)
        }
    }

    // MARK: - The public database

    func addSpot(
        named name: String,
        at location: CLLocation,
        photo: URL,
        completion: @escaping (CKRecord?, Error?) -> Void
    ) {
        let spotID = CKRecordID(recordName: "spot-" + name)
        let spot = CKRecord(recordType: "Spot", recordID: spotID)
        spot["name"] = name as NSString
        spot["location"] = location
        spot["photo"] = CKAsset(fileURL: photo)
        publicDB.save(spot) { (record, error) in
            completion(record, error)
        }
    }

    func addNote(
        _ text: String,
        to spot: CKRecord,
        completion: @escaping (Error?) -> Void
    ) {
        let note = CKRecord(recordType: "Note")
        note["text"] = text as NSString
        note["spot"] = CKReference(record: spot, action: .deleteSelf)
        publicDB.save(note) { (_, error) in completion(error) }
    }

    func notes(of spot: CKRecord, completion: @escaping ([CKRecord]?, Error?) -> Void) {
        let reference = CKReference(recordID: spot.recordID, action: .none)
        let predicate = NSPredicate(format: "spot == %@", reference)
        let query = CKQuery(recordType: "Note", predicate: predicate)
        publicDB.perform(query, inZoneWith: nil, completionHandler: completion)
    }

    func findSpots(
        near location: CLLocation,
        within radiusInKilometers: CGFloat,
        found: @escaping (CKRecord) -> Void,
        completion: @escaping (CKQueryCursor?, Error?) -> Void
    ) {
        let predicate = NSPredicate(
            format: "distanceToLocation:fromLocation:(location, %@) < %f",
            location,
            radiusInKilometers * 1000
        )
        let query = CKQuery(recordType: "Spot", predicate: predicate)
        query.sortDescriptors = [
            CKLocationSortDescriptor(key: "location", relativeLocation: location)
        ]
        let operation = CKQueryOperation(query: query)
        operation.desiredKeys = ["name", "location"]
        operation.resultsLimit = 1
        operation.recordFetchedBlock = found
        operation.queryCompletionBlock = completion
        publicDB.add(operation)
    }

    func findMoreSpots(
        from cursor: CKQueryCursor,
        found: @escaping (CKRecord) -> Void,
        completion: @escaping (CKQueryCursor?, Error?) -> Void
    ) {
        let operation = CKQueryOperation(cursor: cursor)
        operation.resultsLimit = CKQueryOperationMaximumResults
        operation.recordFetchedBlock = found
        operation.queryCompletionBlock = completion
        publicDB.add(operation)
    }

    // MARK: - The cache

    private func put(_ sighting: Sighting) {
        lock.lock()
        sightings[sighting.recordID] = sighting
        lock.unlock()
    }

    private func remove(_ recordID: CKRecordID) {
        lock.lock()
        sightings.removeValue(forKey: recordID)
        lock.unlock()
    }

    private func removeAll(in zoneID: CKRecordZoneID) {
        lock.lock()
        for recordID in sightings.keys where recordID.zoneID == zoneID {
            sightings.removeValue(forKey: recordID)
        }
        lock.unlock()
    }

    private func token(forKey key: String) -> CKServerChangeToken? {
        lock.lock()
        defer { lock.unlock() }
        guard let data = tokens[key] else { return nil }
        return NSKeyedUnarchiver.unarchiveObject(with: data) as? CKServerChangeToken
    }

    private func keep(_ token: CKServerChangeToken?, forKey key: String) {
        lock.lock()
        defer { lock.unlock() }
        if let token = token {
            tokens[key] = NSKeyedArchiver.archivedData(withRootObject: token)
        } else {
            tokens[key] = nil
        }
    }
}
