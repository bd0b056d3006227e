// The rules that a history can do without, to show that each matters and that it is watched.
//
// Read by `cumulus-sim --rules` and `--break`, by the histories, and by the tests that break each
// rule.
//
// Folder: the table of rules. Read `Rule`; its rows are in `ReplicationRules`, `FeedRules`,
// `AccountRules` and `ShareRules`.

import CumulusStorage

package enum Rule: CaseIterable, Sendable {
    case causality, ties, ownCommits, incarnations, vector, frontier, compensation, peerHorizon,
        raisedHorizon, knownDeaths, snapshot, resumedSnapshot, resumedPosition, tokenHorizon,
        laterHorizon, commitPages, nodeBehind, seen, retired, floors, cursorSeen, indexOwed, staged,
        losses, knownEnds, repeats, latest, debts, keys, zeroKeys, earliest, ends, joinedEnds,
        reportedEnds, carriedKeys, doubledLives, shownCreated
    case feedBehind, feedBreak, feedMissing, feedSince, feedCovered, feedFirst, feedFold, feedMixed,
        feedCut, feedReaders, feedDatabase, feedAsked, feedOwed, readMarks
    case marks
    case version, apart, generations, number, role, ids, first, `operator`, deletedUsers
    case formerTrees, movedTrees, gainedRoots, lostRoots, `break`, treeCycles, treeEnds, always,
        reusedNames, lateMoves, laterEnds, sharedLives, namedShares, joinedShares, removal, answer,
        left, numbers, toldZones
    case publicPermissions, publicEras, closedEras, removedEras, readers, droppedInvitations,
        formerUsers, openLists, waitingInvitations, heldHandles, claimedInvitations,
        hiddenParticipants, discoverable

    /// The description of a rule.
    struct Row {
        let holds: String
        let without: String
        var check: String?
        /// Histories that show it beside the one of its table.
        var also: [HistoryKind] = []
    }

    private static let rows: [(history: HistoryKind, rows: [Rule: Row])] = [
        (.stores, ofReplication), (.stores, ofFeeds), (.nodes, ofMarks), (.accounts, ofAccounts),
        (.shares, ofShares), (.publicShares, ofPublicShares),
    ]

    private var found: (history: HistoryKind, row: Row) {
        for (history, rows) in Self.rows {
            if let row = rows[self] { return (history, row) }
        }
        preconditionFailure("the rule '\(name)' has no row")
    }

    /// The name that is typed: `own-commits` of `ownCommits`.
    package var name: String {
        "\(self)".map { $0.isUppercase ? "-\($0.lowercased())" : "\($0)" }.joined()
    }

    package init?(name: String) {
        guard let rule = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = rule
    }

    /// The rule itself, in a sentence.
    package var holds: String { found.row.holds }

    /// A sentence that says what happens without the rule.
    package var without: String { found.row.without }

    /// The check that has to notice; nil: any may, or an error.
    package var check: String? { found.row.check }

    /// The histories that show that it is broken.
    package var histories: [HistoryKind] { [found.history] + found.row.also }

    /// The rules that stores, nodes and fetches leave out; empty if the history itself breaks the
    /// rule.
    var switches: BrokenRules { Self.named[self].map { [$0] } ?? [] }

    /// The switches of the rules: each has the name of its rule.
    private static let named = Dictionary(
        uniqueKeysWithValues: BrokenRules.Switch.allCases.compactMap { found in
            allCases.first { "\($0)" == "\(found)" }.map { ($0, found) }
        }
    )
}
