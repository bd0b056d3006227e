// Encrypted fields: only clients with the key read them, they are tied to their place, and clients
// without the key keep them.

import Cumulus
import CumulusModel
import CumulusTesting
import Synchronization
import Testing

@Suite final class EncryptedValuesTests {
    private static let values: [String: FieldValue] = [
        "text": "nobody knows", "empty": "", "number": -7, "decimal": 1.5,
        "when": .timestamp(Timestamp(millisecondsSince1970: 5)), "raw": .bytes([0, 255]),
        "place": .location(Location(latitude: 48.2, longitude: 16.4)),
        "list": ["a", "b", "a"], "numbers": [3, 1], "none": [],
    ]

    private static let id = Record.ID(recordName: "diary")

    private static func diary() -> Record {
        var record = Record(recordType: "Diary", recordID: id)
        record["title"] = "Mine"
        for (key, value) in values { record.encryptedValues[key] = value }
        return record
    }

    private let server: TestServer
    private let key = EncryptionKey()
    private let containers = Mutex<[Container]>([])

    init() async throws {
        server = try await TestServer()
        var other = Record(recordType: "Diary", recordID: Record.ID(recordName: "other"))
        other.encryptedValues["none"] = ["an element that gives the field its type"]
        try await database([key]).save(other)
    }

    private func container(_ keys: [EncryptionKey]) async throws -> Container {
        let token = try await server.makeUser("ada")
        let container = server.container(token: token, encryptionKeys: keys)
        containers.withLock { $0.append(container) }
        return container
    }

    private func database(_ keys: [EncryptionKey]) async throws -> Database {
        try await container(keys).privateCloudDatabase
    }

    private func finish() async throws {
        for container in containers.withLock({ $0 }) { await container.close() }
        try await server.stop()
    }

