// Records of the source as they are saved here, and what a comparison finds.

import Cumulus
import CumulusModel
import CumulusTerminal
import Testing

@testable import CumulusTransfer

@Suite struct MigratedRecordTests {
    private static let columns: [String: [String: FieldType]] = [
        "Note": [
            "title": .one(.string), "rating": .one(.double), "due": .one(.timestamp),
            "secret": .encrypted(.string), "photo": .one(.asset), "pages": .list(.asset),
            "author": .one(.reference), "tags": .list(.string), "originCreated": .one(.timestamp),
            "originCreatedBy": .one(.string), "originModified": .one(.timestamp),
            "originModifiedBy": .one(.string), "originContainer": .one(.string),
        ]
    ]

    private func mapping(keepsOrigin: Bool = true) -> RecordMapping {
        RecordMapping(
            columns: Self.columns,
            keepsOrigin: keepsOrigin,
            container: "c/production",
            mapped: { $0 == ServiceAnswer.ada ? "_ada" : $0 }
        )
    }

    private var source: SourceRecord {
        SourceRecord(
            name: "n1",
            type: "Note",
            fields: [
                "title": .plain("Sea"), "rating": .plain(.int64(4)),
                "secret": .sealed([1, 2, 3]),
                "author": .plain(.reference(.init(recordName: ServiceAnswer.ada))),
                "photo": .assets(
                    [SourceAsset(checksum: "AQ==", size: 7, url: "https://a")],
                    isList: false
                ),
            ],
            created: SourceMoment(time: 5, user: ServiceAnswer.ada),
            modified: SourceMoment(time: 9, user: ServiceAnswer.bob),
            parent: "p"
        )
    }

