// The version of this release, as programs, greetings and logs tell it.

package enum Release {
    package static let version = "0.2.0"
}
