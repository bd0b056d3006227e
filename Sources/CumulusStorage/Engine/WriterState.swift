// What the writer keeps in memory about its store: its clock, the end of each log, running sums of
// zones.
//
// It is a value, so a save point is a copy. It is loaded when the store is opened and kept from
// batch to batch. `WriteTransaction.finish` writes what a batch changed of it, once.

package import CumulusModel

/// The writer's view of one scope's logs.
package struct ScopeState: Sendable {
    package let number: ScopeNumber
    /// How far each run's commits are applied.
    package var runs: Runs
    /// The whole dependencies of the last commits, for runs that committed since the start.
    package var cuts: [Incarnation: VersionVector] = [:]
    /// The time of the newest mark of what is lost, see `Truncation`.
    package var truncation: HybridTime
    /// The next place in the local order of application.
    package var nextPosition: UInt64
    /// Incarnations whose vector rows this batch changed.
    package var touched: Set<Incarnation> = []
    /// True if this batch moved the vector past commits that came as state: zones show more, though
    /// no commit of the batch touched them.
    package var isRaised = false
    /// True if this batch wrote feed events for changes of earlier batches.
    package var isCompared = false
}

/// A part of a scope; clients that wait for news of it are woken when it changes.
package enum NewsPlace: Hashable, Sendable {
    case database(DatabaseNumber)
    /// A zone of a database, by its name: it may be gone, or not made yet.
    case zone(DatabaseNumber, String)
    /// The records that a topic watches.
    case topic(Topic.ID)
    /// The subscriptions of a user.
    case subscriptions(of: String)
    /// Changes of a record type, compared with topics after the batch that made them.
    case comparisons(of: WatchedType)
}

