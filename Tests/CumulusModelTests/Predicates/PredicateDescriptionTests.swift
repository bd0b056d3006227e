// What predicates look like as text, and that the text means the same.

import CumulusModel
import CumulusTesting
import Testing

@Suite struct PredicateDescriptionTests {
    @Test func randomPredicatesAreReadBackFromTheirText() throws {
        var samples = PredicateSamples(dice: SeededGenerator(seed: 1))
        for _ in 0..<5_000 {
            let predicate = Query.Predicate(nodes: samples.nodes())
            #expect(predicate.isWellFormed)
            let text = predicate.format
            let readBack = try Query.Predicate(format: text)
            #expect(readBack == predicate, "\(text)")
            #expect(readBack.format == text)
        }
    }

    static let canonical: [(String, String)] = [
        ("a=1 and b<>2&&c=<3", "a == 1 AND b != 2 AND c <= 3"),
        ("a = 1 and (b = 2 and c = 3)", "a == 1 AND (b == 2 AND c == 3)"),
        ("(a = 1 || b = 2) and c = 3", "(a == 1 OR b == 2) AND c == 3"),
        ("a = 1 || b = 2 && c = 3", "a == 1 OR b == 2 AND c == 3"),
        ("a = 1 || (b = 2 || c = 3)", "a == 1 OR (b == 2 OR c == 3)"),
        ("not a in {1,2}", "NOT (a IN {1, 2})"),
        ("a between {1, 2.5}", "a >= 1 AND a <= 2.5"),
        ("\"x\" in #any", "#any CONTAINS 'x'"),
        ("any a = 'it\\'s'", "a CONTAINS 'it\\'s'"),
        ("any a in {'x'}", "ANY a IN {'x'}"),
        ("any a beginswith 'x'", "ANY a BEGINSWITH 'x'"),
        ("a beginswith \"\\u0007é\"", "a BEGINSWITH '\\u0007é'"),
        ("self contains 'x y'", "self CONTAINS 'x y'"),
        ("allTokens tokenmatches[CDL] 'x'", "allTokens TOKENMATCHES[cdl] 'x'"),
        ("a != nil or b = null", "a != nil OR b == nil"),
        ("a < now", "a < now()"),
        ("a = cast(0, 'NSDate')", "a == CAST('2001-01-01T00:00:00.000Z', 'NSDate')"),
        ("a = cast('CAFE', 'NSData')", "a == CAST('cafe', 'NSData')"),
        ("a = reference('r')", "a == REFERENCE('r')"),
        ("truepredicate or falsepredicate", "TRUEPREDICATE OR FALSEPREDICATE"),
        (
            "distanceToLocation:fromLocation:(a, location(1, 2, speed: 3)) <= 4",
            "distanceToLocation:fromLocation:(a, LOCATION(1.0, 2.0, speed: 3.0)) <= 4.0"
        ),
    ]

    @Test(arguments: canonical)
    func textsAreCanonical(written: String, shown: String) throws {
        let predicate = try Query.Predicate(format: written)
        #expect(predicate.description == shown)
        #expect(try Query.Predicate(format: shown) == predicate)
    }

    @Test func whatNoFormatSaysHasATextToo() {
        let comparison = Query.Node.comparison(.init("a", .equals, [.value(.int64(1))]))
        let negated = Query.Predicate(nodes: [comparison, comparison, .and, .not])
        #expect(negated.format == "NOT (a == 1 AND a == 1)")
        #expect(Query.Predicate(nodes: [.and]).format == "a malformed predicate of 1 nodes")
        let far = Timestamp(millisecondsSince1970: .min)
        let late = Query.Predicate(nodes: (Query.Predicate.field("a") == far).nodes)
        #expect(late.format.hasPrefix("a == CAST(-"))
        let nothing = Query.Predicate.field("a") == Double.nan
        #expect(nothing.format == "a == CAST('nan', 'NSNumber')")
    }

    @Test func longListsOfNodesAreWrittenToo() throws {
        let comparison = Query.Node.comparison(.init("a", .equals, [.value(.int64(1))]))
        let count = 100_000
        let right =
            Array(repeating: comparison, count: count)
            + Array(repeating: Query.Node.and, count: count - 1)
        #expect(Query.Predicate(nodes: right).format.utf8.count > count * 6)
    }
}
