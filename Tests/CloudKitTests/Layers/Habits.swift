// The model layer of a habit tracker on CKSyncEngine: an actor that owns the data, is the engine's
// delegate, and keeps both in one file.

// swift-format-ignore-file: NeverForceUnwrap

import CloudKit
import Foundation

struct Habit: Codable, Identifiable, Equatable {
    static let recordType: CKRecord.RecordType = "Habit"
    static let zoneName = "Habits"

    var id: String = UUID().uuidString
    var name: String
    var streak: Int = 0
    var changedAt: Date = .distantPast
    private var lastKnownRecordData: Data?

    init(name: String) {
        self.name = name
        self.changedAt = Date()
    }

    init(record: CKRecord) {
        id = record.recordID.recordName
        name = ""
        merge(record)
        lastKnownRecord = record
    }

    var recordID: CKRecord.ID {
        CKRecord.ID(recordName: id, zoneID: CKRecordZone.ID(zoneName: Self.zoneName))
    }

    /// The server's record as it was seen last, without its fields.
    var lastKnownRecord: CKRecord? {
        get {
            guard let data = lastKnownRecordData else { return nil }
            do {
                let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
                unarchiver.requiresSecureCoding = true
                return CKRecord(coder: unarchiver)
            } catch {
                print("The record of \(name) can't be read: \(error)")
                return nil
            }
        }
        set {
            guard let newValue else {
                lastKnownRecordData = nil
                return
            }
            let archiver = NSKeyedArchiver(requiringSecureCoding: true)
            newValue.encodeSystemFields(with: archiver)
            lastKnownRecordData = archiver.encodedData
        }
    }

    mutating func setLastKnownRecordIfNewer(_ record: CKRecord) {
        if let local = lastKnownRecord?.modificationDate, let other = record.modificationDate,
            other <= local
        {
            return
        }
        lastKnownRecord = record
    }

    func populate(_ record: CKRecord) {
        record[.habitName] = name
        record[.habitStreak] = streak
        record[.habitChangedAt] = changedAt
    }

    /// The later change stands.
    mutating func merge(_ record: CKRecord) {
        let other = record[.habitChangedAt] as? Date ?? .distantPast
        guard other > changedAt else { return }
        changedAt = other
        if let name = record[.habitName] as? String { self.name = name }
        if let streak = record[.habitStreak] as? Int { self.streak = streak }
    }
}

extension CKRecord.FieldKey {
    static let habitName = "name"
    static let habitStreak = "streak"
    static let habitChangedAt = "changedAt"
}

actor HabitDatabase {
    struct AppData: Codable {
        var habits: [Habit.ID: Habit] = [:]
        var stateSerialization: CKSyncEngine.State.Serialization?
    }

    private(set) var appData: AppData
    private let dataURL: URL
    private let database: CKDatabase
    private let automaticallySync: Bool
    private var _syncEngine: CKSyncEngine?

    var syncEngine: CKSyncEngine {
        if _syncEngine == nil { initializeSyncEngine() }
        // swift-format-ignore: NeverForceUnwrap
        return _syncEngine!
    }

    init(container: CKContainer = .default(), dataURL: URL, automaticallySync: Bool = true) {
        self.database = container.privateCloudDatabase
        self.dataURL = dataURL
        self.automaticallySync = automaticallySync
        do {
            let data = try Data(contentsOf: dataURL)
            appData = try JSONDecoder().decode(AppData.self, from: data)
        } catch {
            appData = AppData()
        }
        Task { await self.initializeSyncEngine() }
    }

    private func initializeSyncEngine() {
        guard _syncEngine == nil else { return }
        var configuration = CKSyncEngine.Configuration(
            database: database,
            stateSerialization: appData.stateSerialization,
            delegate: self
        )
        configuration.automaticallySync = automaticallySync
        _syncEngine = CKSyncEngine(configuration)
    }

    private func persist() throws {
        let data = try JSONEncoder().encode(appData)
        try data.write(to: dataURL, options: .atomic)
    }

    // MARK: - What the app does

    var habits: [Habit] { appData.habits.values.sorted { $0.name < $1.name } }

    func save(_ habits: [Habit]) throws {
        for habit in habits {
            var habit = habit
            habit.changedAt = Date()
            appData.habits[habit.id] = habit
        }
        try persist()
        syncEngine.state.add(
            pendingRecordZoneChanges: habits.map { .saveRecord($0.recordID) }
        )
    }

    func delete(_ ids: [Habit.ID]) throws {
        let habits = ids.compactMap { appData.habits[$0] }
        for id in ids { appData.habits[id] = nil }
        try persist()
        syncEngine.state.add(
            pendingRecordZoneChanges: habits.map { .deleteRecord($0.recordID) }
        )
    }

    func deleteEverything() throws {
        appData.habits.removeAll()
        try persist()
        let zoneID = CKRecordZone.ID(zoneName: Habit.zoneName)
        syncEngine.state.add(pendingDatabaseChanges: [.deleteZone(zoneID)])
    }

    func sync() async throws {
        try await syncEngine.sendChanges()
        try await syncEngine.fetchChanges()
    }
}

