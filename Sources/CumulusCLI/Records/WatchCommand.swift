// `cumulus watch`: shows what the user's subscriptions tell, as it happens. A file carries the
// token from one run to the next.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal
import CumulusTransfer

struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Show what the user's subscriptions tell, as it happens.",
        discussion: help(
            "cumulus watch",
            "cumulus watch --since feed.token --json",
            "cumulus watch --since feed.token --once",
            note: """
                Subscriptions are made by 'cumulus subscription save'; those of all databases of \
                the container are shown. It goes on until it is interrupted: at another node if \
                one is lost, and if no node can be reached it tries again until one can. It ends \
                with 69 only if none could be reached from the beginning, or with --once.
                Without --since it begins now. With it, it begins where the run ended that \
                wrote the file; the file is written after each page that was shown. If the token \
                has expired (21), delete the file and ask anew, by a query or 'cumulus changes'.
                A line 'reset' names a subscription of which not everything can be told: ask anew \
                what it watches. A 'reset' without a name means all subscriptions. With --json \
                each notification is an object on a line of its own, and the line \
                {"news": "upToDate"} says that all so far was shown.
                """
        )
    )

    @Option(help: "File that carries the token from one run to the next.")
    var since: String?
    @Flag(help: "End when all that happened so far is shown.") var once = false
    @OptionGroup var connection: Connection
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let file = FeedTokenFile(path: since)
        let start = try file.read()
        try await connection.withContainer { container in
            let interruption = Interruption { Task { await container.close() } }
            defer { interruption.stopListening() }
            do {
                try await watch(container, from: start, file)
            } catch let error as ServiceError where error.code == .operationCancelled {
                guard interruption.hasCome else { throw error }
            }
        }
    }

    private func watch(
        _ container: Container,
        from token: FeedToken?,
        _ file: FeedTokenFile
    ) async throws {
        var listing = FeedListing(isJSON: output.json)
        var last = token
        var (hasBegun, isAway) = (false, false)
        while true {
            do {
                for try await page in container.notifications(since: last) {
                    try listing.show(page)
                    try file.write(page.token)
                    if once, page.isUpToDate { return }
                    last = page.token
                    (hasBegun, isAway) = (true, false)
                }
                return
            } catch var error as ServiceError where error.isUnreachable && hasBegun && !once {
                // Reported once for each outage.
                if !isAway {
                    error.message += "; trying again until a node can be reached"
                    Failure(error)?.report()
                }
                isAway = true
                try await Task.sleep(for: .seconds(1))
            }
        }
    }
}

/// The file that carries the token of a feed from one run to the next.
struct FeedTokenFile {
    /// nil means that no token is kept.
    let path: String?

    /// The token in the file; nil if there is no file yet.
    func read() throws -> FeedToken? {
        guard let path, FileManager.default.fileExists(atPath: path) else { return nil }
        guard let text = try? String(contentsOfFile: path, encoding: .utf8),
            let token = FeedToken(text: text.trimmed)
        else {
            throw InputProblem("\(path) holds no token of a feed; delete it to begin now")
        }
        return token
    }

    /// Writes a token, once the page that came with it is shown.
    ///
    /// The file is replaced as a whole.
    func write(_ token: FeedToken) throws {
        guard let path else { return }
        do {
            try Data((token.text + "\n").utf8).write(to: URL(filePath: path), options: .atomic)
        } catch {
            throw OutputProblem("the token can't be written to \(path)")
        }
    }
}

/// Prints a feed, page by page.
struct FeedListing {
    static let columns = [
        "CHANGED", "SUBSCRIPTION", "NEWS", "DATABASE", "ZONE", "NAME", "FIELDS",
    ]
    private var listing: Listing
    /// Whether the last line says that all so far was shown.
    private var hasSaidUpToDate = false

    init(isJSON: Bool) {
        listing = Listing(FeedListing.columns, isJSON: isJSON, isEndless: true)
    }

    mutating func show(_ page: FeedPage) throws {
        for line in FeedLine.lines(of: page, afterUpToDate: hasSaidUpToDate) {
            if line.row.isEmpty && !listing.isJSON { continue }
            try listing.add(line.json, row: line.row)
        }
        try listing.flush()
        hasSaidUpToDate = page.isUpToDate
    }
}

/// A line about a feed, for machines and for people.
struct FeedLine: Equatable {
    var json: JSON
    /// The cells of the table; empty if the line is for machines only.
    var row: [String]

