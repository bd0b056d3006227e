// `cumulus changes`: shows what changed since a token, and with --follow what changes from then on.
// A file carries the token from one run to the next.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal
import CumulusTransfer

struct ChangesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "changes",
        abstract: "Show what changed in a database or a zone since the last time.",
        discussion: help(
            "cumulus changes zones --since zones.token",
            "cumulus changes records Notes --follow --json"
        ),
        subcommands: [Zones.self, Records.self]
    )
}

/// The range of a fetch; reads and writes the token file.
struct ChangeTokenOptions: ParsableArguments {
    @Option(help: "File that carries the token from one run to the next.")
    var since: String?
    @Option(help: "Fetch one page of at most so many items; without it, all pages.")
    var limit: Int?
    @Flag(help: "Go on with each change as it is made, until you interrupt it.")
    var follow = false

    func validate() throws {
        guard limit ?? 1 > 0 else { throw ValidationError("--limit must be at least 1.") }
        guard !follow || limit == nil else {
            throw ValidationError("--follow shows all pages; leave --limit out.")
        }
    }

    /// The token in the file; nil if there is no file yet.
    func read() throws -> ServerChangeToken? {
        guard let since, FileManager.default.fileExists(atPath: since) else { return nil }
        guard let text = try? String(contentsOfFile: since, encoding: .utf8),
            let token = ServerChangeToken(
                text: text.trimmed
            )
        else {
            throw InputProblem(
                "\(since) holds no change token; delete it to begin from the beginning"
            )
        }
        return token
    }

    /// Fetches a page, or all; returns the token that came last.
    ///
    /// `page` shows what it fetched and returns its token, and whether more is coming.
    func fetch(
        _ page: (ServerChangeToken?, Int?) async throws -> (ServerChangeToken, Bool)
    ) async throws -> ServerChangeToken {
        var (token, moreComing) = try await page(try read(), limit)
        while moreComing && limit == nil { (token, moreComing) = try await page(token, limit) }
        return token
    }

    /// Writes a token, once the changes that came with it are shown.
    func write(_ token: ServerChangeToken) throws {
        guard let since else { return }
        do {
            try Data((token.text + "\n").utf8)
                .write(to: URL(filePath: since), options: .atomic)
        } catch {
            throw OutputProblem("the change token can't be written to \(since)")
        }
    }

    static let note = """
        Of default zones, and so of the public database, only --follow shows changes: CloudKit \
        keeps none there. Without --since everything is shown as it is now. With it, the \
        command shows what changed since the run that wrote the file. If the token has expired \
        (21), delete the file and the copy that you made from the changes, and begin again.
        With --follow the command goes on until it is interrupted, and writes the file after each \
        page that it has shown: the next run begins there. It goes on at another node if one is \
        lost, and ends with 69 if none can be reached in the time of --timeout. With \
        --json each change is an object on a line of its own, and the line {"change":"upToDate"} \
        says that all so far was shown.
        """
}

