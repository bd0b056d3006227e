// A field's value as web services write it.
//
// Values are read by their tag; one without a tag is read as the services guess in requests. An
// asset is not a value yet: its bytes are at a URL. Bytes that were encrypted by an app stay as
// they are.

package import CumulusModel

package enum SourceValue: Hashable, Sendable {
    case plain(FieldValue)
    /// One asset, or a list of them.
    case assets([SourceAsset], isList: Bool)
    /// What a client sealed; the schema says what it was.
    case sealed([UInt8])
    /// What the service keeps encrypted, and shows to its user in the clear.
    case encrypted(FieldValue)
}

/// A file at the service.
package struct SourceAsset: Hashable, Sendable {
    /// Equal for equal bytes of one service; else it means nothing.
    package var checksum: String
    package var size: UInt64
    /// Needs no credentials, and ends within hours.
    package var url: String

    package init(checksum: String, size: UInt64, url: String) {
        self.checksum = checksum
        self.size = size
        self.url = url
    }

    /// Where the bytes are: the service leaves room for a file name of the caller's.
    package var downloadURL: String { url.replacing("${f}", with: "asset") }

    fileprivate init(_ json: JSON, at place: String) throws(SourceProblem) {
        let object = try SourceObject(json, at: place)
        let bytes = try object.integer("size") ?? 0
        guard let size = UInt64(exactly: bytes) else {
            throw SourceProblem(object.place("size"), "must not be negative")
        }
        self.init(
            checksum: try object.string("fileChecksum") ?? "",
            size: size,
            url: try object.needed("downloadURL")
        )
        guard url.hasPrefix("https://") || url.hasPrefix("http://") else {
            throw SourceProblem(object.place("downloadURL"), "must be a URL of http or https")
        }
    }
}

extension SourceValue {
    /// The value of a field's dictionary; nil if the field has none.
    ///
    /// - Parameter zone: The zone of the record, which its references must stay in.
    init?(_ json: JSON, in zone: String, at place: String) throws(SourceProblem) {
        if json == .null { return nil }
        let object = try SourceObject(json, at: place)
        guard let value = object["value"] else { return nil }
        let tag = try object.string("type")
        let here = object.place("value")
        if tag == "ENCRYPTED_BYTES" {
            self = .sealed(try SourceValue.bytes(value, at: here))
            return
        }
        let read = try SourceValue(value, tagged: tag, in: zone, at: here)
        guard try object.flag("isEncrypted") == true else {
            self = read
            return
        }
        guard case .plain(let open) = read else {
            throw SourceProblem(place, "is encrypted, and assets can't be")
        }
        self = .encrypted(open)
    }

    private init(
        _ json: JSON,
        tagged tag: String?,
        in zone: String,
        at place: String
    ) throws(SourceProblem) {
        let known = tag.map { $0 == "LIST" ? "UNKNOWN_LIST" : $0 } ?? SourceValue.guess(json)
        guard let known else { throw SourceProblem(place, "has no type, and tells none") }
        let suffix = "_LIST"
        guard known.hasSuffix(suffix) else {
            if SourceValue.isAsset(known) {
                self = .assets([try SourceAsset(json, at: place)], isList: false)
            } else {
                self = .plain(try SourceValue.one(json, known, in: zone, at: place))
            }
            return
        }
        guard case .array(let elements) = json else {
            throw SourceProblem(place, "must be an array, since its type is \(known)")
        }
        var member = String(known.dropLast(suffix.count))
        if member == "UNKNOWN" {
            guard let first = elements.first else {
                self = .plain(.list([]))
                return
            }
            guard let guessed = SourceValue.guess(first) else {
                throw SourceProblem("\(place)[0]", "has no type, and tells none")
            }
            member = guessed
        }
        if SourceValue.isAsset(member) {
            var assets: [SourceAsset] = []
            for (index, element) in elements.enumerated() {
                assets.append(try SourceAsset(element, at: "\(place)[\(index)]"))
            }
            self = elements.isEmpty ? .plain(.list([])) : .assets(assets, isList: true)
            return
        }
        var values: [FieldValue] = []
        for (index, element) in elements.enumerated() {
            let here = "\(place)[\(index)]"
            values.append(try SourceValue.one(element, member, in: zone, at: here))
        }
        self = .plain(.list(values))
    }

