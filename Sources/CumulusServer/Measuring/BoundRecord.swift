// The record that the bounds move and store: twelve fields of all everyday kinds, 1 KB encoded.
//
// It has the same shape as the record that `cumulus-bench` saves, so that a bound and the figure
// beside it are about the same bytes.

import CumulusModel
import CumulusWire

enum BoundRecord {
    /// The record as it is stored and sent; `seed` makes texts that differ.
    static func view(_ seed: UInt64) -> RecordView {
        var writer = CanonicalWriter(reserving: 1_200)
        for (name, value) in fields(seed) {
            writer.message(10) { field in
                field.field(1, text: name)
                value.encode(to: &field)
            }
        }
        return RecordView(
            name: "record-00000000",
            type: "Article",
            changeTag: Bytes(repeating: 7, count: 8),
            created: 1_700_000_000_000,
            createdBy: "_0123456789abcdef0123456789abcdef",
            modified: 1_700_000_000_000,
            modifiedBy: "_0123456789abcdef0123456789abcdef",
            fields: writer.bytes
        )
    }

    /// Sorted by name, as the canonical form wants it.
    private static func fields(_ seed: UInt64) -> [(String, FieldValue)] {
        [
            ("author", .string(text(24, seed))),
            ("body", .string(text(430, seed &+ 1))),
            ("category", .string(text(12, seed &+ 2))),
            ("place", .location(Location(latitude: 52.52, longitude: 13.405))),
            ("price", .double(19.75)),
            ("published", .timestamp(Timestamp(millisecondsSince1970: 1_700_000_000_000))),
            ("rating", .double(4.5)),
            ("summary", .string(text(210, seed &+ 3))),
            ("tags", .list((0..<4).map { .string(text(8, seed &+ 4 &+ $0)) })),
            ("title", .string(text(60, seed &+ 8))),
            ("views", .int64(123_456)),
            ("votes", .int64(789)),
        ]
    }

    /// Letters without a pattern: no engine makes them much shorter than texts really are.
    private static func text(_ count: Int, _ seed: UInt64) -> String {
        var state = seed
        return String(
            decoding: (0..<count).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return UInt8(ascii: "a") + UInt8((state >> 33) % 26)
            },
            as: UTF8.self
        )
    }
}
