// The writer's view of the store while a batch is built: the newest state with the batch's own
// writes on top.
//
// Operations get it `inout` for one call; it can't be copied or kept. Requests run in it one after
// the other, each after a save point. Nothing reaches the engine before `GroupCommit.commit`.
//
// The type itself knows rows, records, logs, clocks and the numbers of scopes and zones. Each other
// family of rows has a type of its own, whose methods take the transaction as their last argument:
// `DatabaseAssets`, `Leaseholder`, `Packs`, `ScopeIndexes`, `ScopeFeeds`, `ScopeShares`,
// `FormerParents`, `ScopeRegisters`, `ScopeLog`, `StagedZones` and `CascadeDebts`. Reads that the
// writer caches stand beside the reads that they repeat, under "In the writer".

package import CumulusModel

package struct WriteTransaction: ~Copyable, RowReader {
    private let engine: any StorageEngine
    private var overlay = Overlay()
    /// Rows of the previous batch, which the engine may not have yet.
    private let earlier: Overlay?
    package internal(set) var state: WriterState
    /// Record rows that were decoded and not written since.
    private var loaded: [HashedKey: RecordRow] = [:]
    private let recordReads = RecordReads()
    /// Rows of the engine that the batch may ask for.
    private var ahead = RowsAhead()
    /// Commits of this request that ended hidden lives, whose dependents still have to be handled.
    private var uncompensated: [(scope: ScopeNumber, commit: Commit)] = []
    /// The wall clock when the current request was taken, in milliseconds.
    package private(set) var now: Int64 = 0

    package init(
        engine: any StorageEngine,
        state: WriterState,
        over earlier: Overlay? = nil
    ) {
        self.engine = engine
        self.earlier = earlier
        self.state = state
        state.knownScopes.enter(state.scopes)
        self.state.scopes = [:]
    }

    /// Prepares for the next request and drops the caches of the last one.
    package mutating func begin(now: Int64) {
        self.now = now
        loaded = [:]
        recordReads.inRequest = 0
        uncompensated = []
        state.indexRowsLeft = state.indexRowsPerTurn
        state.owesTooMuch = false
    }

    mutating func noteUncompensated(_ commit: Commit, in scope: ScopeNumber) {
        uncompensated.append((scope, commit))
    }

    package mutating func takeUncompensated() -> [(scope: ScopeNumber, commit: Commit)] {
        defer { uncompensated = [] }
        return uncompensated
    }

    package var broken: BrokenRules { state.broken }

    /// Whether the request added to a zone that owes too many records, see `OwedIndexRows`.
    package var owesTooMuch: Bool { state.owesTooMuch }

    // MARK: Raw rows

    package borrowing func get(_ key: RowKey) throws(EngineError) -> Bytes? {
        let value = try find(key)
        if key.family == .records, let value { recordReads.note(value) }
        return value
    }

    private borrowing func find(_ key: RowKey) throws(EngineError) -> Bytes? {
        switch overlay.get(key.family, key.bytes, over: earlier) {
        case .value(let value): value
        case .deleted: nil
        case .unknown where key.family == .meta:
            try state.meta.get(key.bytes) { () throws(EngineError) in try read(key) }
        case .unknown: try read(key)
        }
    }

    private borrowing func read(_ key: RowKey) throws(EngineError) -> Bytes? {
        try ahead.get(key) { () throws(EngineError) in
            try engine.get(key.family, key.bytes, reach: .disk)
        }
    }

    /// Reads rows together that the batch may ask for; it makes no difference but to the time.
    package mutating func readAhead(_ keys: [RowKey]) throws(EngineError) {
        let wanted = keys.filter { key in
            guard case .unknown = overlay.get(key.family, key.bytes, over: earlier) else {
                return false
            }
            return !ahead.knows(key) && (key.family != .meta || !state.meta.knows(key.bytes))
        }
        guard wanted.count > 1 else { return }
        if ahead.byteCount > state.storedBytesPerRequest / 2 { ahead = RowsAhead() }
        try ahead.read(wanted, byteLimit: state.storedBytesPerRequest, from: engine)
    }

    /// Returns a record row, which is decoded once however often it is loaded.
    package mutating func load(
        _ zone: ZoneNumber,
        _ name: String
    ) throws(EngineError) -> RecordRow? {
        let key = RowKey.record(zone, name)
        if let known = loaded[HashedKey(key.bytes)] { return known }
        guard let bytes = try get(key) else { return nil }
        let row = try decoding(key.bytes) { () throws(MalformedBytes) in try RecordRow(bytes) }
        loaded[HashedKey(key.bytes)] = row
        return row
    }

    package borrowing func scan(
        _ family: Family,
        _ range: KeyRange,
        backwards: Bool,
        _ visit: (_ key: Bytes, _ value: Bytes) -> Bool
    ) throws(EngineError) {
        var pending = overlay.rows(family, in: range, over: earlier)
        var wantsMore = true
        let reads = family == .records ? recordReads : nil
        func show(_ key: Bytes, _ value: Bytes) -> Bool {
            reads?.note(value)
            return visit(key, value)
        }
        /// Visits the overlay's rows that come before `key`, or all if it is nil.
        func visitPending(before key: Bytes?) {
            while wantsMore, let next = backwards ? pending.last : pending.first {
                if let key {
                    let isBefore = backwards ? precedes(key, next.key) : precedes(next.key, key)
                    guard isBefore else { return }
                }
                if backwards { pending.removeLast() } else { pending.removeFirst() }
                if let value = next.value { wantsMore = show(next.key, value) }
            }
        }
        try engine.scan(family, range, backwards: backwards) { key, value in
            visitPending(before: key)
            guard wantsMore else { return false }
            if let next = backwards ? pending.last : pending.first, next.key == key { return true }
            if overlay.isInDeletedRange(family, key, over: earlier) { return true }
            wantsMore = show(key, value)
            return wantsMore
        }
        visitPending(before: nil)
    }

    /// Bytes of the family `records` that the request has read so far.
    ///
    /// Work with a bound of its own may put back what the sum was before.
    package var recordBytes: Int {
        get { recordReads.inRequest }
        nonmutating set { recordReads.inRequest = newValue }
    }

    /// Whether that is more than a request of several items may read.
    package var hasReadTooMuch: Bool { recordBytes > state.storedBytesPerRequest }

    /// Whether a turn in the background has read as many bytes of records as it may.
    var hasReadEnough: Bool { recordBytes >= state.storedBytesPerTurn }

    package mutating func put(_ key: RowKey, _ value: Bytes?) {
        switch key.family {
        case .meta: state.meta.drop(key.bytes)
        case .records: loaded[HashedKey(key.bytes)] = nil
        case .index, .log: break
        }
        overlay.put(key.family, key.bytes, value)
    }

    package mutating func put(_ key: RowKey, _ row: some RowValue) {
        put(key, row.rowBytes)
    }

    /// Deletes a range of rows in any family but `meta`, whose rows are deleted one by one.
    package mutating func deleteRange(_ family: Family, _ range: KeyRange) {
        precondition(family != .meta)
        loaded = [:]
        overlay.deleteRange(family, range)
    }

    // MARK: Save points

    package struct SavePoint: Sendable {
        fileprivate let overlay: Overlay.SavePoint
        fileprivate let state: WriterState
    }

    package var savePoint: SavePoint {
        SavePoint(overlay: overlay.savePoint, state: state)
    }

    package mutating func rollBack(to point: SavePoint) {
        overlay.rollBack(to: point.overlay)
        loaded = [:]
        state = point.state
    }

    // MARK: The batch

    /// True if nothing was written.
    package var isEmpty: Bool { overlay.isEmpty }

    /// True if a zone was made or ended.
    var holdsZones: Bool { overlay.holdsZones }

    /// Whether the batch wrote so many rows of indexes, or read so much of records, that other
    /// requests should wait for the next one.
    ///
    /// A request that reads as much as it may leaves little room beside it.
    var isFull: Bool {
        let (rows, bytes) = (state.indexRowsWritten, recordReads.inBatch)
        return rows > 0 && rows >= state.indexRowsPerTurn
            || bytes > 0 && bytes >= state.storedBytesPerRequest / 4
    }

    /// Bytes that the batch has gathered so far.
    package var byteCount: Int { overlay.byteCount }

    /// Adds the rows that are written once per batch, and returns the batch and the state that
    /// follows it.
    package consuming func finish() -> (rows: Overlay, state: WriterState) {
        guard !overlay.isEmpty else { return (overlay, state) }
        ScopeFeeds.putMilestones(&self)
        for (number, scope) in state.scopes where !scope.touched.isEmpty {
            for incarnation in scope.touched {
                guard let row = scope.runs[incarnation] else { continue }
                let position = scope.nextPosition - 1
                put(.vector(number, incarnation), RunRow(end: row, position: position))
            }
        }
        for (zone, new) in state.zoneStates {
            if let new { put(.zoneState(zone), new) }
            state.zones.drop(zone)
        }
        for (head, seq) in state.heads {
            let key = RowKey.zoneHead(head.database, head.incarnation, head.zone)
            put(key, SeqRow(seq: seq))
        }
        if overlay.holdsZones {
            state.zonesVersion += 1
            state.livingZones = [:]
        }
        if state.node != state.storedNode {
            state.node.latestTime = state.clock.latest
            state.storedNode = state.node
            put(.node, state.node)
        }
        state.news = state.touched
        for head in state.heads.keys {
            state.news.insert(.database(head.database))
            state.news.insert(.zone(head.database, head.zone))
        }
        state.touched = []
        state.comparisonsDone = 0
        state.indexRowsWritten = 0
        state.zoneStates = [:]
        state.heads = [:]
        state.trim()
        return (overlay, state)
    }
}

