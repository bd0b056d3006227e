// Core Location's names for numbers and for a point on Earth.
//
// Called by apps written for CloudKit, whose records hold places. Apple's platforms have them in
// Core Location, which Linux lacks.

/// Degrees of latitude or longitude.
public typealias CLLocationDegrees = Double
/// Metres.
public typealias CLLocationDistance = Double
/// Metres within which a position is right; negative if the position is not valid.
public typealias CLLocationAccuracy = Double
/// Metres per second; negative if unknown.
public typealias CLLocationSpeed = Double
/// Degrees clockwise from north; negative if unknown.
public typealias CLLocationDirection = Double

/// A point on Earth.
public struct CLLocationCoordinate2D: Sendable {
    /// -90 to 90.
    public var latitude: CLLocationDegrees
    /// -180 to 180.
    public var longitude: CLLocationDegrees

    /// The point where the equator crosses the meridian of Greenwich.
    public init() {
        self.init(latitude: 0, longitude: 0)
    }

    /// The point at a latitude and a longitude.
    public init(latitude: CLLocationDegrees, longitude: CLLocationDegrees) {
        self.latitude = latitude
        self.longitude = longitude
    }
}

/// No point: what Core Location gives in place of an unknown one.
public let kCLLocationCoordinate2DInvalid = CLLocationCoordinate2D(
    latitude: -180,
    longitude: -180
)

// swift-format-ignore: AlwaysUseLowerCamelCase
/// The point at a latitude and a longitude.
public func CLLocationCoordinate2DMake(
    _ latitude: CLLocationDegrees,
    _ longitude: CLLocationDegrees
) -> CLLocationCoordinate2D {
    CLLocationCoordinate2D(latitude: latitude, longitude: longitude)
}

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Whether latitude and longitude are in their ranges.
public func CLLocationCoordinate2DIsValid(_ coordinate: CLLocationCoordinate2D) -> Bool {
    (-90...90).contains(coordinate.latitude) && (-180...180).contains(coordinate.longitude)
}
