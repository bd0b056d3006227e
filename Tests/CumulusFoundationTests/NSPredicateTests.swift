// What predicates say to a query: formats, constants, compounds, blocks.

import CumulusFoundation
import CumulusModel
import Foundation
import Testing

@Suite struct NSPredicateTests {
    /// Everything that CloudKit takes, as apps write it.
    @Test(arguments: [
        "f = 1", "f == 1", "f != 1", "f <> 1", "f < 1", "f > 1", "f <= 1", "f =< 1", "f >= 1",
        "f => 1", "1 < f", "f BETWEEN {1, 5}", "f BEGINSWITH 'p'", "f IN {1, 2}",
        "f in {'a', 'b'}", "ANY {'a', 'b'} = f", "NOT (f IN {1})", "NOT f == 1", "!(f == 1)",
        "f CONTAINS 'v'", "'v' IN f", "ANY f = 'v'", "SOME f = 'v'", "ANY f IN {'a', 'b'}",
        "ANY f BEGINSWITH 'p'", "self CONTAINS 'ada byron'", "SELF contains 'ada'",
        "self CONTAINS 'ada' AND self CONTAINS 'byron'",
        "allTokens TOKENMATCHES[cdl] 'ada byron'",
        "ALL tokenize('ada', 'cdl') IN allTokens", "f < now()", "f < NOW()",
        "distanceToLocation:fromLocation:(f, LOCATION(1, 2)) < 10.0", "TRUEPREDICATE",
        "FALSEPREDICATE", "a == 1 AND b == 2", "a == 1 && b == 2 && c == 3", "f == TRUE",
        "f == NO",
    ])
    func everyShapeOfCloudKit(format: String) throws {
        try expect(NSPredicate(format: format), format)
    }

    /// `OR` and nil are not among them: Cumulus has them, and the server refuses them.
    @Test(arguments: [
        ("", "empty"), ("f ==", "missing before the end"), ("f", "comparison such as =="),
        ("(f == 1", "')' is missing"), ("f == 1)", "never opened"), ("f == 'x", "never closed"),
        ("f ENDSWITH 'x'", "ENDSWITH"), ("f LIKE 'x*'", "LIKE"), ("f MATCHES 'x'", "MATCHES"),
        ("NONE f == 1", "NONE"), ("ALL f == 1", "ALL"), ("f == g", "two fields"),
        ("f CONTAINS[c] 'x'", "[c]"), ("f ==[c] 'x'", "[c]"), ("a.b == 1", "key paths"),
        ("f.@count > 1", "aggregates"), ("f + 1 == 2", "arithmetic"), ("f == $x", "variables"),
        ("SUBQUERY(f, $x, $x == 1)", "SUBQUERY"),
        ("NOT (a == 1 AND b == 2)", "NOT isn't supported"),
        ("NOT self CONTAINS 'x'", "NOT isn't supported"),
        ("NOT (f BETWEEN {1, 2})", "NOT isn't supported"),
        ("distanceToLocation:fromLocation:(f, LOCATION(1, 2)) > 10", "< and <="),
        ("allTokens TOKENMATCHES 'x'", "TOKENMATCHES[cdl]"), ("f BETWEEN {1}", "two values"),
    ])
    func whatCloudKitRefuses(format: String, part: String) {
        let predicate = NSPredicate(format: format)
        expectRefusal(of: predicate, part)
        #expect(predicate.archivableFormat == format)
        let compound = NSCompoundPredicate(
            andPredicateWithSubpredicates: [NSPredicate(value: true), predicate]
        )
        expectRefusal(of: compound, part)
    }

    @Test func constants() throws {
        try expect(NSPredicate(value: true), "TRUEPREDICATE")
        try expect(NSPredicate(value: false), "FALSEPREDICATE")
        expectRefusal(of: NSPredicate { _, _ in true }, "made from a block")
    }

    @Test func compounds() throws {
        let parts = ["a == 1", "b == 2", "c == 3"].map { NSPredicate(format: $0) }
        try expect(
            NSCompoundPredicate(andPredicateWithSubpredicates: parts),
            "a == 1 AND b == 2 AND c == 3"
        )
        try expect(
            NSCompoundPredicate(orPredicateWithSubpredicates: parts),
            "a == 1 OR b == 2 OR c == 3"
        )
        try expect(
            NSCompoundPredicate(notPredicateWithSubpredicate: parts[0]),
            "NOT (a == 1)"
        )
        try expect(NSCompoundPredicate(type: .and, subpredicates: [parts[0]]), "a == 1")
        try expect(NSCompoundPredicate(type: .and, subpredicates: []), "TRUEPREDICATE")
        try expect(NSCompoundPredicate(type: .or, subpredicates: []), "FALSEPREDICATE")
        let inner = NSCompoundPredicate(type: .or, subpredicates: [parts[0], parts[1]])
        try expect(
            NSCompoundPredicate(type: .and, subpredicates: [inner, parts[2]]),
            "(a == 1 OR b == 2) AND c == 3"
        )
    }

    @Test func equalityAndText() throws {
        let predicate = NSPredicate(format: "%K == %@", "a", 1)
        #expect(predicate == NSPredicate(format: "a = 1"))
        #expect(predicate.hash == NSPredicate(format: "a = 1").hash)
        #expect(predicate != NSPredicate(format: "a = 2"))
        #expect(predicate != NSPredicate(value: false))
        #expect(NSPredicate(value: false) != predicate)
        #expect("\(predicate)" == "a == 1")
        #expect(predicate.copy() as? NSPredicate == predicate)
        #expect(NSPredicate(value: true).archivableFormat == "TRUEPREDICATE")
        let query = try Query.Predicate(format: "a == 1")
        #expect(NSPredicate.predicate(query) == predicate)
    }
}
