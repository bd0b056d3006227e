// Answers of CloudKit's web services as they were recorded in form: names and values are made up.

import CumulusModel
import Foundation

enum ServiceAnswer {
    static let ada = "_0123456789abcdef0123456789abcdef"
    static let bob = "_fedcba9876543210fedcba9876543210"

    /// All of them.
    static let names = ["query", "changes-zone", "changes-database", "subscriptions"]

    static func bytes(_ name: String) throws -> [UInt8] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        return [UInt8](
            try Data(contentsOf: folder.appending(path: "Fixtures/service/\(name).json"))
        )
    }

    static func json(_ name: String) throws -> JSON { try JSONReader.read(bytes(name)) }
}
