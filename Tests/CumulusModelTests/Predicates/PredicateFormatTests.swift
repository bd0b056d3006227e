// What predicates may be written, what they mean, and what the others are told.

import CumulusModel
import CumulusTesting
import Testing

private typealias Node = Query.Node

private func compare(
    _ key: String,
    _ relation: Query.Relation,
    _ values: FieldValue...
) -> Query.Node {
    .comparison(.init(key, relation, values.map { .value($0) }))
}

private func expect(
    _ format: String,
    _ arguments: [any QueryArgument],
    _ nodes: [Query.Node],
    sourceLocation: SourceLocation = #_sourceLocation
) throws {
    let predicate = try Query.Predicate(format: format, argumentArray: arguments)
    #expect(predicate.nodes == nodes, sourceLocation: sourceLocation)
    #expect(predicate.isWellFormed, sourceLocation: sourceLocation)
}

private func expect(
    _ format: String,
    _ nodes: [Query.Node],
    sourceLocation: SourceLocation = #_sourceLocation
) throws {
    try expect(format, [], nodes, sourceLocation: sourceLocation)
}

@Suite struct PredicateFormatTests {
    private static let place = Location(latitude: 35.6, longitude: 139.7)

    // MARK: - Comparisons

    @Test(arguments: [
        ("=", Query.Relation.equals), ("==", .equals), ("!=", .notEquals), ("<>", .notEquals),
        ("<", .lessThan), (">", .greaterThan), ("<=", .lessThanOrEquals), ("=<", .lessThanOrEquals),
        (">=", .greaterThanOrEquals), ("=>", .greaterThanOrEquals),
    ])
    func scalarsAreCompared(sign: String, relation: Query.Relation) throws {
        try expect("f \(sign) 1", [compare("f", relation, 1)])
        try expect("f\(sign)'v'", [compare("f", relation, "v")])
        try expect("f \(sign) %@", ["v"], [compare("f", relation, "v")])
    }

    @Test func aValueOnTheLeftIsTurnedAround() throws {
        try expect("1 == f", [compare("f", .equals, 1)])
        try expect("1 < f", [compare("f", .greaterThan, 1)])
        try expect("1 <= f", [compare("f", .greaterThanOrEquals, 1)])
        try expect("1 > f", [compare("f", .lessThan, 1)])
        try expect("1 >= f", [compare("f", .lessThanOrEquals, 1)])
        try expect("nil != f", [compare("f", .isNil), .not])
    }

    @Test func betweenIsTwoComparisons() throws {
        let both = [
            compare("f", .greaterThanOrEquals, 1), compare("f", .lessThanOrEquals, 5), .and,
        ]
        try expect("f BETWEEN {1, 5}", both)
        try expect("f between %@", [[1, 5]], both)
        try expect("f BETWEEN {%d, %d}", [1, 5], both)
        try expect("f BETWEEN {1, 5} AND a = 1", both + [compare("a", .equals, 1), .and])
    }

    @Test func fieldsAreInLists() throws {
        try expect("f IN {'a', 'b'}", [compare("f", .isIn, "a", "b")])
        try expect("f IN ('a', 'b')", [compare("f", .isIn, "a", "b")])
        try expect("f in %@", [["a", "b"]], [compare("f", .isIn, "a", "b")])
        try expect("ANY {'a', 'b'} = f", [compare("f", .isIn, "a", "b")])
        try expect("SOME %@ == f", [["a"]], [compare("f", .isIn, "a")])
    }

    @Test func fieldsAreInNoneOfAList() throws {
        let nodes = [compare("f", .isIn, 1, 2), .not]
        try expect("NOT (f IN %@)", [[1, 2]], nodes)
        try expect("NOT f IN {1, 2}", nodes)
        try expect("!(f IN {1, 2})", nodes)
        try expect("NOT ((f IN {1, 2}))", nodes)
    }

    @Test func nothingIsInAnEmptyList() throws {
        try expect("f IN {}", [.constant(false)])
        try expect("f IN %@", [[String]()], [.constant(false)])
        try expect("ANY f IN {}", [.constant(false)])
        try expect("NOT (f IN %@)", [[Int]()], [.constant(true)])
        try expect("NOT TRUEPREDICATE", [.constant(false)])
    }

