// The rules that a simulation can break on purpose, one at a time.
//
// Drawn on by `cumulus-sim --break`: each has to make some checker fail.

import CumulusStorage

/// A rule that a simulation can break, to show that it matters and that it is watched.
package enum SimulatedRule: String, CaseIterable, Sendable {
    /// A commit waits for what it depends on.
    case causality
    /// Stamps of one time are ordered by their incarnations.
    case ties
    /// A restored node takes back what it made itself.
    case ownCommits = "own-commits"
    /// Every run is an incarnation of its own.
    case incarnations
    /// Vector and data are stored together.
    case vector
    /// The frontier counts every commit that names a record.
    case frontier
    /// Children whose owner was deleted elsewhere are deleted too.
    case compensation
    /// A reader of state from below a zone's horizon takes all of the zone.
    case peerHorizon = "peer-horizon"
    /// What is forgotten raises the zone's horizon.
    case raisedHorizon = "raised-horizon"
    /// A life that the donor of a full sync knows to be dead ends.
    case knownDeaths = "known-deaths"
    /// State comes from one snapshot.
    case snapshot
    /// A state sync whose connection broke goes on in the same snapshot.
    case resumedSnapshot = "resumed-snapshot"
    /// It goes on behind what came, not behind what was sent.
    case resumedPosition = "resumed-position"
    /// A change token from below a zone's horizon has expired.
    case tokenHorizon = "token-horizon"
    /// That holds for every page of a fetch, not only for its first one.
    case laterHorizon = "later-horizon"
    /// A page of changes that ends inside a commit goes on inside it.
    case commitPages = "commit-pages"
    /// A node that has not read what a change token covers does not answer.
    case nodeBehind = "node-behind"
    /// Nor does one that has not read what the last page showed.
    case seen
    /// A run is retired as long as it has no more commits than a later one depends on.
    case retired
    /// What a save of a whole record leaves out vanishes.
    case floors
    /// A node that has not read what the last page of a query showed does not go on with it.
    case cursorSeen = "cursor-seen"
    /// A query looks up the records whose rows in indexes are owed.
    case indexOwed = "index-owed"
    /// Pages of state wait, and nobody reads them, until all of them are there.
    case staged
    /// A life that ends is told as lost if the commit that ended it didn't know all of it.
    case losses
    /// Nor is it told otherwise.
    case knownEnds = "known-ends"
    /// An increment's repetition is known as one for as long as it can come.
    case repeats
    /// Of two writes that don't know of each other the later one stands; broken in the replay too.
    case latest
    /// What a long cascade leaves for later turns of the writer is written down.
    case debts
    /// A node that has not read what a device was told does not answer it.
    case feedBehind = "feed-behind"
    /// A feed that would cross a change of records without commits begins anew.
    case feedBreak = "feed-break"
    /// So does one that no kept milestone reaches back to.
    case feedMissing = "feed-missing"
    /// A subscription that a node learned of later than a feed's place begins anew.
    case feedSince = "feed-since"
    /// What a device has seen elsewhere is not told again.
    case feedCovered = "feed-covered"
    /// A feed goes on from the last milestone that the device has seen all of.
    case feedFirst = "feed-first"
    /// Several changes of a record are told as one, from the first to the last.
    case feedFold = "feed-fold"
    /// Records that were changed concurrently are told again after a change of nodes.
    case feedMixed = "feed-mixed"
    /// What a device holds that left within pages is uncertain.
    case feedCut = "feed-cut"
    /// A feed tells a user of the records that it may read, and of no others.
    case feedReaders = "feed-readers"
    /// What a feed tells of concurrent changes is of the subscription's database.
    case feedDatabase = "feed-database"
    /// What came and went is told to a device that may have asked in between.
    case feedAsked = "feed-asked"
    /// A feed waits for changes that are still to be compared with its topics.
    case feedOwed = "feed-owed"
    /// What a user marks as read at several nodes counts together.
    case readMarks = "read-marks"
    /// Creations by one request are one life.
    case keys
    /// So are counters that increments began at several nodes.
    case zeroKeys = "zero-keys"
    /// Of the creations by one request the earliest counts.
    case earliest
    /// What is put into an ended life by a node that did not know the end is lost.
    case ends
    /// A state sync tells of ended lives.
    case joinedEnds = "joined-ends"
    /// An end is forgotten when all members have reported it.
    case reportedEnds = "reported-ends"
    /// Deletions name the counters that they end.
    case carriedKeys = "carried-keys"
    /// An increment is a repetition only within one life of a counter.
    case doubledLives = "doubled-lives"
    /// Of several lives those that were created are shown before counters.
    case shownCreated = "shown-created"

    /// The part of it that stores break.
    var inStores: BrokenRules {
        switch self {
        case .ties: .ties
        case .frontier: .frontier
        case .peerHorizon: .peerHorizon
        case .raisedHorizon: .raisedHorizon
        case .knownDeaths: .knownDeaths
        case .compensation: .compensation
        case .tokenHorizon: .tokenHorizon
        case .laterHorizon: .laterHorizon
        case .commitPages: .commitPages
        case .nodeBehind: .nodeBehind
        case .seen: .seen
        case .retired: .retired
        case .floors: .floors
        case .cursorSeen: .cursorSeen
        case .indexOwed: .indexOwed
        case .staged: .staged
        case .losses: .losses
        case .knownEnds: .knownEnds
        case .latest: .latest
        case .debts: .debts
        case .feedBehind: .feedBehind
        case .feedBreak: .feedBreak
        case .feedMissing: .feedMissing
        case .feedSince: .feedSince
        case .feedCovered: .feedCovered
        case .feedFirst: .feedFirst
        case .feedFold: .feedFold
        case .feedMixed: .feedMixed
        case .feedCut: .feedCut
        case .feedReaders: .feedReaders
        case .feedDatabase: .feedDatabase
        case .feedAsked: .feedAsked
        case .feedOwed: .feedOwed
        case .readMarks: .readMarks
        case .keys: .keys
        case .zeroKeys: .zeroKeys
        case .earliest: .earliest
        case .ends: .ends
        case .joinedEnds: .joinedEnds
        case .reportedEnds: .reportedEnds
        case .carriedKeys: .carriedKeys
        case .doubledLives: .doubledLives
        case .shownCreated: .shownCreated
        default: []
        }
    }
}

/// A rule that simulated whole nodes can break, for the same end.
package enum SimulatedNodeRule: String, CaseIterable, Sendable {
    /// A change token from below a zone's horizon has expired.
    case tokenHorizon = "token-horizon"
    /// A node that has not read what a change token covers does not go on with it.
    case nodeBehind = "node-behind"
    /// What a mark says is lost is not waited for.
    case marks

    /// The part of it that nodes break.
    var inNodes: BrokenRules {
        switch self {
        case .tokenHorizon: .tokenHorizon
        case .nodeBehind: .nodeBehind
        case .marks: .marks
        }
    }
}
