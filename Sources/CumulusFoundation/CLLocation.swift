// Core Location's place on Earth, as apps keep it in records and compare fields with it.
//
// Made by apps and by the CloudKit layer. Never changes.

package import CumulusModel
public import Foundation

#if !os(Linux)
    #error("CumulusFoundation is built for Linux; Apple's systems have all of it in Foundation")
#endif

/// A place on Earth, with what is known about its precision and about the movement there.
open class CLLocation: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    /// Latitude and longitude.
    public let coordinate: CLLocationCoordinate2D
    /// Metres above sea level; means nothing if `verticalAccuracy` is negative.
    public let altitude: CLLocationDistance
    /// Metres; negative if the coordinate is not valid.
    public let horizontalAccuracy: CLLocationAccuracy
    /// Metres; negative if the altitude is unknown.
    public let verticalAccuracy: CLLocationAccuracy
    /// Degrees clockwise from north; negative if unknown.
    public let course: CLLocationDirection
    /// Metres per second; negative if unknown.
    public let speed: CLLocationSpeed
    /// When the place was measured; 1970 if a stored place doesn't say when.
    public let timestamp: Date

    /// A place with a coordinate only.
    public convenience init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
        self.init(
            coordinate: CLLocationCoordinate2D(latitude: latitude, longitude: longitude),
            altitude: 0,
            horizontalAccuracy: 0,
            verticalAccuracy: -1,
            timestamp: Date()
        )
    }

    /// A place without movement.
    public convenience init(
        coordinate: CLLocationCoordinate2D,
        altitude: CLLocationDistance,
        horizontalAccuracy: CLLocationAccuracy,
        verticalAccuracy: CLLocationAccuracy,
        timestamp: Date
    ) {
        self.init(
            coordinate: coordinate,
            altitude: altitude,
            horizontalAccuracy: horizontalAccuracy,
            verticalAccuracy: verticalAccuracy,
            course: -1,
            speed: -1,
            timestamp: timestamp
        )
    }

    /// A place with all that is known about it.
    public init(
        coordinate: CLLocationCoordinate2D,
        altitude: CLLocationDistance,
        horizontalAccuracy: CLLocationAccuracy,
        verticalAccuracy: CLLocationAccuracy,
        course: CLLocationDirection,
        speed: CLLocationSpeed,
        timestamp: Date
    ) {
        self.coordinate = coordinate
        self.altitude = altitude
        self.horizontalAccuracy = horizontalAccuracy
        self.verticalAccuracy = verticalAccuracy
        self.course = course
        self.speed = speed
        self.timestamp = timestamp
    }

    /// Metres to another place along the surface; altitude doesn't count.
    ///
    /// The server measures in the same way: Earth is taken for a sphere.
    public func distance(from other: CLLocation) -> CLLocationDistance {
        let here = (radians(coordinate.latitude), radians(coordinate.longitude))
        let there = (radians(other.coordinate.latitude), radians(other.coordinate.longitude))
        let halfHeight = sin((there.0 - here.0) / 2)
        let halfWidth = sin((there.1 - here.1) / 2)
        let square =
            halfHeight * halfHeight + cos(here.0) * cos(there.0) * halfWidth * halfWidth
        return 2 * 6_371_008.8 * asin(min(1, square.squareRoot()))
    }

    private func radians(_ degrees: Double) -> Double { degrees * .pi / 180 }

    /// Coordinate, accuracy, movement and time.
    open override var description: String {
        """
        <\(coordinate.latitude),\(coordinate.longitude)> +/- \(horizontalAccuracy)m \
        (speed \(speed) mps / course \(course)) @ \(timestamp)
        """
    }

    // MARK: - Copies and archives

    /// The place itself, since it never changes.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    /// True: a place archives only numbers.
    public static var supportsSecureCoding: Bool { true }

    /// Archives the place.
    open func encode(with coder: NSCoder) {
        coder.encode(coordinate.latitude, forKey: "latitude")
        coder.encode(coordinate.longitude, forKey: "longitude")
        coder.encode(altitude, forKey: "altitude")
        coder.encode(horizontalAccuracy, forKey: "horizontalAccuracy")
        coder.encode(verticalAccuracy, forKey: "verticalAccuracy")
        coder.encode(course, forKey: "course")
        coder.encode(speed, forKey: "speed")
        coder.encode(timestamp.timeIntervalSinceReferenceDate, forKey: "timestamp")
    }

    /// A place from an archive; nil if a number is missing in it.
    public required init?(coder: NSCoder) {
        let keys = [
            "latitude", "longitude", "altitude", "horizontalAccuracy", "verticalAccuracy",
            "course", "speed", "timestamp",
        ]
        guard keys.allSatisfy(coder.containsValue) else { return nil }
        coordinate = CLLocationCoordinate2D(
            latitude: coder.decodeDouble(forKey: "latitude"),
            longitude: coder.decodeDouble(forKey: "longitude")
        )
        altitude = coder.decodeDouble(forKey: "altitude")
        horizontalAccuracy = coder.decodeDouble(forKey: "horizontalAccuracy")
        verticalAccuracy = coder.decodeDouble(forKey: "verticalAccuracy")
        course = coder.decodeDouble(forKey: "course")
        speed = coder.decodeDouble(forKey: "speed")
        let seconds = coder.decodeDouble(forKey: "timestamp")
        timestamp = Date(timeIntervalSinceReferenceDate: seconds)
    }
}

extension CLLocation: FormatArgument {
    package var formatArgument: FieldValue { .location(location) }
}

extension CLLocation {
    /// The place as a field holds it: unknown parts are absent.
    package var location: Location {
        var location = Location(latitude: coordinate.latitude, longitude: coordinate.longitude)
        let hasAltitude = verticalAccuracy >= 0 || altitude != 0
        location.altitude = hasAltitude ? altitude : nil
        location.horizontalAccuracy = horizontalAccuracy == 0 ? nil : horizontalAccuracy
        location.verticalAccuracy = verticalAccuracy >= 0 ? verticalAccuracy : nil
        location.course = course >= 0 ? course : nil
        location.speed = speed >= 0 ? speed : nil
        location.timestamp = Timestamp(timestamp)
        return location
    }

    /// A place that a field held.
    package convenience init(_ location: Location) {
        self.init(
            coordinate: CLLocationCoordinate2D(
                latitude: location.latitude,
                longitude: location.longitude
            ),
            altitude: location.altitude ?? 0,
            horizontalAccuracy: location.horizontalAccuracy ?? 0,
            verticalAccuracy: location.verticalAccuracy ?? -1,
            course: location.course ?? -1,
            speed: location.speed ?? -1,
            timestamp: Date(location.timestamp ?? Timestamp(millisecondsSince1970: 0))
        )
    }
}
