// The values behind some golden files, and a way to read one field.

import CumulusModel
import CumulusTesting
import CumulusWire
import Testing

enum WireSamples {
    static let oslo = Record.ID(recordName: "oslo", zoneID: RecordZone.ID(zoneName: "Trips"))
    static let created: Int64 = 1_795_230_000_000

    /// The bytes of `Record.hex`, as the node makes them.
    static let encodedRecord: Bytes = {
        var fields = CanonicalWriter()
        for (name, value) in [("name", FieldValue.string("Oslo")), ("population", 709_037)] {
            fields.message(10) { field in
                field.field(1, text: name)
                value.encode(to: &field)
            }
        }
        let view = RecordView(
            name: "oslo",
            type: "City",
            changeTag: [1, 2, 3, 4, 5, 6, 7, 8],
            created: created,
            createdBy: "_u1",
            modified: created + 1_500,
            modifiedBy: "_u2",
            parent: "norway",
            fields: fields.bytes
        )
        return view.encoded(as: WireRecordID(oslo))
    }()

    /// Reads a `Field` the way the client does: as part of a record that was fetched.
    static func field(_ bytes: Bytes) throws -> (name: String, value: FieldValue?) {
        let record = try record(with: bytes)
        guard let name = record.allKeys().first else {
            var reader = CanonicalReader(bytes)
            _ = try reader.nextField()
            return (try reader.text(), nil)
        }
        return (name, record[name])
    }

    /// Reads a `Field` that is encrypted; nil if it isn't.
    static func sealedField(_ bytes: Bytes) throws -> (name: String, value: SealedValue)? {
        for (name, value) in try record(with: bytes).encryptedValues.values {
            if case .sealed(let value) = value { return (name, value) }
        }
        return nil
    }

    private static func record(with field: Bytes) throws -> Record {
        var writer = CanonicalWriter()
        writer.message(1) { result in
            result.message(1) { record in
                record.message(1) { $0.field(1, text: "r") }
                record.present(10, bytes: field)
            }
        }
        return try #require(FetchRecordsResponse(wire: writer.bytes).results.first).get()
    }
}
