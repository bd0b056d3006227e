// Field values as JSON and back: the one mapping of import, export, `--json-fields` and `--json`.
//
// A value without a JSON form is an object with one key that begins with '$', which field names
// can't. A written value is read back as the same value of the same kind.

package import CumulusModel
import CumulusSystem
import CumulusTerminal

extension FieldValue {
    /// nil for null: the field is absent.
    package static func optional(_ json: JSON) throws -> FieldValue? {
        if case .null = json { nil } else { try FieldValue(json) }
    }

    package init(_ json: JSON) throws {
        switch json {
        case .null: throw InputProblem("null can't be an element of a list")
        case .bool(let flag): self = .int64(flag ? 1 : 0)
        case .integer(let number): self = .int64(number)
        case .decimal(let number): self = .double(number)
        case .string(let text): self = .string(text)
        case .array(let elements): self = .list(try elements.map(FieldValue.element))
        case .object(let members): self = try FieldValue(members)
        }
    }

    private static func element(_ json: JSON) throws -> FieldValue {
        if case .array = json { throw InputProblem("a list can't hold a list") }
        return try FieldValue(json)
    }

    private init(_ members: [JSON.Member]) throws {
        if members.count == 2, Set(members.map(\.key)) == ["latitude", "longitude"] {
            self = .location(try Location(members))
            return
        }
        guard members.count == 1, let member = members.first else { throw FieldValue.unknown }
        switch (member.key, member.value) {
        case ("$date", let value): self = .timestamp(try Timestamp(value))
        case ("$bytes", .string(let text)): self = .bytes(try base64(text))
        case ("$double", .string("infinity")): self = .double(.infinity)
        case ("$double", .string("-infinity")): self = .double(-.infinity)
        case ("$location", .object(let members)): self = .location(try Location(members))
        case ("$reference", .object(let members)):
            self = .reference(try Record.Reference(members))
        case ("$asset", .object(let members)): self = .asset(try Asset(members))
        default: throw FieldValue.unknown
        }
    }

    private static let unknown = InputProblem(
        """
        an object must be a location of latitude and longitude, or one of $date (a text), $bytes \
        (base64), $reference ({"recordName": …, "action": …}), $location, $double and $asset; a \
        whole field may be $encrypted or $sealed
        """
    )

    package var json: JSON {
        switch self {
        case .string(let text): .string(text)
        case .int64(let number): .integer(number)
        case .double(let number):
            number.isFinite
                ? .decimal(number) : ["$double": number < 0 ? "-infinity" : "infinity"]
        case .timestamp(let moment): ["$date": moment.json]
        case .bytes(let bytes): ["$bytes": .string(Data(bytes).base64EncodedString())]
        case .location(let location): location.json
        case .reference(let reference): ["$reference": reference.json]
        case .asset(let asset): ["$asset": asset.json]
        case .list(let elements): .array(elements.map(\.json))
        }
    }
}

// MARK: - Parts

extension Timestamp {
    fileprivate init(_ json: JSON) throws {
        switch json {
        case .integer(let milliseconds): self.init(millisecondsSince1970: milliseconds)
        case .string(let text):
            guard let moment = Timestamp(text: text) else {
                throw InputProblem("'\(text)' is no date like 2024-02-29T12:00:00.000Z")
            }
            self = moment
        default: throw InputProblem("a date is ISO 8601 text, or milliseconds since 1970")
        }
    }

    fileprivate var json: JSON { .string(text) }
}

extension Location {
    private static var optionals: [(key: String, path: WritableKeyPath<Location, Double?>)] {
        [
            ("altitude", \.altitude), ("horizontalAccuracy", \.horizontalAccuracy),
            ("verticalAccuracy", \.verticalAccuracy), ("course", \.course), ("speed", \.speed),
        ]
    }

    fileprivate init(_ members: [JSON.Member]) throws {
        let rest = members.filter { $0.key != "latitude" && $0.key != "longitude" }
        guard rest.count == members.count - 2 else {
            throw InputProblem("a location needs latitude and longitude")
        }
        let object = JSON.object(members)
        self.init(
            latitude: try number(object["latitude"], "latitude"),
            longitude: try number(object["longitude"], "longitude")
        )
        for member in rest {
            if member.key == "timestamp" {
                timestamp = try Timestamp(member.value)
            } else if let known = Location.optionals.first(where: { $0.key == member.key }) {
                self[keyPath: known.path] = try number(member.value, member.key)
            } else {
                throw InputProblem("'\(member.key)' is no part of a location")
            }
        }
    }

    /// The two degrees alone, or an object under `$location` with all known parts.
    fileprivate var json: JSON {
        let degrees = [
            JSON.Member("latitude", .decimal(latitude)),
            JSON.Member("longitude", .decimal(longitude)),
        ]
        var rest = Location.optionals.compactMap { key, path in
            self[keyPath: path].map { JSON.Member(key, FieldValue.double($0).json) }
        }
        if let timestamp { rest.append(JSON.Member("timestamp", timestamp.json)) }
        return rest.isEmpty ? .object(degrees) : ["$location": .object(degrees + rest)]
    }
}

extension Record.Reference {
    fileprivate init(_ members: [JSON.Member]) throws {
        let object = JSON.object(members)
        guard case .string(let name)? = object["recordName"],
            members.allSatisfy({ $0.key == "recordName" || $0.key == "action" })
        else { throw InputProblem("a reference is a recordName and an action") }
        switch object["action"] {
        case nil, .string("none"): self.init(recordName: name)
        case .string("deleteSelf"): self.init(recordName: name, action: .deleteSelf)
        default: throw InputProblem("a reference's action is none or deleteSelf")
        }
    }

    fileprivate var json: JSON {
        let action = action == .deleteSelf ? "deleteSelf" : "none"
        return ["recordName": .string(recordName), "action": .string(action)]
    }
}

extension Asset {
    fileprivate init(_ members: [JSON.Member]) throws {
        let object = JSON.object(members)
        guard members.count == 2, case .string(let digest)? = object["digest"],
            case .integer(let size)? = object["size"], let size = UInt64(exactly: size)
        else { throw InputProblem("an asset is a digest and a size") }
        self.init(digest: try base64(digest), size: size)
    }

    fileprivate var json: JSON {
        [
            "digest": .string(Data(digest).base64EncodedString()),
            "size": .integer(Int64(clamping: size)),
        ]
    }
}

/// Takes the one text that stands for some bytes: of another one, part would be lost unseen.
func base64(_ text: String) throws -> [UInt8] {
    guard let data = Data(base64Encoded: text), data.base64EncodedString() == text else {
        throw InputProblem("'\(text.prefix(40))' is no base64")
    }
    return Array(data)
}

private func number(_ json: JSON?, _ name: String) throws -> Double {
    switch json {
    case .integer(let number): return Double(number)
    case .decimal(let number): return number
    case .object(let members)?:
        if case .double(let number) = try FieldValue(.object(members)) { return number }
    default: break
    }
    throw InputProblem("\(name) must be a number")
}
