// Writes the records of one type, or all of a database, a line each, as they arrive.
//
// An interrupted list covers half of a moment. If the output is a file, the list starts again from
// its beginning. Output to a pipe can't be taken back, so there the interruption is an error. If
// there are no records and no such type either, that is an error too: the name is misspelt.

package import Cumulus
package import CumulusModel
package import CumulusSystem
package import CumulusTerminal

package struct Exporter {
    let database: Database
    let zoneID: RecordZone.ID
    /// nil: all zones, records and subscriptions of the database.
    let type: String?
    /// How long the server may be away before an export to a file gives up.
    let patience: Duration
    /// Whether lines say when and by whom records were created and modified, too.
    let withSystemFields: Bool
    /// The folder that gets the content of assets, a file each; nil: it is left out.
    let assetFolder: String?
    var progress: ProgressBar

    private static let attempts = 20
    private static let chunkBytes = 256 << 10

    package init(
        database: Database,
        zoneID: RecordZone.ID,
        type: String?,
        patience: Duration,
        withSystemFields: Bool = false,
        assetFolder: String? = nil,
        progress: ProgressBar
    ) {
        self.database = database
        self.zoneID = zoneID
        self.type = type
        self.patience = patience
        self.withSystemFields = withSystemFields
        self.assetFolder = assetFolder
        self.progress = progress
    }

    /// Writes beside the file and renames the result at the end.
    ///
    /// A target that is no file, such as a pipe or a device, is written to and stays.
    ///
    /// Returns how many records it holds.
    package mutating func write(toFile named: String) async throws -> Int {
        let files = FileManager.default
        let path = URL(filePath: named).resolvingSymlinksInPath().path(percentEncoded: false)
        let kind = try? files.attributesOfItem(atPath: path)[.type] as? FileAttributeType
        if files.fileExists(atPath: named), kind != .typeRegular {
            guard let file = try? OpenFile(writing: named) else {
                throw OutputProblem("\(named) can't be written")
            }
            return try await write(to: file)
        }
        let part = "\(path).\(getpid()).part"
        let cleanup = Cleanup()
        cleanup.add(path: part)
        defer { cleanup.run() }
        guard let file = try? OpenFile(emptying: part) else {
            throw OutputProblem("\(part) can't be written")
        }
        let count = try await writeAll(to: file)
        guard (try? file.flush()) != nil, rename(part, path) == 0 else {
            throw OutputProblem("\(path) can't be written")
        }
        return count
    }

    private mutating func writeAll(to file: OpenFile) async throws -> Int {
        var end = ContinuousClock.now + patience
        var attempt = 0
        while true {
            attempt += 1
            var count = 0
            do {
                try await write(to: file, counting: &count)
                return count
            } catch let error as ServiceError where error.isUnreachable {
                // It was there until now.
                if count > 0 { end = ContinuousClock.now + patience }
                // It is no use to wait for a node that was not there from the beginning.
                guard attempt < Exporter.attempts, ContinuousClock.now < end,
                    error.code != .networkUnavailable
                else { throw error }
                try file.empty()
                try await Task.sleep(for: .milliseconds(500))
            }
        }
    }

    package mutating func write(to file: OpenFile) async throws -> Int {
        var count = 0
        try await write(to: file, counting: &count)
        return count
    }

    private mutating func write(to file: OpenFile, counting count: inout Int) async throws {
        defer { progress.clear() }
        guard let type else { return try await writeDatabase(to: file, counting: &count) }
        try await writeRecords(of: zoneID, type, to: file, counting: &count)
        if count == 0 { try await checkType(type) }
    }

    private mutating func writeRecords(
        of zone: RecordZone.ID,
        _ type: String?,
        to file: OpenFile,
        counting count: inout Int
    ) async throws {
        var lines: Bytes = []
        let records = database.allRecords(inZoneWith: zone)
        for try await record in records where type == nil || record.recordType == type {
            if let assetFolder, record.holdsAssets {
                try await copyAssets(of: record, to: assetFolder)
            }
            lines += record.line(withSystemFields: withSystemFields, withPlace: type == nil).bytes
            lines.append(UInt8(ascii: "\n"))
            count += 1
            progress.update(bytes: 0, records: count)
            if lines.count >= Exporter.chunkBytes {
                try put(Data(lines), to: file, "the output")
                lines.removeAll(keepingCapacity: true)
            }
        }
        try put(Data(lines), to: file, "the output")
    }

    /// Zones come first, so that an import makes them before their records.
    private mutating func writeDatabase(
        to file: OpenFile,
        counting count: inout Int
    ) async throws {
        var zones = [RecordZone.ID.default]
        if database.databaseScope == .private {
            zones += try await database.allRecordZones().map(\.zoneID)
                .filter { $0.zoneName != Names.defaultZone }
        }
        let named = zones.dropFirst().map { DatabaseLine.json(ofZone: $0.zoneName) }
        try write(named, to: file)
        for zone in zones { try await writeRecords(of: zone, nil, to: file, counting: &count) }
        do {
            let subscriptions = try await database.allSubscriptions()
            try write(subscriptions.map { DatabaseLine.json(of: $0) }, to: file)
        } catch let error as ServiceError where error.code == .notAuthenticated {
            // Who has no name has no subscriptions.
        }
    }

    private func write(_ lines: [JSON], to file: OpenFile) throws {
        let text = lines.map { $0.text + "\n" }.joined()
        try put(Data(text.utf8), to: file, "the output")
    }

    /// Writes the content of assets that the folder does not have yet.
    private func copyAssets(of record: Record, to folder: String) async throws {
        for asset in record.allAssets {
            let path = asset.path(in: folder)
            if Files.size(of: path) == asset.size { continue }
            let local = try await database.download(asset)
            guard let file = local.fileURL else { continue }
            let part = "\(path).part"
            unlink(part)
            do {
                try FileManager.default.copyItem(
                    atPath: file.path(percentEncoded: false),
                    toPath: part
                )
            } catch {
                throw OutputProblem("\(path) can't be written")
            }
            guard rename(part, path) == 0 else { throw OutputProblem("\(path) can't be written") }
        }
    }

    /// Asks for nothing of the type: that tells whether there is one.
    private func checkType(_ type: String) async throws {
        let query = Query(recordType: type, predicate: .none)
        do {
            _ = try await database.count(matching: query, inZoneWith: zoneID)
        } catch let error as ServiceError where error.code != .unknownItem {
            // It is there, and can't be searched.
        }
    }
}
