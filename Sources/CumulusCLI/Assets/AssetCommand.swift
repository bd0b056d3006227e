// `cumulus asset`: put files on records, get them back, and see what the server has of them.
//
// Folder: commands on assets. Read `AssetCommand`, then `AssetTransfer` and `AssetParts`.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal
import CumulusTransfer

struct AssetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "asset",
        abstract: "Put files on records, get them back, and show what the server has of them.",
        discussion: help(
            "cumulus asset put Photo front image front.jpg",
            "cumulus asset get front image --output front.jpg"
        ),
        subcommands: [Put.self, Get.self, Info.self]
    )
}

extension AssetCommand {
    struct Put: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Save a file, or several as a list, in a field of a record.",
            discussion: help(
                "cumulus asset put Photo front image front.jpg",
                "cumulus asset put Album summer images beach.jpg boat.jpg",
                "cumulus asset put Album winter images snow.jpg --list",
                note: """
                    Makes the record if it is not there, and replaces what its field held. Only \
                    chunks that the database does not have travel, so a command that was \
                    interrupted goes on when it is repeated. A call may take 60 seconds, unless \
                    --timeout says another number. For other fields in the same save: cumulus \
                    record save --asset KEY=FILE.
                    """
            )
        )

        @Argument(help: "Type of the record.") var type: String
        @Argument(help: "Name of the record.") var name: String
        @Argument(help: "The field.") var field: String
        @Argument(help: "The file; several make a list.") var files: [String]
        @Flag(help: "Make a list also of one file.") var list = false
        @OptionGroup var zone: ZoneOption
        @OptionGroup var replicas: ReplicasOption
        @OptionGroup var connection: DatabaseConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let record = try record()
            let transfer = AssetTransfer()
            let saved = try await connection.withDatabase(
                of: zone.owner,
                timeout: 60,
                replicas: replicas
            ) { database in
                let results = try await transfer.following { progress in
                    try await database.modifyRecords(
                        saving: [record],
                        deleting: [],
                        savePolicy: .changedKeys,
                        progress: progress
                    )
                }
                return try results.saveResults[record.recordID]?.get()
            }
            guard let saved else { return }
            let members = [JSON.Member("record", saved.json)] + transfer.members
            try output.show(.object(members), rows: saved.rows + [["", transfer.text("sent")]])
        }

        func record() throws -> Record {
            var record = Record(
                recordType: type,
                recordID: Record.ID(recordName: name, zoneID: zone.zoneID)
            )
            let assets = try files.map { FieldValue.asset(try AssetFile.asset($0)) }
            record[field] = assets.count == 1 && !list ? assets[0] : .list(assets)
            return record
        }
    }

    struct Get: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Get a file from a field of a record.",
            discussion: help(
                "cumulus asset get front image --output front.jpg",
                "cumulus asset get summer images --index 1 --output boat.jpg",
                "cumulus asset get front image --range 0-99 --output - | xxd",
                note: """
                    What has arrived stays beside the output, in FILE.part, until all of it is \
                    there: repeat an interrupted command and it goes on. FILE - is standard \
                    output. A call may take 60 seconds, unless --timeout says another number.
                    """
            )
        )

        @OptionGroup var field: AssetField
        @Option(name: .shortAndLong, help: "The file to make, which must not exist; or -.")
        var output: String
        @Flag(help: "Replace the file if it exists.") var force = false
        @Option(help: "Only these bytes, FIRST-LAST, counted from 0.") var range: ByteRange?
        @OptionGroup var zone: ZoneOption
        @OptionGroup var connection: DatabaseConnection
        @OptionGroup var format: OutputOptions

        func validate() throws {
            if format.json, output == "-" {
                throw ValidationError("--json and the content can't both be standard output.")
            }
            if force, output == "-" {
                throw ValidationError("Standard output replaces no file: leave out --force.")
            }
        }

        func run() async throws {
            if output == "-" { return try await print() }
            try AssetParts.check(output, replaces: force)
            let parts = try AssetParts(for: output)
            defer { parts.leave() }
            let transfer = AssetTransfer()
            try await connection.withDatabase(
                of: zone.owner,
                timeout: 60,
                assets: parts.folder
            ) { database in
                let asset = try await field.asset(of: database, in: zone.zoneID)
                guard range == nil else {
                    let count = try await parts.write { handle in
                        let progress = ProgressBar(total: nil)
                        return try await database.copy(
                            asset,
                            in: range,
                            to: handle,
                            output,
                            progress
                        )
                    }
                    try parts.finish(parts.piece, replaces: force)
                    return try format.show(
                        .object([JSON.Member("bytes", .integer(Int64(clamping: count)))]),
                        rows: [["\(ByteCount.text(count)) fetched"]]
                    )
                }
                let whole = try await transfer.following { progress in
                    try await database.download(asset, progress: progress)
                }
                guard let file = whole.fileURL else { return }
                try parts.finish(file.path(percentEncoded: false), replaces: force)
                try format.show(.object(transfer.members), rows: [[transfer.text("fetched")]])
            }
        }

        private func print() async throws {
            try await connection.withDatabase(of: zone.owner, timeout: 60) { database in
                let asset = try await field.asset(of: database, in: zone.zoneID)
                let output = OpenFile.standardOutput
                let progress = ProgressBar.besideContent(total: nil)
                _ = try await database.copy(asset, in: range, to: output, "the output", progress)
            }
        }
    }

    struct Info: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show what the server has of a file in a field of a record.",
            discussion: help(
                "cumulus asset info front image",
                "cumulus asset info front image --json"
            )
        )

        @OptionGroup var field: AssetField
        @OptionGroup var zone: ZoneOption
        @OptionGroup var connection: DatabaseConnection
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let (asset, found) = try await connection.withDatabase(of: zone.owner) { database in
                let asset = try await field.asset(of: database, in: zone.zoneID)
                return (asset, try await database.status(of: asset))
            }
            let missing =
                counted(found.missingChunks, "chunk")
                + (found.missingChunks == 1 ? " is" : " are") + " not on this node"
            try output.show(
                [
                    "digest": .string(asset.digest.hex),
                    "size": .integer(Int64(clamping: asset.size)),
                    "chunks": .integer(Int64(found.chunks)),
                    "missingChunks": .integer(Int64(found.missingChunks)),
                    "storedBytes": .integer(Int64(found.storedBytes)),
                ],
                rows: [
                    ["digest", asset.digest.hex], ["size", ByteCount.text(asset.size)],
                    ["chunks", "\(found.chunks)"],
                    ["missing", missing],
                    ["stored", ByteCount.text(found.storedBytes)],
                ]
            )
        }
    }
}