    @Test func listsContainValues() throws {
        let contains = [compare("f", .listContains, "v")]
        for format in ["f CONTAINS 'v'", "'v' IN f", "ANY f = 'v'", "SOME f == 'v'"] {
            try expect(format, contains)
            try expect("NOT (\(format))", contains + [.not])
        }
        try expect("%@ IN f", ["v"], contains)
        try expect("ANY f IN %@", [["v", "w"]], [compare("f", .listContainsAny, "v", "w")])
        try expect("ANY f IN {1}", [compare("f", .listContainsAny, 1)])
        try expect("ANY f BEGINSWITH 'p'", [compare("f", .listMemberBeginsWith, "p")])
    }

    @Test func textsHavePrefixes() throws {
        try expect("f BEGINSWITH 'p'", [compare("f", .beginsWith, "p")])
        try expect("NOT f beginswith %@", ["p"], [compare("f", .beginsWith, "p"), .not])
    }

    @Test func recordsAreSearchedForWords() throws {
        try expect("self CONTAINS 'ada byron'", [compare("", .containsAnyToken, "ada byron")])
        try expect(
            "self CONTAINS 'ada' AND SELF contains %@",
            ["byron"],
            [compare("", .containsAnyToken, "ada"), compare("", .containsAnyToken, "byron"), .and]
        )
        let all = [compare("", .containsAllTokens, "ada byron")]
        try expect("allTokens TOKENMATCHES[cdl] 'ada byron'", all)
        try expect("allTokens tokenmatches[CDL] %@", ["ada byron"], all)
        try expect("ALL tokenize(%@, 'cdl') IN allTokens", ["ada byron"], all)
        try expect("ALL tokenize:using:('ada byron', 'CDL') IN allTokens", all)
    }

    @Test func placesAreNear() throws {
        let near = compare("f", .isNearerThan, .location(Self.place), 5.0)
        let within = compare("f", .isAtMostAsFarAs, .location(Self.place), 5.0)
        try expect("distanceToLocation:fromLocation:(f, %@) < 5", [Self.place], [near])
        try expect("distanceToLocation:fromLocation:(%@, f) < %f", [Self.place, 5.0], [near])
        try expect("distanceToLocation:fromLocation:(%K, %@) <= 5.0", ["f", Self.place], [within])
        try expect("%d >= distanceToLocation:fromLocation:(f, %@)", [5, Self.place], [within])
        try expect(
            "distanceToLocation:fromLocation:(f, LOCATION(35.6, 139.7)) < 5",
            [near]
        )
    }

    @Test func referencesAndSystemFieldsAreCompared() throws {
        let id = Record.ID(recordName: "r")
        let target = FieldValue.reference(.init(recordName: "r"))
        let values: [any QueryArgument] = [
            id, Record(recordType: "T", recordID: id), Record.Reference(recordName: "r"), target,
        ]
        for value in values { try expect("ref == %@", [value], [compare("ref", .equals, target)]) }
        try expect("ref IN %@", [[id]], [compare("ref", .isIn, target)])
        try expect("recordID == %@", [id], [compare("recordID", .equals, target)])
        try expect("recordID IN %@", [[id]], [compare("recordID", .isIn, target)])
        try expect("___recordID = %@", [id], [compare("___recordID", .equals, target)])
        try expect("%K = %@", ["___createdBy", id], [compare("___createdBy", .equals, target)])
        try expect(
            "creatorUserRecordID == %@",
            [Record.ID(recordName: "__defaultOwner__")],
            [
                compare(
                    "creatorUserRecordID",
                    .equals,
                    .reference(.init(recordName: "__defaultOwner__"))
                )
            ]
        )
        try expect("parent == %@", [id], [compare("parent", .equals, target)])
        try expect("share = REFERENCE('r')", [compare("share", .equals, target)])
        let moment = FieldValue.timestamp(.init(millisecondsSince1970: 5))
        try expect("creationDate > %@", [moment], [compare("creationDate", .greaterThan, moment)])
        try expect(
            "modificationDate > %@",
            [moment],
            [compare("modificationDate", .greaterThan, moment)]
        )
    }

