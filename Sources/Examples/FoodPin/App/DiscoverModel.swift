// The list of restaurants, and the images that were loaded so far.
//
// Made by `DiscoverScreen`, which shows it.

import CloudKit

@MainActor
final class DiscoverModel {
    private let store = RestaurantCloudStore()
    let images = ImageLoader()

    /// The newest first.
    private(set) var restaurants: [Restaurant] = []

    /// Whether the list has been fetched since the app's start.
    private(set) var isFetched = false

    /// Pull to refresh: the list becomes what the server has now.
    ///
    /// A restaurant that is saved between two pages moves others to the next page, where they come
    /// again: each stands in the list once.
    ///
    /// - Returns: How many restaurants are new to the list.
    func refresh() async throws -> Int {
        let fetched = try await store.fetchRestaurants()
        let known = Set(restaurants.map(\.id))
        isFetched = true
        var seen: Set<CKRecord.ID> = []
        restaurants = fetched.filter { seen.insert($0.id).inserted }
        images.removeImages(except: restaurants)
        return seen.subtracting(known).count
    }

    func add(name: String, type: String, location: String, image: URL) async throws {
        let saved = try await store.save(
            name: name,
            type: type,
            location: location,
            image: image
        )
        if let saved { restaurants.insert(saved, at: 0) }
    }

    func delete(_ restaurant: Restaurant) async throws {
        try await store.delete(restaurant)
        restaurants.removeAll { $0.id == restaurant.id }
    }
}
