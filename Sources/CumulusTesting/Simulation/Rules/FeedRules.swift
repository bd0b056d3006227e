// Rules of feeds, which histories of stores show.
//
// Part of the table `Rule`.

extension Rule {
    static let ofFeeds: [Rule: Row] = [
        .feedBehind: Row(
            holds: "A node that has not read what a device was told does not answer it.",
            without: "It goes on with the feed.",
            check: "feeds"
        ),
        .feedBreak: Row(
            holds: "A feed that would cross a change of records without commits begins anew.",
            without: "It goes on.",
            check: "feeds"
        ),
        .feedMissing: Row(
            holds: "A feed that no kept milestone reaches back to begins anew.",
            without: "It goes on from the oldest rows that are kept.",
            check: "feeds"
        ),
        .feedSince: Row(
            holds: "A subscription that a node learned of later than a feed's place begins anew.",
            without: "It counts as known for as long as the feed reaches back.",
            check: "feeds"
        ),
        .feedCovered: Row(
            holds: "What a device has seen elsewhere is not told again.",
            without: "It is told again.",
            check: "feeds"
        ),
        .feedFirst: Row(
            holds: "A feed goes on from the last milestone that the device has seen all of.",
            without: "It goes on from the end of what is there.",
            check: "feeds"
        ),
        .feedFold: Row(
            holds: "Several changes of a record are told as one, from the first to the last.",
            without: "Only the last one says what the record was before.",
            check: "feeds"
        ),
        .feedMixed: Row(
            holds: "Records that were changed concurrently are told again at another node.",
            without: "They aren't.",
            check: "feeds"
        ),
        .feedCut: Row(
            holds: "What a device holds that left within pages is uncertain.",
            without: "The device counts as if it had been told nothing of them.",
            check: "feeds"
        ),
        .feedReaders: Row(
            holds: "A feed tells a user of the records that it may read, and of no others.",
            without: "It tells of others, too.",
            check: "rights"
        ),
        .feedDatabase: Row(
            holds: "What a feed tells of concurrent changes is of the subscription's database.",
            without: "It tells of records with these names in any database.",
            check: "rights"
        ),
        .feedAsked: Row(
            holds: "What came and went is told to a device that may have asked in between.",
            without: "It isn't.",
            check: "feeds"
        ),
        .feedOwed: Row(
            holds: "A feed waits for changes that are still to be compared with its topics.",
            without: "It goes on past them.",
            check: "feeds"
        ),
        .readMarks: Row(
            holds: "What a user marks as read at several nodes counts together.",
            without: "The later marks stand alone.",
            check: "feeds"
        ),
    ]
}
