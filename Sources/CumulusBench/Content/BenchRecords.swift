// The records that are saved and fetched: twelve fields of all everyday kinds, 1 KB encoded.
//
// Texts are letters at random: an engine that packs its rows gains little from them.
//
// Folder: what the bench stores, and what the machine could do with it. Read `BenchRecords`, then
// `BenchBounds`.

import Cumulus
import CumulusModel

struct BenchRecords: Sendable {
    let ids: [Record.ID]
    private let contents: [[(key: String, value: FieldValue)]]
    private let type: String

    init(count: Int, in zone: RecordZone.ID, type: String = "Article") {
        self.type = type
        ids = (0..<count).map { index in
            let digits = String(index)
            let zeros = String(repeating: "0", count: max(0, 8 - digits.count))
            return Record.ID(recordName: "record-" + zeros + digits, zoneID: zone)
        }
        var dice = SeededGenerator(seed: 0)
        contents = (0..<256).map { _ in BenchRecords.fields(&dice) }
    }

    /// The name of any record.
    func anyID(_ dice: inout SeededGenerator) -> Record.ID {
        ids[Int.random(in: ids.indices, using: &dice)]
    }

    /// The same ones, as the owner of their zone names them.
    var inOwnZone: BenchRecords {
        let zone = ids.first.map { RecordZone.ID(zoneName: $0.zoneID.zoneName) }
        return BenchRecords(count: ids.count, in: zone ?? .default, type: type)
    }

    /// A record to be saved whole.
    func record(_ id: Record.ID, _ dice: inout SeededGenerator) -> Record {
        var record = Record(recordType: type, recordID: id)
        let content = contents[Int.random(in: contents.indices, using: &dice)]
        for (key, value) in content { record[key] = value }
        return record
    }

    private static func fields(_ dice: inout SeededGenerator) -> [(key: String, value: FieldValue)]
    {
        [
            ("author", .string(text(24, &dice))),
            ("body", .string(text(430, &dice))),
            ("category", .string(text(12, &dice))),
            (
                "place",
                .location(
                    Location(
                        latitude: .random(in: -90...90, using: &dice),
                        longitude: .random(in: -180...180, using: &dice)
                    )
                )
            ),
            ("price", .double(.random(in: 0...100, using: &dice))),
            (
                "published",
                .timestamp(
                    Timestamp(millisecondsSince1970: .random(in: 0...1 << 41, using: &dice))
                )
            ),
            ("rating", .double(.random(in: 0...5, using: &dice))),
            ("summary", .string(text(210, &dice))),
            ("tags", .list((0..<4).map { _ in .string(text(8, &dice)) })),
            ("title", .string(text(60, &dice))),
            ("views", .int64(.random(in: 0...1_000_000, using: &dice))),
            ("votes", .int64(.random(in: 0...1_000, using: &dice))),
        ]
    }

    private static func text(_ count: Int, _ dice: inout SeededGenerator) -> String {
        String(
            decoding: (0..<count).map { _ in
                UInt8.random(in: UInt8(ascii: "a")...UInt8(ascii: "z"), using: &dice)
            },
            as: UTF8.self
        )
    }
}
