// Where the processes of a test keep their data: gone with the test.

import Foundation
import RocksDBStorage

/// Owns a directory for as long as a suite lives.
final class TestFolder: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory
            .appending(path: "cumulus-\(UUID().uuidString)")
            .resolvingSymlinksInPath()
            .path()
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: false
        )
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// A node's data directory.
    var node: String { "\(path)/node" }

    /// Opens the store of a node that has ended, and closes it again.
    func withStore<Result>(_ body: (RocksDBEngine) throws -> Result) throws -> Result {
        try body(RocksDBEngine(directory: "\(node)/store", profile: .small, reserve: 0))
    }

    /// The store's files whose names have this ending or beginning, in order.
    func storeFiles(_ isWanted: (String) -> Bool) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "\(node)/store")
            .filter(isWanted)
            .sorted()
            .map { "\(node)/store/\($0)" }
    }

    /// Changes one byte of a file.
    func flip(_ file: String, at offset: (Int) -> Int) throws {
        var content = try Data(contentsOf: URL(filePath: file))
        content[offset(content.count)] ^= 0x10
        try content.write(to: URL(filePath: file))
    }
}
