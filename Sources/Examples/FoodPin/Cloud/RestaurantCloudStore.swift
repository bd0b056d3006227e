// All calls about restaurants.
//
// Used by `DiscoverModel`.
//
// Folder: the app's calls. Read `RestaurantCloudStore`, then `ImageLoader`.

import CloudKit

struct RestaurantCloudStore: Sendable {
    private static let pageSize = 20

    private let database = CKContainer.default().publicCloudDatabase

    /// All restaurants, the newest first, without their images.
    func fetchRestaurants() async throws -> [Restaurant] {
        let query = CKQuery(
            recordType: Restaurant.recordType,
            predicate: NSPredicate(value: true)
        )
        query.sortDescriptors = [NSSortDescriptor(key: "creationDate", ascending: false)]
        var (results, cursor) = try await database.records(
            matching: query,
            desiredKeys: Restaurant.listKeys,
            resultsLimit: Self.pageSize
        )
        while let next = cursor {
            let page = try await database.records(
                continuingMatchFrom: next,
                desiredKeys: Restaurant.listKeys,
                resultsLimit: Self.pageSize
            )
            results += page.matchResults
            cursor = page.queryCursor
        }
        return try results.compactMap { Restaurant(record: try $0.1.get()) }
    }

    /// Uploads a restaurant with its image.
    func save(
        name: String,
        type: String,
        location: String,
        image: URL
    ) async throws -> Restaurant? {
        let record = CKRecord(recordType: Restaurant.recordType)
        record.setValue(name, forKey: Restaurant.Key.name)
        record.setValue(type, forKey: Restaurant.Key.type)
        record.setValue(location, forKey: Restaurant.Key.location)
        record.setValue(CKAsset(fileURL: image), forKey: Restaurant.Key.image)
        return Restaurant(record: try await database.save(record))
    }

    func delete(_ restaurant: Restaurant) async throws {
        try await database.deleteRecord(withID: restaurant.id)
    }
}
