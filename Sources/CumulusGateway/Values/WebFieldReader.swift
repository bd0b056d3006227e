// Reads the value of a field as a request writes it: with a type, or by the field's type in the
// schema, or by what the value looks like, in this order.
//
// It is called for the fields of records and for the values of filters. Its results are well
// formed; the node decides whether a value fits the field.

package import CumulusModel

package struct WebFieldReader {
    /// The zone of the record that holds the field, in which its references point.
    let zone: RecordZone.ID
    /// The caller's user record name, which may stand for an owner; empty: no user is signed in.
    let user: String
    /// The asset of an upload's receipt; nil for an invalid receipt.
    let asset: @Sendable (String) -> Asset?
    /// Whether it reads values of filters, where the action of a reference has no meaning.
    var isOfFilters = false

    package init(
        zone: RecordZone.ID,
        user: String,
        asset: @escaping @Sendable (String) -> Asset? = { _ in nil }
    ) {
        self.zone = zone
        self.user = user
        self.asset = asset
    }

    /// The value of a field dictionary; nil clears the field.
    ///
    /// - Parameter column: The field's type in the schema; nil: it has none.
    package func value(
        _ json: JSON,
        at path: String,
        column: FieldType?
    ) throws(WebError) -> FieldValue? {
        if json == .null { return nil }
        let object = try WebObject(json, at: path)
        guard let value = object["value"] else { return nil }
        if try object.flag("isEncrypted") == true {
            throw WebFieldReader.encrypted("\(path).isEncrypted")
        }
        guard let tag = try object.string("type") else {
            return try untagged(value, at: path, column: column)
        }
        if tag.hasPrefix("ENCRYPTED_") { throw WebFieldReader.encrypted("\(path).type") }
        switch WebFieldType.wish(tag) {
        case nil: throw .badRequest("'\(path).type' is no type of a field: '\(tag)'")
        case .anyList?:
            guard case .array = value else {
                throw WebFieldReader.mismatch(path, tag)
            }
            return try untagged(value, at: path, column: column)
        case .type(let type)?: return try read(value, as: type, at: path)
        }
    }

    private func untagged(
        _ value: JSON,
        at path: String,
        column: FieldType?
    ) throws(WebError) -> FieldValue {
        switch column {
        case .one(let kind)?: return try read(value, as: .one(kind), at: path)
        case .list(let kind)?: return try read(value, as: .list(kind), at: path)
        case .encrypted?, .encryptedList?, .encryptedEmptyList?:
            throw WebFieldReader.encrypted(path)
        case .emptyList?, nil: return try inferred(value, at: path)
        }
    }

    /// Infers the kind from the form of the value.
    private func inferred(_ value: JSON, at path: String) throws(WebError) -> FieldValue {
        guard case .array(let elements) = value else {
            return try read(value, as: .one(try kind(of: value, at: path)), at: path)
        }
        guard let first = elements.first else { return .list([]) }
        var kind = try kind(of: first, at: path)
        // 1, 2.5 are two doubles.
        if kind == .int64, elements.contains(where: \.isDecimal) { kind = .double }
        return try read(value, as: .list(kind), at: path)
    }

    private func kind(of value: JSON, at path: String) throws(WebError) -> FieldKind {
        switch value {
        case .string: return .string
        case .integer, .bool: return .int64
        case .decimal: return .double
        case .object:
            if value["recordName"] != nil { return .reference }
            if value["latitude"] != nil, value["longitude"] != nil { return .location }
            if value["fileChecksum"] != nil || value["receipt"] != nil { return .asset }
            throw .badRequest(
                "'\(path).value' is an object of no known kind; give the field a 'type'"
            )
        case .array, .null: throw .badRequest("'\(path).value' can't be a member of a list")
        }
    }

    // MARK: By type

    private func read(
        _ value: JSON,
        as type: FieldType,
        at path: String
    ) throws(WebError) -> FieldValue {
        switch type {
        case .one(let kind): return try one(value, kind, at: path)
        case .list(let kind):
            guard case .array(let elements) = value else {
                throw WebFieldReader.mismatch(path, type.name)
            }
            var members: [FieldValue] = []
            for element in elements { members.append(try one(element, kind, at: path)) }
            return .list(members)
        default: throw WebFieldReader.mismatch(path, type.name)
        }
    }

    private func one(
        _ value: JSON,
        _ kind: FieldKind,
        at path: String
    ) throws(WebError) -> FieldValue {
        let read: FieldValue? =
            switch kind {
            case .string: value.stringValue.map { .string($0) }
            case .int64: (value.flagValue ?? value.exactInteger).map { .int64($0) }
            case .double: value.number.map { .double($0) }
            case .timestamp:
                value.milliseconds.map { .timestamp(Timestamp(millisecondsSince1970: $0)) }
            case .bytes: value.stringValue.flatMap { Base64.decode($0) }.map { .bytes($0) }
            case .location: .location(try location(value, at: path))
            case .reference: .reference(try reference(value, at: path))
            case .asset: .asset(try uploaded(value, at: path))
            }
        guard let read else { throw WebFieldReader.mismatch(path, kind.name) }
        return read
    }

    package func location(_ value: JSON, at path: String) throws(WebError) -> Location {
        let object = try WebObject(value, at: path)
        func number(_ key: String) throws(WebError) -> Double? {
            guard let value = object[key] else { return nil }
            guard let number = value.number else {
                throw .badRequest("'\(path).\(key)' must be a number")
            }
            return number
        }
        guard let latitude = try number("latitude"), let longitude = try number("longitude") else {
            throw .badRequest("'\(path)' must have a latitude and a longitude")
        }
        var location = Location(latitude: latitude, longitude: longitude)
        location.altitude = try number("altitude")
        location.horizontalAccuracy = try number("horizontalAccuracy")
        location.verticalAccuracy = try number("verticalAccuracy")
        location.course = try number("course")
        location.speed = try number("speed")
        if let time = object["timestamp"] {
            guard let milliseconds = time.milliseconds else {
                throw .badRequest("'\(path).timestamp' must be milliseconds since 1970")
            }
            location.timestamp = Timestamp(millisecondsSince1970: milliseconds)
        }
        return location
    }

    package func reference(
        _ value: JSON,
        at path: String
    ) throws(WebError) -> Record.Reference {
        let object = try WebObject(value, at: path)
        let name = try object.needed("recordName")
        if let other = try WebZone.id(in: object, for: user), other != zone {
            throw .badRequest(
                "'\(path).zoneID' is another zone; a record refers to records of its own zone only"
            )
        }
        if isOfFilters { return Record.Reference(recordName: name) }
        switch try object.string("action") {
        case nil, "NONE"?: return Record.Reference(recordName: name)
        case "DELETE_SELF"?: return Record.Reference(recordName: name, action: .deleteSelf)
        case "VALIDATE"?:
            throw .badRequest(
                "'\(path).action' is VALIDATE, which this server doesn't have; use NONE or "
                    + "DELETE_SELF"
            )
        case let action?:
            throw .badRequest("'\(path).action' must be NONE or DELETE_SELF, not '\(action)'")
        }
    }

    /// A record's parent; nil: it has none any more.
    func parent(_ value: JSON, at path: String) throws(WebError) -> Record.Reference? {
        if value == .null { return nil }
        let parent = try reference(value, at: path)
        guard parent.action == .none else {
            throw .badRequest(
                "'\(path).action' must be NONE, or be left out: it is a parent's only action"
            )
        }
        return parent
    }

    private func uploaded(_ value: JSON, at path: String) throws(WebError) -> Asset {
        let object = try WebObject(value, at: path)
        guard let receipt = try object.string("receipt") else {
            throw .badRequest(
                "'\(path)' has no receipt; upload the file, or ask assets/rereference for one"
            )
        }
        guard let asset = asset(receipt) else {
            throw .badRequest("bad upload receipt (did_not_validate): upload the file again")
        }
        if let checksum = try object.string("fileChecksum"),
            checksum != Base64.encode(asset.digest)
        {
            throw .badRequest("'\(path).fileChecksum' is not that of the uploaded file")
        }
        if let size = object["size"], size.exactInteger != Int64(clamping: asset.size) {
            throw .badRequest("'\(path).size' is not that of the uploaded file")
        }
        return asset
    }

    // MARK: Errors

    static func mismatch(_ path: String, _ type: String) -> WebError {
        .badRequest("Invalid value, expected type \(type) for '\(path)'")
    }

    /// - Parameter place: The place of the encrypted tag.
    private static func encrypted(_ place: String) -> WebError {
        .badRequest(
            "'\(place)' means an encrypted field, and only clients that hold the user's key seal "
                + "those; save it with one of them"
        )
    }
}

extension JSON {
    var stringValue: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// Booleans are stored as 0 and 1.
    fileprivate var flagValue: Int64? {
        if case .bool(let flag) = self { flag ? 1 : 0 } else { nil }
    }

    fileprivate var isDecimal: Bool { if case .decimal = self { true } else { false } }
}