    private static func isAsset(_ tag: String) -> Bool { tag == "ASSETID" || tag == "ASSET" }

    /// What a value without a tag is.
    private static func guess(_ json: JSON) -> String? {
        switch json {
        case .null: nil
        case .bool, .integer: "INT64"
        case .decimal: "DOUBLE"
        case .string: "STRING"
        case .array: "UNKNOWN_LIST"
        case .object:
            if json["recordName"] != nil {
                "REFERENCE"
            } else if json["latitude"] != nil {
                "LOCATION"
            } else {
                json["downloadURL"] == nil ? nil : "ASSETID"
            }
        }
    }

    private static func one(
        _ json: JSON,
        _ tag: String,
        in zone: String,
        at place: String
    ) throws(SourceProblem) -> FieldValue {
        switch tag {
        case "STRING":
            guard case .string(let text) = json else {
                throw SourceProblem(place, "must be a text")
            }
            return .string(text)
        case "INT64": return .int64(try integer(json, at: place))
        case "DOUBLE":
            guard let number = json.sourceNumber else {
                throw SourceProblem(place, "must be a number")
            }
            return .double(number)
        case "TIMESTAMP": return .timestamp(try moment(json, at: place))
        case "BYTES": return .bytes(try bytes(json, at: place))
        case "LOCATION": return .location(try location(SourceObject(json, at: place)))
        case "REFERENCE":
            return .reference(try reference(SourceObject(json, at: place), in: zone))
        default: throw SourceProblem(place, "has the unknown type '\(tag)'")
        }
    }

    private static func integer(_ json: JSON, at place: String) throws(SourceProblem) -> Int64 {
        switch json {
        case .bool(let flag): return flag ? 1 : 0
        case .integer(let number): return number
        case .string(let text):
            if let number = Int64(text) { return number }
        default: break
        }
        throw SourceProblem(place, "must be an integer of 64 bits")
    }

    private static func moment(_ json: JSON, at place: String) throws(SourceProblem) -> Timestamp {
        Timestamp(millisecondsSince1970: try integer(json, at: place))
    }

    private static func bytes(_ json: JSON, at place: String) throws(SourceProblem) -> [UInt8] {
        guard case .string(let text) = json, let bytes = Base64.decode(text) else {
            throw SourceProblem(place, "must be bytes in base64")
        }
        return bytes
    }

    private static func location(_ object: SourceObject) throws(SourceProblem) -> Location {
        guard let latitude = try object.number("latitude"),
            let longitude = try object.number("longitude")
        else { throw SourceProblem(object.path, "must have latitude and longitude") }
        var location = Location(latitude: latitude, longitude: longitude)
        location.horizontalAccuracy = try object.number("horizontalAccuracy")
        location.verticalAccuracy = try object.number("verticalAccuracy")
        location.altitude = try object.number("altitude")
        location.speed = try object.number("speed")
        location.course = try object.number("course")
        location.timestamp = try object.integer("timestamp").map {
            Timestamp(millisecondsSince1970: $0)
        }
        return location
    }

    /// A reference stays in its record's zone; here no other one can be kept.
    private static func reference(
        _ object: SourceObject,
        in zone: String
    ) throws(SourceProblem) -> Record.Reference {
        let name = try object.needed("recordName")
        if let target = try object.object("zoneID") {
            let other = try target.string("zoneName") ?? zone
            guard other == zone else {
                throw SourceProblem(
                    object.path,
                    "refers to zone '\(other)', and a reference here stays in its record's zone"
                )
            }
        }
        switch try object.string("action") {
        case nil, "NONE", "VALIDATE": return Record.Reference(recordName: name)
        case "DELETE_SELF": return Record.Reference(recordName: name, action: .deleteSelf)
        case let action?:
            throw SourceProblem(object.place("action"), "is the unknown action '\(action)'")
        }
    }
}
