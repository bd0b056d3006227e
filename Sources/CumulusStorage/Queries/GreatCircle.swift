// The distance between two places on Earth, taken as a sphere; altitude is ignored.
//
// Queries for near places call it.

package import CumulusModel
import CumulusSystem

package enum GreatCircle {
    /// The mean radius of Earth, in metres.
    package static let radius = 6_371_008.8

    /// Metres from one place to another.
    ///
    /// It uses the haversine formula, which is exact for near places too.
    package static func distance(_ one: Location, _ other: Location) -> Double {
        let latitudes = (radians(one.latitude), radians(other.latitude))
        let halfHeight = sin((latitudes.1 - latitudes.0) / 2)
        let halfWidth = sin(radians(other.longitude - one.longitude) / 2)
        let square =
            halfHeight * halfHeight
            + cos(latitudes.0) * cos(latitudes.1) * halfWidth * halfWidth
        return 2 * radius * asin(min(1, square.squareRoot()))
    }

    private static func radians(_ degrees: Double) -> Double {
        degrees * .pi / 180
    }
}