extension ChangesCommand {
    struct Zones: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the zones that were made, changed or deleted.",
            discussion: help(
                "cumulus changes zones --since zones.token",
                "cumulus changes zones --follow",
                "cumulus changes zones --database shared --follow --json",
                note: ChangeTokenOptions.note
            )
        )

        @OptionGroup var tokens: ChangeTokenOptions
        @OptionGroup var connection: DatabaseConnection
        @OptionGroup var output: OutputOptions

        private func listing(isEndless: Bool = false) throws -> Listing {
            let owner = try connection.scope() == .shared ? ["OWNER"] : []
            return Listing(["CHANGE", "ZONE"] + owner, isJSON: output.json, isEndless: isEndless)
        }

        func run() async throws {
            if tokens.follow { return try await follow() }
            var listing = try listing()
            let token = try await connection.withDatabase { database in
                return try await tokens.fetch { token, limit in
                    let changes = try await database.databaseChanges(
                        since: token,
                        resultsLimit: limit
                    )
                    for change in changes.modifications {
                        try listing.add("changed", change.zoneID)
                    }
                    for deletion in changes.deletions {
                        try listing.add("\(deletion.reason)", deletion.zoneID)
                    }
                    return (changes.changeToken, changes.moreComing)
                }
            }
            try listing.end()
            try tokens.write(token)
        }

        private func follow() async throws {
            var listing = try listing(isEndless: true)
            let start = try tokens.read()
            try await connection.withDatabase { database in
                for try await page in database.followDatabaseChanges(since: start) {
                    for change in page.modifications { try listing.add("changed", change.zoneID) }
                    for deletion in page.deletions {
                        try listing.add("\(deletion.reason)", deletion.zoneID)
                    }
                    try listing.endPage(isUpToDate: page.isUpToDate)
                    try tokens.write(page.changeToken)
                }
            }
        }
    }

    struct Records: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the records of a zone that were saved or deleted.",
            discussion: help(
                "cumulus changes records Notes --since notes.token",
                "cumulus changes records Notes --since notes.token --json --keys title",
                "cumulus changes records Notes --follow --json",
                "cumulus changes records _defaultZone --follow --database public",
                "cumulus changes records Trips --database shared --owner _0f3c... --follow",
                note: ChangeTokenOptions.note
            )
        )

        @Argument(help: "Name of the zone.") var zone: String
        @OptionGroup var owner: OwnerOption
        @OptionGroup var tokens: ChangeTokenOptions
        @OptionGroup var keys: KeysOption
        @OptionGroup var encryption: EncryptionOption
        @OptionGroup var connection: DatabaseConnection
        @OptionGroup var output: OutputOptions

        private static let columns = ["CHANGE", "NAME", "TYPE", "MODIFIED", "FIELDS"]
        private var zoneID: RecordZone.ID { owner.zoneID(zone) }

        func run() async throws {
            if tokens.follow { return try await follow() }
            var listing = Listing(Records.columns, isJSON: output.json)
            let token = try await connection.withDatabase(
                of: owner,
                encryption: encryption
            ) { database in
                return try await tokens.fetch { token, limit in
                    let changes = try await database.recordZoneChanges(
                        inZoneWith: zoneID,
                        since: token,
                        desiredKeys: keys.list,
                        resultsLimit: limit
                    )
                    let records = try changes.modificationResultsByID.values
                        .map { try $0.get().record }
                    // The server promises no order, so sort by name.
                    for record in records.sorted(by: { $0.name < $1.name }) {
                        try listing.add(record)
                    }
                    for deletion in changes.deletions { try listing.add(deletion) }
                    return (changes.changeToken, changes.moreComing)
                }
            }
            try listing.end()
            try tokens.write(token)
        }

        private func follow() async throws {
            var listing = Listing(Records.columns, isJSON: output.json, isEndless: true)
            let start = try tokens.read()
            try await connection.withDatabase(of: owner, encryption: encryption) { database in
                let changes = database.followRecordZoneChanges(
                    inZoneWith: zoneID,
                    since: start,
                    desiredKeys: keys.list
                )
                for try await page in changes {
                    let records = page.modifications.map(\.record)
                    for record in records.sorted(by: { $0.name < $1.name }) {
                        try listing.add(record)
                    }
                    for deletion in page.deletions { try listing.add(deletion) }
                    try listing.endPage(isUpToDate: page.isUpToDate)
                    try tokens.write(page.changeToken)
                }
            }
        }
    }
}

extension Listing {
    /// Ends a page of a stream; prints it.
    ///
    /// In JSON, a line says after a page that the caller is up to date.
    fileprivate mutating func endPage(isUpToDate: Bool) throws {
        if isUpToDate, isJSON { try add(["change": .string("upToDate")], row: []) }
        try flush()
    }

    fileprivate mutating func add(_ change: String, _ zone: RecordZone.ID) throws {
        var members = [
            JSON.Member("change", .string(change)),
            JSON.Member("zoneName", .string(zone.zoneName)),
        ]
        if let owner = zone.otherOwner { members.append(JSON.Member("ownerName", .string(owner))) }
        let owner = zone.otherOwner.map { [$0] } ?? []
        try add(.object(members), row: [change, zone.zoneName] + owner)
    }

    fileprivate mutating func add(_ record: Record) throws {
        try add(["change": .string("saved"), "record": record.json], row: ["saved"] + record.row)
    }

    fileprivate mutating func add(_ deletion: Database.RecordZoneChange.Deletion) throws {
        let name = deletion.recordID.recordName
        try add(
            [
                "change": .string("deleted"), "recordName": .string(name),
                "recordType": .string(deletion.recordType),
            ],
            row: ["deleted", name, deletion.recordType]
        )
    }
}

extension Record {
    fileprivate var name: String { recordID.recordName }
}