    @Test func theServersMomentIsAnOperand() throws {
        let past = Node.comparison(.init("f", .lessThan, [.now]))
        for format in ["f < now", "f < NOW()", "now() > f", "f < now ( )"] {
            try expect(format, [past])
        }
    }

    @Test func constantsStandForAllAndNone() throws {
        try expect("TRUEPREDICATE", [.constant(true)])
        try expect("(falsepredicate)", [.constant(false)])
    }

    @Test func nilIsAskedFor() throws {
        try expect("f == %@", [NilArgument()], [compare("f", .isNil)])
        for word in ["nil", "NULL", "NIL"] {
            try expect("f == \(word)", [compare("f", .isNil)])
            try expect("f != \(word)", [compare("f", .isNil), .not])
            try expect("NOT (f == \(word))", [compare("f", .isNil), .not])
        }
    }

    // MARK: - Connectives

    @Test func connectivesCompileFromTheLeft() throws {
        let (a, b, c) = (
            compare("a", .equals, 1), compare("b", .equals, 1), compare("c", .equals, 1)
        )
        try expect("a=1 AND b=1 && c=1", [a, b, .and, c, .and])
        try expect("a=1 and (b=1 And c=1)", [a, b, c, .and, .and])
        try expect("a=1 OR b=1 || c=1", [a, b, .or, c, .or])
        try expect("a=1 OR b=1 AND c=1", [a, b, c, .and, .or])
        try expect("(a=1 OR b=1) AND c=1", [a, b, .or, c, .and])
        try expect("NOT a=1 AND !b=1", [a, .not, b, .not, .and])
        try expect("((((a=1))))", [a])
    }

    // MARK: - Keys and values

    @Test func keysAreIdentifiers() throws {
        try expect(
            "#in == 1 AND #Any = 2 AND #plain=3",
            [
                compare("in", .equals, 1), compare("Any", .equals, 2), .and,
                compare("plain", .equals, 3), .and,
            ]
        )
        try expect("%K == 1", ["in"], [compare("in", .equals, 1)])
        try expect("location = 1", [compare("location", .equals, 1)])
        try expect("inside = 1", [compare("inside", .equals, 1)])
        try expect("allTokens = 1", [compare("allTokens", .equals, 1)])
    }

    static let values: [(String, FieldValue)] = [
        ("'a'", "a"), ("\"it's\"", "it's"), ("'say \"x\"'", "say \"x\""), ("''", ""),
        ("'\\' \\\" \\\\ \\n \\t \\r'", "' \" \\ \n \t \r"), ("'%@ $x #y'", "%@ $x #y"),
        ("'\\u00e9\\u6F22\\ud83d\\ude00'", "é漢😀"), ("'漢'", "漢"),
        ("0", 0), ("007", 7), ("-5", -5), ("- 5", -5), ("0x1F", 31), ("-0X10", -16),
        ("9223372036854775807", .int64(.max)), ("-9223372036854775808", .int64(.min)),
        ("1.5", 1.5), ("-1.5e3", -1500.0), ("1E-2", 0.01), ("2e+2", 200.0),
        ("TRUE", 1), ("yes", 1), ("False", 0), ("NO", 0),
        ("CAST(0, 'NSDate')", .timestamp(.init(millisecondsSince1970: 978_307_200_000))),
        ("CAST(-0.0015, 'NSDate')", .timestamp(.init(millisecondsSince1970: 978_307_199_998))),
        ("CAST('1970-01-02', 'NSDate')", .timestamp(.init(millisecondsSince1970: 86_400_000))),
        (
            "CAST('1970-01-01T01:00:00+01:00', 'NSDate')",
            .timestamp(.init(millisecondsSince1970: 0))
        ),
        ("cast('00ff', 'NSData')", .bytes([0, 255])),
        ("CAST('-inf', 'NSNumber')", .double(-.infinity)),
        ("REFERENCE('r', 'deleteSelf')", .reference(.init(recordName: "r", action: .deleteSelf))),
    ]

    @Test(arguments: values)
    func literalsAreValues(text: String, value: FieldValue) throws {
        try expect("f == \(text)", [compare("f", .equals, value)])
        try expect("f IN {\(text),\(text)}", [compare("f", .isIn, value, value)])
    }

