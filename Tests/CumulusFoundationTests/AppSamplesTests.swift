// Code as apps have it, which must compile with nothing imported but Foundation and what stands in
// for Apple's frameworks.
//
// `NSPredicate` must not be ambiguous here, and Foundation's unavailable initialisers must lose.

import CumulusFoundation
import Foundation
import Testing

/// Photos: by the beginning of the title, near a place, mine, of the last days.
private struct PhotoFilter {
    var title: String?
    var user: NamedObject?
    var days: TimeInterval?

    var predicate: NSPredicate {
        var parts = [NSPredicate]()
        if let title {
            parts.append(NSPredicate(format: "title BEGINSWITH %@", title))
        }
        if let user {
            parts.append(NSPredicate(format: "creatorUserRecordID = %@", user))
        }
        if let days {
            let start = Date(timeIntervalSince1970: 1_700_000_000).addingTimeInterval(
                -days * 86_400
            )
            parts.append(NSPredicate(format: "creationDate >= %@", start as NSDate))
        }
        return parts.isEmpty
            ? NSPredicate(value: true)
            : NSCompoundPredicate(andPredicateWithSubpredicates: parts)
    }
}

extension NSPredicate {
    fileprivate convenience init(createdBy user: NamedObject) {
        self.init(format: "creatorUserRecordID == %@", user)
    }

    fileprivate class func starting(with prefix: String) -> NSPredicate {
        .init(format: "title BEGINSWITH %@", argumentArray: [prefix])
    }
}

extension NSSortDescriptor {
    fileprivate convenience init(newestBy key: String) {
        self.init(key: key, ascending: false)
    }
}

@Suite struct AppSamplesTests {
    @Test func photos() throws {
        try expect(PhotoFilter().predicate, "TRUEPREDICATE")
        try expect(
            PhotoFilter(title: "Sun", user: NamedObject("u"), days: 5).predicate,
            """
            title BEGINSWITH 'Sun' AND creatorUserRecordID == REFERENCE('u') \
            AND creationDate >= CAST('2023-11-09T22:13:20Z', 'NSDate')
            """
        )
    }

    @Test func commentsOfAPostExceptThoseHeld() throws {
        let post = NamedObject("p")
        let held = ["c1", "c2"].map(NamedObject.init)
        let ofPost = NSPredicate(format: "%K == %@", "post", post)
        let fresh = NSPredicate(format: "NOT (recordID IN %@)", held)
        try expect(
            NSCompoundPredicate(type: .and, subpredicates: [ofPost, fresh]),
            "post == REFERENCE('p') AND NOT (recordID IN {REFERENCE('c1'), REFERENCE('c2')})"
        )
    }

    @Test func aTimelineBetweenTwoDates() throws {
        let start = Date(timeIntervalSince1970: 0)
        let end = Date(timeIntervalSince1970: 86_400)
        let predicate = NSPredicate(
            format: "timestamp >= %@ AND timestamp <= %@",
            argumentArray: [start, end]
        )
        try expect(
            predicate,
            """
            timestamp >= CAST('1970-01-01', 'NSDate') \
            AND timestamp <= CAST('1970-01-02', 'NSDate')
            """
        )
    }

    @Test func restaurantsWithTheNewestFirst() throws {
        let predicate: NSPredicate = .init(value: true)
        let descriptors: [NSSortDescriptor] = [.init(key: "creationDate", ascending: false)]
        try expect(predicate, "TRUEPREDICATE")
        #expect(descriptors.map(\.key) == ["creationDate"])
    }

    @Test func initialisersOfApps() throws {
        try expect(
            NSPredicate(createdBy: NamedObject("u")),
            "creatorUserRecordID == REFERENCE('u')"
        )
        try expect(NSPredicate.starting(with: "S"), "title BEGINSWITH 'S'")
        try expect(NSCompoundPredicate(format: "a == %d", 1), "a == 1")
        #expect(NSSortDescriptor(newestBy: "date") == .init(key: "date", ascending: false))
        let make = NSPredicate.init(format:argumentArray:)
        try expect(make("a == %@", ["x"]), "a == 'x'")
    }

    @Test func nearAPlace() throws {
        let place = CLLocation(latitude: 52.5, longitude: 13.4)
        let limit = CLLocation(latitude: 52.6, longitude: 13.4)
        let radius = place.distance(from: limit)
        let predicate = NSPredicate(
            format: "distanceToLocation:fromLocation:(location, %@) < %f",
            place,
            radius
        )
        #expect(
            "\(predicate)".contains("distanceToLocation:fromLocation:(location, LOCATION(52.5")
        )
    }

    /// `%@` of Foundation's own formats shows the values that became arguments too.
    @Test func textsWithObjects() {
        let text = String(
            format: "%@ %@ %@ %@ %d",
            Date(timeIntervalSince1970: 0) as any CVarArg,
            ["a"],
            NSNumber(value: 4),
            "s" as NSString,
            5
        )
        #expect(text == "1970-01-01 00:00:00 +0000 [\"a\"] 4 s 5")
    }
}