    @Test func valuesUsersAndTimesComeAlong() throws {
        let record = try mapping().record(source, in: RecordZone.ID(zoneName: "Trips"))
        #expect(record["title"] == "Sea" && record["rating"] == .double(4))
        #expect(record["author"]?.reference?.recordName == "_ada")
        #expect(record.parent?.recordName == "p")
        let sealed = SealedValue(kind: .string, isList: false, bytes: [1, 2, 3])
        #expect(record.encryptedValues.values["secret"] == .sealed(sealed))
        #expect(
            record["originCreated"] == .timestamp(Timestamp(millisecondsSince1970: 5))
        )
        #expect(record["originCreatedBy"] == "_ada")
        #expect(record["originModifiedBy"] == .string(ServiceAnswer.bob))
        // A field that the source does not have any more is removed here.
        #expect(record["tags"] == nil && record.changedKeys().contains("tags"))
        let plain = try mapping(keepsOrigin: false).record(source, in: .default)
        #expect(plain["originCreated"] == nil)
    }

    /// From Apple to a node, and from there to another one: Apple's times stay.
    @Test func theFirstSourceIsKept() throws {
        var second = source
        second.fields["originCreated"] = .plain(.timestamp(Timestamp(millisecondsSince1970: 1)))
        second.fields["originCreatedBy"] = .plain(.string(ServiceAnswer.ada))
        second.fields["originContainer"] = .plain("elsewhere/production")
        let record = try mapping().record(second, in: .default)
        #expect(record["originCreated"] == .timestamp(Timestamp(millisecondsSince1970: 1)))
        #expect(record["originCreatedBy"] == "_ada")
        #expect(record["originModified"] == .timestamp(Timestamp(millisecondsSince1970: 9)))
        // Deletions are looked for at this source.
        #expect(record["originContainer"] == "c/production")
        #expect(second.users.contains(ServiceAnswer.ada))
        let plain = try mapping(keepsOrigin: false).record(second, in: .default)
        #expect(plain["originContainer"] == "elsewhere/production")
    }

    @Test func filesOfAPartFitOnTheDisk() {
        func record(_ name: String, _ sizes: UInt64...) -> SourceRecord {
            let files = sizes.map { SourceAsset(checksum: "", size: $0, url: "https://a") }
            let fields = ["f": SourceValue.assets(files, isList: true)]
            return SourceRecord(name: name, type: "Note", fields: sizes.isEmpty ? [:] : fields)
        }
        let records = [
            record("a"), record("b", 40, 50), record("c", 10), record("d", 1), record("e", 500),
            record("f", .max, .max), record("g"), record("h", 1),
        ]
        let parts = MigrationOrder.parts(records, of: 100).map { $0.map(\.name) }
        #expect(parts == [["a", "b", "c"], ["d"], ["e"], ["f", "g"], ["h"]])
        #expect(MigrationOrder.parts([]).isEmpty)
    }

    @Test func whatTheSchemaLacksIsNamed() throws {
        var other = source
        other.type = "Song"
        var found = #expect(throws: InputProblem.self) { try mapping().record(other, in: .default) }
        #expect(found?.message.contains("type 'Song'") == true)
        other = source
        other.fields["length"] = .plain(.int64(1))
        found = #expect(throws: InputProblem.self) { try mapping().record(other, in: .default) }
        #expect(found?.message.contains("field 'length' of record 'n1'") == true)
        other = source
        other.fields["title"] = .sealed([1])
        found = #expect(throws: InputProblem.self) { try mapping().record(other, in: .default) }
        #expect(found?.message.contains("is encrypted at the source") == true)
    }

    @Test func comparingFindsEachField() throws {
        let wanted = try mapping().record(source, in: .default)
        var found = wanted
        #expect(RecordComparison.differences(wanted, found).isEmpty)
        found["title"] = "See"
        found["photo"] = .asset(Asset(digest: [], size: 8))
        found["tags"] = .list(["x"])
        found.encryptedValues.set(nil, for: "secret")
        found.parent = nil
        #expect(
            RecordComparison.differences(wanted, found)
                == ["parent", "photo", "secret", "tags", "title"]
        )
    }

    @Test func filesOfANodeAreComparedByTheirDigest() throws {
        let digest = [UInt8](repeating: 3, count: 32)
        let file = SourceAsset(checksum: Base64.encode(digest), size: 7, url: "https://a")
        #expect(file.stated == Asset(digest: digest, size: 7))
        var ours = source
        ours.fields["photo"] = .assets([file], isList: false)
        let wanted = try mapping().record(ours, in: .default)
        #expect(RecordComparison.unclearAssets(wanted).isEmpty)
        var found = wanted
        found["photo"] = .asset(Asset(digest: digest.map { $0 + 1 }, size: 7))
        #expect(RecordComparison.differences(wanted, found) == ["photo"])
        // Elsewhere only sizes can be compared without the bytes.
        let unclear = try mapping().record(source, in: .default)
        #expect(RecordComparison.unclearAssets(unclear) == ["photo"])
        #expect(RecordComparison.differences(unclear, found) == [])
    }

    @Test func parentsComeFirst() {
        func note(_ name: String, _ parent: String? = nil, owner: String? = nil) -> SourceRecord {
            var fields: [String: SourceValue] = [:]
            if let owner {
                let reference = Record.Reference(recordName: owner, action: .deleteSelf)
                fields["of"] = .plain(.reference(reference))
            }
            return SourceRecord(name: name, type: "Note", fields: fields, parent: parent)
        }
        let records = [
            note("c", "b"), note("b", "a"), note("x", "y"), note("y", "x"),
            note("d", owner: "e"), note("a"), note("e"), note("f", "elsewhere"),
        ]
        let names = MigrationOrder.ownersFirst(records).map(\.name)
        #expect(names == ["a", "b", "c", "y", "x", "e", "d", "f"])
        let chain = (0..<20_000).map { note("n\($0)", "n\($0 + 1)") }
        #expect(MigrationOrder.ownersFirst(chain).first?.name == "n19999")
    }

    @Test func aRecordNamesItsUsers() {
        #expect(source.users == [ServiceAnswer.ada, ServiceAnswer.bob])
    }
}
