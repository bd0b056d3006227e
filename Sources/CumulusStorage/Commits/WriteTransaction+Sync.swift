// Changes of the store when a node takes over another node's state, and when it forgets: raise the
// vector, drop the log behind it, keep zones that are not in use yet.
//
// CumulusReplication calls it inside the writer. Nothing is visible before the batch is committed.

package import CumulusModel

extension RowReader where Self: ~Copyable {
    /// How far each run's commits are applied.
    package borrowing func runs(of scope: ScopeNumber) throws(EngineError) -> Runs {
        var runs: [Incarnation: VectorRow] = [:]
        for (key, value) in try rows(.meta, .vectors(of: scope)) {
            runs[try incarnation(in: key)] = try decoding(key) { () throws(MalformedBytes) in
                try VectorRow(row: value)
            }
        }
        return Runs(runs)
    }

    /// The commits that are applied.
    package borrowing func vector(of scope: ScopeNumber) throws(EngineError) -> VersionVector {
        try runs(of: scope).vector
    }

    /// The last commit of each incarnation before the log begins; all later ones are in the log.
    package borrowing func logFloors(of scope: ScopeNumber) throws(EngineError) -> VersionVector {
        var floors = VersionVector()
        for (key, value) in try rows(.meta, .logFloors(of: scope)) {
            floors[try incarnation(in: key)] = try decoding(key) { () throws(MalformedBytes) in
                try SeqRow(row: value).seq
            }
        }
        return floors
    }

    /// The last reports of members, by node id.
    package borrowing func reports(
        of scope: ScopeNumber
    ) throws(EngineError) -> [Bytes: ReportRow] {
        var reports: [Bytes: ReportRow] = [:]
        for (key, value) in try rows(.meta, .reports(of: scope)) {
            var reader = KeyReader(key)
            _ = try reader.number(ScopeNumber.self)
            let nodeID = try reader.bytes(16)
            reports[nodeID] = try decoding(key) { () throws(MalformedBytes) in
                try ReportRow(row: value)
            }
        }
        return reports
    }

    /// Whether there are staged zones.
    ///
    /// Nothing points to a staged zone. It holds records of a state sync, or a zone that such a
    /// sync has replaced.
    package borrowing func hasStages() throws(EngineError) -> Bool {
        try !rows(.meta, .all(.stagedZone), limit: 1).isEmpty
    }

    /// Names of a zone's records and tombstones after a given name, ascending.
    package borrowing func recordNames(
        in zone: ZoneNumber,
        after name: String?,
        limit: Int
    ) throws(EngineError) -> [String] {
        var range = KeyRange.records(of: zone)
        if let name { range.start = RowKey.record(zone, name).bytes + [0] }
        var keys: [Bytes] = []
        try scan(.records, range, backwards: false) { key, _ in
            keys.append(key)
            return keys.count < limit
        }
        return try keys.map { (key) throws(EngineError) in
            var parts = KeyReader(key)
            _ = try parts.number(ZoneNumber.self)
            return try parts.text()
        }
    }

    private borrowing func incarnation(in key: Bytes) throws(EngineError) -> Incarnation {
        var reader = KeyReader(key)
        _ = try reader.number(ScopeNumber.self)
        return Incarnation(try reader.number())
    }
}

extension WriteTransaction {
    /// Raises the vector to these commits: they arrived as state, without log entries.
    package mutating func raise(
        to vectors: [Incarnation: VectorRow],
        in number: ScopeNumber
    ) throws(EngineError) {
        var scope = try loadScope(number)
        var rows = scope.runs.rows
        for (incarnation, row) in vectors {
            guard row.seq > rows[incarnation]?.seq ?? 0 else { continue }
            try dropLog(of: incarnation, through: row.seq, in: number)
            rows[incarnation] = row
            scope.touched.insert(incarnation)
            scope.isRaised = true
            observe(row.time)
        }
        scope.runs = Runs(rows)
        scope.cuts = [:]
        replaceScope(scope)
        try ScopeFeeds(of: number).noteBreak(&self)
    }

