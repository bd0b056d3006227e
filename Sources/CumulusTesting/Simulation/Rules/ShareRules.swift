// Rules of sharing, which histories of shares show, and of public shares and invitations by handle,
// which histories of public shares show.
//
// Part of the table `Rule`.

extension Rule {
    static let ofShares: [Rule: Row] = [
        .formerTrees: Row(
            holds: "Whether a record was in a tree at the token is computed from how it hung then.",
            without: "What changed and is in no tree is told as deleted."
        ),
        .movedTrees: Row(
            holds: "What hangs below a record that moved, came or went is told with it.",
            without: "Only the record is told."
        ),
        .gainedRoots: Row(
            holds: "A root that is new to the token is told with all that hangs below it.",
            without: "Only what changed there is told."
        ),
        .lostRoots: Row(
            holds: "What hung below a root that is lost is told as deleted.",
            without: "Only what changed there is told."
        ),
        .break: Row(
            holds: "A token from before a state sync has expired.",
            without: "What was before it counts as known."
        ),
        .treeCycles: Row(
            holds: "A chain of parents that comes back to itself leads nowhere.",
            without: "It leads to every root."
        ),
        .treeEnds: Row(
            holds: "A chain of parents ends at a record that does not live.",
            without: "It goes on as it did when the record lived."
        ),
        .always: Row(
            holds: "How records hung is kept also while nothing is shared in the zone.",
            without: "It is dropped."
        ),
        .reusedNames: Row(
            holds: "The end of a life is kept when its name is used again.",
            without: "It is dropped."
        ),
        .lateMoves: Row(
            holds: "A move that arrives after the end of its life is kept.",
            without: "It is dropped."
        ),
        .laterEnds: Row(
            holds: "Each of several ends of a life is kept.",
            without: "Only the first is."
        ),
        .sharedLives: Row(
            holds: "A share is of one life of its root.",
            without: "It is of any record with its root's name."
        ),
        .namedShares: Row(
            holds: "Of several shares of a root the one counts that the root names.",
            without: "All of them count."
        ),
        .joinedShares: Row(
            holds: "The lives of a share's record count together.",
            without: "Only the one counts that is shown."
        ),
        .removal: Row(
            holds: "A removal takes away every invitation up to the one that it saw.",
            without: "It is a permission like others."
        ),
        .answer: Row(
            holds: "An answer counts for the invitation that it answered.",
            without: "A user who accepted once has accepted."
        ),
        .left: Row(
            holds: "Leaving is kept apart from accepting, and only grows.",
            without: "It is another answer in the same place."
        ),
        .numbers: Row(
            holds: "Of two grants the later version stands, then the lesser permission.",
            without: "The one with the later clock stands."
        ),
        .toldZones: Row(
            holds: "The token of the shared database says which zones were seen.",
            without: "It doesn't."
        ),
    ]

    static let ofPublicShares: [Rule: Row] = [
        .publicPermissions: Row(
            holds: "A user who joined by the URL may do what the public permission says now.",
            without: "It keeps the permission of that time."
        ),
        .publicEras: Row(
            holds: "A user who joined by the URL is in only while that public era lasts.",
            without: "It is in whenever the share is open."
        ),
        .closedEras: Row(
            holds: "A closed public era stays closed, whatever is changed beside that.",
            without: "Closing is a change of the public permission like others."
        ),
        .removedEras: Row(
            holds: "A user who was removed in a public era can't join again in it.",
            without: "It can."
        ),
        .readers: Row(
            holds: "A participant who may read writes nothing.",
            without: "It may write."
        ),
        .droppedInvitations: Row(
            holds: "Opening a share drops pending invitations.",
            without: "They stay."
        ),
        .formerUsers: Row(
            holds: "A user of a former public era is in no list, and not removed by missing there.",
            without: "It is removed."
        ),
        .openLists: Row(
            holds: "While a share is open no user is invited, and no invited one is removed.",
            without: "They are."
        ),
        .waitingInvitations: Row(
            holds: "While a share is open no pending invitation is accepted.",
            without: "It is accepted."
        ),
        .heldHandles: Row(
            holds: "The user who holds a handle at the node accepts an invitation of it.",
            without: "Any user does."
        ),
        .claimedInvitations: Row(
            holds: "An invitation of a handle stays with the user who accepted it.",
            without: "The next holder of the handle takes it over."
        ),
        .hiddenParticipants: Row(
            holds: "A user who joined by the URL is shown no participant but itself.",
            without: "It is shown all of them."
        ),
        .discoverable: Row(
            holds: "A look-up by handle names a user only if it is discoverable.",
            without: "It names each."
        ),
    ]
}
