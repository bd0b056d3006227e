// Reads a JSON object of a request: each key by its kind, with an error that names its place.
//
// Used by everything that decodes requests. Keys that nothing asks for are ignored, as clients
// expect; null means the same as a missing key.

package import CumulusModel

package struct WebObject: Sendable {
    /// The place of the object in the request; empty for the request itself.
    package let path: String
    package let json: JSON

    /// Takes an object; refuses every other value.
    package init(_ json: JSON, at path: String = "") throws(WebError) {
        guard case .object = json else {
            let what = path.isEmpty ? "the body" : "'\(path)'"
            throw .badRequest("\(what) must be a JSON object")
        }
        self.json = json
        self.path = path
    }

    /// The object that the bytes of a body hold; an empty body is an empty object.
    package init(body: [UInt8]) throws(WebError) {
        if body.isEmpty {
            try self.init(.object([]))
            return
        }
        let json: JSON
        do throws(JSONReader.Problem) {
            json = try JSONReader.read(body, numbers: .nearest)
        } catch {
            throw .badRequest("the body can't be used: \(error.message)")
        }
        try self.init(json)
    }

    /// The objects of a file of the operator's, which holds a JSON list of them.
    ///
    /// - Parameter what: What the list is of, such as "webhooks".
    static func list(_ text: Bytes, of what: String) throws(WebError) -> [WebObject] {
        let json: JSON
        do throws(JSONReader.Problem) {
            json = try JSONReader.read(text)
        } catch {
            throw .badRequest("it is no JSON: \(error.message)")
        }
        guard case .array(let elements) = json else {
            throw .badRequest("it must be a list of \(what)")
        }
        var objects: [WebObject] = []
        for (index, element) in elements.enumerated() {
            objects.append(try WebObject(element, at: "[\(index)]"))
        }
        return objects
    }

    /// The names of containers under `containers`; nil without the key.
    func containers() throws(WebError) -> [String]? {
        let names = try strings("containers")
        for name in names ?? [] {
            guard (try? Names.checkIdentifier(Bytes(name.utf8)[...], "container")) != nil else {
                throw .badRequest(
                    "'\(place("containers"))': '\(name)' is no name of a container"
                )
            }
        }
        return names
    }

    /// Refuses a key that is not among the known ones, such as a misspelt one.
    func check(keys known: Set<String>) throws(WebError) {
        guard case .object(let members) = json,
            let unknown = members.first(where: { !known.contains($0.key) })
        else { return }
        let names = known.sorted().joined(separator: ", ")
        throw .badRequest("'\(place(unknown.key))' is none of \(names)")
    }

    /// The value of a key; nil if it is missing or null.
    package subscript(key: String) -> JSON? {
        guard let value = json[key], value != .null else { return nil }
        return value
    }

    /// Whether the key is there, null or not.
    package func names(_ key: String) -> Bool { json[key] != nil }

    /// How errors name a key.
    package func place(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    // MARK: Kinds

    package func string(_ key: String) throws(WebError) -> String? {
        switch self[key] {
        case nil: nil
        case .string(let text)?: text
        default: throw .badRequest("'\(place(key))' must be a string")
        }
    }

    package func needed(_ key: String) throws(WebError) -> String {
        guard let text = try string(key), !text.isEmpty else {
            throw .badRequest("'\(place(key))' is missing")
        }
        return text
    }

    package func flag(_ key: String) throws(WebError) -> Bool? {
        switch self[key] {
        case nil: nil
        case .bool(let flag)?: flag
        case .string("true")?: true
        case .string("false")?: false
        default: throw .badRequest("'\(place(key))' must be true or false")
        }
    }

    /// A number of things; clients may send it as text.
    package func count(_ key: String) throws(WebError) -> Int? {
        guard let value = self[key] else { return nil }
        guard let number = value.exactInteger, number > 0, let count = Int(exactly: number) else {
            throw .badRequest("'\(place(key))' must be a positive integer")
        }
        return count
    }

    package func object(_ key: String) throws(WebError) -> WebObject? {
        guard let value = self[key] else { return nil }
        return try WebObject(value, at: place(key))
    }

    /// The elements of a list; nil if the key is missing.
    package func array(_ key: String) throws(WebError) -> [JSON]? {
        switch self[key] {
        case nil: nil
        case .array(let elements)?: elements
        default: throw .badRequest("'\(place(key))' must be a list")
        }
    }

    /// The elements of a list; a dictionary in its place counts as a list of one.
    package func listOrOne(_ key: String) throws(WebError) -> [JSON] {
        if let value = self[key], case .object = value { return [value] }
        return try array(key) ?? []
    }

    package func strings(_ key: String) throws(WebError) -> [String]? {
        guard let elements = try array(key) else { return nil }
        var strings: [String] = []
        for element in elements {
            guard case .string(let text) = element else {
                throw .badRequest("'\(place(key))' must be a list of strings")
            }
            strings.append(text)
        }
        return strings
    }

    /// The objects of a list that the request must have, at most as many as a request may name.
    package func items(_ key: String) throws(WebError) -> [WebObject] {
        guard let elements = try array(key) else {
            throw .badRequest("'\(place(key))' is missing: it must be a list")
        }
        guard elements.count <= WebLimits.items else {
            throw .badRequest(
                "'\(place(key))' names \(elements.count) items; a request may name at most "
                    + "\(WebLimits.items), so send it in parts"
            )
        }
        var items: [WebObject] = []
        for (index, element) in elements.enumerated() {
            items.append(try WebObject(element, at: "\(place(key))[\(index)]"))
        }
        return items
    }
}

/// The limits of one request.
package enum WebLimits {
    /// Operations, names, upload tokens; also entries of an answer.
    package static let items = 200
}

/// Numbers of requests, by their values: 5, 5.0, 5e0 and "5" are one number.
///
/// A whole number is exact to 64 bits. A number with a fraction or an exponent is a double, as in
/// JavaScript.
extension JSON {
    /// A whole number of 64 bits, as a number or as text; nil for everything else.
    var exactInteger: Int64? {
        switch self {
        case .integer(let number): number
        case .string(let text): Int64(text) ?? finite.flatMap(JSON.whole)
        default: finite.flatMap(JSON.whole)
        }
    }

    /// Whole milliseconds, as a number or as text; nil for everything else.
    ///
    /// A fraction is cut off.
    var milliseconds: Int64? {
        exactInteger ?? finite.flatMap { JSON.whole($0.rounded(.down)) }
    }

    /// A number, as a number or as text; nil for everything else, such as NaN.
    var number: Double? {
        switch self {
        case .string("Infinity"): .infinity
        case .string("-Infinity"): -.infinity
        default: finite
        }
    }

    /// A finite number, as a number or as text; nil for everything else.
    private var finite: Double? {
        let number: Double? =
            switch self {
            case .integer(let number): Double(number)
            case .decimal(let number): number
            case .string(let text): JSON.isDecimal(text) ? Double(text) : nil
            default: nil
            }
        return number.flatMap { $0.isFinite ? $0 : nil }
    }

    /// The integer that a double is; nil for a fraction, and beyond 64 bits.
    ///
    /// Integers below -2^63 are read as the double -2^63, so that one is left out.
    private static func whole(_ number: Double) -> Int64? {
        number > -0x1p63 ? Int64(exactly: number) : nil
    }

    /// Whether a text has only characters of decimal numbers, unlike "nan" and "0x1p3".
    private static func isDecimal(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0.isASCIIDigit || "+-.eE".utf8.contains($0) }
    }
}
