// Predicates built with operators equal the ones made from formats.

import CumulusModel
import Testing

@Suite struct PredicateBuilderTests {
    private static let place = Location(latitude: 35.6, longitude: 139.7)

    private func expect(
        _ built: Query.Predicate,
        _ format: String,
        _ arguments: any QueryArgument...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let read = try Query.Predicate(format: format, argumentArray: arguments)
        #expect(built == read, sourceLocation: sourceLocation)
        #expect(built.isWellFormed, sourceLocation: sourceLocation)
    }

    @Test func comparisonsAreOperators() throws {
        try expect(.field("a") == "JP", "a == 'JP'")
        try expect(.field("a") != 1.5, "a != 1.5")
        try expect(.field("a") < 1, "a < 1")
        try expect(.field("a") <= true, "a <= YES")
        try expect(
            .field("a") > Timestamp(millisecondsSince1970: 0),
            "a > CAST('1970-01-01', 'NSDate')"
        )
        try expect(.field("a") >= Float(0.5), "a >= 0.5")
    }

    @Test func connectivesBindAsInFormats() throws {
        try expect(
            .field("country") == "JP" && .field("population") > 500_000,
            "country == %@ AND population > %d",
            "JP",
            500_000
        )
        try expect(
            .field("a") == 1 || .field("b") == 2 && .field("c") == 3,
            "a == 1 OR b == 2 AND c == 3"
        )
        try expect(
            (.field("a") == 1 || .field("b") == 2) && .field("c") == 3,
            "(a == 1 OR b == 2) AND c == 3"
        )
        try expect(
            .field("a") == 1 && .field("b") == 2 && .field("c") == 3 && .all,
            "a == 1 AND b == 2 AND c == 3 AND TRUEPREDICATE"
        )
    }

    @Test func listsAndPrefixesAreFunctions() throws {
        try expect(.field("labels").contains("x"), "labels CONTAINS 'x'")
        try expect(.field("labels").containsAny(["x", "y"]), "ANY labels IN {'x', 'y'}")
        try expect(.field("labels").containsPrefix("x"), "ANY labels BEGINSWITH 'x'")
        try expect(.field("title").begins(with: "a"), "title BEGINSWITH 'a'")
        try expect(.field("id").isIn([1, 2, 3]), "id IN {1, 2, 3}")
        try expect(.field("id").isIn([FieldValue.int64(1), "a"]), "id IN {1, 'a'}")
        try expect(.field("id").isIn([String]()), "id IN {}")
        try expect(.field("id").containsAny([Int]()), "ANY id IN {}")
        try expect(!(.field("id").isIn([Int]())), "NOT id IN {}")
    }

    @Test func negationsAreSingle() throws {
        try expect(!(.field("id").isIn(["a"])), "NOT (id IN {'a'})")
        try expect(!(.field("id") == 1), "NOT id == 1")
        try expect(!(!(.field("id") == 1)), "id == 1")
        try expect(!(.field("id").isNil), "id != nil")
        try expect(!(!(.field("id").isNil)), "id == nil")
        try expect(!.all, "FALSEPREDICATE")
    }

    @Test func placesWordsAndTheMomentAreFunctions() throws {
        try expect(
            .field("start").isWithin(metres: 50_000, of: Self.place),
            "distanceToLocation:fromLocation:(start, %@) <= 50000",
            Self.place
        )
        try expect(
            .field("start").isNearer(thanMetres: 50_000, to: Self.place),
            "distanceToLocation:fromLocation:(start, %@) < %f",
            Self.place,
            50_000.0
        )
        try expect(.tokens(all: "ada byron"), "allTokens TOKENMATCHES[cdl] 'ada byron'")
        try expect(.tokens(any: "ada byron"), "self CONTAINS 'ada byron'")
        try expect(.field("x").isBeforeNow, "x < now()")
        try expect(.field("x").isAfterNow, "x > now()")
        try expect(.field("x").isNil, "x == nil")
    }

    @Test func argumentsBecomeTheValuesOfFields() {
        let id = Record.ID(recordName: "r")
        let target = FieldValue.reference(.init(recordName: "r"))
        #expect(id.queryArgument == target)
        #expect(Record(recordType: "T", recordID: id).queryArgument == target)
        #expect(Record.Reference(recordName: "r").queryArgument == target)
        #expect([id].queryArgument == .list([target]))
        #expect(UInt64(Int64.max).queryArgument == .int64(.max))
        #expect(UInt64.max.queryArgument.double?.isNaN == true)
        #expect(Int8(-1).queryArgument == -1)
        #expect(true.queryArgument == 1)
    }

    @Test func onlyBytesAreBytesAmongArrays() {
        #expect([UInt8](arrayLiteral: 1, 2).queryArgument == .bytes([1, 2]))
        #expect([UInt8]().queryArgument == .bytes([]))
        #expect([String]().queryArgument == [])
        #expect([1, 2].queryArgument == [1, 2])
        #expect([[1], [2]].queryArgument == [[1], [2]])
        #expect([[UInt8(1)]].queryArgument == .list([.bytes([1])]))
        #expect([FieldValue]().queryArgument == [])
    }

    @Test func aListWhereOneValueIsNeededIsMalformed() {
        let list: Query.Predicate = .field("a") == ["x"]
        #expect(!list.isWellFormed)
    }
}
