// Restaurants of a tutorial: calls with await, only some keys, images one by one and later.

import CloudKit
import Foundation

actor RestaurantStore {
    private let database = CKContainer.default().publicCloudDatabase
    private var images: [CKRecord.ID: Data] = [:]
    private(set) var restaurants: [CKRecord] = []

    func refresh() async throws {
        let query = CKQuery(recordType: "Restaurant", predicate: NSPredicate(value: true))
        query.sortDescriptors = [NSSortDescriptor(key: "creationDate", ascending: false)]
        let results = try await database.records(
            matching: query,
            desiredKeys: ["name", "type"],
            resultsLimit: 50
        )
        for (_, result) in results.matchResults {
            if let record = try? result.get(), !holds(record) { restaurants.append(record) }
        }
    }

    private func holds(_ record: CKRecord) -> Bool {
        restaurants.contains { $0.recordID == record.recordID }
    }

    func image(of record: CKRecord) async throws -> Data? {
        if let image = images[record.recordID] { return image }
        let result: Data? = try await withCheckedThrowingContinuation { continuation in
            let fetch = CKFetchRecordsOperation(recordIDs: [record.recordID])
            fetch.desiredKeys = ["image"]
            fetch.queuePriority = .veryHigh
            fetch.perRecordResultBlock = { _, result in
                continuation.resume(
                    with: result.map { record in
                        guard let asset = record.object(forKey: "image") as? CKAsset,
                            let url = asset.fileURL
                        else { return nil }
                        return try? Data(contentsOf: url)
                    }
                )
            }
            database.add(fetch)
        }
        images[record.recordID] = result
        return result
    }

    func save(name: String, type: String, image: URL) async throws -> CKRecord {
        let record = CKRecord(recordType: "Restaurant")
        record.setValue(name, forKey: "name")
        record.setValue(type, forKey: "type")
        record.setValue(CKAsset(fileURL: image), forKey: "image")
        return try await database.save(record)
    }
}
