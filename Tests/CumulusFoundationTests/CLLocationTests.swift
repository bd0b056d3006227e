// Places: their distance, their archives, and the same places in fields.

import CumulusFoundation
import CumulusModel
import CumulusStorage
import Foundation
import Testing

@Suite struct CLLocationTests {
    private let full = CLLocation(
        coordinate: CLLocationCoordinate2DMake(48.2, 16.4),
        altitude: 171,
        horizontalAccuracy: 5,
        verticalAccuracy: 3,
        course: 90,
        speed: 2,
        timestamp: Date(timeIntervalSince1970: 1_700_000_000.25)
    )

    @Test func distancesAreThoseOfTheServer() {
        let places = [(0.0, 0.0), (52.5, 13.4), (35.7, -180), (-90, 12), (0.001, 179.99)].map {
            CLLocation(latitude: $0.0, longitude: $0.1)
        }
        for one in places {
            for other in places {
                let expected = GreatCircle.distance(one.location, other.location)
                #expect(abs(one.distance(from: other) - expected) < 0.001)
            }
        }
    }

    @Test func fieldsHoldAllThatIsKnown() throws {
        let location = full.location
        #expect(location.altitude == 171 && location.verticalAccuracy == 3)
        #expect(location.horizontalAccuracy == 5)
        #expect(location.course == 90 && location.speed == 2)
        #expect(location.timestamp == Timestamp(millisecondsSince1970: 1_700_000_000_250))
        #expect(CLLocation(location).location == location)
        #expect(FieldValue(foundation: full) == .location(location))
    }

    @Test func fieldsLackWhatIsUnknown() {
        var bare = CLLocation(latitude: 1, longitude: 2).location
        #expect(bare.timestamp != nil)
        bare.timestamp = nil
        #expect(bare == Location(latitude: 1, longitude: 2))
        let read = CLLocation(bare)
        #expect(read.altitude == 0 && read.horizontalAccuracy == 0)
        #expect(read.verticalAccuracy == -1 && read.course == -1 && read.speed == -1)
        #expect(read.timestamp == Date(timeIntervalSince1970: 0))
    }

    @Test func archivesGiveThePlaceBack() throws {
        let archive = try NSKeyedArchiver.archivedData(
            withRootObject: full,
            requiringSecureCoding: true
        )
        let read = try NSKeyedUnarchiver.unarchivedObject(
            ofClass: CLLocation.self,
            from: archive
        )
        #expect(read?.location == full.location)
    }

    @Test func anArchiveWithoutANumberIsRefused() throws {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        archiver.encode(1.0, forKey: "latitude")
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        #expect(CLLocation(coder: unarchiver) == nil)
    }

    @Test func coordinatesHaveRanges() {
        #expect(CLLocationCoordinate2DIsValid(CLLocationCoordinate2D()))
        #expect(CLLocationCoordinate2DIsValid(CLLocationCoordinate2DMake(-90, 180)))
        #expect(!CLLocationCoordinate2DIsValid(CLLocationCoordinate2DMake(90.1, 0)))
        #expect(!CLLocationCoordinate2DIsValid(kCLLocationCoordinate2DInvalid))
    }
}
