// `cumulus query`: the records of a type that satisfy a predicate.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal
import CumulusTransfer

struct QueryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query",
        abstract: "Find the records of a type that satisfy a predicate.",
        discussion: help(
            "cumulus query City",
            "cumulus query City --where \"country == 'JP' AND population > 500000\"",
            "cumulus query City --where \"country == 'JP'\" --sort -population,name --limit 10",
            "cumulus query Note --where \"self CONTAINS 'tea'\" --all --json",
            "cumulus query City --where \"country IN {'NO','SE'}\" --explain",
            "cumulus query City --near location,35.7,139.7 --where "
                + "\"distanceToLocation:fromLocation:(location, LOCATION(35.7, 139.7)) < 50000\"",
            "cumulus query Note --where \"due < CAST('2026-12-24', 'NSDate')\" --sort due",
            note: """
                Predicates are NSPredicate formats, as far as CloudKit takes them: the article \
                Queries shows every form. OR and tests for nil go beyond CloudKit and need \
                --extensions. Fields in predicates and keys to sort by need the indexes of \
                CloudKit: 'cumulus index list' shows them, and 'cumulus index add' adds one. 100 \
                records are shown, or --limit, or with --all every one; pages hold 400 at most. \
                --count counts all. Texts are sorted by their first 512 bytes; names decide last, \
                in the direction of the last key.

                Without --where and --sort all records of the type are meant. That works without \
                an index, and then costs a walk through all records of the zone, or of all zones \
                of the private database, whatever their type, in the order of zones and names. It \
                ends after \(TypeScan.mostLooks) records and says so; with --all and --count it \
                goes on to the end. 'cumulus index add TYPE recordName --kind queryable' saves \
                the walk.
                """
        )
    )

    @Argument(help: "Type of the records.") var type: String
    @Option(name: .customLong("where"), help: "The predicate; all records if left out.")
    var format = "TRUEPREDICATE"
    @Option(
        parsing: .unconditional,
        help: "Keys to sort by, with commas; '-' before one: the largest first."
    )
    var sort: String?
    @Option(help: "Sort by distance first, the nearest first: KEY,LATITUDE,LONGITUDE.")
    var near: Near?
    @OptionGroup var keys: KeysOption
    @Option(help: "How many records at most; of a page, with --all.") var limit: Int?
    @Flag(help: "Fetch all pages.") var all = false
    @Flag(help: "Print only how many records there are.") var count = false
    @Flag(help: "Print how the node finds the first page.") var explain = false
    @Flag(help: "Allow what CloudKit has not: OR and tests for nil.") var extensions = false
    @Option(help: "Zone that is searched; all of the private database if left out.")
    var zone: String?
    @OptionGroup var owner: OwnerOption
    @OptionGroup var encryption: EncryptionOption
    @OptionGroup var connection: DatabaseConnection
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard limit ?? 1 > 0 else { throw ValidationError("--limit must be at least 1.") }
        let keys = (sort ?? "a").split(separator: ",", omittingEmptySubsequences: false)
        guard keys.allSatisfy({ $0.contains { $0 != " " && $0 != "-" } }) else {
            throw ValidationError("--sort names keys, with commas between them.")
        }
        guard [all, count, explain].count(where: \.self) <= 1 else {
            throw ValidationError("Give one of --all, --count and --explain.")
        }
        let shaping = [
            ("--limit", count && limit != nil), ("--sort", count && sort != nil),
            ("--near", count && near != nil),
            ("--keys", (count || explain) && self.keys.keys != nil),
        ]
        for (name, isVain) in shaping where isVain {
            let what = count ? "--count counts all records" : "--explain shows no records"
            throw ValidationError("\(what): leave out \(name).")
        }
        try checkZone()
        do {
            _ = try query()
        } catch {
            throw ValidationError("--where: \(error.message)")
        }
    }

    private func checkZone() throws {
        guard zone == nil else { return }
        guard owner.owner == nil else {
            throw ValidationError("--owner goes with --zone: name a zone of that owner.")
        }
        guard try connection.scope() != .shared else {
            throw ValidationError(
                "In the shared database a query is of one zone: name it with --zone, and its owner "
                    + "with --owner. 'cumulus zone list --database shared' shows both."
            )
        }
    }

    func query() throws(ServiceError) -> Query {
        var query = Query(
            recordType: type,
            predicate: try Query.Predicate(format: format),
            sortDescriptors: near.map { [$0.descriptor] } ?? []
        )
        query.sortDescriptors += sortKeys
        query.allowsExtensions = extensions
        return query
    }

    /// The keys of --sort.
    private var sortKeys: [Query.SortDescriptor] {
        let words = sort?.split(separator: ",", omittingEmptySubsequences: false) ?? []
        return words.map { word in
            let key = word.trimmed
            return key.hasPrefix("-")
                ? Query.SortDescriptor(key: String(key.dropFirst()), ascending: false)
                : Query.SortDescriptor(key: key)
        }
    }

    func run() async throws {
        let query = try query()
        let zoneID = zone.map { owner.zoneID($0) }
        try await connection.withDatabase(
            of: zone == nil ? nil : owner,
            encryption: encryption
        ) { database in
            do {
                if count {
                    try show(try await database.count(matching: query, inZoneWith: zoneID))
                } else if explain {
                    try await explain(query, in: database, zoneID)
                } else {
                    try await list(query, in: database, zoneID)
                }
            } catch {
                guard asksForAll, let missing = MissingIndex(error), missing.isOfAllRecords else {
                    throw try MissingIndex.advised(
                        error,
                        by: connection.user.scope,
                        order: format == QueryCommand.allRecords ? sortKeys.map(\.key) : []
                    )
                }
                try await scan(database, zoneID, missing)
            }
        }
    }

    private func show(_ count: Int) throws {
        try output.show(["count": .integer(Int64(count))], rows: [["\(count)"]])
    }

    private func explain(
        _ query: Query,
        in database: Database,
        _ zoneID: RecordZone.ID?
    ) async throws {
        let work = try await database.explain(
            query,
            inZoneWith: zoneID,
            resultsLimit: limit ?? Database.maximumResults
        )
        try output.show(
            [
                "predicate": .string("\(query.predicate)"),
                "plan": .string(work.plan),
                "rowsRead": .integer(Int64(work.rowsRead)),
                "rowsKept": .integer(Int64(work.rowsKept)),
                "microseconds": .integer(Int64(work.duration / .microseconds(1))),
            ],
            rows: [
                ["predicate", "\(query.predicate)"], ["plan", work.plan],
                ["rows read", "\(work.rowsRead)"], ["rows kept", "\(work.rowsKept)"],
                ["time", (work.duration / .milliseconds(1)).text(digits: 2) + " ms"],
            ]
        )
    }

    private func list(
        _ query: Query,
        in database: Database,
        _ zoneID: RecordZone.ID?
    ) async throws {
        var page = try await database.records(
            matching: query,
            inZoneWith: zoneID,
            desiredKeys: keys.list,
            resultsLimit: limit ?? Database.maximumResults
        )
        var rows = Rows(of: database, zoneID, isJSON: output.json)
        var count = 0
        while true {
            for (_, result) in page.matchResults { try rows.add(try result.get()) }
            count += page.matchResults.count
            // A page may hold fewer than are wanted.
            let left = (limit ?? 0) - count
            guard all || left > 0, let cursor = page.queryCursor else { break }
            page = try await database.records(
                continuingMatchFrom: cursor,
                desiredKeys: keys.list,
                resultsLimit: all ? limit ?? Database.maximumResults : left
            )
        }
        try rows.listing.end()
        if page.queryCursor != nil { complain(QueryCommand.more) }
    }

    private static let more = "There are more; --all fetches them."

    /// The rows of a table with records.
    private struct Rows {
        var listing: Listing
        private let showsZones: Bool

        init(of database: Database, _ zoneID: RecordZone.ID?, isJSON: Bool) {
            // Names are unique in their zones only.
            showsZones = database.databaseScope == .private && zoneID == nil
            let columns = ["NAME", "TYPE", "MODIFIED", "FIELDS"]
            listing = Listing((showsZones ? ["ZONE"] : []) + columns, isJSON: isJSON)
        }

        mutating func add(_ record: Record) throws {
            let zone = showsZones ? [record.recordID.zoneID.zoneName] : []
            try listing.add(record.json, row: zone + record.row)
        }
    }

    // MARK: Without an index

    private static let allRecords = "TRUEPREDICATE"

    private var asksForAll: Bool {
        format == QueryCommand.allRecords && sort == nil && near == nil
    }

    /// Does without the index that leads to all records of the type.
    private func scan(
        _ database: Database,
        _ zoneID: RecordZone.ID?,
        _ missing: MissingIndex
    ) async throws {
        if explain { return try explainScan() }
        let wanted = count ? [] : keys.list
        let zones = try await database.zonesToScan(zoneID, keys: wanted)
        if count {
            var count = 0
            let scan = TypeScan(recordType: type, limit: nil, looks: nil)
            _ = try await scan.run(through: zones) { _ in count += 1 }
            return try show(count)
        }
        let scan = TypeScan(
            recordType: type,
            limit: all ? nil : limit ?? TypeScan.usualLimit,
            looks: all ? nil : TypeScan.mostLooks
        )
        var rows = Rows(of: database, zoneID, isJSON: output.json)
        let end = try await scan.run(through: zones) { try rows.add($0) }
        try rows.listing.end()
        switch end {
        case .complete: break
        case .more: complain(QueryCommand.more)
        case .cut:
            complain(
                "Looked at \(TypeScan.mostLooks) records of all types; --all looks at the others, "
                    + "too. With an index none need be looked at: add one, "
                    + (try missing.advice(in: connection.user.scope))
            )
        }
    }

    private func explainScan() throws {
        let plan = "list records of all types by name and keep those of this type: no index"
        try output.show(
            ["predicate": .string(format), "plan": .string(plan)],
            rows: [["predicate", format], ["plan", plan]]
        )
    }
}

/// `KEY,LATITUDE,LONGITUDE` on the command line.
struct Near: ExpressibleByArgument, Equatable {
    var descriptor: Query.SortDescriptor

    init?(argument: String) {
        let parts = argument.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count == 3, let latitude = Double(parts[1]), let longitude = Double(parts[2])
        else { return nil }
        descriptor = Query.SortDescriptor(
            key: String(parts[0]),
            relativeLocation: Location(latitude: latitude, longitude: longitude)
        )
    }
}
