// Loads the images of restaurants, each when it is to be shown, and keeps what it has loaded.
//
// Used by `DiscoverModel`.

import CloudKit

/// The images of restaurants, in a folder that outlives the app.
@MainActor
final class ImageLoader {
    enum Source {
        case cache
        case server
    }

    private let database = CKContainer.default().publicCloudDatabase
    private let folder = ImageLoader.standardFolder

    /// A folder in the user's home, as the environment names it.
    private static var standardFolder: URL {
        let home = ProcessInfo.processInfo.environment["HOME"] ?? NSTemporaryDirectory()
        return URL(filePath: home).appending(path: ".cache/FoodPin")
    }

    /// The file of an image that was loaded before; nil if it was not.
    func cachedImage(of restaurant: Restaurant) -> URL? {
        let file = file(of: restaurant)
        return FileManager.default.fileExists(atPath: file.path) ? file : nil
    }

    /// The file of a restaurant's image, and where it came from; nil if there is no image.
    func image(of restaurant: Restaurant) async throws -> (url: URL, source: Source)? {
        if let url = cachedImage(of: restaurant) { return (url, .cache) }
        guard let url = try await fetchImage(of: restaurant.id) else { return nil }
        return (keep(url, for: restaurant), .server)
    }

    /// Removes the files of restaurants that are gone, and of images before they were changed.
    func removeImages(except restaurants: [Restaurant]) {
        let kept = Set(restaurants.map { file(of: $0).lastPathComponent })
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        for name in names where !kept.contains(name) {
            try? FileManager.default.removeItem(at: folder.appending(path: name))
        }
    }

    private func fetchImage(of id: CKRecord.ID) async throws -> URL? {
        let results = try await database.records(for: [id], desiredKeys: [Restaurant.Key.image])
        return try (results[id]?.get()[Restaurant.Key.image] as? CKAsset)?.fileURL
    }

    /// Copies a download, since CloudKit may drop its own file at any time.
    ///
    /// - Returns: The copy; the download itself if the folder can't be written.
    private func keep(_ download: URL, for restaurant: Restaurant) -> URL {
        let file = file(of: restaurant)
        do {
            try FileManager.default.createDirectory(
                at: folder,
                withIntermediateDirectories: true
            )
            try Data(contentsOf: download).write(to: file, options: .atomic)
            return file
        } catch {
            return download
        }
    }

    /// The file that keeps the present image of a restaurant.
    ///
    /// Others choose the names of records: their slashes must not lead out of the folder.
    private func file(of restaurant: Restaurant) -> URL {
        let safe = CharacterSet.alphanumerics.union(["-"])
        let name = "\(restaurant.id.recordName)-\(restaurant.changeTag)"
        let encoded = name.addingPercentEncoding(withAllowedCharacters: safe) ?? "image"
        return folder.appendingPathComponent(encoded)
    }
}
