// Reads the functions of predicates: distances and words as CloudKit has them, and the ones that
// write values which have no literal of their own.
//
// Part of the parser. Names count in any case.

extension PredicateParser {
    /// The function whose name is next, with its arguments.
    package mutating func function() throws(ServiceError) -> Term {
        let start = next.range.lowerBound
        switch functionName() {
        case "distancetolocation:fromlocation:": return try distance(from: start)
        case "cast": return .one(.value(try cast(from: start)))
        case "reference": return .one(.value(.reference(try reference(from: start))))
        case "location": return .one(.value(.location(try location())))
        case "tokenize", "tokenize:using:":
            throw refusal("tokenize is only supported in ALL tokenize(…) IN allTokens", at: start)
        case "subquery":
            throw refusal("SUBQUERY isn't supported; query the other type first", at: start)
        case "sum", "count", "average", "min", "max", "sum:", "count:", "average:", "min:", "max:":
            throw refusal("aggregates aren't supported; keep the number in a field", at: start)
        default:
            throw refusal(
                """
                this function isn't supported; there are now, CAST, \
                distanceToLocation:fromLocation:, REFERENCE and LOCATION
                """,
                at: start
            )
        }
    }

    /// Takes a function's name, with its colons; in lower case.
    package mutating func functionName() -> String {
        var name = ""
        while true {
            switch next.kind {
            case .word(let part): name += part.lowercased()
            case .symbol(":"): name += ":"
            default: return name
            }
            advance()
        }
    }

    // MARK: - CloudKit's functions

    private mutating func distance(from start: Int) throws(ServiceError) -> Term {
        try open()
        let first = try term()
        try expect(",")
        let second = try term()
        try close()
        switch (first, second) {
        case (.key(let key), .one(.value(.location(let place)))),
            (.one(.value(.location(let place))), .key(let key)):
            return .distance(key, place)
        default:
            throw refusal(
                "a distance is that of a key from a location; write (key, LOCATION(35.7, 51.4))",
                at: start
            )
        }
    }

    /// The words in `('words', 'cdl')`.
    package mutating func tokenizeArguments() throws(ServiceError) -> String {
        try open()
        let words = try text("the words")
        try expect(",")
        let start = next.range.lowerBound
        let options = try text("'cdl'")
        guard options.lowercased().utf8.sorted() == Array("cdl".utf8) else {
            throw refusal("the options of tokenize must be 'cdl'", at: start)
        }
        try close()
        return words
    }

    // MARK: - Values without a literal

    /// `CAST('2026-11-22', 'NSDate')`, and the like for bytes and for numbers.
    private mutating func cast(from start: Int) throws(ServiceError) -> FieldValue {
        try open()
        guard case .one(.value(let value)) = try term() else {
            throw refusal("CAST needs a number or a text", at: start)
        }
        try expect(",")
        let type = try text("a type such as 'NSDate'")
        try close()
        switch (type, value) {
        case ("NSDate", _): return .timestamp(try moment(value, from: start))
        case ("NSData", .string(let digits)):
            guard let bytes = Bytes(hex: digits) else {
                throw refusal("NSData is cast from pairs of hexadecimal digits", at: start)
            }
            return .bytes(bytes)
        case ("NSNumber", .string(let text)):
            guard let number = Double(text), !number.isNaN else {
                throw refusal("NSNumber is cast from a decimal number or 'inf'", at: start)
            }
            return .double(number)
        default:
            throw refusal("CAST makes NSDate, and of a text also NSData and NSNumber", at: start)
        }
    }

    private func moment(
        _ value: FieldValue,
        from start: Int
    ) throws(ServiceError) -> Timestamp {
        let moment: Timestamp? =
            switch value {
            case .string(let text): Timestamp(text: text)
            default: value.double.flatMap(Timestamp.init(secondsSince2001:))
            }
        guard let moment else {
            throw refusal(
                """
                NSDate is cast from a text such as '2026-11-22T10:00:00Z' or from seconds since \
                2001, in the years 1 to 9999
                """,
                at: start
            )
        }
        return moment
    }

    /// `REFERENCE('name')`, or with the action `'deleteSelf'` as a second argument.
    private mutating func reference(
        from start: Int
    ) throws(ServiceError) -> Record.Reference {
        try open()
        var reference = Record.Reference(recordName: try text("a record name"))
        if take(.symbol(",")) != nil {
            guard try text("'deleteSelf'") == "deleteSelf" else {
                throw refusal("the action of a reference can only be 'deleteSelf'", at: start)
            }
            reference.action = .deleteSelf
        }
        try close()
        return reference
    }

    /// `LOCATION(35.6, 139.7)`, with what else is known behind it: `altitude: 40`.
    private mutating func location() throws(ServiceError) -> Location {
        try open()
        let latitude = try decimal()
        try expect(",")
        var location = Location(latitude: latitude, longitude: try decimal())
        while take(.symbol(",")) != nil { try property(of: &location) }
        try close()
        return location
    }

    private mutating func property(of location: inout Location) throws(ServiceError) {
        let offset = next.range.lowerBound
        switch propertyName() {
        case "altitude": location.altitude = try decimal()
        case "horizontalaccuracy": location.horizontalAccuracy = try decimal()
        case "verticalaccuracy": location.verticalAccuracy = try decimal()
        case "course": location.course = try decimal()
        case "speed": location.speed = try decimal()
        case "timestamp":
            guard case .one(.value(.timestamp(let moment))) = try term() else {
                throw refusal("a location's timestamp needs CAST(…, 'NSDate')", at: offset)
            }
            location.timestamp = moment
        default:
            throw refusal(
                """
                a location has altitude:, horizontalAccuracy:, verticalAccuracy:, course:, \
                speed: and timestamp:
                """,
                at: offset
            )
        }
    }

    /// Takes a word and the colon behind it; nil if something else is next.
    private mutating func propertyName() -> String? {
        guard case .word(let name) = next.kind, afterNext.kind == .symbol(":") else { return nil }
        advance()
        advance()
        return name.lowercased()
    }

    // MARK: - Arguments

    private mutating func text(_ what: String) throws(ServiceError) -> String {
        let offset = next.range.lowerBound
        guard case .one(.value(.string(let text))) = try term() else {
            throw refusal("\(what) must be given as a text", at: offset)
        }
        return text
    }

    private mutating func decimal() throws(ServiceError) -> Double {
        let offset = next.range.lowerBound
        guard case .one(.value(let value)) = try term(), let number = value.double else {
            throw refusal("a number is needed", at: offset)
        }
        return number
    }
}

extension Timestamp {
    /// The moment so many seconds after 2001 began in UTC; nil outside of the years 1 to 9999.
    fileprivate init?(secondsSince2001 seconds: Double) {
        let milliseconds = (seconds * 1_000).rounded() + 978_307_200_000
        guard let exact = Int64(exactly: milliseconds), Self.range.contains(exact) else {
            return nil
        }
        self.init(millisecondsSince1970: exact)
    }
}
