// Loads the images of restaurants, each when it is to be shown, and keeps what it has loaded.
//
// Used by `DiscoverModel`.

import CloudKit

/// The images of restaurants, in a cache.
@MainActor
final class ImageLoader {
    enum Source {
        case cache
        case server
    }

    private let database = CKContainer.default().publicCloudDatabase
    private let cache = NSCache<CKRecord.ID, NSURL>()

    /// The file of an image that was loaded before; nil if it was not, or is gone.
    func cachedImage(of restaurant: Restaurant) -> URL? {
        guard let url = cache.object(forKey: restaurant.id) as URL?,
            FileManager.default.fileExists(atPath: url.path)
        else { return nil }
        return url
    }

    /// The file of a restaurant's image, and where it came from; nil if there is no image.
    func image(of restaurant: Restaurant) async throws -> (url: URL, source: Source)? {
        if let url = cachedImage(of: restaurant) { return (url, .cache) }
        guard let url = try await fetchImage(of: restaurant.id) else { return nil }
        cache.setObject(url as NSURL, forKey: restaurant.id)
        return (url, .server)
    }

    private func fetchImage(of id: CKRecord.ID) async throws -> URL? {
        try await withCheckedThrowingContinuation { continuation in
            let operation = CKFetchRecordsOperation(recordIDs: [id])
            operation.desiredKeys = [Restaurant.Key.image]
            operation.queuePriority = .veryHigh
            operation.qualityOfService = .userInitiated
            operation.perRecordResultBlock = { _, result in
                continuation.resume(
                    with: result.map { ($0[Restaurant.Key.image] as? CKAsset)?.fileURL }
                )
            }
            database.add(operation)
        }
    }
}
