// The indexes that a node keeps, as operators see them.
//
// `indexes.proto`.

import CCumulusWire
package import CumulusModel

/// Which indexes are meant; empty: all.
package struct IndexesRequest: Hashable, Sendable {
    package var recordType: Bytes
    /// As the schema names it.
    package var field: Bytes

    package init(recordType: Bytes = [], field: Bytes = []) {
        self.recordType = recordType
        self.field = field
    }

    package func encoded() -> Bytes {
        var writer = CanonicalWriter()
        writer.field(1, bytes: recordType)
        writer.field(2, bytes: field)
        return writer.bytes
    }

    package init(wire bytes: Bytes) throws(MalformedMessage) {
        let message = try CMessage(bytes[...], cumulus__v1__indexes_request__unpack)
        recordType = message.raw.record_type.swiftBytes
        field = message.raw.field.swiftBytes
    }
}

/// An index of a node.
package struct WireIndex: Hashable, Sendable {
    package var recordType: String
    package var field: String
    /// `IndexForm`: 1 values, 2 elements, 3 words, 4 cells.
    package var form: UInt32
    package var type: String
    package var isReady: Bool
    /// Records that were looked at, of one that is being built.
    package var looked: UInt64
    package var records: UInt64
    /// Of verify only, like what follows.
    package var rows: UInt64 = 0
    package var missing: UInt64 = 0
    package var wrong: UInt64 = 0

    package init(
        recordType: String,
        field: String,
        form: UInt32,
        type: String,
        isReady: Bool,
        looked: UInt64,
        records: UInt64
    ) {
        self.recordType = recordType
        self.field = field
        self.form = form
        self.type = type
        self.isReady = isReady
        self.looked = looked
        self.records = records
    }

    private func encode(to writer: inout CanonicalWriter) {
        writer.field(1, text: recordType)
        writer.field(2, text: field)
        writer.field(3, varint: UInt64(form))
        writer.field(4, text: type)
        writer.field(5, varint: isReady ? 1 : 0)
        for (number, value) in [looked, records, rows, missing, wrong].enumerated() {
            writer.field(6 + number, varint: value)
        }
    }

    /// The answer of all three calls.
    package static func answer(_ indexes: [WireIndex]) -> Bytes {
        var writer = CanonicalWriter()
        for index in indexes { writer.message(1) { index.encode(to: &$0) } }
        return writer.bytes
    }

    package static func list(wire bytes: Bytes) throws(MalformedMessage) -> [WireIndex] {
        let message = try CMessage(answer: bytes, cumulus__v1__indexes_response__unpack)
        return elements(message.raw.n_indexes, message.raw.indexes).map(WireIndex.init(wire:))
    }

    private init(wire raw: Cumulus__V1__Index) {
        self.init(
            recordType: raw.record_type.swiftText,
            field: raw.field.swiftText,
            form: UInt32(raw.form.rawValue),
            type: raw.type.swiftText,
            isReady: raw.is_ready != 0,
            looked: raw.looked,
            records: raw.records
        )
        rows = raw.rows
        missing = raw.missing
        wrong = raw.wrong
    }
}