// MARK: - Numbers, clocks, logs

extension WriteTransaction {
    /// The number of a scope; a new scope gets a new number.
    package mutating func makeScope(_ scope: ScopeID) throws(EngineError) -> ScopeNumber {
        if let number = try self.scope(scope) { return number }
        let number = try takeNumber(\.nextScope, "scope")
        put(.scope(scope), NumberRow(number: UInt32(number)))
        return number
    }

    package mutating func makeDatabase(
        _ scope: ScopeNumber,
        _ database: DatabaseID
    ) throws(EngineError) -> DatabaseNumber {
        if let number = try self.database(scope, database) { return number }
        let number = try takeNumber(\.nextDatabase, "database")
        put(.database(scope, database), NumberRow(number: number))
        return number
    }

    package mutating func takeZoneNumber() throws(EngineError) -> ZoneNumber {
        try takeNumber(\.nextZone, "zone")
    }

    /// Numbers are never handed out twice.
    mutating func takeNumber<Number: FixedWidthInteger>(
        _ next: WritableKeyPath<NodeRow, Number>,
        _ what: String
    ) throws(EngineError) -> Number {
        let number = state.node[keyPath: next]
        guard number < .max else {
            throw .exhausted("this node has no number left for another \(what)")
        }
        state.node[keyPath: next] += 1
        return number
    }

