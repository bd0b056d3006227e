// Dates that are finer than a millisecond: in the app's own object, in plain fields, in encrypted
// ones, and in archives.

import CumulusCloudKit
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct DateTests {
    private let fine = Date(timeIntervalSinceReferenceDate: 786_000_000.123_456_7)
    private let whole = Date(timeIntervalSinceReferenceDate: 786_000_000.25)

    private var place: CLLocation {
        CLLocation(
            coordinate: CLLocationCoordinate2D(latitude: 1, longitude: 2),
            altitude: 3,
            horizontalAccuracy: 4,
            verticalAccuracy: 5,
            timestamp: fine
        )
    }

    @Test func anObjectKeepsTheDateThatWasSet() throws {
        let note = record("Note", "n", ["one": fine, "some": [fine, whole], "place": place])
        note["past"] = Date.distantPast
        #expect(note["one"] as? Date == fine && note["some"] as? [Date] == [fine, whole])
        #expect((note["place"] as? CLLocation)?.timestamp == fine)
        #expect(note["past"] as? Date == Date.distantPast)
        let data = try NSKeyedArchiver.archivedData(
            withRootObject: note,
            requiringSecureCoding: true
        )
        let kept = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data)
        #expect(kept?["one"] as? Date == fine && kept?["some"] as? [Date] == [fine, whole])
    }

    @Test func plainDatesHaveMillisecondsAndEncryptedOnesAllOfIt() async throws {
        try await Cloud.run { cloud in
            var connection = cloud.connection(try await cloud.server.makeUser("ada"))
            connection.encryptionKeys = [String(repeating: "0a", count: 32)]
            try await cloud.with(connection) { container in
                let database = container.privateCloudDatabase
                let note = record("Note", "n", ["plain": fine])
                note.encryptedValues["one"] = fine
                note.encryptedValues["some"] = [fine, whole]
                note.encryptedValues["place"] = place
                try await database.save(note)
                // The save did not change what the app had set.
                #expect(note["plain"] as? Date == fine && note.changedKeys().isEmpty)

                let found = try await database.record(for: note.recordID)
                for record in [note, found] {
                    let one: Date? = record.encryptedValues["one"]
                    let some: [Date]? = record.encryptedValues["some"]
                    let place: CLLocation? = record.encryptedValues["place"]
                    #expect(one == fine && some == [fine, whole] && place?.timestamp == fine)
                }
                let plain = try #require(found["plain"] as? Date)
                #expect(plain == Date(timeIntervalSince1970: 1_764_307_200.123))
            }
        }
    }
}