package struct WriterState: Sendable {
    /// The head row of a zone that this batch changed.
    package struct Head: Hashable, Sendable {
        package var database: DatabaseNumber
        package var incarnation: Incarnation
        package var zone: String
    }

    /// Names a record type, by its stored name unless it says otherwise.
    package struct SchemaKey: Hashable, Sendable {
        package var scope: ScopeNumber
        package var type: String
    }

    struct UserKey: Hashable {
        var scope: ScopeNumber
        /// User record name.
        var user: String
    }

    /// This run of the process.
    package let incarnation: Incarnation
    /// Shared by all copies of the state: it holds committed rows only.
    let meta = MetaCache()
    package var node: NodeRow
    /// The node's row as the store has it; nil until this run has read or written it.
    var storedNode: NodeRow?
    package var clock: HybridClock
    /// The scopes that this batch read from the engine or changed.
    package var scopes: [ScopeNumber: ScopeState] = [:]
    /// The states that earlier batches left; every scope that this run ever looked at.
    let knownScopes = ScopeCache()
    /// The zones' states that earlier batches left, bounded, since each user may have a zone.
    let zones = ZoneCache()
    /// Zones' states that this batch changed; nil means the zone's rows are deleted.
    package var zoneStates: [ZoneNumber: ZoneState?] = [:]
    /// Rises with every batch that changes what readers know of zones before they read records.
    ///
    /// A zone was made or deleted, fields got several types, or something was dropped.
    package var zonesVersion = 0
    /// Rises with every batch that changes how records look, see `RecordLens`.
    package var lensVersion = 0
    /// Cached: the zones of databases whose sizes were asked for.
    var livingZones: [DatabaseNumber: [ZoneNumber]] = [:]
    package var heads: [Head: UInt64] = [:]
    /// Where this batch changed something, except for zones, which have heads.
    var touched: Set<NewsPlace> = []
    /// Where the last finished batch changed something.
    package var news: Set<NewsPlace> = []
    /// Cached, by shown names; a missing type was not asked for yet.
    package var schema: [SchemaKey: TypeSchema] = [:]
    /// Cached: the size of schemas that grew lately.
    var schemaSizes: [ScopeNumber: SchemaSize] = [:]
    /// Cached: the indexes of a type.
    var indexes: [SchemaKey: [NumberedIndex]] = [:]
    /// Types whose schema this batch changed and whose indexes are not settled yet; true for a new
    /// type.
    var unsettled: [SchemaKey: Bool] = [:]
    /// Rises when `SchemaKeeper` has work: indexes come or go, or types are dropped.
    package var schemaWorkVersion = 0
    /// Rises when a record type, one of its indexes or a user's role changes in any way.
    package var schemaVersion = 0
    /// Rises when a cascade leaves deletions for later, see `CascadeDebt`.
    package var cascadeVersion = 0
    /// Rises when changed records are left to be compared with topics, see `OwedChange`.
    package var comparisonVersion = 0
    /// Steps that a batch may take to compare changes with topics; the rest is owed.
    package var comparisonSteps = Limits.standard.comparisonSteps
    /// Bytes of owed changes of a scope; beyond them the scope's feeds are reset.
    package var owedChangeBytes = Limits.standard.owedChangeBytes
    /// Steps that this batch has taken.
    var comparisonsDone = 0
    /// Rows of indexes that a request writes with its records; the rest is owed.
    package var indexRowsPerTurn = Limits.standard.indexRowsPerTurn
    /// Owed records of a zone; a request that would exceed it is refused.
    package var owedRecordsPerZone = Limits.standard.owedRecordsPerZone
    /// Records whose rows in indexes are owed, by zone, see `OwedIndexRows`.
    var owedRecords: [ZoneNumber: OwedRecords] = [:]
    /// Rises when a record becomes owed.
    package var owedIndexVersion = 0
    /// Rows of indexes that the request may still write.
    var indexRowsLeft = Limits.standard.indexRowsPerTurn
    /// Rows of indexes that this batch wrote and deleted.
    var indexRowsWritten = 0
    /// Whether the request added to a zone that owes too many records.
    var owesTooMuch = false
    /// Rises when a register changes that may shut a caller out: callers are then judged again.
    package var accountsVersion: UInt64 = 0
    /// Rises when an address changes at which a device is woken, or a session that it needs.
    package var pushesVersion: UInt64 = 0
    /// Rises when this node hears that a user or a container was deleted.
    package var deletionsVersion = 0
    /// Shared by all copies of the state, and by readers that look up users by record name.
    package let changedProfiles = ChangedProfiles()
    /// Rises when the record of a share changes, in any scope.
    package var sharesVersion: UInt64 = 0
    /// Most records that a request's commit deletes; the rest of its cascade follows in turns.
    package var cascadeRecords = Limits.standard.cascadeRecords
    /// Records that a later turn deletes: fewer, since there are many turns.
    package var turnRecords: Int { max(1, cascadeRecords / 2) }
    /// Most bytes of stored records that a request of several items reads.
    package var storedBytesPerRequest = Limits.standard.storedBytesPerRequest
    /// Bytes of stored records after which a turn in the background begins with no further one.
    package var storedBytesPerTurn: Int { max(1, storedBytesPerRequest / 2) }
    /// Cached: the roles of schemas, and the roles of users.
    var schemaRoles: [ScopeNumber: SchemaRoles] = [:]
    var userRoles: [UserKey: UserRoles] = [:]
    /// Cached: how records look where that differs from how they are stored.
    var lenses: [ScopeNumber: RecordLens] = [:]
    /// Cached: who watches what, and the ends of feeds.
    package var feeds: [ScopeNumber: FeedState] = [:]
    /// Registers of one-time subscriptions that fired on the commit that is being made.
    var fired: [[Bytes]] = []
    /// Cached: the environment of each scope.
    var environments: [ScopeNumber: Environment] = [:]

    /// Cached: whether all members know a feature of commits.
    package var knownFeatures: [String: Bool] = [:]
    /// Nodes that are gone and whose debts this node has taken over, see `Heirs`.
    package var inherited: Set<UInt64> = []

    /// The node began with a backup, and has not caught up with another one yet.
    package var isRestored = false

    /// Days that a simulation lets pass beyond the clock.
    package var passedDays: Day = 0
    /// Rules that a simulation has switched off.
    package var broken: BrokenRules = []
    /// Namespaces of registers whose newest value wins, whatever their rule; only in a test.
    package var brokenRegisters: Set<String> = []

    package init(incarnation: Incarnation, node: NodeRow) {
        self.incarnation = incarnation
        self.node = node
        clock = HybridClock(latest: node.latestTime)
    }

    /// Drops the caches of a batch that followed this state and could not be written.
    package func forgetLostBatch() {
        knownScopes.dropAll()
        zones.dropAll()
    }

    /// Drops caches that have grown large.
    package mutating func trim() {
        if schema.count > 1_000 { schema = [:] }
        if schemaSizes.count > 1_000 { schemaSizes = [:] }
        if indexes.count > 1_000 { indexes = [:] }
        if userRoles.count > 1_000 { userRoles = [:] }
        if livingZones.count > 1_000 { livingZones = [:] }
    }
}
