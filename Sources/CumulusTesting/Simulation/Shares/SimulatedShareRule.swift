// The rules of sharing that a simulation can break on purpose, one at a time.
//
// Drawn on by `cumulus-sim --shares --break`: each has to make a check fail. Some are broken where
// nodes read, by `BrokenRules`; some in a device's fetch; the others by the simulation itself,
// which then does something else than a node.

import CumulusStorage

package enum SimulatedShareRule: String, CaseIterable, Sendable {
    /// Whether a record was in a tree at the token is computed from how records hung then.
    case asOf = "asof"
    /// What hangs below a record that moved, came or went is told with it.
    case subtree
    /// A root that is new to the token is told with all that hangs below it.
    case gained
    /// What hung below a root that is lost is told as deleted.
    case lost
    /// A token from before a state sync has expired.
    case `break`
    /// A token from before something that was purged has expired.
    case horizon
    /// A chain of parents that comes back to itself leads nowhere.
    case cycle
    /// A chain of parents ends at a record that does not live.
    case deadEnd = "deadend"
    /// How records hung is kept also while nothing is shared in the zone.
    case always
    /// The end of a life is kept when its name is used again.
    case ends
    /// A move that arrives after the end of its life is kept.
    case late
    /// Each of several ends of a life is kept.
    case again
    /// A share is of one life of its root.
    case birth
    /// Of several shares of a root the one counts that the root names.
    case named
    /// The lives of a share's record count together.
    case join
    /// A removal takes away every invitation up to the one it saw, whatever is written beside it.
    case removal
    /// An answer counts for the invitation that it answered.
    case answer
    /// Leaving is kept apart from accepting, and only grows.
    case left
    /// Of two grants the later version stands, then the lesser permission; no clock decides.
    case numbers
    /// The token of the shared database says which zones were seen.
    case zones

    // Of public shares and of invitations by handle.

    /// A user who joined by the URL may do what the share's public permission says now.
    case permission
    /// A user who joined by the URL is in only while the public era lasts in which it joined.
    case eras
    /// A closed public era stays closed, whatever is changed beside that.
    case closed
    /// A user who was removed in a public era can't join again in it.
    case removed
    /// A participant who may read writes nothing.
    case readers
    /// Opening a share drops pending invitations.
    case dropped
    /// A user of a former public era is in no list, and is not removed by being missing there.
    case former
    /// While a share is open no user is invited, and no invited one is removed.
    case lists
    /// While a share is open no pending invitation is accepted.
    case waiting
    /// The user who holds a handle at the node accepts an invitation of it.
    case holders
    /// An invitation of a handle stays with the user who accepted it, also when another
    /// user holds the handle later.
    case claimed
    /// A user who joined by the URL is shown no participant but itself.
    case hidden
    /// A look-up by handle names a user only if it is discoverable.
    case discoverable

    /// Only histories of public shares can show it.
    var isOfPublicShares: Bool {
        switch self {
        case .permission, .eras, .closed, .removed, .readers, .dropped, .former, .lists, .waiting,
            .holders,
            .claimed, .hidden, .discoverable:
            true
        default: false
        }
    }

    /// The part of it that the stores' readers break.
    var inStores: BrokenRules {
        switch self {
        case .cycle: .treeCycles
        case .deadEnd: .treeEnds
        case .birth: .sharedLives
        case .named: .namedShares
        case .join: .joinedShares
        case .late: .lateMoves
        case .again: .laterEnds
        case .permission: .publicPermissions
        case .eras: .publicEras
        case .closed: .closedEras
        case .removed: .removedEras
        case .readers: .readers
        case .dropped: .droppedInvitations
        case .former: .formerUsers
        case .lists: .openLists
        case .waiting: .waitingInvitations
        case .holders: .heldHandles
        case .claimed: .claimedInvitations
        case .hidden: .hiddenParticipants
        case .discoverable: .discoverable
        default: []
        }
    }

    /// The part of it that a device's fetches break.
    var inFetches: BrokenRules {
        switch self {
        case .asOf: .formerTrees
        case .subtree: .movedTrees
        case .gained: .gainedRoots
        case .lost: .lostRoots
        case .horizon: .tokenHorizon
        case .zones: .toldZones
        default: []
        }
    }
}
