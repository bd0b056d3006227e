// The tree that these tests were built from: fixtures, scripts and the protocol's files.
//
// Tests run on the machine that built them, so the compiler's path of this file leads to the root.

package import Foundation

package enum Checkout {
    /// The folder that holds `Package.swift`.
    package static let root = URL(filePath: #filePath)
        .deletingLastPathComponent()
        .appending(path: "../../..")
        .standardizedFileURL

    /// The place of a file of the tree.
    ///
    /// - Parameter path: A path such as `Tests/Shims/faults.c`.
    package static func file(_ path: String) -> URL { root.appending(path: path) }
}
