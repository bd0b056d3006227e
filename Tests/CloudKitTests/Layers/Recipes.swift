// The model layer of a recipe app of 2022: values, calls with await, continuations around the
// operations that have no such call.

import CloudKit
import Foundation

struct Recipe: Identifiable, Hashable {
    enum Key: String {
        case title, servings, ingredients, cookedAt, photo, book, privateNote
    }

    static let recordType: CKRecord.RecordType = "Recipe"

    let id: CKRecord.ID
    var title: String
    var servings: Int
    var ingredients: [String]
    var cookedAt: Date?
    var privateNote: String?
    var photoURL: URL?

    init(title: String, servings: Int, ingredients: [String], zoneID: CKRecordZone.ID) {
        id = CKRecord.ID(zoneID: zoneID)
        self.title = title
        self.servings = servings
        self.ingredients = ingredients
    }

    init?(_ record: CKRecord) {
        guard record.recordType == Self.recordType, let title = record[.title] as? String else {
            return nil
        }
        id = record.recordID
        self.title = title
        servings = record[.servings] as? Int ?? 1
        ingredients = record[.ingredients] as? [String] ?? []
        cookedAt = record[.cookedAt] as? Date
        privateNote = record.encryptedValues[Key.privateNote.rawValue]
        photoURL = (record[.photo] as? CKAsset)?.fileURL
    }

    func fill(_ record: CKRecord) {
        record[.title] = title
        record[.servings] = servings
        record[.ingredients] = ingredients
        record[.cookedAt] = cookedAt
        record.encryptedValues[Key.privateNote.rawValue] = privateNote
        if let photoURL { record[.photo] = CKAsset(fileURL: photoURL) }
    }
}

extension CKRecord {
    subscript(key: Recipe.Key) -> CKRecordValue? {
        get { self[key.rawValue] }
        set { self[key.rawValue] = newValue }
    }

    subscript<Value: CKRecordValueProtocol>(key: Recipe.Key) -> Value? {
        get { self[key.rawValue] }
        set { self[key.rawValue] = newValue }
    }
}

enum RecipeError: LocalizedError {
    case noAccount(CKAccountStatus)
    case changedElsewhere(Recipe)
    case gone

    var errorDescription: String? {
        switch self {
        case .noAccount: return "Sign in to keep your recipes."
        case .changedElsewhere(let recipe): return "\(recipe.title) was changed on another device."
        case .gone: return "This recipe was deleted."
        }
    }
}

@MainActor
final class RecipeStore {
    enum State {
        case idle
        case loading
        case loaded
        case failed(Error)
    }

    private(set) var recipes: [Recipe] = []
    private(set) var state = State.idle

    private let container: CKContainer
    private lazy var database = container.privateCloudDatabase
    private let zone = CKRecordZone(zoneName: "Recipes")
    private var records: [CKRecord.ID: CKRecord] = [:]
    private var changeToken: CKServerChangeToken?

    init(container: CKContainer = .default()) {
        self.container = container
    }

    // MARK: - Setting up

    func prepare() async throws {
        let status = try await container.accountStatus()
        guard status == .available else { throw RecipeError.noAccount(status) }
        _ = try await database.modifyRecordZones(saving: [zone], deleting: [])
        do {
            _ = try await database.subscription(for: "recipes")
        } catch CKError.unknownItem {
            let subscription = CKRecordZoneSubscription(
                zoneID: zone.zoneID,
                subscriptionID: "recipes"
            )
            let info = CKSubscription.NotificationInfo()
            info.shouldSendContentAvailable = true
            subscription.notificationInfo = info
            try await database.save(subscription)
        }
    }

    // MARK: - Reading

    func refresh() async {
        state = .loading
        do {
            try await fetchChanges()
            state = .loaded
        } catch let error as CKError where error.code == .changeTokenExpired {
            changeToken = nil
            records = [:]
            await refresh()
        } catch {
            state = .failed(error)
        }
    }

    private func fetchChanges() async throws {
        var isMoreComing = true
        while isMoreComing {
            let changes = try await database.recordZoneChanges(
                inZoneWith: zone.zoneID,
                since: changeToken
            )
            for (id, result) in changes.modificationResultsByID {
                records[id] = try result.get().record
            }
            for deletion in changes.deletions { records[deletion.recordID] = nil }
            changeToken = changes.changeToken
            isMoreComing = changes.moreComing
        }
        recipes = records.values.compactMap(Recipe.init).sorted { $0.title < $1.title }
    }

