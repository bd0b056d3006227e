// Rules that a simulation takes away from stores, nodes and fetches, to see that its checks notice.
//
// The set is empty in a real node. The code that keeps a rule checks here whether the rule is on.
// The table `Rule` of `CumulusTesting` describes each rule and what happens without it. It also
// lists rules that a simulation breaks by itself, by not doing what a node does.

package struct BrokenRules: Hashable, Sendable, ExpressibleByArrayLiteral {
    /// A rule, by its name in the table.
    package enum Switch: UInt8, CaseIterable, Sendable {
        case ties, frontier, peerHorizon, raisedHorizon, knownDeaths, compensation, tokenHorizon,
            laterHorizon, commitPages, nodeBehind, seen, retired, floors, cursorSeen, staged,
            losses, knownEnds, latest, debts, marks, feedBehind, feedBreak, feedMissing, feedSince,
            feedCovered, feedFirst, feedFold, feedMixed, readMarks, feedCut, feedReaders,
            sharedLives, namedShares, joinedShares, treeCycles, treeEnds, formerTrees, movedTrees,
            gainedRoots, lostRoots, toldZones, lateMoves, laterEnds, publicPermissions, publicEras,
            closedEras, removedEras, readers, droppedInvitations, formerUsers, openLists,
            waitingInvitations, heldHandles, claimedInvitations, hiddenParticipants, discoverable,
            feedDatabase, feedAsked, feedOwed, indexOwed, keys, zeroKeys, earliest, ends,
            knownRequests, joinedEnds, reportedEnds, keptEnds, shownCreated, doubledLives,
            carriedKeys, repeatRows, deletedUsers
    }

    private let bits: UInt128

    package init(arrayLiteral switches: Switch...) {
        bits = switches.reduce(0) { $0 | 1 << $1.rawValue }
    }

    package func contains(_ rule: Switch) -> Bool { bits & 1 << rule.rawValue != 0 }
}