    /// The lines of a page.
    ///
    /// - Parameter afterUpToDate: Whether the last line before the page says that all was shown.
    static func lines(of page: FeedPage, afterUpToDate: Bool) -> [FeedLine] {
        var lines = page.notifications.map(FeedLine.init)
        switch page.reset {
        case .all?: lines.append(FeedLine(reset: nil))
        case .subscriptions(let names)?: lines += names.map { FeedLine(reset: $0) }
        case nil: break
        }
        if page.isUpToDate, !(lines.isEmpty && afterUpToDate) {
            lines.append(FeedLine(json: ["news": "upToDate"], row: []))
        }
        return lines
    }

    private init(json: JSON, row: [String]) {
        self.json = json
        self.row = row
    }

    /// - Parameter name: The subscription that is reset; nil means all subscriptions.
    private init(reset name: SubscriptionName?) {
        var members = [JSON.Member("news", "reset")]
        if let name {
            members.append(JSON.Member("subscriptionID", .string(name.subscriptionID)))
            members.append(JSON.Member("database", .string(name.databaseScope.name)))
        }
        json = .object(members)
        row = ["", name?.subscriptionID ?? "", "reset", name?.databaseScope.name ?? ""]
    }

    private init(_ notification: FeedNotification) {
        json = .object(notification.members)
        row = notification.row
    }
}

extension FeedNotification {
    /// The cells of `FeedListing.columns`.
    var row: [String] {
        let head = [changedAt.text, subscriptionID]
        let database = databaseScope.name
        switch news {
        case .record(let news):
            let id = news.recordID
            let fields = JSON.object(news.fieldMembers).text
            return head + [
                "\(news.reason) (\(news.transition))", database, id.zoneID.zoneName,
                id.recordName, news.fields.isEmpty ? "" : fields,
            ]
        case .zoneDeleted(let zone): return head + ["zone deleted", database, zone.text]
        case .zones(let zones, let more):
            let names = zones.map(\.text) + (more ? ["…"] : [])
            return head + ["zones changed", database, names.joined(separator: ", ")]
        }
    }

    /// All parts, for `--json`.
    var members: [JSON.Member] {
        var members = newsMembers
        members += [
            JSON.Member("notificationID", .string("\(id)")),
            JSON.Member("subscriptionID", .string(subscriptionID)),
            JSON.Member("database", .string(databaseScope.name)),
            JSON.Member("changed", .string(changedAt.text)),
        ]
        if let changedBy {
            members.append(JSON.Member("changedBy", .string(changedBy.recordName)))
        }
        if let notificationInfo {
            members.append(JSON.Member("notificationInfo", notificationInfo.json))
        }
        if isPruned { members.append(JSON.Member("isPruned", .bool(true))) }
        return members
    }

    private var newsMembers: [JSON.Member] {
        switch news {
        case .record(let news):
            return [
                JSON.Member("news", "record"),
                JSON.Member("reason", .string("\(news.reason)")),
                JSON.Member("transition", .string("\(news.transition)")),
                JSON.Member("recordName", .string(news.recordID.recordName)),
                JSON.Member("recordType", .string(news.recordType)),
                JSON.Member("zoneName", .string(news.recordID.zoneID.zoneName)),
                JSON.Member("fields", .object(news.fieldMembers)),
            ]
        case .zoneDeleted(let zone):
            return [
                JSON.Member("news", "zoneDeleted"),
                JSON.Member("zoneName", .string(zone.zoneName)),
            ] + zone.ownerMembers
        case .zones(let zones, let more):
            return [
                JSON.Member("news", "zones"),
                JSON.Member("zoneNames", .array(zones.map { .string($0.text) })),
                JSON.Member("more", .bool(more)),
            ]
        }
    }
}

extension RecordZone.ID {
    /// The name, after the owner's if that is another user.
    fileprivate var text: String { otherOwner.map { "\($0)/\(zoneName)" } ?? zoneName }

    fileprivate var ownerMembers: [JSON.Member] {
        otherOwner.map { [JSON.Member("ownerName", .string($0))] } ?? []
    }
}

extension FeedNotification.RecordNews {
    fileprivate var fieldMembers: [JSON.Member] {
        fields.sorted { $0.key < $1.key }.map { JSON.Member($0.key, $0.value.json) }
    }
}
