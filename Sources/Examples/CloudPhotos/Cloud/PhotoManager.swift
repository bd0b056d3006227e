// All calls about photos. It keeps the fetched photos in the order in which they are shown.
//
// Used by `PhotosController`, which is told of the end of each call on the main queue.
//
// Folder: the app's calls. Read `PhotoManager`, then `PhotoSubscription` and `NotificationHistory`.

import CloudKit

final class PhotoManager {
    typealias Completion = (Error?) -> Void

    private static let pageSize = 10

    private let database = CKContainer.default().publicCloudDatabase
    private var cursor: CKQueryOperation.Cursor?

    private(set) var photos: [Photo] = []

    var hasMore: Bool { return cursor != nil }

    // MARK: - Fetching

    /// Fetches the first ten photos of a filter.
    func fetch(_ filter: PhotoFilter, completion: @escaping Completion) {
        run(CKQueryOperation(query: filter.query), after: [], completion: completion)
    }

    /// Fetches the next ten photos.
    func fetchMore(completion: @escaping Completion) {
        guard let cursor = cursor else { return completion(nil) }
        run(CKQueryOperation(cursor: cursor), after: photos, completion: completion)
    }

    private func run(
        _ operation: CKQueryOperation,
        after known: [Photo],
        completion: @escaping Completion
    ) {
        var found: [Photo] = []
        operation.resultsLimit = PhotoManager.pageSize
        operation.qualityOfService = .userInitiated
        operation.recordFetchedBlock = { record in
            if let photo = Photo(record: record) { found.append(photo) }
        }
        operation.queryCompletionBlock = { cursor, error in
            DispatchQueue.main.async {
                if error == nil {
                    self.photos = known + found
                    self.cursor = cursor
                }
                completion(error)
            }
        }
        database.add(operation)
    }

    // MARK: - Changing

    /// Uploads a new photo.
    func add(
        _ photo: Photo,
        progress: @escaping (Double) -> Void,
        completion: @escaping Completion
    ) {
        let operation = CKModifyRecordsOperation(
            recordsToSave: [photo.record],
            recordIDsToDelete: nil
        )
        operation.perRecordProgressBlock = { _, share in
            DispatchQueue.main.async { progress(share) }
        }
        modify(operation) { _, error in
            // The list may have been fetched meanwhile.
            if error == nil, self.index(of: photo.recordID) == nil {
                self.photos.insert(photo, at: 0)
            }
            completion(error)
        }
    }

    /// Saves a photo that was changed.
    func update(_ photo: Photo, completion: @escaping Completion) {
        let operation = CKModifyRecordsOperation(
            recordsToSave: [photo.record],
            recordIDsToDelete: nil
        )
        modify(operation) { completion($1) }
    }

    /// Deletes photos in one batch, and says how many are gone.
    ///
    /// The default zone is not atomic: where one photo stays, the others may be gone.
    func delete(_ gone: [Photo], completion: @escaping (Int, Error?) -> Void) {
        let operation = CKModifyRecordsOperation(
            recordsToSave: nil,
            recordIDsToDelete: gone.map { $0.recordID }
        )
        modify(operation) { deleted, error in
            self.photos.removeAll { deleted.contains($0.recordID) }
            completion(deleted.count, error)
        }
    }

    private func modify(
        _ operation: CKModifyRecordsOperation,
        completion: @escaping ([CKRecord.ID], Error?) -> Void
    ) {
        operation.qualityOfService = .userInitiated
        operation.modifyRecordsCompletionBlock = { _, deleted, error in
            DispatchQueue.main.async { completion(deleted ?? [], PhotoManager.cause(of: error)) }
        }
        database.add(operation)
    }

    /// The error of the first photo that failed, where the whole batch is said to have failed.
    private static func cause(of error: Error?) -> Error? {
        guard let error = error as? CKError, error.code == .partialFailure else { return error }
        return error.partialErrorsByItemID?.values.first ?? error
    }

    // MARK: - Following changes by others

    /// Fetches a photo that a notification names, and shows it in the list.
    func refresh(_ id: CKRecord.ID, completion: @escaping (Photo?, Error?) -> Void) {
        database.fetch(withRecordID: id) { record, error in
            DispatchQueue.main.async {
                guard let photo = record.flatMap({ Photo(record: $0) }) else {
                    return completion(nil, error)
                }
                if let index = self.index(of: id) {
                    self.photos[index] = photo
                } else {
                    self.photos.insert(photo, at: 0)
                }
                completion(photo, nil)
            }
        }
    }

    /// Takes a photo that was deleted elsewhere out of the list, and returns it.
    func forget(_ id: CKRecord.ID) -> Photo? {
        return index(of: id).map { photos.remove(at: $0) }
    }

    private func index(of id: CKRecord.ID) -> Int? {
        return photos.firstIndex { $0.recordID == id }
    }
}
