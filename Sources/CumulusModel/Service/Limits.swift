// The bounds that a caller of a node meets, in one place, each with its unit in its name. Clients
// are told those that they need in HELLO, and hard-code none.
//
// Other bounds stand where they hold:
// - What one caller may take of a node in a second: `CallerLimits`, `CallerGrowth`, `Attempts`,
//   `Restraint` and `PasswordThread`.
// - How much a call does in one turn, before others go on: `QueryEffort`, `Surveys`, `TreeChanges`,
//   `VisibleZoneChanges`, `FeedWindow` and `SubscriptionJudge`.
// - What all nodes and stores have to agree on: `ContentCutter` and `ChunkList` for assets,
//   `IndexedValues` and `SearchWords` for indexes, `FeedNotification.ID` with `ReadMarks` for
//   feeds, `TreeWalk` for shares.
// - Accounts and tokens: `Sessions`, `Passwords`, `UserNames`, `Containers`, `IDToken`, `TokenKeys`
//   and `TokenSeal`.
// - The text of a predicate, which clients read: `PredicateSource` and `PredicateParser`.
// - HTTP: the files of `CumulusGateway`, and the article WebServices.
// - Caches, queues, pauses and pages between nodes, which no caller meets: their own files.

package struct Limits: Hashable, Sendable {
    /// Saves and deletes, or names to fetch, in one request.
    package var itemsPerRequest = 400
    /// Bytes of one request message.
    package var requestBytes = 2 << 20
    /// Bytes of one record's encoded fields.
    package var recordBytes = 1 << 20
    /// Bytes of the stored records that one request may change; a request of one item always may.
    ///
    /// The writer reads and writes each record whole, whatever changes in it: 4 MiB take some 10 to
    /// 30 milliseconds.
    package var storedBytesPerRequest = 4 << 20
    /// Bytes of stored records after which a turn of the writer for a cascade, or for other work in
    /// the background, begins with no further record.
    package var storedBytesPerTurn: Int { max(1, storedBytesPerRequest / 2) }
    /// Bytes of a record name, zone name, type or field name.
    package var nameBytes = 255
    package var fieldsPerType = 256
    /// Bytes of the text of a schema.
    package var schemaTextBytes = 1 << 20
    /// Record types of one environment of a container, but for Users.
    ///
    /// This and the next two hold where a schema grows: nodes that don't hear of each other may go
    /// beyond together, and what they made stays.
    package var typesPerSchema = 1_000
    /// Fields of all its record types.
    package var fieldsPerSchema = 10_000
    /// Bytes of the names of its types, and of each field's name with its type's.
    ///
    /// The text of such a schema fits into `requestBytes`, so what was read can be imported again.
    package var schemaBytes = 512 << 10
    /// Values of one comparison of a query.
    package var valuesPerFilter = 250
    /// Values of all comparisons of one query.
    package var valuesPerQuery = 1_000
    /// Comparisons and connectives of one query.
    package var predicateNodes = 1_000
    /// Steps that a page of a query may take: about one for each comparison with a record, and 20
    /// for each record.
    package var querySteps = 400_000_000
    package var sortDescriptors = 8
    /// Records of a page of a query that names no limit.
    package var queryPageItems = 100
    /// deleteSelf references to one record.
    package var ownersPerRecord = 750
    /// deleteSelf references in the fields of one request.
    ///
    /// Each is a row of an index, on every node: so many are written in one turn of the writer.
    package var ownersPerRequest = 2_000
    /// Ends of a record's lives that are remembered: one for each time that a request created it
    /// and it was deleted, within a day or while a node is missing.
    ///
    /// Each save of the record rewrites them.
    package var endsPerRecord = 100_000
    /// Records that a deletion may take along, in all its turns: about 40 MB while they are looked
    /// through.
    package var recordsPerCascade = 1_000_000
    /// Cascades of more than a thousand records that are looked through at a time.
    package var cascadesAtOnce = 4
    package var zonesPerDatabase = 1_000
    /// People with whom a share is shared, beside its owner.
    package var participantsPerShare = 100
    /// People whom one share remembers: all who were ever invited or joined.
    ///
    /// Each save and each join of the share rewrites what it remembers of them.
    package var peoplePerShare = 1_500
    /// Handles and user record names of one look-up.
    package var handlesPerRequest = 100
    /// Zones of others that one user may be in.
    package var sharedZonesPerUser = 1_000
    /// Records below a new root that are looked at for other shares.
    package var treeRecords = 10_000
    /// Subscriptions of one user in one database.
    package var subscriptionsPerDatabase = 1_000
    /// Bytes of one subscription as it is stored.
    package var subscriptionBytes = 16 << 10
    /// The same of all of one user in one database: they are read when a feed begins.
    package var subscriptionBytesPerDatabase = 1 << 20
    /// Comparisons in the subscriptions of one user in one database that look through a text or a
    /// list: each change of a record makes them anew.
    package var subscriptionSearchesPerDatabase = 100
    /// Comparisons that the subscriptions of one user in one database may take of one record.
    ///
    /// Every user's change of a record of those types makes these comparisons.
    package var subscriptionComparisonsPerDatabase = 2_000
    /// The same of the subscriptions of all users to one record type of one database.
    ///
    /// Equal subscriptions count once. Saves are held to it by what the node knows: two nodes may
    /// go beyond.
    package var subscriptionComparisonsPerType = 60_000
    /// Bytes of one notification of a feed; parts are left out of a larger one.
    package var notificationBytes = 4_096
    /// Plain bytes of one asset.
    package var assetBytes = 1 << 30
    /// Plain bytes of all assets of one user in one database.
    package var userAssetBytes = 100 << 30
    /// Bytes of one user's private database, and of a container's public one; 0: no limit.
    ///
    /// Bytes of the records' fields and of the assets that they name.
    ///
    /// Saves are held to them where they are made, by what the node knows: two nodes may go beyond.
    package var privateDatabaseBytes = 0
    package var publicDatabaseBytes = 0
    /// Chunk lists in one request.
    package var assetsPerRequest = 1_000
    /// Chunks of one message of an upload, and their plain bytes.
    package var chunksPerMessage = 1_024
    package var chunkBytesPerMessage = 16 << 20
    /// How long an asset is kept that nothing names.
    package var assetGraceMilliseconds: Int64 = 24 * 3_600_000
    /// Bytes that a caller may send of an upload before what it sent is durable.
    package var uploadWindowBytes = 6 << 20
    /// Bytes behind a frame's length field.
    package var frameBytes = 4 << 20
    package var streamsPerConnection = 256
    /// Bytes of the calls in progress on one connection: what they sent, and what is not yet taken
    /// of their answers.
    package var unansweredBytes = 8 << 20
    /// The same over all connections; beyond it a connection goes on only within its part of half
    /// as much again.
    ///
    /// Answers have three quarters of it before shares count, and requests have one and a half, so
    /// callers that read nothing leave room for the requests of others. While nobody connects, all
    /// together hold at most twice this, and what each reader thread had begun. A connection from a
    /// time with fewer of them keeps the larger share that it took.
    package var nodeUnansweredBytes = 16 << 20
    /// Bytes that wait on a connection with another node, in each direction, when no more is read
    /// for it: until that node has taken them, or this one's writer has.
    ///
    /// There is a stream per container, and each may have its page and its credit. A page that is
    /// being read counts as `frameBytes`: with it, a node holds at most two frames for another one.
    package var peerBytes = 2 << 20
    /// Bytes of memory for what another node offers besides records while its state is taken; a
    /// node takes one state at a time.
    ///
    /// Room for about 600,000 registers, 700,000 increments or 250,000 zones.
    package var offeredStateBytes = 256 << 20
    /// Bytes per stream and direction before the first CREDIT.
    package var initialCredit = 64 << 10
    /// Bytes after which a message of a fetch, modify or list answer is closed and the next begins.
    package var answerBytes = 1 << 20
    /// Bytes of one page of a list.
    package var pageBytes = 128 << 10
    /// How long outcomes are remembered by request id.
    package var requestMemoryMilliseconds: Int64 = 24 * 3_600_000
    /// How far a request id may be ahead of the node's clock.
    package var requestLeadMilliseconds: Int64 = 10 * 60_000
    /// Requests waiting for the writer.
    package var queuedWrites = 4_096
    /// Requests, and bytes of them, that share one flush.
    package var writesPerBatch = 256
    package var batchBytes = 4 << 20
    /// Records that a request deletes in one commit.
    ///
    /// A cascade deletes the rest in further turns of the writer, half as many at a time, and
    /// others write in between. A record that isn't cached takes up to 0.2 ms.
    package var cascadeRecords = 250
    /// Steps that a batch of writes takes to compare changed records with subscriptions.
    ///
    /// They take some milliseconds. Further changes are compared after the batch, a turn at a
    /// time.
    package var comparisonSteps = 20_000
    /// Bytes of changes that wait for that; beyond them all feeds of the container are reset.
    package var owedChangeBytes = 64 << 20
    /// Rows of indexes that a request writes in its turn of the writer, about.
    ///
    /// They take some 20 milliseconds. The rows of further records are written in later turns.
    package var indexRowsPerTurn = 4_000
    /// Records of a zone whose rows are still to be written; a request that would leave more has to
    /// come again.
    ///
    /// Each query of the zone looks them up.
    package var owedRecordsPerZone = 1_000
    /// Bytes of the puts of one commit, about; it travels in one frame, with room for the rest.
    package var commitBytes: Int { max(requestBytes, frameBytes / 4 * 3) }
    /// Bytes before the caller's HELLO is complete.
    package var greetingBytes = 64 << 10
    package var deviceBytes = 64
    /// Milliseconds from accepting a connection to its HELLO.
    package var greetingMilliseconds: Int64 = 10_000
    /// Milliseconds without a frame after which the node sends PING, and again after which it
    /// closes.
    package var idleMilliseconds: Int64 = 60_000
    /// The same of another node, which reports every ten seconds.
    package var idlePeerMilliseconds: Int64 = 15_000
    /// Milliseconds that a node has to show that it is alive when another one asks for it.
    package var challengeMilliseconds: Int64 = 2_000
    /// Milliseconds without progress of a write to a socket after which it is closed.
    package var stalledWriteMilliseconds: Int64 = 30_000
    /// The same of a caller while others need the room that its answers take.
    package var crowdedWriteMilliseconds: Int64 = 5_000
    /// Milliseconds without credit after which a peer that takes a state gets no more of it.
    package var stalledStateMilliseconds: Int64 = 60_000
    /// Milliseconds that a frame may take from its first byte to its last.
    package var frameMilliseconds: Int64 = 30_000
    /// Bytes of a frame after which another node has as long for the rest of it: 2 kB/s will do.
    ///
    /// A client must send a whole frame within that time.
    package var slowPeerBytes = 64 << 10
    /// Tokens of what its caller saw elsewhere that one call may carry.
    package var causalTokens = 64
    /// Milliseconds that a call waits for what its caller saw elsewhere, at most half its time.
    package var causalWaitMilliseconds: Int64 = 2_000
    /// Other nodes on which a call may want its change.
    package var replicasPerChange = 16
    /// Milliseconds that its answer is held back for them.
    package var replicaWaitMilliseconds: Int64 = 60_000
    /// Time of a call that names none, and the most that one may ask for.
    package var callMilliseconds: Int64 = 60_000
    package var longestCallMilliseconds: Int64 = 3_600_000
    /// The limits of each caller; `cumulusd` begins with `CallerLimits.standard`.
    package var perCaller = CallerLimits.none
    /// How much the saves of each caller may add to schemas; `cumulusd` begins with
    /// `CallerGrowth.standard`.
    package var perCallerGrowth = CallerGrowth.none

    package init() {}

    /// The most bytes of a database; 0 means there is no limit.
    package func quota(of database: DatabaseScope) -> Int {
        switch database {
        case .public: publicDatabaseBytes
        case .private, .shared: privateDatabaseBytes
        }
    }

    /// Two limits that can't both be kept; nil means all can.
    ///
    /// A request larger than the room that it is given would wait for ever.
    package var contradiction: String? {
        let rising = [
            ("recordBytes", recordBytes), ("requestBytes", requestBytes),
            ("frameBytes", frameBytes), ("unansweredBytes", unansweredBytes),
            ("nodeUnansweredBytes", nodeUnansweredBytes),
        ]
        let pair = zip(rising, rising.dropFirst()).first { $0.1 > $1.1 }
        return pair.map { small, large in
            "\(small.0) (\(small.1)) must not be more than \(large.0) (\(large.1))"
        }
    }

    package static let standard = Limits()
}
