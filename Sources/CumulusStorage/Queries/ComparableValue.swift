// A value as queries compare it: its equality and its order are the ones that results have.
//
// `Candidate` makes it from field values, `BoundQuery` from operands, and cursors carry it. Texts
// are bytes here: they are compared and ordered byte by byte.

package import CumulusModel

package enum ComparableValue: Hashable, Sendable {
    /// A STRING, BYTES, or REFERENCE (the target's name).
    case bytes(Bytes)
    /// An INT64, or a TIMESTAMP in milliseconds.
    case int64(Int64)
    /// A DOUBLE, or a distance in metres; never NaN.
    case double(Double)

    /// nil for kinds that have no order: places, assets, lists.
    package init?(_ value: FieldValue) {
        switch value {
        case .string(let text): self = .bytes(Bytes(text.utf8))
        case .bytes(let bytes): self = .bytes(bytes)
        case .reference(let target): self = .bytes(Bytes(target.recordName.utf8))
        case .int64(let number): self = .int64(number)
        case .timestamp(let time): self = .int64(time.millisecondsSince1970)
        case .double(let number): self = .double(number)
        case .location, .asset, .list: return nil
        }
    }

    /// Negative, zero or positive; different kinds are ordered too.
    ///
    /// A cursor may hold a value of the type that its column had earlier.
    package func order(_ other: ComparableValue) -> Int {
        switch (self, other) {
        case (.bytes(let left), .bytes(let right)):
            left.withUnsafeBytes { left in right.withUnsafeBytes { compare(left, $0) } }
        case (.int64(let left), .int64(let right)): left < right ? -1 : left > right ? 1 : 0
        case (.double(let left), .double(let right)): left < right ? -1 : left > right ? 1 : 0
        default: rank - other.rank
        }
    }

    /// Whether columns of a type hold such values.
    package func fits(_ type: FieldType) -> Bool {
        switch (self, type) {
        case (.bytes, .one(.string)), (.bytes, .one(.bytes)), (.bytes, .one(.reference)),
            (.int64, .one(.int64)), (.int64, .one(.timestamp)), (.double, .one(.double)):
            true
        default: false
        }
    }

    /// Whether bytes begin with other bytes.
    package func begins(with prefix: ComparableValue) -> Bool {
        guard case .bytes(let bytes) = self, case .bytes(let prefix) = prefix else { return false }
        return bytes.starts(with: prefix)
    }

    private var rank: Int {
        switch self {
        case .bytes: 0
        case .int64: 1
        case .double: 2
        }
    }
}
