// What may stand for the placeholders of a format, and what a field is compared with then.

import CumulusFoundation
import CumulusModel
import Foundation
import Testing

@Suite struct FormatArgumentTests {
    private let moment = Date(timeIntervalSince1970: 1_700_000_000.5)
    private let instant = "CAST('2023-11-14T22:13:20.500Z', 'NSDate')"

    // MARK: - %@

    @Test func swiftValues() throws {
        try expect(NSPredicate(format: "f == %@", "it's"), "f == 'it\\'s'")
        try expect(NSPredicate(format: "f == %@", 7), "f == 7")
        try expect(NSPredicate(format: "f == %@", UInt8(7)), "f == 7")
        try expect(NSPredicate(format: "f == %@", 2.0), "f == 2.0")
        try expect(NSPredicate(format: "f == %@", Float(1.5)), "f == 1.5")
        try expect(NSPredicate(format: "f == %@", CGFloat(1.5)), "f == 1.5")
        try expect(NSPredicate(format: "f == %@", true), "f == TRUE")
        try expect(NSPredicate(format: "f == %@", false), "f == 0")
        try expect(NSPredicate(format: "f > %@", moment), "f > \(instant)")
        try expect(
            NSPredicate(format: "f == %@", Data([1, 255])),
            "f == CAST('01ff', 'NSData')"
        )
    }

    @Test func objects() throws {
        try expect(NSPredicate(format: "f == %@", "x" as NSString), "f == 'x'")
        try expect(NSPredicate(format: "f == %@", NSNumber(value: 7)), "f == 7")
        try expect(NSPredicate(format: "f == %@", NSNumber(value: 2.0)), "f == 2.0")
        try expect(NSPredicate(format: "f == %@", NSNumber(value: Float(1.5))), "f == 1.5")
        try expect(NSPredicate(format: "f == %@", NSNumber(value: true)), "f == 1")
        try expect(NSPredicate(format: "f == %@", NSDecimalNumber(value: 2.5)), "f == 2.5")
        try expect(NSPredicate(format: "f > %@", moment as NSDate), "f > \(instant)")
        try expect(
            NSPredicate(format: "f == %@", Data([7]) as NSData),
            "f == CAST('07', 'NSData')"
        )
        try expect(NSPredicate(format: "f == %@", NamedObject("r")), "f == REFERENCE('r')")
    }

    /// Xcode proposes it, and apps keep it.
    @Test func castsToCVarArg() throws {
        try expect(NSPredicate(format: "f > %@", moment as any CVarArg), "f > \(instant)")
        try expect(
            NSPredicate(format: "f > %@", moment as NSDate as any CVarArg),
            "f > \(instant)"
        )
        try expect(NSPredicate(format: "f == %@", "x" as any CVarArg), "f == 'x'")
        try expect(NSPredicate(format: "f IN %@", ["x"] as any CVarArg), "f IN {'x'}")
        try expect(
            NSPredicate(format: "f == %@", NamedObject("r") as any CVarArg),
            "f == REFERENCE('r')"
        )
        let arguments: [any CVarArg] = ["x", 7, moment, NSNumber(value: 2.5)]
        try expect(
            NSPredicate(
                format: "a == %@ AND b == %d AND c < %@ AND d == %@",
                argumentArray: arguments
            ),
            "a == 'x' AND b == 7 AND c < \(instant) AND d == 2.5"
        )
    }

    @Test func lists() throws {
        try expect(NSPredicate(format: "f IN %@", ["a", "b"]), "f IN {'a', 'b'}")
        try expect(NSPredicate(format: "f IN %@", ["a", "b"] as NSArray), "f IN {'a', 'b'}")
        try expect(NSPredicate(format: "f IN %@", [1, "b"] as [Any]), "f IN {1, 'b'}")
        try expect(NSPredicate(format: "f IN %@", [moment]), "f IN {\(instant)}")
        try expect(NSPredicate(format: "f IN %@", Set([1])), "f IN {1}")
        try expect(NSPredicate(format: "f IN %@", NSSet(object: "a")), "f IN {'a'}")
        try expect(
            NSPredicate(format: "f IN %@", [NamedObject("a"), NamedObject("b")]),
            "f IN {REFERENCE('a'), REFERENCE('b')}"
        )
        try expect(NSPredicate(format: "f IN %@", [String]()), "FALSEPREDICATE")
        try expect(NSPredicate(format: "NOT (f IN %@)", [NamedObject]()), "TRUEPREDICATE")
    }

