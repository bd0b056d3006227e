// What a field may hold: CloudKit's closed set of kinds, and lists of them.
//
// Part of the client's surface; the node works on the wire form of the same values (`RecordBody`).
//
// Folder: what a field may hold, and JSON. Read `FieldValue`, then `FieldType`; `JSON` and
// `JSONReader`.

/// The value of one field.
///
/// Literals work where a value is expected: `record["title"] = "Hello"`, `record["votes"] = 3`.
/// Booleans are stored as 0 and 1, as in CloudKit.
public enum FieldValue: Hashable, Sendable {
    /// Text, kept code point by code point.
    case string(String)
    /// A whole number.
    case int64(Int64)
    /// A number other than NaN.
    case double(Double)
    /// A moment, to the millisecond.
    case timestamp(Timestamp)
    /// Bytes without a meaning to the server.
    case bytes([UInt8])
    /// A place on the earth.
    case location(Location)
    /// Another record, by its name.
    case reference(Record.Reference)
    /// A file.
    case asset(Asset)
    /// Elements of one kind, in order, duplicates kept. The empty list is a value of its own.
    case list([FieldValue])

    /// The text of a `.string`.
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    /// The number of an `.int64`.
    public var int64: Int64? { if case .int64(let value) = self { value } else { nil } }
    /// The number of a `.double`, or of an `.int64`.
    public var double: Double? {
        switch self {
        case .double(let value): value
        case .int64(let value): Double(value)
        default: nil
        }
    }
    /// The moment of a `.timestamp`.
    public var timestamp: Timestamp? { if case .timestamp(let value) = self { value } else { nil } }
    /// The content of a `.bytes`.
    public var bytes: [UInt8]? { if case .bytes(let value) = self { value } else { nil } }
    /// The place of a `.location`.
    public var location: Location? { if case .location(let value) = self { value } else { nil } }
    /// The pointer of a `.reference`.
    public var reference: Record.Reference? {
        if case .reference(let value) = self { value } else { nil }
    }
    /// The elements of a `.list`.
    public var list: [FieldValue]? { if case .list(let value) = self { value } else { nil } }
}

extension FieldValue {
    /// Whether both hold the same value.
    ///
    /// Texts compare code point by code point, as on the server: "é" in one code point and in two
    /// are different values.
    public static func == (left: FieldValue, right: FieldValue) -> Bool {
        switch (left, right) {
        case (.string(let left), .string(let right)): left.utf8.elementsEqual(right.utf8)
        case (.int64(let left), .int64(let right)): left == right
        case (.double(let left), .double(let right)): left == right
        case (.timestamp(let left), .timestamp(let right)): left == right
        case (.bytes(let left), .bytes(let right)): left == right
        case (.location(let left), .location(let right)): left == right
        case (.reference(let left), .reference(let right)): left == right
        case (.asset(let left), .asset(let right)): left == right
        case (.list(let left), .list(let right)): left == right
        default: false
        }
    }
}

extension FieldValue {
    /// This value; its assets know the place from which they were read.
    ///
    /// - Parameter place: The place; nil leaves the assets as they are.
    func read(from place: @autoclosure () -> Asset.Place?) -> FieldValue {
        switch self {
        case .asset(let asset): .asset(asset.read(from: place()))
        case .list(let elements):
            if case .asset = elements.first, let place = place() {
                .list(elements.map { $0.read(from: place) })
            } else {
                self
            }
        default: self
        }
    }
}

extension FieldValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral
{
    /// A text.
    public init(stringLiteral value: String) { self = .string(value) }
    /// An integer.
    public init(integerLiteral value: Int64) { self = .int64(value) }
    /// A decimal number.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// 1 for true, 0 for false.
    public init(booleanLiteral value: Bool) { self = .int64(value ? 1 : 0) }
    /// A list of the elements.
    public init(arrayLiteral elements: FieldValue...) { self = .list(elements) }
}

/// A moment, to the millisecond, in the years 1 to 9999.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z, negative before.
    public var millisecondsSince1970: Int64 { didSet { exactSeconds = nil } }
    /// Seconds since 2001-01-01T00:00:00Z as the app gave them; nil if the milliseconds are exact.
    ///
    /// Plain fields don't send them. Encrypted fields, which only clients read, do.
    package private(set) var exactSeconds: Double?

    /// A moment, in milliseconds since 1970-01-01T00:00:00Z.
    public init(millisecondsSince1970: Int64) {
        self.millisecondsSince1970 = millisecondsSince1970
    }

    /// A moment with its exact seconds, which the milliseconds only approximate.
    package init(millisecondsSince1970: Int64, exactSeconds: Double?) {
        self.millisecondsSince1970 = millisecondsSince1970
        self.exactSeconds = exactSeconds
    }

    /// The range that the server accepts: 0001-01-01T00:00:00.000Z to 9999-12-31T23:59:59.999Z.
    public static let range: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999

    /// Whether the left moment is earlier.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.millisecondsSince1970 < right.millisecondsSince1970
    }
}

/// A place on Earth, in degrees, with what is known about its precision, in metres.
public struct Location: Hashable, Sendable {
    /// -90 to 90.
    public var latitude: Double
    /// -180 to 180.
    public var longitude: Double
    /// Metres above sea level.
    public var altitude: Double?
    /// Metres.
    public var horizontalAccuracy: Double?
    /// Metres.
    public var verticalAccuracy: Double?
    /// Degrees from north.
    public var course: Double?
    /// Metres per second.
    public var speed: Double?
    /// When the place was measured.
    public var timestamp: Timestamp?

    /// A place of which only the coordinates are known.
    public init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }
}

/// The content of an asset field: bytes that are kept outside the record, such as a photo's.
///
/// Two assets are equal if their content is equal. The module `Cumulus` adds what makes assets from
/// files and data, and what downloads the assets of fetched records.
public struct Asset: Hashable, Sendable {
    /// The digest of the content, 32 bytes; empty until the content is uploaded.
    public var digest: [UInt8]
    /// The size in bytes.
    public var size: UInt64
    /// Where the content is on this machine; nil if it is not here, or was not looked for.
    package var source: Source?
    /// The field from which the asset was read, which a download names; nil if it was made here.
    package var place: Place?

    /// A field of a record.
    ///
    /// It is a class, so that values stay small.
    package final class Place: Sendable {
        package let recordID: Record.ID
        package let key: String

        package init(_ recordID: Record.ID, _ key: String) {
            self.recordID = recordID
            self.key = key
        }
    }

    package enum Source: Hashable, Sendable {
        case file(path: String)
        case bytes([UInt8])
    }

    /// An asset with the content of that digest.
    public init(digest: [UInt8], size: UInt64) {
        self.digest = digest
        self.size = size
    }

    /// An asset with content that is not uploaded yet.
    package init(source: Source, size: UInt64) {
        digest = []
        self.size = size
        self.source = source
    }

    fileprivate func read(from place: Place?) -> Asset {
        var asset = self
        asset.place = place ?? asset.place
        return asset
    }

    /// Whether both have the same content, as far as that is known.
    public static func == (left: Asset, right: Asset) -> Bool {
        left.digest == right.digest && left.size == right.size
            && (!left.digest.isEmpty || left.source == right.source)
    }

    /// Hashes the digest and the size.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(digest)
        hasher.combine(size)
    }
}