    /// Loads the ends of a scope's logs when it is first written to.
    package mutating func loadScope(_ number: ScopeNumber) throws(EngineError) -> ScopeState {
        if let scope = state.scopes[number] ?? state.knownScopes[number] { return scope }
        let (runs, position) = try progress(of: number)
        let scope = ScopeState(
            number: number,
            runs: runs,
            truncation: try truncation(of: number),
            nextPosition: position + 1
        )
        state.scopes[number] = scope
        return scope
    }

    mutating func replaceScope(_ scope: ScopeState) {
        state.scopes[scope.number] = scope
    }

    /// The latest time of all commits that are here.
    package var latestTime: HybridTime { state.clock.latest }

    /// Notes the time of a commit that is here, so that this node's next commits are later.
    mutating func observe(_ time: HybridTime) {
        state.clock.observe(time)
    }

    /// Makes this node's next commit of a scope.
    ///
    /// The commit counts once it is applied.
    package mutating func makeCommit(
        _ number: ScopeNumber,
        author: Author,
        zone: Commit.Zone?,
        operations: [Commit.Operation]
    ) throws(EngineError) -> Commit {
        let scope = try loadScope(number)
        let own = scope.runs[state.incarnation]
        let time = state.clock.tick(now: now)
        let dot = Dot(state.incarnation, (own?.seq ?? 0) + 1)
        return Commit(
            stamp: Stamp(time, dot),
            dep: scope.runs.dep(of: state.incarnation, since: own?.dep ?? VersionVector()),
            previousHash: own?.hash ?? Commit.noHash,
            requestID: author.requestID?.bytes ?? [],
            user: author.user,
            device: author.device,
            isGuarded: author.isGuarded,
            zone: zone,
            operations: operations
        )
    }