    @Test func places() throws {
        let milliseconds = Date(timeIntervalSince1970: 0)
        let place = CLLocation(
            coordinate: CLLocationCoordinate2D(latitude: 35.5, longitude: 139.5),
            altitude: 0,
            horizontalAccuracy: 0,
            verticalAccuracy: -1,
            timestamp: milliseconds
        )
        let radius: CLLocationDistance = 500
        try expect(
            NSPredicate(
                format: "distanceToLocation:fromLocation:(%K,%@) < %f",
                "location",
                place,
                radius
            ),
            """
            distanceToLocation:fromLocation:(location, LOCATION(35.5, 139.5, \
            timestamp: CAST('1970-01-01', 'NSDate'))) < 500.0
            """
        )
    }

    @Test func nilIsTheWordNil() throws {
        let text: String? = nil
        try expect(NSPredicate(format: "f == %@", nil), "f == nil")
        try expect(NSPredicate(format: "f != %@", text), "f != nil")
        try expect(NSPredicate(format: "f == %@", NSNull()), "f == nil")
        try expect(NSPredicate(format: "f == %@", argumentArray: [text as Any]), "f == nil")
        try expect(NSPredicate(format: "f == %@", "x" as String?), "f == 'x'")
        try expect(NSPredicate(format: "f == 1", argumentArray: nil), "f == 1")
        expectRefusal(
            of: NSPredicate(format: "f < %@", nil),
            "nil can only be compared with =="
        )
        expectRefusal(of: NSPredicate(format: "f == %d", nil), "argument 1")
        expectRefusal(of: NSPredicate(format: "f IN %@", [text]), "argument 1")
    }

    /// Apps that never synced ask for all changes since then.
    @Test func theDistantPastIsAMoment() throws {
        try expect(
            NSPredicate(format: "modificationDate > %@", Date.distantPast as NSDate),
            "modificationDate > CAST('0001-01-01', 'NSDate')"
        )
        try expect(
            NSPredicate(format: "f < %@", Date.distantFuture),
            "f < CAST('4001-01-01', 'NSDate')"
        )
    }

    // MARK: - %K, %d, %f

    @Test func keysAndNumbers() throws {
        try expect(NSPredicate(format: "%K == %@", "title", "x"), "title == 'x'")
        try expect(NSPredicate(format: "%K == 1", "in" as NSString), "#in == 1")
        for sign in ["%d", "%i", "%u", "%ld", "%lu", "%lld", "%llu"] {
            try expect(NSPredicate(format: "f == \(sign)", 3), "f == 3")
            try expect(NSPredicate(format: "f == \(sign)", Int64.max), "f == \(Int64.max)")
            try expect(NSPredicate(format: "f == \(sign)", Int32(3)), "f == 3")
        }
        try expect(NSPredicate(format: "f == %d", true), "f == 1")
        try expect(NSPredicate(format: "f == %d", -3), "f == -3")
        for sign in ["%f", "%g", "%lf"] {
            try expect(NSPredicate(format: "f < \(sign)", 2.5), "f < 2.5")
            try expect(NSPredicate(format: "f < \(sign)", Float(2.5)), "f < 2.5")
        }
    }

    // MARK: - Refusals

    @Test func wrongArgumentsAreRefused() {
        let url = URL(filePath: "/tmp")
        expectRefusal(of: NSPredicate(format: "f == %@", url), "argument 1 is nothing")
        expectRefusal(of: NSPredicate(format: "a == %@ AND f == %@", 1, UUID()), "argument 2")
        expectRefusal(of: NSPredicate(format: "f IN %@", [url]), "pass a string")
        expectRefusal(of: NSPredicate(format: "f == %@", NSObject()), "argument 1")
        expectRefusal(of: NSPredicate(format: "f == %@", Double.nan), "Double nan")
        expectRefusal(of: NSPredicate(format: "f == %@", UInt64.max), "argument 1")
        expectRefusal(
            of: NSPredicate(format: "f == %@", NSNumber(value: UInt64.max)),
            "argument 1"
        )
        expectRefusal(of: NSPredicate(format: "f IN %@", [[1], [2]]), "list in a list")
        expectRefusal(of: NSPredicate(format: "f == %d", "x"), "%d")
        expectRefusal(of: NSPredicate(format: "f == %u", -1), "%u")
        expectRefusal(of: NSPredicate(format: "f < %f", 1), "%f")
        expectRefusal(of: NSPredicate(format: "%K == 1", 1), "%K")
        expectRefusal(of: NSPredicate(format: "%K == 1", "a b"), "can't be the name of a field")
        expectRefusal(
            of: NSPredicate(format: "a == %@ AND b == %@", 1),
            "an argument is missing"
        )
        expectRefusal(of: NSPredicate(format: "a == '%@'", "x"), "too many arguments")
        expectRefusal(of: NSPredicate(format: "a == %s", "x"), "a % must begin one of")
    }
}
