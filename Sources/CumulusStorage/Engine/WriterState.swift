// What the one writer knows about its store without asking: its clock, the end of each log, running
// sums of zones.
//
// A value, so that a save point is a copy. Loaded when the store is opened, kept from batch to
// batch; what a batch changed of it is written once, by `WriteTransaction.finish`.

package import CumulusModel

/// The writer's view of one scope's logs.
package struct ScopeState: Sendable {
    package let number: ScopeNumber
    /// How far each run's commits are applied.
    package var runs: Runs
    /// What the last commits of runs depend on, whole; of those that committed since the start.
    package var cuts: [Incarnation: VersionVector] = [:]
    /// The time of the newest mark of what is lost, see `Truncation`.
    package var truncation: HybridTime
    /// The next place in the local order of application.
    package var nextPosition: UInt64
    /// Incarnations whose vector rows this batch changed.
    package var touched: Set<Incarnation> = []
    /// This batch moved the vector past commits that came as state: zones show more, though no
    /// commit of the batch touched them.
    package var isRaised = false
    /// This batch wrote events of feeds for changes that earlier batches made.
    package var isCompared = false
}

/// A part of a scope: those who wait for news of it are woken when it changes.
package enum NewsPlace: Hashable, Sendable {
    case database(DatabaseNumber)
    /// A zone of a database, by its name: it may be gone, or not made yet.
    case zone(DatabaseNumber, String)
    /// What a topic watches.
    case topic(Topic.ID)
    /// What a user subscribes to.
    case subscriptions(of: String)
    /// Changes of a record type, compared with topics after the batch that made them.
    case comparisons(of: WatchedType)
}

package struct WriterState: Sendable {
    /// A zone's row of heads that this batch changed.
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
    package var clock: HybridClock
    /// Those that this batch read from the engine, or changed.
    package var scopes: [ScopeNumber: ScopeState] = [:]
    /// What batches before made of them; all that this run ever looked at.
    let knownScopes = ScopeCache()
    /// The same of zones: each user may have one.
    let zones = ZoneCache()
    /// What this batch made of zones' states; nil means the zone's rows are deleted.
    package var zoneStates: [ZoneNumber: ZoneState?] = [:]
    /// Rises with every batch that changed what is known of zones before their records are read:
    /// one was made or deleted, fields got several types, or something was dropped.
    package var zonesVersion = 0
    /// Read through: the zones of databases whose sizes were asked for.
    var livingZones: [DatabaseNumber: [ZoneNumber]] = [:]
    package var heads: [Head: UInt64] = [:]
    /// Where this batch changed something, but for zones, whose heads say so.
    var touched: Set<NewsPlace> = []
    /// Where the last finished batch changed something.
    package var news: Set<NewsPlace> = []
    /// Read through, by shown names: a type that is not here was not asked for yet.
    package var schema: [SchemaKey: TypeSchema] = [:]
    /// Read through: how much the schemas hold that grew lately.
    var schemaSizes: [ScopeNumber: SchemaSize] = [:]
    /// Read through too: the indexes that are kept of a type.
    var indexes: [SchemaKey: [NumberedIndex]] = [:]
    /// Types whose schema this batch changed, and whose indexes don't follow it yet; true: there
    /// was no such type before.
    var unsettled: [SchemaKey: Bool] = [:]
    /// Rises when there is work for `SchemaKeeper`: indexes come or go, or types are dropped.
    package var schemaWorkVersion = 0
    /// Rises when a record type, one of its indexes or a user's role changes in any way.
    package var schemaVersion = 0
    /// Rises when a cascade leaves something to be done, see `CascadeDebt`.
    package var cascadeVersion = 0
    /// Rises when changes of records are left to be compared with topics, see `OwedChange`.
    package var comparisonVersion = 0
    /// Steps that a batch may take to compare changes with topics: what is beyond them is owed.
    package var comparisonSteps = Limits.standard.comparisonSteps
    /// Bytes of owed changes of a scope; beyond them its feeds are reset.
    package var owedChangeBytes = Limits.standard.owedChangeBytes
    /// Steps that this batch has taken.
    var comparisonsDone = 0
    /// Rows of indexes that a request writes with its records: what is beyond them is owed.
    package var indexRowsPerTurn = Limits.standard.indexRowsPerTurn
    /// Owed records of a zone; a request that would add to more is refused.
    package var owedRecordsPerZone = Limits.standard.owedRecordsPerZone
    /// Records whose rows in indexes are owed, by zone, see `OwedIndexRows`.
    var owedRecords: [ZoneNumber: OwedRecords] = [:]
    /// Rises when a record is owed.
    package var owedIndexVersion = 0
    /// Rows of indexes that the request may still write.
    var indexRowsLeft = Limits.standard.indexRowsPerTurn
    /// Rows of indexes that this batch wrote and deleted.
    var indexRowsWritten = 0
    /// Whether the request added to a zone that owes too many records.
    var owesTooMuch = false
    /// Rises when a register changes that may end somebody's session: callers who were judged
    /// before are judged again.
    package var accountsVersion: UInt64 = 0
    /// Shared by all copies of the state, and by those who look users up by their record names.
    package let changedProfiles = ChangedProfiles()
    /// Rises when the record of a share changes, in any scope.
    package var sharesVersion: UInt64 = 0
    /// Records that a request's commit deletes at most, and what its cascade leaves goes in turns.
    package var cascadeRecords = Limits.standard.cascadeRecords
    /// Records that such a turn deletes: less, since there are many of them.
    package var turnRecords: Int { max(1, cascadeRecords / 2) }
    /// Read through: the roles of schemas, and those that users were given.
    var schemaRoles: [ScopeNumber: SchemaRoles] = [:]
    var userRoles: [UserKey: UserRoles] = [:]
    /// Read through: how records look where that is not how they are stored.
    var lenses: [ScopeNumber: RecordLens] = [:]
    /// Read through: who watches what, and how far feeds are.
    package var feeds: [ScopeNumber: FeedState] = [:]
    /// Registers of subscriptions that fired for the only time on the commit that is being made.
    var fired: [[Bytes]] = []
    /// Read through: what each scope is.
    var environments: [ScopeNumber: Environment] = [:]

    /// Read through: whether all members know a feature of commits.
    package var knownFeatures: [String: Bool] = [:]
    /// Nodes that are gone and whose debts are this node's, see `Heirs`.
    package var inherited: Set<UInt64> = []

    /// The node began with a backup, and has not caught up with another one yet.
    package var isRestored = false

    /// Days that passed though the clock says otherwise; only in a simulation.
    package var passedDays: Day = 0
    /// Only in a simulation.
    package var broken: BrokenRules = []
    /// Namespaces of registers whose newest value stands, whatever their rule; only in a test.
    package var brokenRegisters: Set<String> = []

    package init(incarnation: Incarnation, node: NodeRow) {
        self.incarnation = incarnation
        self.node = node
        clock = HybridClock(latest: node.latestTime)
    }

    /// Drops what is kept of a batch that followed this state and could not be written.
    package func forgetLostBatch() {
        knownScopes.dropAll()
        zones.dropAll()
    }

    /// Forgets what was only kept to save reads, when it has grown large.
    package mutating func trim() {
        if schema.count > 1_000 { schema = [:] }
        if schemaSizes.count > 1_000 { schemaSizes = [:] }
        if indexes.count > 1_000 { indexes = [:] }
        if userRoles.count > 1_000 { userRoles = [:] }
        if livingZones.count > 1_000 { livingZones = [:] }
    }
}
