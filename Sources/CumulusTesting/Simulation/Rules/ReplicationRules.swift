// Rules of replication, which histories of stores show, and of marks, which whole nodes show.
//
// Part of the table `Rule`.

extension Rule {
    static let ofReplication: [Rule: Row] = [
        .causality: Row(
            holds: "A commit waits for what it depends on.",
            without: "It doesn't wait for commits of other runs.",
            check: "convergence"
        ),
        .ties: Row(
            holds: "Stamps of one time are ordered by their incarnations.",
            without: "Of two writes of one millisecond the one that arrives last stands.",
            check: "convergence"
        ),
        .ownCommits: Row(
            holds: "A restored node takes back what it made itself.",
            without: "It takes no commits of its own runs.",
            check: "acknowledged"
        ),
        .incarnations: Row(
            holds: "Every run is an incarnation of its own.",
            without: "A node that restarts or is restored goes on with the last one.",
            check: "chains"
        ),
        .vector: Row(
            holds: "Vector and data are stored together.",
            without: "Now and then a commit is logged, and what it changes isn't stored.",
            check: "convergence"
        ),
        .frontier: Row(
            holds: "The frontier counts every commit that names a record.",
            without: "A commit that changes nothing leaves no trace there.",
            check: "convergence"
        ),
        .compensation: Row(
            holds: "Children whose owner was deleted elsewhere are deleted too.",
            without: "They stay.",
            check: "orphans"
        ),
        .peerHorizon: Row(
            holds: "A reader of state from below a zone's horizon takes all of the zone.",
            without: "It takes only what changed.",
            check: "deaths"
        ),
        .raisedHorizon: Row(
            holds: "What is forgotten raises the zone's horizon.",
            without: "The horizon stays where it is.",
            check: "deaths"
        ),
        .knownDeaths: Row(
            holds: "A life that the donor of a full sync knows to be dead ends.",
            without: "It goes on.",
            check: "deaths"
        ),
        .snapshot: Row(
            holds: "State comes from one snapshot.",
            without: "The donor goes on between the pages that it sends."
        ),
        .resumedSnapshot: Row(
            holds: "A state sync whose connection broke goes on in the same snapshot.",
            without: "The donor reads on in what it holds by then."
        ),
        .resumedPosition: Row(
            holds: "A state sync whose connection broke goes on behind what came.",
            without: "It goes on behind what was sent.",
            check: "convergence"
        ),
        .tokenHorizon: Row(
            holds: "A change token from below a zone's horizon has expired.",
            without: "The fetch goes on.",
            check: "changes",
            also: [.nodes, .shares]
        ),
        .laterHorizon: Row(
            holds: "Every page of a fetch of changes is held to the horizon.",
            without: "Only the first page is.",
            check: "changes"
        ),
        .commitPages: Row(
            holds: "A page of changes that ends inside a commit goes on inside it.",
            without: "All of the commit counts as told.",
            check: "changes"
        ),
        .nodeBehind: Row(
            holds: "A node that has not read what a change token covers does not go on with it.",
            without: "It goes on.",
            check: "changes",
            also: [.nodes]
        ),
        .seen: Row(
            holds: "A node that has not read what the last page of changes showed does not go on.",
            without: "It goes on.",
            check: "changes"
        ),
        .retired: Row(
            holds: "A run is retired while it has no more commits than a later one depends on.",
            without: "It stays retired, however far it has come since.",
            check: "dependencies"
        ),
        .floors: Row(
            holds: "What a save of a whole record leaves out vanishes.",
            without: "It stays.",
            check: "wholes"
        ),
        .cursorSeen: Row(
            holds: "A node that has not read what a query's last page showed does not go on.",
            without: "It goes on.",
            check: "queries"
        ),
        .indexOwed: Row(
            holds: "A query looks up the records whose rows in indexes are owed.",
            without: "It trusts the indexes there, too.",
            check: "queries"
        ),
        .staged: Row(
            holds: "Pages of state wait, and nobody reads them, until all of them are there.",
            without: "Each is shown when it comes.",
            check: "deaths"
        ),
        .losses: Row(
            holds: "A life is told as lost if the commit that ended it didn't know all of it.",
            without: "It is told only if its latest change was not known.",
            check: "losses"
        ),
        .knownEnds: Row(
            holds: "A life is not told as lost if the commit that ended it knew all of it.",
            without: "It is told.",
            check: "losses"
        ),
        .repeats: Row(
            holds: "An increment's repetition is known as one for as long as it can come.",
            without: "A node forgets increments and asks no member.",
            check: "outcome"
        ),
        .latest: Row(
            holds: "Of two writes that don't know of each other the later one stands.",
            without: "The earlier one stands, in the replay, too.",
            check: "outcome"
        ),
        .debts: Row(
            holds: "What a long cascade leaves for later turns of the writer is written down.",
            without: "It isn't.",
            check: "cascades"
        ),
        .keys: Row(
            holds: "Creations by one request are one life.",
            without: "Each is a life of its own.",
            check: "deaths"
        ),
        .zeroKeys: Row(
            holds: "Counters that increments began at several nodes are one life.",
            without: "Each is a life of its own.",
            check: "outcome"
        ),
        .earliest: Row(
            holds: "Of the creations by one request the earliest counts.",
            without: "All of them count.",
            check: "wholes"
        ),
        .ends: Row(
            holds: "What a node that did not know a life's end puts into the life is lost.",
            without: "The end of a life ends only what is there.",
            check: "deaths"
        ),
        .joinedEnds: Row(
            holds: "A state sync tells of ended lives.",
            without: "It tells nothing of them.",
            check: "deaths"
        ),
        .reportedEnds: Row(
            holds: "An end is forgotten when all members have reported it.",
            without: "It is forgotten by age.",
            check: "deaths"
        ),
        .carriedKeys: Row(
            holds: "Deletions name the counters that they end.",
            without: "They don't.",
            check: "deaths"
        ),
        .doubledLives: Row(
            holds: "An increment is a repetition only within one life of a counter.",
            without: "So is one of an earlier life with the same key.",
            check: "outcome"
        ),
        .shownCreated: Row(
            holds: "Of several lives those that were created are shown before counters.",
            without: "The one that was born last is shown.",
            check: "replay"
        ),
    ]

    static let ofMarks: [Rule: Row] = [
        .marks: Row(
            holds: "What a mark says is lost is not waited for.",
            without: "It is waited for."
        )
    ]
}