    func search(_ text: String) async throws -> [Recipe] {
        let query = CKQuery(
            recordType: Recipe.recordType,
            predicate: NSPredicate(format: "title BEGINSWITH %@ AND servings >= %d", text, 2)
        )
        query.sortDescriptors = [NSSortDescriptor(key: "title", ascending: true)]
        var (results, cursor) = try await database.records(
            matching: query,
            inZoneWith: zone.zoneID,
            desiredKeys: [Recipe.Key.title.rawValue, Recipe.Key.servings.rawValue],
            resultsLimit: 2
        )
        while let next = cursor {
            let page = try await database.records(continuingMatchFrom: next)
            results += page.matchResults
            cursor = page.queryCursor
        }
        return results.compactMap { _, result in
            switch result {
            case .success(let record): return Recipe(record)
            case .failure(let error):
                print("A recipe could not be read: \(error.localizedDescription)")
                return nil
            }
        }
    }

    // MARK: - Writing

    @discardableResult
    func save(_ recipe: Recipe) async throws -> Recipe {
        let record =
            records[recipe.id] ?? CKRecord(recordType: Recipe.recordType, recordID: recipe.id)
        recipe.fill(record)
        do {
            let saved = try await database.save(record)
            records[saved.recordID] = saved
            return Recipe(saved) ?? recipe
        } catch let error as CKError {
            switch error.code {
            case .serverRecordChanged:
                guard let server = error.serverRecord, let current = Recipe(server) else {
                    throw error
                }
                records[server.recordID] = server
                throw RecipeError.changedElsewhere(current)
            case .unknownItem:
                records[recipe.id] = nil
                throw RecipeError.gone
            case .requestRateLimited, .serviceUnavailable, .zoneBusy:
                try await Task.sleep(nanoseconds: UInt64((error.retryAfterSeconds ?? 1) * 1e9))
                return try await save(recipe)
            default:
                throw error
            }
        }
    }

    func importAll(_ recipes: [Recipe]) async throws -> Int {
        let new = recipes.map { recipe -> CKRecord in
            let record = CKRecord(recordType: Recipe.recordType, recordID: recipe.id)
            recipe.fill(record)
            return record
        }
        let (saveResults, _) = try await database.modifyRecords(
            saving: new,
            deleting: [],
            savePolicy: .allKeys,
            atomically: false
        )
        let saved = saveResults.compactMapValues { try? $0.get() }
        records.merge(saved) { $1 }
        return saved.count
    }

    func delete(_ recipe: Recipe) async throws {
        try await database.deleteRecord(withID: recipe.id)
        records[recipe.id] = nil
        recipes.removeAll { $0.id == recipe.id }
    }

    /// Uploads a photo and tells how far it is.
    func attach(
        _ photo: URL,
        to recipe: Recipe,
        progress: @escaping (Double) -> Void
    ) async throws -> Recipe {
        var recipe = recipe
        recipe.photoURL = photo
        let record =
            records[recipe.id] ?? CKRecord(recordType: Recipe.recordType, recordID: recipe.id)
        recipe.fill(record)
        let saved: CKRecord = try await withCheckedThrowingContinuation { continuation in
            let operation = CKModifyRecordsOperation(recordsToSave: [record])
            let configuration = CKOperation.Configuration()
            configuration.qualityOfService = .userInitiated
            configuration.timeoutIntervalForResource = 60
            operation.configuration = configuration
            operation.savePolicy = .changedKeys
            operation.perRecordProgressBlock = { _, fraction in progress(fraction) }
            operation.perRecordSaveBlock = { _, result in continuation.resume(with: result) }
            database.add(operation)
        }
        records[saved.recordID] = saved
        return Recipe(saved) ?? recipe
    }

    /// Everything of two recipes at once.
    func load(_ ids: [CKRecord.ID]) async throws -> [Recipe] {
        let results = try await database.configuredWith { database in
            try await database.records(for: ids)
        }
        return ids.compactMap { id in
            guard case .success(let record)? = results[id] else { return nil }
            return Recipe(record)
        }
    }

    func zones() async throws -> [String] {
        async let all = database.allRecordZones()
        async let me = container.userRecordID()
        let (zones, user) = try await (all, me)
        return zones.map { "\($0.zoneID.zoneName) of \(user.recordName)" }
    }
}