extension HabitDatabase: CKSyncEngineDelegate {
    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .stateUpdate(let event):
            appData.stateSerialization = event.stateSerialization
            try? persist()
        case .accountChange(let event):
            handleAccountChange(event)
        case .fetchedDatabaseChanges(let event):
            for deletion in event.deletions where deletion.zoneID.zoneName == Habit.zoneName {
                appData.habits.removeAll()
            }
            try? persist()
        case .fetchedRecordZoneChanges(let event):
            handleFetchedRecordZoneChanges(event)
        case .sentRecordZoneChanges(let event):
            handleSentRecordZoneChanges(event)
        case .sentDatabaseChanges, .willFetchChanges, .willFetchRecordZoneChanges,
            .didFetchRecordZoneChanges, .didFetchChanges, .willSendChanges, .didSendChanges:
            break
        @unknown default:
            print("An event of a later system: \(event)")
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext,
        syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let scope = context.options.scope
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { scope.contains($0) }
        let habits = appData.habits
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { recordID in
            guard let habit = habits[recordID.recordName] else {
                // It was deleted in the meantime.
                syncEngine.state.remove(pendingRecordZoneChanges: [.saveRecord(recordID)])
                return nil
            }
            let record =
                habit.lastKnownRecord
                ?? CKRecord(recordType: Habit.recordType, recordID: recordID)
            habit.populate(record)
            return record
        }
    }

    func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext,
        syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions {
        var options = context.options
        options.prioritizedZoneIDs = [CKRecordZone.ID(zoneName: Habit.zoneName)]
        return options
    }

    // MARK: - Events

    private func handleFetchedRecordZoneChanges(
        _ event: CKSyncEngine.Event.FetchedRecordZoneChanges
    ) {
        for modification in event.modifications {
            let record = modification.record
            let id = record.recordID.recordName
            if var habit = appData.habits[id] {
                habit.merge(record)
                habit.setLastKnownRecordIfNewer(record)
                appData.habits[id] = habit
            } else {
                appData.habits[id] = Habit(record: record)
            }
        }
        for deletion in event.deletions {
            appData.habits[deletion.recordID.recordName] = nil
        }
        try? persist()
    }

    private func handleSentRecordZoneChanges(
        _ event: CKSyncEngine.Event.SentRecordZoneChanges
    ) {
        var newPendingRecordZoneChanges = [CKSyncEngine.PendingRecordZoneChange]()
        var newPendingDatabaseChanges = [CKSyncEngine.PendingDatabaseChange]()

        for record in event.savedRecords {
            appData.habits[record.recordID.recordName]?.setLastKnownRecordIfNewer(record)
        }

        for failedSave in event.failedRecordSaves {
            let recordID = failedSave.record.recordID
            let id = recordID.recordName
            switch failedSave.error.code {
            case .serverRecordChanged:
                guard let serverRecord = failedSave.error.serverRecord else { continue }
                appData.habits[id]?.merge(serverRecord)
                appData.habits[id]?.setLastKnownRecordIfNewer(serverRecord)
                newPendingRecordZoneChanges.append(.saveRecord(recordID))
            case .zoneNotFound:
                let zone = CKRecordZone(zoneID: recordID.zoneID)
                newPendingDatabaseChanges.append(.saveZone(zone))
                newPendingRecordZoneChanges.append(.saveRecord(recordID))
                appData.habits[id]?.lastKnownRecord = nil
            case .unknownItem:
                newPendingRecordZoneChanges.append(.saveRecord(recordID))
                appData.habits[id]?.lastKnownRecord = nil
            case .networkFailure, .networkUnavailable, .zoneBusy, .serviceUnavailable,
                .notAuthenticated, .operationCancelled:
                // The engine tries these again by itself.
                print("Retryable error saving \(id): \(failedSave.error)")
            default:
                print("Unknown error saving \(id): \(failedSave.error)")
            }
        }

        syncEngine.state.add(pendingDatabaseChanges: newPendingDatabaseChanges)
        syncEngine.state.add(pendingRecordZoneChanges: newPendingRecordZoneChanges)
        try? persist()
    }

    private func handleAccountChange(_ event: CKSyncEngine.Event.AccountChange) {
        let shouldDeleteLocalData: Bool
        let shouldReUploadLocalData: Bool
        switch event.changeType {
        case .signIn:
            shouldDeleteLocalData = false
            shouldReUploadLocalData = true
        case .switchAccounts:
            shouldDeleteLocalData = true
            shouldReUploadLocalData = false
        case .signOut:
            shouldDeleteLocalData = true
            shouldReUploadLocalData = false
        @unknown default:
            print("Unknown account change: \(event)")
            shouldDeleteLocalData = false
            shouldReUploadLocalData = false
        }
        if shouldDeleteLocalData {
            appData.habits.removeAll()
            try? persist()
        }
        if shouldReUploadLocalData {
            let changes = appData.habits.values.map {
                CKSyncEngine.PendingRecordZoneChange.saveRecord($0.recordID)
            }
            syncEngine.state.add(pendingRecordZoneChanges: changes)
        }
    }
}