/// The asset of a record that a command is about.
struct AssetField: ParsableArguments {
    @Argument(help: "Name of the record.") var name: String
    @Argument(help: "The field.") var field: String
    @Option(help: "Which one of a list, counted from 0.") var index = 0

    func asset(of database: Database, in zone: RecordZone.ID) async throws -> Asset {
        let id = Record.ID(recordName: name, zoneID: zone)
        let record = try await database.record(for: id)
        switch record[field] {
        case .asset(let asset)? where index == 0: return asset
        case .list(let elements)? where elements.indices.contains(index):
            if case .asset(let asset) = elements[index] { return asset }
        default: break
        }
        let which = index == 0 ? "" : " at index \(index)"
        throw InputProblem("record '\(name)' has no asset in '\(field)'\(which)")
    }
}

/// `FIRST-LAST` on the command line.
struct ByteRange: ExpressibleByArgument, Equatable {
    var bytes: Range<UInt64>

    init?(argument: String) {
        let ends = argument.split(separator: "-", omittingEmptySubsequences: false)
            .map { UInt64($0) }
        guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last,
            last < .max
        else { return nil }
        bytes = first..<last + 1
    }
}

enum AssetFile {
    /// An asset of a file that can be read.
    static func asset(_ path: String) throws -> Asset {
        guard access(path, R_OK) == 0 else { throw InputProblem("'\(path)' can't be read") }
        if Files.isDirectory(path) { throw InputProblem("\(path) is a folder, not a file") }
        return Asset(fileURL: URL(filePath: path))
    }
}

extension Database {
    /// Copies bytes of an asset, some megabytes after the others; nil means all of them.
    ///
    /// - Returns: How many there were.
    fileprivate func copy(
        _ asset: Asset,
        in range: ByteRange?,
        to file: OpenFile,
        _ name: String,
        _ progress: ProgressBar
    ) async throws -> UInt64 {
        var progress = progress
        defer { progress.clear() }
        let all = (range?.bytes ?? 0..<asset.size).clamped(to: 0..<asset.size)
        if all.isEmpty, range != nil {
            throw InputProblem("the file ends before that: it has \(counted(asset.size, "byte"))")
        }
        var start = all.lowerBound
        while start < all.upperBound {
            let end = min(start + 4 << 20, all.upperBound)
            let piece = try await bytes(of: asset, in: start..<end)
            try put(Data(piece), to: file, name)
            start = end
            progress.update(start - all.lowerBound, of: UInt64(all.count))
        }
        return UInt64(all.count)
    }
}
