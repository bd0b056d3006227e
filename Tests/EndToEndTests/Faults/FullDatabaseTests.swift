// A database whose disk is full: changes are refused, reads go on, and so do changes once there is
// room. The log of the database has room all the time: without it the server would stop.

#if os(Linux)
    import Cumulus
    import CumulusModel
    import CumulusTesting
    import Foundation
    import Testing

    @Suite(
        .timeLimit(.minutes(5)),
        .enabled(if: SmallDisk.isPermitted, "only root may mount a disk"),
        .enabled(if: PostgresServer.isInstalled, Comment(rawValue: PostgresServer.missing))
    )
    struct FullDatabaseTests {
        private let folder: TestFolder

        init() throws { folder = try TestFolder() }

        /// Takes some seconds: after a refusal the node pauses for one.
        @Test func changesAreRefusedUntilThereIsRoom() async throws {
            let disk = try SmallDisk("\(folder.path)/disk", bytes: 96 << 20)
            // Another server would miss the disk after the test.
            let server = try PostgresServer.own()
            let database = try server.makeDatabase(in: disk.path)
            let node = try await NodeProcess.ready(
                data: folder.node,
                arguments: ["--store", server.url(of: database)]
            )
            let container = try await node.signIn(timeout: .seconds(10), connections: 1)
            let records = container.privateCloudDatabase
            for number in 0..<5 { try await save(number, in: records) }
            try disk.fill(leaving: 256 << 10)
            var saved = 5
            var refusal: ServiceError?
            while refusal == nil, saved < 500 {
                do {
                    try await save(saved, in: records)
                    saved += 1
                } catch let error as ServiceError {
                    refusal = error
                }
            }
            #expect(refusal?.reason == .diskFull, "\(refusal as Any)")
            #expect(try await count(in: records) == saved)
            #expect(node.errors.contains("the disk of the database is full"))

            try disk.clear()
            let start = ContinuousClock.now
            while (try? await save(saved, in: records)) == nil, .now - start < .seconds(10) {
                try await Task.sleep(for: .milliseconds(100))
            }
            #expect(.now - start < .seconds(5))
            #expect(try await count(in: records) == saved + 1)
            await container.close()
            try await #expect(node.end(SIGTERM) == .exit(0))
            withExtendedLifetime((server, disk)) {}
        }

        /// 20 KB that nobody can make smaller.
        private func save(_ number: Int, in database: Database) async throws {
            var dice = SeededGenerator(seed: UInt64(number))
            let letters = (0..<20_000).map { _ in
                Character(UnicodeScalar(UInt8.random(in: 33...126, using: &dice)))
            }
            let id = Record.ID(recordName: "n\(number)")
            var record = Record(recordType: "Note", recordID: id)
            record["text"] = .string(String(letters))
            try await database.save(record)
        }

        private func count(in database: Database) async throws -> Int {
            var count = 0
            for try await _ in database.allRecords(desiredKeys: []) { count += 1 }
            return count
        }
    }
#endif
