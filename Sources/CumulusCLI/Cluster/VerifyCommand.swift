// `cumulus cluster verify`: reads all rows of a node's store, compares its records with another
// node's, and mends what is damaged.

import ArgumentParser
import Cumulus
import CumulusTerminal

struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Read all rows of a node, compare its records with another node's, and mend it.",
        discussion: help(
            "cumulus cluster verify 5d25f33e --token-file operator.token",
            "cumulus cluster verify 5d25f33e --repair --json | jq '.damagedRows[]'",
            note: """
                The node reads every row of its store and names those that can't be read or don't \
                decode. Then both nodes read all their records and go on meanwhile. The other one \
                sends digests, and where these differ, records, which are compared. Records of \
                which one has read more than the other are left out; run it again for those. With \
                --repair, what is damaged or differs is replaced by what the other node holds; \
                what only this one holds stays: run it on the other node for that. The node also \
                reads its own chunks of assets; what is damaged it fetches anew. It takes as long \
                as it takes, and says how far it is every second; it ends if the node says nothing \
                for 60 seconds, or as long as --timeout says. Exit code 1 if anything differs or \
                is damaged and is not mended.
                """
        )
    )

    @Argument(help: "The other node's id, or the first digits of it.") var node: String
    @Flag(help: "Take the other node's version of what differs or is damaged.") var repair = false
    @OptionGroup var connection: NodeConnection
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let verdict = try await connection.withOperator(timeout: 60) { cluster in
            let peer = try await cluster.member(node)
            var progress = ProgressBar(total: nil)
            progress.draw("comparing with \(peer.nodeID)")
            let result = await Result {
                try await cluster.verify(with: peer.nodeID, repairs: repair) { verdict in
                    progress.draw(verdict.counts)
                }
            }
            progress.clear()
            return try result.get()
        }
        try output.show(verdict.json, rows: verdict.lines)
        if !verdict.isWhole { throw ExitCode.failure }
    }
}

extension NodeOperator.Verdict {
    fileprivate var isWhole: Bool {
        different <= repaired && damaged <= mended && damagedChunks == 0
    }

    /// How far it is, in a line.
    fileprivate var counts: String {
        "\(counted(rows, "row")) read, \(damaged) damaged; \(counted(records, "record")) compared, "
            + differ
    }

    fileprivate var json: JSON {
        func count(_ number: UInt64) -> JSON { .integer(Int64(clamping: number)) }
        return .object([
            JSON.Member("rows", count(rows)), JSON.Member("damaged", count(damaged)),
            JSON.Member("mended", count(mended)),
            JSON.Member("records", count(records)), JSON.Member("unsettled", count(unsettled)),
            JSON.Member("different", count(different)), JSON.Member("repaired", count(repaired)),
            JSON.Member("chunks", count(chunks)),
            JSON.Member("damagedChunks", count(damagedChunks)),
            JSON.Member("incompleteAssets", count(incompleteAssets)),
            JSON.Member("damagedRows", .array(damagedRows.map(\.json))),
            JSON.Member("differences", .array(differences.map(\.json))),
        ])
    }

    fileprivate var lines: [[String]] {
        let read = "\(counted(rows, "row")) read, \(damaged) damaged, \(mended) mended"
        let counts = "\(counted(records, "record")) compared, \(differ), \(repaired) repaired"
        let rest = unsettled == 0 ? "" : ", \(unsettled) not settled yet"
        return [[read], [counts + rest], [assets]] + damagedRows.map { [$0.line] }
            + differences.map { ["\($0.what): \($0.place) '\($0.recordName)'"] } + advice
    }

    private var differ: String { different == 1 ? "1 differs" : "\(different) differ" }

    private var assets: String {
        let counts = "\(counted(chunks, "chunk")) of assets read, \(damagedChunks) damaged"
        let lack = incompleteAssets == 1 ? "lacks some of its own" : "lack some of theirs"
        return incompleteAssets == 0
            ? counts : "\(counts), \(counted(incompleteAssets, "asset")) \(lack)"
    }

    private var advice: [[String]] {
        let outcomes = Set(damagedRows.map(\.outcome))
        var advice: [[String]] = []
        if outcomes.contains("not asked") { advice.append(["mend what is damaged with --repair"]) }
        if outcomes.contains("not settled") {
            advice.append(["not settled: run it again, or compare with another node"])
        }
        if outcomes.contains("not mendable") {
            advice.append([
                """
                not mendable: let the node leave, and join again with an empty data directory; \
                restore a backup if it is the only one
                """
            ])
        }
        return advice
    }
}

extension NodeOperator.Verdict.DamagedRow {
    fileprivate var line: String {
        if recordName.isEmpty { return "damaged, \(outcome): \(kind), row \(key)" }
        let place = "\(container) \(environment) \(database)\(owner.isEmpty ? "" : " of \(owner)")"
        return "damaged, \(outcome): \(place), \(zone), '\(recordName)'"
    }

    fileprivate var json: JSON {
        .object([
            JSON.Member("kind", .string(kind)), JSON.Member("outcome", .string(outcome)),
            JSON.Member("container", .string(container)),
            JSON.Member("environment", .string(environment)),
            JSON.Member("database", .string(database)), JSON.Member("owner", .string(owner)),
            JSON.Member("zone", .string(zone)), JSON.Member("recordName", .string(recordName)),
            JSON.Member("key", .string(key)),
        ])
    }
}

extension NodeOperator.Verdict.Difference {
    fileprivate var place: String {
        "\(container) \(environment) \(database)\(owner.isEmpty ? "" : " of \(owner)"), \(zone),"
    }

    fileprivate var json: JSON {
        .object([
            JSON.Member("container", .string(container)),
            JSON.Member("environment", .string(environment)),
            JSON.Member("database", .string(database)), JSON.Member("owner", .string(owner)),
            JSON.Member("zone", .string(zone)), JSON.Member("recordName", .string(recordName)),
            JSON.Member("what", .string(what)),
        ])
    }
}
