// Ranges of cells miss no place that is near enough, hold little else, and keep their form.

import CumulusModel
import CumulusStorage
import Foundation
import Testing

@Suite struct LocationCellsTests {
    // MARK: Cells

    /// They are on disks.
    @Test func cellsKeepTheirNumbers() {
        #expect(Self.cell(-90, -180) == 0)
        #expect(Self.cell(90, 180) == .max)
        #expect(Self.cell(0, 0) == 3 << 62)
        #expect(Self.cell(-90, 0) == 1 << 63)
        #expect(Self.cell(0, -180) == 1 << 62)
        #expect(Self.cell(52.52, 13.405) == 0xD0C6_C581_75AC_707B)
        #expect(Self.cell(-33.8688, 151.2093) == 0xB8DF_D138_E755_0843)
    }

    @Test func placesNowhereOnEarthHaveCellsToo() {
        let odd = [Double.nan, .infinity, -.infinity, 1e300, -1e300, 180.000_1, -91, 0, -0.0]
        for latitude in odd {
            for longitude in odd {
                let place = Location(latitude: latitude, longitude: longitude)
                _ = LocationCells.cell(of: place)
                expectForm(LocationCells.cover(place, metres: 1000))
            }
        }
        #expect(Self.cell(.nan, .nan) == 0)
        #expect(Self.cell(.infinity, 1e300) == .max)
        #expect(Self.cell(-91, -.infinity) == 0)
        #expect(Self.cell(-0.0, -0.0) == Self.cell(0, 0))
    }

    // MARK: What is near enough

    @Test(arguments: 1...8)
    func noPlaceNearEnoughIsMissed(seed: UInt64) {
        var dice = SeededGenerator(seed: seed)
        var (tries, missed) = (0, [String]())
        while tries < 40_000 {
            let center = dice.place()
            let metres = dice.metres()
            let cover = LocationCells.cover(center, metres: metres, maxRanges: dice.limit())
            for _ in 0..<100 {
                let place = dice.place(near: center, metres: metres)
                guard GreatCircle.distance(place, center) <= metres else { continue }
                tries += 1
                if !cover.hold(place) { missed.append("\(place) from \(center) in \(metres)") }
            }
        }
        #expect(missed.isEmpty, "\(missed.count): \(missed.prefix(5))")
    }

    /// The distance is exactly the limit, as `GreatCircle` rounds it.
    @Test(arguments: 1...4)
    func placesOnTheEdgeAreNotMissed(seed: UInt64) {
        var dice = SeededGenerator(seed: 1000 + seed)
        var missed = [String]()
        for _ in 0..<5000 {
            let center = dice.place()
            let place = dice.place(near: center, metres: dice.metres())
            for metres in [
                GreatCircle.distance(place, center), GreatCircle.distance(center, place),
            ] where !LocationCells.cover(center, metres: metres).hold(place) {
                missed.append("\(place) from \(center) in \(metres)")
            }
        }
        #expect(missed.isEmpty, "\(missed.count): \(missed.prefix(5))")
    }

    @Test func theCenterIsInsideHoweverSmallTheCircle() {
        for center in Self.corners {
            let cover = LocationCells.cover(center, metres: 0)
            #expect(cover.hold(center), "\(center)")
            // Around a pole lies a long strip, for which few ranges are little.
            #expect(Self.share(cover) < (abs(center.latitude) == 90 ? 0.05 : 1e-12), "\(center)")
        }
    }

    @Test func bothSidesOfThe180thMeridianAreNear() {
        for longitude in [180, -180, 179.999, -179.999] {
            let center = Location(latitude: -17, longitude: longitude)
            let cover = LocationCells.cover(center, metres: 1000)
            #expect(cover.hold(-17, 180) && cover.hold(-17, -180), "\(longitude)")
            #expect(cover.hold(-17, 179.995) && cover.hold(-17, -179.995), "\(longitude)")
            #expect(!cover.hold(-17, 0) && !cover.hold(-17, 179.9), "\(longitude)")
            #expect(!cover.hold(-17, -179.9), "\(longitude)")
        }
        let exact = LocationCells.cover(Location(latitude: 0, longitude: 180), metres: 0)
        #expect(exact.hold(0, -180) && exact.hold(0, 180))
    }

