// Records as objects: fields, casts, key-value coding, what can't be saved, and archives.

import CumulusCloudKit
import Foundation
import Testing

@Suite struct CKRecordTests {
    private func note() -> CKRecord { CKRecord(recordType: "Note") }

    @Test func fieldsCastToEachTypeThatFits() {
        let note = note()
        note["title"] = "Hello"
        note["votes"] = 3
        note["share"] = 0.5
        note["isNew"] = true
        note["date"] = Date(timeIntervalSince1970: 1.5)
        note["data"] = Data([1, 2])
        note["tags"] = ["a", "b"]
        note["place"] = CLLocation(latitude: 1, longitude: 2)
        #expect(note["title"] as? String == "Hello" && note["title"] is NSString)
        #expect(note["votes"] as? Int == 3 && note["votes"] as? Int64 == 3)
        #expect(note["votes"] as? Double == 3 && note["votes"] as? NSNumber == 3)
        #expect(note["votes"] as? Float == 3 && note["votes"] as? UInt8 == 3)
        #expect(note["share"] as? Double == 0.5 && note["isNew"] as? Bool == true)
        #expect(note["date"] as? Date == Date(timeIntervalSince1970: 1.5))
        #expect(note["data"] as? Data == Data([1, 2]))
        #expect(note["tags"] as? [String] == ["a", "b"] && note["tags"] is NSArray)
        #expect((note["place"] as? CLLocation)?.coordinate.longitude == 2)
        #expect(note["title"] as? Int == nil && note["other"] == nil)

        let title: String? = note["title"]
        let votes: Int64? = note["votes"]
        let tags: [String]? = note["tags"]
        let wrong: Date? = note["title"]
        #expect(title == "Hello" && votes == 3 && tags == ["a", "b"] && wrong == nil)
        #expect(note.allKeys() == note.changedKeys())
        #expect(Dictionary(uniqueKeysWithValues: note.map { ($0.0, $0.1) }).count == 8)
    }

    @Test func fieldsAreSetInEachForm() {
        let note = note()
        let text: String? = "x"
        note["a"] = text
        note["b"] = "y" as any CKRecordValue
        note["c"] = 5 as NSNumber
        note["d"] = text as (any CKRecordValue)?
        note.setObject("z" as NSString, forKey: "e")
        note.setValue(7, forKey: "f")
        note.setValuesForKeys(["g": "v", "h": NSNull(), "i": [1, 2]])
        #expect(note.value(forKey: "f") as? Int == 7)
        #expect(note.object(forKey: "e") as? String == "z")
        #expect(note.allKeys() == ["a", "b", "c", "d", "e", "f", "g", "i"])
        #expect(note.dictionaryWithValues(forKeys: ["a", "zz"])["zz"] is NSNull)
        note["a"] = nil
        note.setValue(nil, forKey: "b")
        #expect(note["a"] == nil && note["b"] == nil && note.changedKeys().contains("a"))
        note["words"] = "two  words"
        #expect(note.allTokens().contains("words"))
    }

    @Test func referencesStayWithinTheZone() throws {
        let zone = CKRecordZone.ID(zoneName: "Trips")
        let trip = CKRecord(recordType: "Trip", zoneID: zone)
        let stop = CKRecord(recordType: "Stop", zoneID: zone)
        stop["trip"] = CKRecord.Reference(record: trip, action: .deleteSelf)
        stop["trips"] = [CKRecord.Reference(recordID: trip.recordID, action: .none)]
        stop.setParent(trip)
        let reference = try #require(stop["trip"] as? CKRecord.Reference)
        #expect(reference.recordID == trip.recordID && reference.action == .deleteSelf)
        #expect((stop["trips"] as? [CKRecord.Reference])?.first?.recordID == trip.recordID)
        #expect(stop.parent?.recordID == trip.recordID)
        stop.setParent(nil as CKRecord.ID?)
        #expect(stop.parent == nil)
    }

    @Test func encryptedFieldsStandBesideTheOthers() {
        let note = note()
        note["title"] = "open"
        note.encryptedValues["diary"] = "secret"
        #expect(note.encryptedValues["diary"] as? String == "secret" && note["diary"] == nil)
        #expect(note.allKeys() == ["title"] && note.encryptedValues.allKeys() == ["diary"])
        #expect(note.changedKeys() == ["diary", "title"])
    }