    static let placeholders: [(String, any QueryArgument, FieldValue)] = [
        ("%@", "a", "a"), ("%@", 5, 5), ("%@", 1.5, 1.5), ("%@", true, 1),
        ("%@", [UInt8(1)], .bytes([1])),
        ("%d", -5, -5), ("%i", 5, 5), ("%ld", 5, 5), ("%lld", Int64.min, .int64(.min)),
        ("%d", false, 0), ("%u", 5, 5), ("%lu", UInt(5), 5), ("%llu", UInt64(5), 5),
        ("%f", 1.5, 1.5), ("%g", Float(0.5), 0.5), ("%lf", 2.0, 2.0),
        (
            "CAST(%f, 'NSDate')", 0.0,
            .timestamp(.init(millisecondsSince1970: 978_307_200_000))
        ),
    ]

    @Test(arguments: placeholders.indices)
    func placeholdersTakeArguments(index: Int) throws {
        let (placeholder, argument, value) = Self.placeholders[index]
        try expect("f == \(placeholder)", [argument], [compare("f", .equals, value)])
    }

    @Test func blanksMayBeLeftOutOrAdded() throws {
        try expect(
            "\n f\t==\r\n'a'AND(g>1)",
            [compare("f", .equals, "a"), compare("g", .greaterThan, 1), .and]
        )
    }
}