    @Test(arguments: [90.0, -90])
    func allMeridiansAreNearAPole(latitude: Double) {
        for longitude in [-180, -90, 0, 13.4, 180] {
            let center = Location(latitude: latitude * 0.9999, longitude: longitude)
            let cover = LocationCells.cover(center, metres: 5000)
            for other in stride(from: -180.0, through: 180, by: 7.5) {
                #expect(cover.hold(latitude, other))
                #expect(cover.hold(latitude * 0.9999, other))
            }
            #expect(!cover.hold(0, longitude) && !cover.hold(-latitude, longitude))
        }
    }

    @Test func whatReachesAroundEarthIsOneRange() {
        let everything = [0...UInt64.max]
        for center in Self.corners {
            for metres in [20_015_115, 25_000_000, 1e300, .infinity] {
                #expect(LocationCells.cover(center, metres: metres) == everything)
            }
            #expect(LocationCells.cover(center, metres: 100_000) != everything)
        }
    }

    @Test func nothingIsNearerThanNothing() {
        for metres in [-1, -Double.infinity, .nan] {
            #expect(LocationCells.cover(Location(latitude: 1, longitude: 2), metres: metres) == [])
        }
    }

    /// What `GreatCircle` makes of it doesn't matter: all is looked at.
    @Test func aCenterNowhereOnEarthIsNearEverything() {
        for (latitude, longitude) in [(91, 0), (0, 181), (.nan, 0), (0, -Double.infinity)] {
            let center = Location(latitude: latitude, longitude: longitude)
            #expect(LocationCells.cover(center, metres: 1) == [0...UInt64.max])
        }
    }

    // MARK: Form and size

    @Test func rangesAscendWithGapsAndAreFew() {
        var dice = SeededGenerator(seed: 7)
        for _ in 0..<2000 {
            let (center, metres, most) = (dice.place(), dice.metres(), dice.limit())
            expectForm(LocationCells.cover(center, metres: metres))
            expectForm(LocationCells.cover(center, metres: metres, maxRanges: most), most)
        }
        for most in [Int.min, 0, 1] {
            let center = Location(latitude: 0, longitude: 0)
            expectForm(LocationCells.cover(center, metres: 9000, maxRanges: most), 1)
        }
    }

    /// Measured in degrees, where a box is as big as its cells are many.
    @Test(arguments: [0, -0.1, 20, -33.9, 45, 52.5, 60, -70, 80, 85])
    func rangesHoldLittleMoreThanTheBox(latitude: Double) {
        let angle = 50_000 / GreatCircle.radius
        let width = asin(sin(angle) / cos(latitude * .pi / 180))
        let box = (2 * width / (2 * .pi)) * (2 * angle / .pi)
        for longitude in [0, 0.2, -77.03, 13.405, 89.9, 151.2, 179.8, 180, -180] {
            let center = Location(latitude: latitude, longitude: longitude)
            let share = Self.share(LocationCells.cover(center, metres: 50_000))
            #expect(share >= box && share < 3 * box, "\(center): \(share / box)")
        }
    }

    private func expectForm(
        _ ranges: [ClosedRange<UInt64>],
        _ most: Int = 24,
        at here: SourceLocation = #_sourceLocation
    ) {
        let isFew = (1...most).contains(ranges.count)
        let isParted = zip(ranges, ranges.dropFirst()).allSatisfy {
            $0.upperBound < $1.lowerBound && $1.lowerBound - $0.upperBound > 1
        }
        #expect(isFew && isParted, "\(ranges)", sourceLocation: here)
    }

    /// The part of all cells.
    private static func share(_ ranges: [ClosedRange<UInt64>]) -> Double {
        ranges.reduce(0) { $0 + Double($1.upperBound - $1.lowerBound) + 1 } / 0x1p64
    }

    private static func cell(_ latitude: Double, _ longitude: Double) -> UInt64 {
        LocationCells.cell(of: Location(latitude: latitude, longitude: longitude))
    }

