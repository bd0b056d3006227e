// Rules of replication that a simulation can break, to see that its checkers notice.
//
// Always empty in a node. The other rules are broken by the simulation itself, which then doesn't
// do what a node does.

package struct BrokenRules: OptionSet, Hashable, Sendable {
    package let rawValue: UInt128

    package init(rawValue: UInt128) {
        self.rawValue = rawValue
    }

    /// Of two writes of one millisecond the one that arrives last stands.
    package static let ties = BrokenRules(rawValue: 1)
    /// A commit that changes nothing leaves no trace in the frontier.
    package static let frontier = BrokenRules(rawValue: 2)
    /// A node that reads state from below a zone's horizon takes only what changed.
    package static let peerHorizon = BrokenRules(rawValue: 4)
    /// What is forgotten does not raise the zone's horizon.
    package static let raisedHorizon = BrokenRules(rawValue: 8)
    /// A life that a donor knows to be dead goes on in a full sync.
    package static let knownDeaths = BrokenRules(rawValue: 16)
    /// Children whose owner was deleted elsewhere stay.
    package static let compensation = BrokenRules(rawValue: 32)
    /// A fetch of changes goes on below a zone's horizon.
    package static let tokenHorizon = BrokenRules(rawValue: 64)
    /// Only the first page of a fetch of changes is held to the horizon.
    package static let laterHorizon = BrokenRules(rawValue: 128)
    /// A page of changes that ends inside a commit counts all of it as told.
    package static let commitPages = BrokenRules(rawValue: 256)
    /// A fetch of changes goes on at a node that has not read what its token covers.
    package static let nodeBehind = BrokenRules(rawValue: 512)
    /// A fetch of changes goes on at a node that has not read what its last page showed.
    package static let seen = BrokenRules(rawValue: 1024)
    /// A run counts as retired once a later one depends on it, however far it has come since.
    package static let retired = BrokenRules(rawValue: 2048)
    /// What a put of a whole record leaves out stays.
    package static let floors = BrokenRules(rawValue: 4096)
    /// A query goes on at a node that has not read what its last page showed.
    package static let cursorSeen = BrokenRules(rawValue: 8192)
    /// A page of a state sync is shown before the rest of the state has come.
    package static let staged = BrokenRules(rawValue: 16384)
    /// A life that ends is told as lost only if its latest change was not known.
    package static let losses = BrokenRules(rawValue: 32768)
    /// A life that ends is told as lost, also if the commit that ended it knew all of it.
    package static let knownEnds = BrokenRules(rawValue: 65536)
    /// Of two writes that don't know of each other the earlier one stands.
    package static let latest = BrokenRules(rawValue: 131072)
    /// What a long cascade leaves for later turns is not written down.
    package static let debts = BrokenRules(rawValue: 262144)
    /// What a mark says is lost is waited for.
    package static let marks = BrokenRules(rawValue: 524288)
    /// A feed goes on at a node that has not read what the device was told.
    package static let feedBehind = BrokenRules(rawValue: 1_048_576)
    /// A feed goes on across a change of records that no commit made.
    package static let feedBreak = BrokenRules(rawValue: 2_097_152)
    /// A feed goes on from the oldest rows that are kept, whatever was before them.
    package static let feedMissing = BrokenRules(rawValue: 4_194_304)
    /// A subscription counts as known for as long as the feed reaches back.
    package static let feedSince = BrokenRules(rawValue: 8_388_608)
    /// What the device was told elsewhere is told again.
    package static let feedCovered = BrokenRules(rawValue: 16_777_216)
    /// A feed begins at the end of what is there.
    package static let feedFirst = BrokenRules(rawValue: 33_554_432)
    /// Of several changes of a record only the last one says what it was before.
    package static let feedFold = BrokenRules(rawValue: 67_108_864)
    /// Concurrent changes of which a device has seen one are no reason to tell it more.
    package static let feedMixed = BrokenRules(rawValue: 134_217_728)
    /// Of what a user marks as read at two nodes the later marks stand alone.
    package static let readMarks = BrokenRules(rawValue: 268_435_456)
    /// A device that left within pages is told as if it had been told nothing of them.
    package static let feedCut = BrokenRules(rawValue: 536_870_912)
    /// News of records are told to users who may not read them.
    package static let feedReaders = BrokenRules(rawValue: 1_073_741_824)
    /// A share counts for whatever record has its root's name.
    package static let sharedLives = BrokenRules(rawValue: 1 << 31)
    /// All shares of a root count.
    package static let namedShares = BrokenRules(rawValue: 1 << 32)
    /// Of several lives of a share only the one counts that is shown.
    package static let joinedShares = BrokenRules(rawValue: 1 << 33)
    /// A chain of parents that comes back to itself leads to every root.
    package static let treeCycles = BrokenRules(rawValue: 1 << 34)
    /// A chain of parents goes on through records that are gone.
    package static let treeEnds = BrokenRules(rawValue: 1 << 35)
    /// A record that is in no tree counts as one that was in one at the token.
    package static let formerTrees = BrokenRules(rawValue: 1 << 36)
    /// Of what hangs below a record that came, went or moved nothing is told.
    package static let movedTrees = BrokenRules(rawValue: 1 << 37)
    /// What hangs below a root that is new to the token is told only if it changed.
    package static let gainedRoots = BrokenRules(rawValue: 1 << 38)
    /// What hung below a root that is seen no more is told only if it changed.
    package static let lostRoots = BrokenRules(rawValue: 1 << 39)
    /// The token of the shared database does not say which zones were told.
    package static let toldZones = BrokenRules(rawValue: 1 << 40)
    /// A move that arrives after the end of its life is not kept.
    package static let lateMoves = BrokenRules(rawValue: 1 << 41)
    /// Of several ends of a life only the first is kept.
    package static let laterEnds = BrokenRules(rawValue: 1 << 42)
    /// A user who joined by the URL keeps the permission of that time.
    package static let publicPermissions = BrokenRules(rawValue: 1 << 43)
    /// A user who joined by the URL is in whenever the share is open.
    package static let publicEras = BrokenRules(rawValue: 1 << 44)
    /// To close a share is a change of its public permission like others.
    package static let closedEras = BrokenRules(rawValue: 1 << 45)
    /// A removed user can join again by the URL.
    package static let removedEras = BrokenRules(rawValue: 1 << 46)
    /// A participant who may read may also write.
    package static let readers = BrokenRules(rawValue: 1 << 47)
    /// Opening a share keeps pending invitations.
    package static let droppedInvitations = BrokenRules(rawValue: 1 << 48)
    /// Users of a former public era count as participants while the share is open.
    package static let formerUsers = BrokenRules(rawValue: 1 << 49)
    /// Invited participants are added and removed while the share is open.
    package static let openLists = BrokenRules(rawValue: 1 << 50)
    /// A pending invitation is accepted while the share is open.
    package static let waitingInvitations = BrokenRules(rawValue: 1 << 51)
    /// Any user accepts an invitation of a handle.
    package static let heldHandles = BrokenRules(rawValue: 1 << 52)
    /// The present holder of a handle accepts what another user accepted before.
    package static let claimedInvitations = BrokenRules(rawValue: 1 << 53)
    /// A user who joined by the URL is shown all participants.
    package static let hiddenParticipants = BrokenRules(rawValue: 1 << 54)
    /// A look-up by handle names users who are not discoverable.
    package static let discoverable = BrokenRules(rawValue: 1 << 55)
    /// Concurrent changes of a record are told for equal names in any database.
    package static let feedDatabase = BrokenRules(rawValue: 1 << 56)
    /// What came and went is not told to a device that asked in between.
    package static let feedAsked = BrokenRules(rawValue: 1 << 57)
    /// A feed goes on past changes that are still to be compared with its topics.
    package static let feedOwed = BrokenRules(rawValue: 1 << 58)
    /// Queries trust indexes also where rows of records are owed.
    package static let indexOwed = BrokenRules(rawValue: 1 << 59)
    /// Creations by one request are lives of their own.
    package static let keys = BrokenRules(rawValue: 1 << 64)
    /// Counters that increments began at several nodes are lives of their own.
    package static let zeroKeys = BrokenRules(rawValue: 1 << 65)
    /// All creations by one request count.
    package static let earliest = BrokenRules(rawValue: 1 << 66)
    /// The end of a life ends only what is there.
    package static let ends = BrokenRules(rawValue: 1 << 67)
    /// A repeated request is known by its commits only.
    package static let knownRequests = BrokenRules(rawValue: 1 << 68)
    /// A state sync tells nothing of ends.
    package static let joinedEnds = BrokenRules(rawValue: 1 << 69)
    /// Ends are forgotten by age, also if a member has not reported them.
    package static let reportedEnds = BrokenRules(rawValue: 1 << 70)
    /// Ends go with their tombstones when a member is missing for long.
    package static let keptEnds = BrokenRules(rawValue: 1 << 71)
    /// The life that was born last is shown, also if increments began it.
    package static let shownCreated = BrokenRules(rawValue: 1 << 72)
    /// Increments of an earlier life with the same key count as this life's.
    package static let doubledLives = BrokenRules(rawValue: 1 << 73)
    /// Deletions do not name the counters that they end.
    package static let carriedKeys = BrokenRules(rawValue: 1 << 74)
    /// Feeds tell each creation by one request.
    package static let repeatRows = BrokenRules(rawValue: 1 << 75)
}
