// The indexes that a node keeps, as operators see them.
//
// `indexes.proto`.

package import CumulusModel

/// Which indexes are meant; empty: all.
package struct IndexesRequest: Coded, Hashable {
    package var recordType: Bytes = []
    /// As the schema names it.
    package var field: Bytes = []

    package init() {}

    package init(recordType: Bytes, field: Bytes = []) {
        self.recordType = recordType
        self.field = field
    }

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.bytes(1, &recordType)
        try coder.bytes(2, &field)
    }
}

/// `Index` of a node.
package struct WireIndex: Coded, Hashable {
    package var recordType = ""
    package var field = ""
    /// `IndexForm`: 1 values, 2 elements, 3 words, 4 cells.
    package var form: UInt32 = 0
    package var type = ""
    package var isReady = false
    /// Records that were looked at, of one that is being built.
    package var looked: UInt64 = 0
    package var records: UInt64 = 0
    /// In a list 0 if there are many.
    package var rows: UInt64 = 0
    /// Only a comparison counts these two.
    package var missing: UInt64 = 0
    package var wrong: UInt64 = 0
    /// Only a list tells them, about.
    package var bytes: UInt64 = 0

    package init() {}

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

    package mutating func code(_ coder: inout some Coder) throws(MalformedBytes) {
        try coder.text(1, &recordType)
        try coder.text(2, &field)
        try coder.number(3, &form)
        try coder.text(4, &type)
        try coder.flag(5, &isReady)
        try coder.number(6, &looked)
        try coder.number(7, &records)
        try coder.number(8, &rows)
        try coder.number(9, &missing)
        try coder.number(10, &wrong)
        try coder.number(11, &bytes)
    }
}

/// The answer of all three calls.
package typealias IndexesResponse = MessageList<WireIndex>