    /// Where boxes begin, end and meet.
    private static let corners = [-90.0, -45, 0, 52.52, 90].flatMap { latitude in
        [-180.0, -90, 0, 13.405, 180].map { Location(latitude: latitude, longitude: $0) }
    }
}

extension [ClosedRange<UInt64>] {
    fileprivate func hold(_ place: Location) -> Bool {
        let cell = LocationCells.cell(of: place)
        return contains { $0.contains(cell) }
    }

    fileprivate func hold(_ latitude: Double, _ longitude: Double) -> Bool {
        hold(Location(latitude: latitude, longitude: longitude))
    }
}

/// The places and radii that are most likely to go wrong.
extension SeededGenerator {
    fileprivate mutating func part(_ range: ClosedRange<Double> = 0...1) -> Double {
        .random(in: range, using: &self)
    }

    fileprivate mutating func one(of count: Int) -> Int {
        .random(in: 0..<count, using: &self)
    }

    fileprivate mutating func limit() -> Int {
        [1, 2, 8, 24, 24, 100][one(of: 6)]
    }

    /// A very small number, of either sign.
    fileprivate mutating func tiny() -> Double {
        (one(of: 2) == 0 ? 1 : -1) * pow(10, part(-16...0))
    }

    fileprivate mutating func metres() -> Double {
        let half = GreatCircle.radius * .pi
        return switch one(of: 8) {
        case 0: 0
        case 1: half / 2 + tiny() * 1000
        case 2: half - abs(tiny()) * 1000
        case 3: part(0...25_000_000)
        default: pow(10, part(-3...7.3))
        }
    }

    fileprivate mutating func place() -> Location {
        let latitude =
            switch one(of: 6) {
            case 0: 90.0
            case 1: 90 - abs(tiny())
            case 2: tiny()
            default: asin(part()) * 180 / .pi
            }
        let longitude =
            switch one(of: 6) {
            case 0: 180.0
            case 1: 180 - abs(tiny())
            case 2: tiny()
            default: part(0...180)
            }
        return Location(
            latitude: one(of: 2) == 0 ? latitude : -latitude,
            longitude: one(of: 2) == 0 ? longitude : -longitude
        )
    }

    /// A place in a circle or just outside, often near its edge.
    fileprivate mutating func place(near center: Location, metres: Double) -> Location {
        let distance =
            switch one(of: 4) {
            case 0: metres * part().squareRoot()
            case 1: metres * (1 - abs(tiny()))
            default: metres * (1 + tiny() * 1e-6)
            }
        let angle = distance / GreatCircle.radius
        let place = place(from: center, angle: angle, bearing: bearing(from: center, angle: angle))
        // One meridian with two names.
        guard abs(place.longitude) == 180, one(of: 2) == 0 else { return place }
        return Location(latitude: place.latitude, longitude: -place.longitude)
    }

    /// Often to where a circle is northernmost, southernmost, easternmost or westernmost.
    private mutating func bearing(from center: Location, angle: Double) -> Double {
        let widest = acos(max(-1, min(1, tan(angle) * tan(center.latitude * .pi / 180))))
        return switch one(of: 6) {
        case 0: [0, .pi][one(of: 2)]
        case 1: [widest, -widest][one(of: 2)]
        case 2: [widest, -widest][one(of: 2)] + tiny() * 1e-3
        default: part(-.pi ... .pi)
        }
    }

    private func place(from center: Location, angle: Double, bearing: Double) -> Location {
        let (from, along) = (center.latitude * .pi / 180, center.longitude)
        let sine = sin(from) * cos(angle) + cos(from) * sin(angle) * cos(bearing)
        let latitude = asin(max(-1, min(1, sine)))
        let east = sin(bearing) * sin(angle) * cos(from)
        let turn = atan2(east, cos(angle) - sin(from) * sin(latitude)) * 180 / .pi
        let longitude = (along + turn).remainder(dividingBy: 360)
        return Location(latitude: latitude * 180 / .pi, longitude: longitude)
    }
}
