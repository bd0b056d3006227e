// A directory that is gone with the test that made it.

import Foundation

package final class TemporaryFolder: Sendable {
    package let path: String

    package init() throws {
        path = FileManager.default.temporaryDirectory
            .appending(path: "cumulus-\(UUID().uuidString)")
            .resolvingSymlinksInPath()
            .path()
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