    /// The dot that this node's next commit of a scope will have.
    package mutating func nextDot(_ number: ScopeNumber) throws(EngineError) -> Dot {
        let own = try loadScope(number).runs[state.incarnation]
        return Dot(state.incarnation, (own?.seq ?? 0) + 1)
    }

    /// Logs a commit: its row, its position in the local order, the vector and the chain.
    ///
    /// Returns the cut that its origin knew.
    package mutating func log(
        _ commit: Commit,
        bytes: Bytes,
        in number: ScopeNumber
    ) throws(EngineError) -> CausalCut {
        var scope = try loadScope(number)
        let dot = commit.stamp.dot
        let last = scope.runs[dot.incarnation] ?? .none
        let known = scope.cuts[dot.incarnation]
        var cut = known ?? scope.runs.whole(last.dep)
        if known == nil || !commit.dep.isEmpty {
            scope.runs.widen(&cut, by: commit.dep)
            scope.cuts[dot.incarnation] = cut
        }
        scope.runs.enter(last.next(commit, bytes), of: dot.incarnation, state.broken)
        scope.touched.insert(dot.incarnation)
        if dot.incarnation == state.incarnation {
            state.node.lastIncarnation = dot.incarnation
        } else {
            state.clock.observe(commit.stamp.time)
        }
        put(.commit(number, dot), bytes)
        scope.nextPosition += 1
        state.scopes[number] = scope
        return CausalCut(dep: cut, dot: dot)
    }
}

// MARK: - Zones and the node

extension WriteTransaction {
    package borrowing func zoneState(_ zone: ZoneNumber) throws(EngineError) -> ZoneState {
        if let changed = state.zoneStates[zone] { return changed ?? ZoneState() }
        return try state.zones.get(zone) { () throws(EngineError) in
            try row(.zoneState(zone)) ?? ZoneState()
        }
    }

    package mutating func setZoneState(_ zone: ZoneNumber, _ new: ZoneState) {
        state.zoneStates[zone] = .some(new)
    }

    /// Drops the counts of a zone whose rows are deleted.
    package mutating func forgetZone(_ zone: ZoneNumber) {
        state.zoneStates[zone] = .some(nil)
        put(.zoneState(zone), nil)
    }

    package mutating func touch(_ database: DatabaseNumber, zone: String, _ dot: Dot) {
        let head = WriterState.Head(database: database, incarnation: dot.incarnation, zone: zone)
        state.heads[head] = dot.seq
    }

    /// Notes that a commit which touched a zone has arrived.
    package mutating func raiseHead(
        _ database: DatabaseNumber,
        zone: String,
        to dot: Dot
    ) throws(EngineError) {
        let known: SeqRow? = try row(.zoneHead(database, dot.incarnation, zone))
        let head = WriterState.Head(database: database, incarnation: dot.incarnation, zone: zone)
        // This batch may have raised it already, without having written the row yet.
        let pending = state.heads[head] ?? 0
        if max(known?.seq ?? 0, pending) < dot.seq { touch(database, zone: zone, dot) }
    }

    /// Remembers whether all members know a feature, until the list of members or their features
    /// change.
    package mutating func remember(_ feature: String, isKnown: Bool) {
        state.knownFeatures[feature] = isKnown
    }

    /// Ends the restore: the node began with a backup, and has caught up with another node.
    package mutating func endRestore() {
        put(.restored, nil)
        state.isRestored = false
    }
}