    @Test func aCopyGoesItsOwnWay() throws {
        let note = note()
        note["title"] = "one"
        let copy = try #require(note.copy() as? CKRecord)
        copy["title"] = "two"
        #expect(note["title"] as? String == "one" && copy.recordID == note.recordID)
    }

    // MARK: - Archives

    private func archived<Value: NSObject & NSCoding>(_ value: Value) throws -> Value? {
        let data = try NSKeyedArchiver.archivedData(
            withRootObject: value,
            requiringSecureCoding: true
        )
        return try NSKeyedUnarchiver.unarchivedObject(ofClass: Value.self, from: data)
    }

    @Test func aRecordIsArchivedWithItsFields() throws {
        let note = note()
        note["title"] = "Hello"
        note["votes"] = 3
        note["place"] = CLLocation(latitude: 1, longitude: 2)
        note["tags"] = ["a"]
        note["gone"] = nil
        note["other"] = CKRecord.Reference(recordID: CKRecord.ID(recordName: "o"), action: .none)
        note.encryptedValues["diary"] = "secret"
        let again = try #require(try archived(note))
        #expect(again.recordID == note.recordID && again.recordType == "Note")
        #expect(again["title"] as? String == "Hello" && again["votes"] as? Int == 3)
        #expect(again["tags"] as? [String] == ["a"] && again["place"] is CLLocation)
        #expect((again["other"] as? CKRecord.Reference)?.recordID.recordName == "o")
        #expect(again.encryptedValues["diary"] as? String == "secret")
        #expect(again.changedKeys() == note.changedKeys())
    }

    @Test func systemFieldsAreArchivedAlone() throws {
        let note = note()
        note["title"] = "Hello"
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        note.encodeSystemFields(with: coder)
        coder.finishEncoding()
        let decoder = try NSKeyedUnarchiver(forReadingFrom: coder.encodedData)
        decoder.requiresSecureCoding = true
        let again = try #require(CKRecord(coder: decoder))
        #expect(again.recordID == note.recordID && again.recordType == "Note")
        #expect(again.allKeys().isEmpty && again.changedKeys().isEmpty)
    }

    @Test func namesAreArchivedAndEqual() throws {
        let zone = CKRecordZone.ID(zoneName: "Trips", ownerName: "_b")
        let id = CKRecord.ID(recordName: "a", zoneID: zone)
        let same = CKRecord.ID(recordName: "a", zoneID: .init(zoneName: "Trips", ownerName: "_b"))
        #expect(id == same && id.hashValue == same.hashValue && Set([id, same]).count == 1)
        #expect(id != CKRecord.ID(recordName: "a") && CKRecord.ID() != CKRecord.ID())
        #expect(try archived(id) == id)
        #expect(try archived(zone) == zone)
        #expect(try archived(CKRecordZone(zoneID: zone))?.zoneID == zone)
        let reference = CKRecord.Reference(recordID: id, action: .deleteSelf)
        #expect(try archived(reference) == reference)
        #expect(["a", "b"].map(CKRecord.ID.init(recordName:)).map(\.recordName) == ["a", "b"])
    }

    @Test func queriesAndSubscriptionsAreArchived() throws {
        let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "votes > %d", 3))
        query.sortDescriptors = [NSSortDescriptor(key: "votes", ascending: false)]
        let again = try #require(try archived(query))
        #expect(again.recordType == "Note" && again.sortDescriptors?.first?.key == "votes")
        #expect(again.description == query.description)

        let subscription = CKQuerySubscription(
            recordType: "Note",
            predicate: NSPredicate(value: true),
            subscriptionID: "s",
            options: [.firesOnRecordCreation, .firesOnce]
        )
        subscription.zoneID = CKRecordZone.ID(zoneName: "Trips")
        subscription.notificationInfo = CKSubscription.NotificationInfo(alertBody: "Hi")
        let kept = try #require(try archived(subscription))
        #expect(kept.subscriptionID == "s" && kept.zoneID?.zoneName == "Trips")
        #expect(kept.notificationInfo?.alertBody == "Hi")
        #expect(kept.querySubscriptionOptions == subscription.querySubscriptionOptions)
    }
}