    /// Drops an incarnation's commits from the log, up to a given one.
    package mutating func dropLog(
        of incarnation: Incarnation,
        through seq: UInt64,
        in scope: ScopeNumber
    ) throws(EngineError) {
        let key = RowKey.logFloor(scope, incarnation)
        let floor: SeqRow? = try row(key)
        let first = (floor?.seq ?? 0) + 1
        guard first <= seq else { return }
        deleteRange(.log, .commits(scope, incarnation, first...seq))
        put(key, SeqRow(seq: seq))
    }

    /// Drops the oldest places in the order of application that a vector covers, up to a limit; the
    /// last place stays.
    ///
    /// Returns true if none is left to drop.
    package mutating func dropOrder(
        of scope: ScopeNumber,
        through vector: VersionVector,
        limit: Int
    ) throws(EngineError) -> Bool {
        let next = try loadScope(scope).nextPosition
        var found: [(key: Bytes, value: Bytes)] = []
        try scan(.log, .order(of: scope), backwards: false) { key, value in
            found.append((key, value))
            return found.count < limit
        }
        var end: UInt64?
        for (key, value) in found {
            var parts = KeyReader(key)
            _ = try parts.number(ScopeNumber.self)
            let position = try parts.number(UInt64.self)
            let dot = try decoding(key) { () throws(MalformedBytes) in
                try OrderRow(row: value).dot
            }
            guard position + 1 < next, vector.covers(dot) else { break }
            end = position
        }
        guard let end, let first = found.first else { return true }
        let range = KeyRange(start: first.key, end: RowKey.order(scope, end).bytes + [0])
        deleteRange(.log, range)
        return found.count < limit
    }

    /// Forgets increments.
    package mutating func deleteIncrements(_ range: KeyRange) {
        deleteRange(.log, range)
    }

    /// Hands out a number for a zone that is being filled; nothing points to it yet.
    package mutating func makeStagedZone(
        of scope: ScopeNumber
    ) throws(EngineError) -> ZoneNumber {
        let number = try takeZoneNumber()
        keepStage(number, of: scope)
        return number
    }

    /// Marks a zone number to which nothing points, so that `dropStages` drops its rows.
    package mutating func keepStage(_ number: ZoneNumber, of scope: ScopeNumber) {
        put(.stagedZone(number), NumberRow(number: UInt32(scope)))
    }

    /// Drops what is left of state syncs, of one scope or of all: unfinished zones, and zones that
    /// another node's state has replaced.
    package mutating func dropStages(of scope: ScopeNumber? = nil) throws(EngineError) {
        for (key, value) in try rows(.meta, .all(.stagedZone)) {
            let owner = try decoding(key) { () throws(MalformedBytes) in
                try NumberRow(row: value).number
            }
            guard scope == nil || scope.map(UInt32.init) == owner else { continue }
            var reader = KeyReader(key)
            let number: ZoneNumber = try reader.number()
            dropRows(of: number)
            put(.stagedZone(number), nil)
        }
        let stage = scope.map { KeyRange.staged(of: $0) } ?? .all(.stage)
        if try !rows(.log, stage, limit: 1).isEmpty { deleteRange(.log, stage) }
    }
}

// MARK: - Parts of a state

