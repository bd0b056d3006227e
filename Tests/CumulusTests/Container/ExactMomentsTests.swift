// Encrypted moments that are finer than a millisecond: they are sealed and opened as they were set.
// Where milliseconds are enough, older releases read what is sealed.

import CumulusModel
import Testing

@testable import Cumulus

@Suite struct ExactMomentsTests {
    private let keyring = Keyring([EncryptionKey()], container: "iCloud.test")

    private func record(_ value: FieldValue) -> Record {
        var record = Record(recordType: "Note", recordID: Record.ID(recordName: "n"))
        record.encryptedValues["when"] = value
        return record
    }

    private func moment(_ seconds: Double?) -> Timestamp {
        Timestamp(millisecondsSince1970: 1_700_000_000_123, exactSeconds: seconds)
    }

    /// The version of the sealed form; nil if the value is not sealed.
    private func version(_ record: Record) -> UInt8? {
        guard case .sealed(let value)? = record.encryptedValues.values["when"] else { return nil }
        return value.bytes.first
    }

    @Test func momentsComeBackAsTheyWere() throws {
        var place = Location(latitude: 1, longitude: 2)
        place.timestamp = moment(721_692_800.123_456)
        let values: [FieldValue] = [
            .timestamp(moment(721_692_800.123_456)), .location(place),
            .list([.timestamp(moment(nil)), .timestamp(moment(721_692_800.123_4))]),
        ]
        for value in values {
            let sealed = try keyring.sealing(record(value))
            #expect(version(sealed) == 2)
            #expect(keyring.opening(sealed).encryptedValues["when"] == value)
        }
    }

    @Test func millisecondsAreSealedAsBefore() throws {
        let values: [FieldValue] = [
            .timestamp(moment(nil)), .location(Location(latitude: 1, longitude: 2)), "text",
            .list([.timestamp(moment(nil))]),
        ]
        for value in values {
            let sealed = try keyring.sealing(record(value))
            #expect(version(sealed) == 1)
            #expect(keyring.opening(sealed).encryptedValues["when"] == value)
        }
    }

    /// A changed number of milliseconds is all that is known of the moment then.
    @Test func settingMillisecondsForgetsTheExactSeconds() {
        var moment = moment(721_692_800.123_456)
        moment.millisecondsSince1970 += 1
        #expect(moment.exactSeconds == nil)
    }
}
