// Reads the JSON of CloudKit's web services: each mistake is told with the place of the value.
//
// Every part of an answer is read through it. What an answer has beyond what is asked for is
// passed over: services add keys.
//
// Folder: CloudKit's web services as a migration reads them, Apple's or a node's. Read
// `SourceRecord` and `SourceAnswer` for what they say, `SourceRequest` for what they are asked, and
// `SourceClient` for how; `SourceTransport` is the seam to the network.

import CumulusModel

/// An answer, or a part of one, that says what no service may say.
package struct SourceProblem: Error, Equatable, CustomStringConvertible {
    /// Where it stands, such as `records[3].fields.name`, and what is wrong.
    package var description: String

    package init(_ place: String, _ message: String) {
        description = place.isEmpty ? message : "'\(place)' \(message)"
    }
}

/// A JSON object with its place in the answer.
struct SourceObject {
    let json: JSON
    let path: String

    init(_ json: JSON?, at path: String) throws(SourceProblem) {
        guard let json, case .object = json else {
            throw SourceProblem(path, "must be an object")
        }
        self.json = json
        self.path = path
    }

    /// A member; null is as good as none.
    subscript(key: String) -> JSON? {
        if let value = json[key], value != .null { value } else { nil }
    }

    func place(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    func string(_ key: String) throws(SourceProblem) -> String? {
        guard let value = self[key] else { return nil }
        guard case .string(let text) = value else {
            throw SourceProblem(place(key), "must be a text")
        }
        return text
    }

    func needed(_ key: String) throws(SourceProblem) -> String {
        guard let text = try string(key) else { throw SourceProblem(place(key), "is missing") }
        return text
    }

    /// An integer, also as text: services write large ones so.
    func integer(_ key: String) throws(SourceProblem) -> Int64? {
        guard let value = self[key] else { return nil }
        switch value {
        case .integer(let number): return number
        case .string(let text):
            if let number = Int64(text) { return number }
        default: break
        }
        throw SourceProblem(place(key), "must be an integer")
    }

    func number(_ key: String) throws(SourceProblem) -> Double? {
        guard let value = self[key] else { return nil }
        guard let number = value.sourceNumber else {
            throw SourceProblem(place(key), "must be a number")
        }
        return number
    }

    func flag(_ key: String) throws(SourceProblem) -> Bool? {
        guard let value = self[key] else { return nil }
        guard case .bool(let flag) = value else {
            throw SourceProblem(place(key), "must be true or false")
        }
        return flag
    }

    func object(_ key: String) throws(SourceProblem) -> SourceObject? {
        guard let value = self[key] else { return nil }
        return try SourceObject(value, at: place(key))
    }

    /// The elements of an array; an absent one has none.
    func list(_ key: String) throws(SourceProblem) -> [JSON] {
        guard let value = self[key] else { return [] }
        guard case .array(let elements) = value else {
            throw SourceProblem(place(key), "must be an array")
        }
        return elements
    }

    /// The objects of an array that has to be there.
    func neededList(_ key: String) throws(SourceProblem) -> [JSON] {
        guard self[key] != nil else { throw SourceProblem(place(key), "is missing") }
        return try list(key)
    }

    func strings(_ key: String) throws(SourceProblem) -> [String] {
        var texts: [String] = []
        for (index, element) in try list(key).enumerated() {
            guard case .string(let text) = element else {
                throw SourceProblem("\(place(key))[\(index)]", "must be a text")
            }
            texts.append(text)
        }
        return texts
    }
}

extension JSON {
    /// A number, also as text; infinite ones are always text.
    var sourceNumber: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .decimal(let number): number
        case .string("Infinity"): .infinity
        case .string("-Infinity"): -.infinity
        case .string(let text): Double(text).flatMap { $0.isFinite ? $0 : nil }
        default: nil
        }
    }
}
