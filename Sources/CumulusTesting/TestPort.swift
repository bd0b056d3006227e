// A port that a test can have twice: for a server, and for the one that takes its place.
//
// A free port that the machine hands out may be handed to somebody else in between.

package enum TestPort {
    /// A port below those that Linux and macOS hand out by themselves.
    package static func random() -> Int {
        Int.random(in: 20_000..<30_000)
    }
}