extension WriteTransaction {
    /// Joins a register of another node: `RegisterRule` decides which of two values stays; read
    /// marks of a user are joined.
    ///
    /// - Parameter isCommitted: The register arrives as a commit; what depends on it follows.
    package mutating func join(
        _ theirs: RegisterRow,
        into namespace: String,
        _ key: [Bytes],
        of scope: ScopeNumber,
        isCommitted: Bool = false
    ) throws(EngineError) {
        let ours = try register(scope, namespace, key)
        let isKnown = ours != nil
        if let ours {
            if namespace == SchemaRegister.fieldNamespace {
                let isMixed = try isMixed(key, in: scope)
                if isMixed || ours.value != theirs.value {
                    try noteType(theirs, of: key, in: scope)
                }
            }
            if ReadMarks.isNamespace(namespace), !state.broken.contains(.readMarks) {
                let joined = ours.joiningMarks(of: theirs)
                if joined != ours { put(.register(scope, namespace, key), joined) }
                return
            }
            let rule = RegisterRule(of: namespace, broken: state.brokenRegisters)
            guard theirs.replaces(ours, by: rule) else { return }
        }
        if namespace == StoredSubscription.namespace {
            let next = try loadScope(scope).nextPosition
            let position = isCommitted ? next - 1 : next
            try ScopeFeeds(of: scope).noteSubscription(
                key,
                from: ours?.value,
                to: theirs.value,
                at: position,
                &self
            )
        }
        put(.register(scope, namespace, key), theirs)
        noteSchemaSize(namespace, key, in: scope, isNew: !isKnown)
        if namespace == MemberRegister.namespace {
            state.inherited = try inheritance(of: state.node.nodeID)
        }
        if namespace == MemberRegister.namespace || namespace == MemberRegister.features {
            state.knownFeatures = [:]
        }
        if AccountRegister.endsSessions(namespace, isNew: !isKnown) { state.accountsVersion += 1 }
        if namespace == AccountRegister.profile, let userID = key.first {
            state.changedProfiles.add(userID)
        }
        if namespace == Truncation.namespace {
            var known = try loadScope(scope)
            known.truncation = theirs.rank
            replaceScope(known)
        }
        if namespace == ContainerRegister.namespace, let name = key.first {
            // Without a number left, the container stays a name: the commits after it must still
            // apply.
            for environment in Environment.allCases where state.node.nextScope < .max {
                let container = String(decoding: name, as: UTF8.self)
                _ = try makeScope(ScopeID(container: container, environment: environment))
            }
        }
        if namespace == SchemaRegister.mixedNamespace {
            state.lenses[scope] = nil
            state.zonesVersion += 1
            try ScopeFeeds(of: scope).noteBreak(&self)
            // Other nodes may remember an older value than the one that stands here.
            let field = Array(key.dropLast())
            if let row = try register(scope, SchemaRegister.fieldNamespace, field) {
                try noteType(row, of: field, in: scope)
            }
        }
        if namespace == SchemaRegister.typeDropNamespace, let type = key.first {
            let type = String(decoding: type, as: UTF8.self)
            // The indexes go with the dropped type; its successor gets its own.
            for value in [ours?.value, theirs.value] {
                var drops = DropCounts()
                if let value { try drops.add(type, value) }
                forgetSchema(scope, drops.stored(type), isNew: false)
            }
        } else if let type = key.first, SchemaRegister.holds(namespace) {
            let isNew = isCommitted && namespace == SchemaRegister.typeNamespace && !isKnown
            forgetSchema(scope, String(decoding: type, as: UTF8.self), isNew: isNew)
        }
        noteRoles(namespace, in: scope)
        if SchemaRegister.isCount(namespace) {
            state.lenses[scope] = nil
            state.zonesVersion += 1
            try ScopeFeeds(of: scope).noteBreak(&self)
            // The records of the dropped type have to be deleted.
            if namespace == SchemaRegister.typeDropNamespace { state.schemaWorkVersion += 1 }
        }
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

    /// Remembers that a field with several types was given this type, and when that first happened.
    private mutating func noteType(
        _ row: RegisterRow,
        of field: [Bytes],
        in scope: ScopeNumber
    ) throws(EngineError) {
        guard let type = row.value else { return }
        let first = RegisterRow(stamp: row.stamp, value: [])
        try join(first, into: SchemaRegister.mixedNamespace, field + [type], of: scope)
    }

    private func isMixed(_ field: [Bytes], in scope: ScopeNumber) throws(EngineError) -> Bool {
        try !registers(scope, SchemaRegister.mixedNamespace, below: field).isEmpty
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
}
