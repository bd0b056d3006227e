// Holds the table of costs in the article Costs to the methods that there are: a new method
// that not only operators may call says there what it may cost.

import CumulusModel
import CumulusTesting
import CumulusWire
import Foundation
import Testing

@testable import CumulusNode

@Suite struct CostTableTests {
    private static let article = "Sources/CumulusNode/CumulusNode.docc/Costs.md"

    /// The rows of the table, as cells.
    private func rows() throws -> [[String]] {
        let text = try String(contentsOf: Checkout.file(Self.article), encoding: .utf8)
        let section = text.split(separator: "\n## What a call may cost\n", maxSplits: 1).last ?? ""
        return section.split(separator: "\n").drop { !$0.hasPrefix("| calls |") }
            .prefix { $0.hasPrefix("|") }.dropFirst(2)
            .map { row in
                row.split(separator: "|", omittingEmptySubsequences: false)
                    .dropFirst().dropLast().map { $0.trimmingCharacters(in: .whitespaces) }
            }
    }

    /// Operators are trusted, so their own methods need no row.
    @Test func everyMethodOfUsersAndNodesHasItsCosts() throws {
        let rows = try rows()
        #expect(rows.allSatisfy { $0.count == 5 && !$0[4].isEmpty })
        let named = rows.flatMap { row in
            row[0].matches(of: /`([A-Z_]+)`/).map { String($0.output.1) }
        }
        let ours = MethodTable.entries.filter { !$0.needs.contains(.operator) }.map { entry in
            "\(entry.method)".map { $0.isUppercase ? "_\($0)" : $0.uppercased() }.joined()
        }
        #expect(named.sorted() == ours.sorted())
    }

    /// What the table says of limits is what the node keeps.
    @Test(
        arguments: [
            ("400 items", Limits.standard.itemsPerRequest, 400),
            ("1,000 comparisons and connectives", Limits.standard.predicateNodes, 1_000),
            ("400 million", Limits.standard.querySteps, 400_000_000),
            ("20,000 steps of a batch", Limits.standard.comparisonSteps, 20_000),
            ("64 MiB of a container's changes", Limits.standard.owedChangeBytes, 64 << 20),
            ("4,000 rows of indexes", Limits.standard.indexRowsPerTurn, 4_000),
            ("1,000 records of a zone", Limits.standard.owedRecordsPerZone, 1_000),
            ("2,000 references", Limits.standard.ownersPerRequest, 2_000),
            ("250 records of a cascade", Limits.standard.cascadeRecords, 250),
            ("4 MiB of stored records", Limits.standard.storedBytesPerRequest, 4 << 20),
            ("2 MiB of them in a turn", Limits.standard.storedBytesPerTurn, 2 << 20),
            (
                "1,000,000 records of a request's cascades",
                Limits.standard.recordsPerCascade, 1_000_000
            ),
            ("four long cascades", Limits.standard.cascadesAtOnce, 4),
            ("100 handles", Limits.standard.handlesPerRequest, 100),
            ("1,000 lists of chunks", Limits.standard.assetsPerRequest, 1_000),
            ("messages of 1,024 chunks", Limits.standard.chunksPerMessage, 1_024),
            ("101 participants", Limits.standard.participantsPerShare + 1, 101),
            ("1,500 remembered", Limits.standard.peoplePerShare, 1_500),
            ("100,000 ends", Limits.standard.endsPerRecord, 100_000),
            ("1,000 types", Limits.standard.typesPerSchema, 1_000),
            ("10,000 fields", Limits.standard.fieldsPerSchema, 10_000),
        ] as [(String, Int, Int)]
    )
    func limitsAreAsTheTableSays(words: String, limit: Int, stated: Int) throws {
        #expect(limit == stated)
        #expect(try rows().contains { row in row.contains { $0.contains(words) } }, "\(words)")
    }
}