@Suite struct PredicateRefusalTests {
    static let refusals: [(String, String)] = [
        ("ALL f = 1", "at 1: ALL isn't supported; use ANY"),
        ("a=1 AND NONE f = 1", "at 9: NONE isn't supported; use NOT (ANY"),
        ("f ENDSWITH 'x'", "at 3: ENDSWITH isn't supported; use BEGINSWITH"),
        ("f LIKE 'x*'", "at 3: LIKE isn't supported; use == or BEGINSWITH"),
        ("f MATCHES 'x'", "at 3: MATCHES isn't supported; use BEGINSWITH"),
        ("f UTI-CONFORMS-TO 'x'", "at 3: UTI comparisons aren't supported"),
        ("f uti-equals 'x'", "at 3: UTI comparisons aren't supported"),
        (
            "f CONTAINS[c] 'x'",
            "at 3: options such as [c] and [d] aren't supported; comparisons are exact"
        ),
        ("f CONTAINS[d] 'x'", "self CONTAINS 'words' ignores case"),
        ("f ==[cd] 'x'", "at 3: options"), ("f BEGINSWITH[c] 'x'", "at 3: options"),
        ("f IN[c] {'x'}", "at 3: options"), ("self CONTAINS[cd] 'x'", "at 6: options"),
        ("f ==[] 'x'", "letters such as cdl"), ("f ==[c 'x'", "']' is missing before 'x'"),
        ("NOT (a=1 AND b=1)", "at 1: NOT isn't supported over AND and OR; put it before each"),
        ("!(a=1 OR b=1)", "at 1: NOT isn't supported over AND and OR"),
        (
            "NOT self CONTAINS 'x'",
            "at 1: NOT isn't supported over a search for words; take what is not"
        ),
        ("NOT (allTokens TOKENMATCHES[cdl] 'x')", "NOT isn't supported over a search for words"),
        ("NOT ALL tokenize('x','cdl') IN allTokens", "NOT isn't supported over a search"),
        (
            "NOT distanceToLocation:fromLocation:(f, LOCATION(1,2)) < 5",
            "NOT isn't supported over a dist"
        ),
        ("NOT (f BETWEEN {1, 2})", "at 1: NOT isn't supported over BETWEEN; ask for key < a"),
        ("NOT NOT f = 1", "at 1: NOT isn't supported over another negation; leave both out"),
        ("!(!(f = 1))", "at 1: NOT isn't supported over another negation"),
        ("NOT f != nil", "NOT isn't supported over another negation"),
        ("SUBQUERY(f, $x, $x = 1).@count > 0", "variables such as $NAME aren't supported"),
        ("SUBQUERY(f, x, x = 1) > 0", "at 1: SUBQUERY isn't supported; query the other type first"),
        ("f.@count > 3", "at 2: aggregates such as @count aren't supported; keep the number"),
        ("@count > 3", "at 1: aggregates such as @count"),
        ("SUM(f) > 1", "at 1: aggregates aren't supported"), ("count:(f) > 1", "aggregates"),
        ("1 < AVERAGE(f)", "at 5: aggregates"), ("min(f) = 1", "aggregates"),
        ("MAX(f)=1", "aggregates"),
        ("f + 1 > 2", "at 3: arithmetic isn't supported; write the value"),
        ("f - 1 > 2", "arithmetic"), ("f > 2 * 3", "at 7: arithmetic"), ("f / 2 = 1", "arithmetic"),
        ("f ** 2 = 1", "arithmetic"), ("f > -(1)", "arithmetic"), ("f > +1", "at 5: arithmetic"),
        ("a.b = 1", "at 2: key paths aren't supported; name a field of the searched type"),
        ("f = a.b", "at 6: key paths"), ("self.f = 1", "key paths"),
        ("f[0] = 1", "can't be picked"),
        ("f = $NAME", "at 5: variables such as $NAME aren't supported, nor is SUBQUERY; use %@"),
        ("a = b", "at 3: two fields can't be compared; a text stands in quotes"),
        ("a IN b", "two fields"), ("a CONTAINS b", "two fields"), ("a BEGINSWITH b", "two fields"),
        ("1 = 2", "at 3: one side must be a key"), ("1 IN {1}", "one side must be a key"),
        ("no = 1", "mark a field named like a reserved word with #"), ("now = 1", "one side must"),
        (
            "distanceToLocation:fromLocation:(f, LOCATION(1,2)) > 5",
            "only be compared with < and <="
        ),
        ("distanceToLocation:fromLocation:(f, LOCATION(1,2)) >= 5", "at 52: a distance can only"),
        (
            "distanceToLocation:fromLocation:(f, LOCATION(1,2)) == 5",
            "only be compared with < and <="
        ),
        (
            "5 < distanceToLocation:fromLocation:(f, LOCATION(1,2))",
            "only be compared with < and <="
        ),
        ("distanceToLocation:fromLocation:(f, LOCATION(1,2)) < 'x'", "a number of metres"),
        ("distanceToLocation:fromLocation:(f, LOCATION(1,2)) < now", "a number of metres"),
        ("distanceToLocation:fromLocation:(f, LOCATION(1,2)) < g", "a distance can only"),
        ("distanceToLocation:fromLocation:(f, 'x') < 5", "at 1: a distance is that of a key from"),
        ("distanceToLocation:fromLocation:(f, g) < 5", "a distance is that of a key"),
        ("f == {1, 2}", "at 3: one value is needed, not a list; use IN, or ANY key = value"),
        ("f CONTAINS {1}", "one value is needed behind CONTAINS, not a list"),
        ("f BEGINSWITH {'x'}", "one value is needed behind BEGINSWITH"),
        ("{1} IN f", "ANY key IN list"),
        ("f IN 1", "at 3: IN needs a list, such as {1, 2}"),
        ("f IN {{1}}", "an element of a list must"),
        ("f IN {g}", "at 7: an element of a list must be a value"), ("f IN {nil}", "an element"),
        ("f IN {1,}", "a key or a value is missing before }"),
        ("f IN {1", "'}' is missing before the end"),
        ("f BETWEEN {1}", "BETWEEN needs a list of two values"), ("f BETWEEN 1", "two values"),
        ("1 BETWEEN {1, 2}", "a key must stand on the left of BETWEEN"),
        ("'x' CONTAINS f", "the key must stand on the left of CONTAINS"),
        ("'x' BEGINSWITH f", "the key must stand on the left of BEGINSWITH"),
        ("f BEGINSWITH 1", "BEGINSWITH needs a text"), ("self CONTAINS 1", "a text of words"),
        ("self = 1", "self is only supported in self CONTAINS"), ("f = self", "self is only"),
        ("f TOKENMATCHES[cdl] 'x'", "write allTokens TOKENMATCHES[cdl]"),
        ("allTokens TOKENMATCHES 'x'", "at 11: TOKENMATCHES must be written TOKENMATCHES[cdl]"),
        ("allTokens TOKENMATCHES[cd] 'x'", "must be written TOKENMATCHES[cdl]"),
        ("allTokens TOKENMATCHES[cdl] 1", "TOKENMATCHES needs a text of words"),
        ("ALL tokenize('x', 'cd') IN allTokens", "at 19: the options of tokenize must be 'cdl'"),
        ("ALL tokenize('x', 'cdl') IN f", "must come IN allTokens"),
        ("tokenize('x', 'cdl') IN allTokens", "only supported in ALL tokenize"),
        ("ANY f != 1", "at 7: ANY is only supported in"), ("ANY f CONTAINS 1", "ANY is only"),
        ("ANY f > 1", "ANY is only"), ("ANY f = nil", "ANY is only"), ("ANY 1 = f", "ANY is only"),
        ("f < nil", "nil can only be compared with == and !="), ("f IN nil", "nil can only"),
        ("f NOT IN {1}", "at 3: NOT must stand before the key: NOT (key IN list)"),
        ("", "at 1: the format is empty"), (" \n", "the format is empty"),
        ("f = 1 g", "at 7: the predicate ends before g; join two with AND"),
        ("f = 1)", "at 6: this parenthesis was never opened"),
        ("(f = 1", "')' is missing before the end"),
        ("f = 'x", "at 5: the quote is never closed"), ("f = 'x\\", "a backslash must begin"),
        ("f = '\\x'", "at 6: a backslash must begin"), ("f = '\\u12'", "four hexadecimal digits"),
        ("f = '\\ud800'", "at 6: half a surrogate pair"),
        ("f = '\\ud800\\u0041'", "half a surrogate"),
        ("f = %x", "at 5: a % must begin one of %@ %K"), ("f = 5 %", "a % must begin"),
        ("é = 1", "at 1: the character 'é' means nothing"),
        ("f = '漢' ;", "at 9: the character ';'"),
        ("f & 1", "the character '&'"), ("# = 1", "at 1: a field's name must follow #"),
        ("_f = 1", "at 1: '_f' is no field's name"), ("#1 = 1", "is no field's name"),
        ("9223372036854775808 = f", "at 1: the number is too large for an INT64"),
        ("f = -9223372036854775809", "at 5: the number is too large for an INT64"),
        ("f = 99999999999999999999", "too large for an INT64"),
        ("f = 0xFFFFFFFFFFFFFFFF", "too large"),
        ("f = 0x", "hexadecimal digits"), ("f = 1e999", "too large for a DOUBLE"),
        ("f = 12ab", "a number must not run into letters"), ("in = 1", "is written #in"),
        ("f", "a comparison such as == is missing before the end"),
        ("f ==", "is missing before the end"),
        ("f g 1", "at 3: a comparison such as == is missing before g"),
        ("AND", "is missing before AND"),
        ("f = foo(1)", "at 5: this function isn't supported"), ("foo:bar:(1) = f", "this function"),
        ("f = CAST('x', 'NSDate')", "at 5: NSDate is cast from a text such as"),
        ("f = CAST(1e300, 'NSDate')", "in the years 1 to 9999"),
        ("f = CAST(1, 'NSData')", "CAST makes"),
        ("f = CAST('xy', 'NSData')", "pairs of hexadecimal"),
        ("f = CAST('nan', 'NSNumber')", "NSNumber"),
        ("f = CAST(g, 'NSDate')", "CAST needs a number or a text"),
        ("f = CAST(1)", "',' is missing"),
        ("f = REFERENCE(1)", "a record name must be given as a text"),
        ("f = REFERENCE('r', 'x')", "can only be 'deleteSelf'"),
        ("f = LOCATION('a', 1)", "a number is"),
        ("f = LOCATION(1, 2, depth: 3)", "a location has altitude:"),
    ]