    @Test func everyKindIsReadWithTheKeyAndLockedWithoutIt() async throws {
        let mine = try await database([key])
        let saved = try await mine.save(Self.diary())
        #expect(saved.encryptedValues["text"] == "nobody knows" && saved.changedKeys() == [])
        let fetched = try await mine.record(for: Self.id)
        for (key, value) in Self.values { #expect(fetched.encryptedValues[key] == value) }
        #expect(fetched.encryptedValues.allKeys() == Self.values.keys.sorted())
        #expect(fetched.allKeys() == ["title"])
        for keys in [[], [EncryptionKey()]] {
            let other = try await database(keys).record(for: Self.id)
            #expect(other.encryptedValues.lockedKeys() == Self.values.keys.sorted())
            #expect(other.encryptedValues["text"] == nil && other["text"] == nil)
            #expect(other["title"] == "Mine")
        }
        try await finish()
    }

    @Test func allOfThemCanBeTakenFromAnotherRecord() async throws {
        let mine = try await database([key])
        try await mine.save(Self.diary())
        let fetched = try await mine.record(for: Self.id)
        var copy = Record(recordType: "Diary", recordID: Record.ID(recordName: "copy"))
        copy["text"] = "open before"
        copy.encryptedValues = fetched.encryptedValues
        #expect(copy.changedKeys() == Self.values.keys.sorted())
        try await mine.save(copy)
        let saved = try await mine.record(for: copy.recordID)
        for (key, value) in Self.values { #expect(saved.encryptedValues[key] == value) }
        // What this client has no key for can be read in its own record only.
        let blind = try await database([])
        var other = Record(recordType: "Diary", recordID: Record.ID(recordName: "other"))
        other.encryptedValues = try await blind.record(for: Self.id).encryptedValues
        #expect(other.changedKeys() == [] && other.encryptedValues.lockedKeys() == [])
        try await finish()
    }

    @Test func listsAndChangesAndConflictsAreOpenedToo() async throws {
        let mine = try await database([key])
        var zone = Record(
            recordType: "Diary",
            recordID: Record.ID(recordName: "z", zoneID: RecordZone.ID(zoneName: "z"))
        )
        try await mine.save(RecordZone(zoneName: "z"))
        zone.encryptedValues["text"] = "in a zone"
        try await mine.save(zone)
        let changes = try await mine.recordZoneChanges(
            inZoneWith: zone.recordID.zoneID,
            since: nil
        )
        let changed = try changes.modificationResultsByID[zone.recordID]?.get().record
        #expect(changed?.encryptedValues["text"] == "in a zone")
        for try await record in mine.allRecords(inZoneWith: zone.recordID.zoneID) {
            #expect(record.encryptedValues["text"] == "in a zone")
        }
        let error = await #expect(throws: ServiceError.self) { try await mine.save(zone) }
        #expect(error?.serverRecord?.encryptedValues["text"] == "in a zone")
        try await finish()
    }

    @Test func whoeverCantReadAFieldKeepsIt() async throws {
        try await database([key]).save(Self.diary())
        let blind = try await database([])
        var record = try await blind.record(for: Self.id)
        record["title"] = "Yours"
        let all = try await blind.modifyRecords(
            saving: [record],
            deleting: [],
            savePolicy: .allKeys
        )
        _ = try all.saveResults[Self.id]?.get()
        var fetched = try await database([key]).record(for: Self.id)
        #expect(fetched["title"] == "Yours")
        #expect(fetched.encryptedValues["text"] == "nobody knows")
        fetched.encryptedValues["text"] = nil
        try await database([key]).save(fetched)
        #expect(try await blind.record(for: Self.id).encryptedValues.lockedKeys().count == 9)
        try await finish()
    }

    /// A save that sends nothing encrypted needs no key.
    @Test func whatIsNotSentIsNotSealed() async throws {
        var record = try await database([key]).save(Self.diary())
        record["title"] = "Changed"
        let saved = try await database([]).save(record)
        #expect(saved["title"] == "Changed")
        let fetched = try await database([key]).record(for: Self.id)
        #expect(fetched.encryptedValues["text"] == "nobody knows")
        try await finish()
    }

    @Test func aNewKeySealsAndAnOldOneStillOpens() async throws {
        try await database([key]).save(Self.diary())
        let new = EncryptionKey()
        let both = try await database([new, key])
        var record = try await both.record(for: Self.id)
        record.encryptedValues["text"] = "again"
        try await both.save(record)
        let read = try await database([new]).record(for: Self.id)
        #expect(read.encryptedValues.allKeys() == ["text"])
        #expect(try await both.record(for: Self.id).encryptedValues["list"] == ["a", "b", "a"])
        try await finish()
    }

    /// What a server could do that serves a field's bytes in another place.
    @Test func aValueIsTiedToItsPlace() async throws {
        let keyring = Keyring([key], container: "c")
        let sealed = try keyring.sealing(Self.diary())
        #expect(keyring.opening(sealed).encryptedValues["text"] == "nobody knows")
        let text = try #require(sealed.encryptedValues.values["text"])
        var moved = sealed
        moved.receive(encrypted: text, for: "empty")
        #expect(keyring.opening(moved).encryptedValues.lockedKeys() == ["empty"])
        var elsewhere = Record(recordType: "Diary", recordID: Record.ID(recordName: "other"))
        elsewhere.receive(encrypted: text, for: "text")
        #expect(keyring.opening(elsewhere).encryptedValues.lockedKeys() == ["text"])
        for other in [
            Keyring([key], container: "d"),
            Keyring([key], container: "c", environment: .production),
        ] {
            #expect(other.opening(sealed).encryptedValues.allKeys() == [])
        }
        var typed = Record(recordType: "Note", recordID: Self.id)
        typed.receive(encrypted: text, for: "text")
        #expect(keyring.opening(typed).encryptedValues.lockedKeys() == ["text"])
        guard case .sealed(let value) = text else { return }
        for index in value.bytes.indices {
            var bent = value
            bent.bytes[index] ^= 1
            moved.receive(encrypted: .sealed(bent), for: "text")
            #expect(keyring.opening(moved).encryptedValues["text"] == nil)
            bent.bytes = Bytes(value.bytes.prefix(index))
            moved.receive(encrypted: .sealed(bent), for: "text")
            #expect(keyring.opening(moved).encryptedValues["text"] == nil)
        }
        var renamed = value
        renamed.isList = true
        moved.receive(encrypted: .sealed(renamed), for: "text")
        #expect(keyring.opening(moved).encryptedValues["text"] == nil)
        try await finish()
    }

    @Test func whatCantBeEncryptedIsRefused() async throws {
        let mine = try await database([key])
        let reference = FieldValue.reference(Record.Reference(recordName: "n"))
        for value: FieldValue in [reference, [reference], ["a", 1], [["a"]]] {
            var record = Record(recordType: "Note")
            record.encryptedValues["x"] = value
            let error = await #expect(throws: ServiceError.self) { try await mine.save(record) }
            #expect(error?.code == .invalidArguments)
        }
        var record = Record(recordType: "Note")
        record.encryptedValues["x"] = 1
        for database in [try await container([key]).publicCloudDatabase, try await database([])] {
            let error = await #expect(throws: ServiceError.self) { try await database.save(record) }
            #expect(error?.code == .invalidArguments)
        }
        try await finish()
    }

    @Test func aFieldIsEncryptedOrNotForGood() async throws {
        let mine = try await database([key])
        var first = Record(recordType: "Note")
        first.encryptedValues["secret"] = ["a"]
        first["open"] = "a"
        try await mine.save(first)
        func code(_ change: (inout Record) -> Void) async -> ServiceError.Code? {
            var record = Record(recordType: "Note")
            change(&record)
            do {
                try await mine.save(record)
                return nil
            } catch {
                return (error as? ServiceError)?.code
            }
        }
        #expect(await code { $0["secret"] = ["a"] } == .invalidArguments)
        #expect(await code { $0["secret"] = [] } == .invalidArguments)
        #expect(await code { $0.encryptedValues["open"] = "a" } == .invalidArguments)
        #expect(await code { $0.encryptedValues["secret"] = "a" } == .invalidArguments)
        #expect(await code { $0.encryptedValues["secret"] = [1] } == .invalidArguments)
        #expect(await code { $0.encryptedValues["secret"] = [] } == nil)
        #expect(await code { $0.encryptedValues["secret"] = ["b"] } == nil)
        try await finish()
    }

    @Test func aNameHoldsOneValue() {
        var record = Record(recordType: "Note")
        record["a"] = 1
        record.encryptedValues["a"] = 2
        #expect(record["a"] == nil && record.encryptedValues["a"] == 2)
        #expect(record.changedKeys() == ["a"])
        record["a"] = 3
        #expect(record["a"] == 3 && record.encryptedValues["a"] == nil)
        #expect(record.changedKeys() == ["a"])
    }

    @Test func keysAreText() {
        #expect(EncryptionKey(text: key.text) == key)
        for text in ["", "00", String(key.text.dropLast()) + "x"] {
            #expect(EncryptionKey(text: text) == nil)
        }
    }
}