    @Test(arguments: refusals)
    func whatIsNotSupportedIsNamed(format: String, sentence: String) throws {
        try refused(format, [], sentence)
    }

    private func refused(
        _ format: String,
        _ arguments: [any QueryArgument],
        _ sentence: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let error = try #require(throws: ServiceError.self, sourceLocation: sourceLocation) {
            try Query.Predicate(format: format, argumentArray: arguments)
        }
        #expect(error.code == .invalidArguments, sourceLocation: sourceLocation)
        #expect(error.reason == .invalidValue, sourceLocation: sourceLocation)
        #expect(error.message.contains(sentence), sourceLocation: sourceLocation)
        #expect(error.message.hasPrefix("predicate format, at "), sourceLocation: sourceLocation)
    }

    @Test func argumentsMustBeAsManyAsPlaceholders() throws {
        try refused("f = %@", [], "at 5: an argument is missing (placeholders: 1, arguments: 0)")
        try refused("f = %@ AND g = %@", [1], "at 16: an argument is missing")
        try refused(
            "f = '%@'",
            [1],
            "too many arguments (placeholders: 0, arguments: 1); a % within"
        )
    }

    @Test func argumentsMustBeWhatTheirPlaceholderSays() throws {
        try refused("f = %d", ["x"], "at 5: argument 1 is not what %d stands for")
        try refused("f = %d", [1.5], "not what %d")
        try refused("f = %f", [1], "not what %f")
        try refused("f = %u", [-1], "argument 1 is not what %u stands for")
        try refused("f = %i", [[1]], "not what %i")
        try refused("%K = 1", [1], "not what %K stands for")
        try refused("%K = 1", ["a b"], "at 1: argument 1, 'a b', can't be the name of a field")
        try refused("%K = %K", ["a", "b"], "two fields")
        try refused("f = %@", [["x"]], "one value is needed, not a list")
        try refused("f IN %@", ["x"], "IN needs a list")
        try refused("f IN %@", [[UInt8(1)]], "IN needs a list")
        try refused("f IN %@", [[[1]]], "argument 1 is a list in a list")
        try refused("f BETWEEN %@", [[1, 2, 3]], "two values")
    }

    @Test func argumentsMustBeComparable() throws {
        try refused(
            "f = %@",
            [UInt64.max],
            "argument 1 is no number that a field can hold: 18446744073709"
        )
        try refused("f = %llu", [UInt64.max], "argument 1 is no number")
        try refused("f = %f", [Double.nan], "argument 1 is no number that a field can hold: nan")
        try refused("f IN %@", [[1.0, .nan]], "argument 1 is no number")
        let asset = FieldValue.asset(Asset(digest: [1], size: 1))
        try refused("f = %@", [asset], "argument 1 is an asset")
    }

    @Test func parenthesesNestSoDeepAndNoDeeper() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "(", count: depth) + "f = 1" + String(repeating: ")", count: depth)
        }
        #expect(try Query.Predicate(format: nested(64)).nodes.count == 1)
        try refused(nested(65), [], "at 65: parentheses nest deeper than 64")
        try refused(nested(30_000), [], "parentheses nest deeper")
        let casts = String(repeating: "CAST(", count: 9_000)
        try refused("f = " + casts, [], "parentheses nest deeper")
        try refused("f IN " + String(repeating: "{", count: 60_000), [], "an element of a list")
        try refused(String(repeating: "!", count: 60_000) + "f=1", [], "another negation")
        try refused("f = " + String(repeating: "-", count: 60_000), [], "arithmetic")
    }

    @Test func formatsAreSoLongAndNoLonger() throws {
        let most = Array(repeating: "f=1", count: 500).joined(separator: " AND ")
        #expect(try Query.Predicate(format: most).nodes.count == 999)
        try refused(
            most + " AND g=1",
            [],
            "more than 1000 comparisons and connectives are too many"
        )
        let padding = String(repeating: " ", count: (64 << 10) - 3)
        #expect(try Query.Predicate(format: "f=1" + padding).nodes.count == 1)
        try refused("f=1 " + padding, [], "more than 65536 bytes are too long")
    }

    @Test func wellFormedListsHaveWhatTheyNeed() {
        func isWellFormed(_ nodes: Node...) -> Bool { Query.Predicate(nodes: nodes).isWellFormed }
        let one = compare("f", .equals, 1)
        #expect(isWellFormed(one, one, .and, .not))
        #expect(!isWellFormed() && !isWellFormed(.not) && !isWellFormed(one, .and))
        #expect(!isWellFormed(one, one) && !isWellFormed(one, .or, one))
        #expect(!isWellFormed(compare("f", .equals)) && !isWellFormed(compare("f", .isNil, 1)))
        #expect(!isWellFormed(compare("f", .isIn)) && !isWellFormed(compare("f", .equals, 1, 2)))
        #expect(!isWellFormed(compare("", .equals, 1)) && !isWellFormed(compare("f", .equals, [])))
        #expect(!isWellFormed(compare("f", .containsAnyToken, "x")))
        #expect(!isWellFormed(compare("", .containsAllTokens, 1)))
        #expect(!isWellFormed(compare("f", .isNearerThan, 1.0, 1.0)))
    }

    // MARK: - Robustness

    private static let pieces = [
        "f", "a", "self", "allTokens", "#in", "%@", "%K", "%d", "%f", "%", "'x'", "\"", "'", "\\",
        "1",
        "-", "1.5", "0x", "1e9", "(", ")", "{", "}", "[", "]", "[cdl]", ",", ":", ".", "@count",
        "+",
        "==", "<", ">=", "!=", "!", "&&", "||", "AND", "OR", "NOT", "IN", "BETWEEN", "BEGINSWITH",
        "CONTAINS", "TOKENMATCHES", "ANY", "ALL", "nil", "now", "TRUE", "TRUEPREDICATE", "LIKE",
        "tokenize", "CAST", "'NSDate'", "LOCATION", "REFERENCE", "altitude:", "$x", "é", "\u{301}",
        "\0",
        "distanceToLocation:fromLocation:(f, LOCATION(1, 2))", "f = 1", "{1, 2}", "\\u", "\r\n",
    ]
    private static let arguments: [any QueryArgument] = [
        "f", 1, 1.5, ["a"], [UInt8(1)], [String](), Location(latitude: 1, longitude: 2),
        UInt64.max, Double.nan, [[1]], Record.ID(recordName: "r"), "not a key", "",
    ]

    /// Whether the text is a predicate.
    private func parses(_ format: String, _ dice: inout SeededGenerator) -> Bool {
        let placeholders = format.utf8.count { $0 == UInt8(ascii: "%") }
        let arguments = (0..<placeholders).map { _ in dice.pick(Self.arguments) }
        guard let predicate = try? Query.Predicate(format: format, argumentArray: arguments) else {
            return false
        }
        #expect(predicate.isWellFormed, "\(format)")
        #expect((try? Query.Predicate(format: predicate.format)) == predicate, "\(format)")
        return true
    }

    @Test func randomTokensAreReadOrRefused() {
        var dice = SeededGenerator(seed: 2)
        var count = 0
        for _ in 0..<25_000 {
            let words = (0..<1 + dice.below(9)).map { _ in dice.pick(Self.pieces) }
            if parses(words.joined(separator: dice.below(2) == 0 ? " " : ""), &dice) { count += 1 }
        }
        #expect(count > 20)
    }

    @Test func mutationsOfValidFormatsAreReadOrRefused() {
        var dice = SeededGenerator(seed: 3)
        var samples = PredicateSamples(dice: SeededGenerator(seed: 4))
        var count = 0
        for _ in 0..<25_000 {
            var bytes = Array(Query.Predicate(nodes: samples.nodes(depth: 2)).format.utf8)
            for _ in 0...dice.below(3) { Self.mutate(&bytes, &dice) }
            if parses(String(decoding: bytes, as: UTF8.self), &dice) { count += 1 }
        }
        #expect(count > 1_000)
    }

    private static func mutate(_ bytes: inout [UInt8], _ dice: inout SeededGenerator) {
        let start = dice.below(bytes.count + 1)
        let end = min(bytes.count, start + dice.below(6))
        switch dice.below(4) {
        case 0: bytes.removeSubrange(start..<end)
        case 1: bytes.insert(contentsOf: dice.pick(pieces).utf8, at: start)
        case 2: bytes.insert(contentsOf: bytes[start..<end], at: dice.below(bytes.count + 1))
        default: if start < end { bytes[start] = UInt8(truncatingIfNeeded: dice.next()) }
        }
    }
}
