// Opens a store: checks its format, or makes a new one, and mints this run's incarnation.
//
// Called once, before anything else reads or writes. A store of another format is refused and left
// as it is.

package import CumulusModel

package enum OpenStore {
    /// The format that this release reads and writes.
    ///
    /// Formats 1 to 4 were never released. Format 7 added the rows of assets. Format 8 has another
    /// checksum for newly stored chunks. Format 9 counts the bytes of assets in the states of
    /// zones. Format 10 has shares and former parents. Format 11 has keys of lives, which rows of
    /// earlier formats lack. Format 12 has the last position of the local order in the rows of
    /// runs; before, each commit had a row for its position. From it on the engine has a journal,
    /// which programs of earlier formats would not read.
    package static let formatVersion: UInt32 = 12
    package static let oldestVersion: UInt32 = 6
    /// The format of the rows that nodes hand each other as state.
    package static let stateVersion: UInt32 = 11

    package enum Failure: Error, Equatable, Sendable {
        case newerFormat(UInt32)
        case olderFormat(UInt32)
        /// The store belongs to another cluster than the one configured.
        case otherCluster(Bytes)
        /// There are packs, this many, that do not belong to this store.
        case otherPacks(Int)
        /// All packs are gone, this many, and no other node may have their chunks.
        case packsGone(Int)
        case engine(EngineError)

        /// One line for the person who started the node.
        package var message: String {
            switch self {
            case .newerFormat(let version):
                """
                the data directory has storage format \(version), and this release reads up to \
                \(OpenStore.formatVersion); run the newer release, or restore a backup
                """
            case .olderFormat(let version):
                """
                the data directory has storage format \(version), and this release reads \
                \(OpenStore.oldestVersion) and newer; export with the older release and import here
                """
            case .otherCluster(let id):
                """
                the data directory belongs to cluster \(id.hex), and the cluster key to another \
                one; name the right key, or an empty data directory
                """
            case .otherPacks(let count):
                """
                'assets' in the data directory holds \(count) packs, and they are not those of \
                this store; put back the right ones, or move these away
                """
            case .packsGone(let count):
                """
                'assets' in the data directory is empty, and \(count) packs belong there (is \
                another disk mounted there?); put them back, or start once with --lost-assets to \
                go on without them
                """
            case .engine(.corrupt(let what)):
                "the data directory is damaged: \(what); \(EngineError.remedy)"
            case .engine(.full(let what)):
                "the store can't be written: \(what); free space on the disk and start again"
            case .engine(.failed(let what)), .engine(.exhausted(let what)),
                .engine(.unavailable(let what)):
                what
            case .engine(.notInMemory): "a read did not reach the disk"
            }
        }
    }

    /// Opens the store and returns the writer's first state.
    ///
    /// A new store is initialised and flushed.
    ///
    /// `clusterID` is the cluster of the store, or of a new store; nil accepts any.
    ///
    /// - Parameters:
    ///   - joins: A new store is for a node that joins a cluster: its row `joining` stays
    ///     until the node has taken a state.
    ///   - isBackup: The store is a backup of a node: its row `restored` stays until the node has
    ///     caught up with another one.
    package static func open(
        _ engine: any StorageEngine,
        clusterID: Bytes? = nil,
        joins: Bool = false,
        isBackup: Bool = false,
        using dice: inout some RandomNumberGenerator
    ) throws(Failure) -> WriterState {
        do {
            return try read(engine, clusterID, joins: joins, isBackup: isBackup, using: &dice)
        } catch let failure as Failure {
            throw failure
        } catch let error as EngineError {
            throw .engine(error)
        } catch {
            throw .engine(.failed("\(error)"))
        }
    }

    private static func read(
        _ engine: any StorageEngine,
        _ clusterID: Bytes?,
        joins: Bool,
        isBackup: Bool,
        using dice: inout some RandomNumberGenerator
    ) throws -> WriterState {
        let reader = ReadTransaction(engine, reach: .disk)
        guard let node = try node(in: reader) else {
            return try create(engine, clusterID, joins: joins, using: &dice)
        }
        guard clusterID == nil || clusterID == node.clusterID else {
            throw Failure.otherCluster(node.clusterID)
        }
        var state = WriterState(incarnation: node.newIncarnation(using: &dice), node: node)
        state.storedNode = node
        state.clock.observe(try reader.lastCommitTime())
        state.inherited = try reader.inheritance(of: node.nodeID)
        let isRestored = try isBackup || reader.get(.restored) != nil
        state.isRestored = try isRestored && reader.hasMembers(besides: node.nodeID)
        state.owedRecords = try reader.owedRecords()
        var transaction = WriteTransaction(engine: engine, state: state)
        if let format: NumberRow = try reader.row(.format), format.number < formatVersion {
            try takeOver(from: format.number, &transaction)
        }
        try StagedZones.drop(&transaction)
        if isRestored { transaction.put(.restored, state.isRestored ? Bytes() : nil) }
        let (rows, cleaned) = transaction.finish()
        if !rows.isEmpty { try engine.commit(rows.batch()) }
        return cleaned
    }

    /// The node that owns the store; nil if the store is new.
    ///
    /// Throws if this release can't read it.
    ///
    /// Changes nothing.
    package static func node(in reader: ReadTransaction) throws -> NodeRow? {
        guard let format: NumberRow = try reader.row(.format) else { return nil }
        guard format.number <= formatVersion else { throw Failure.newerFormat(format.number) }
        guard format.number >= oldestVersion else { throw Failure.olderFormat(format.number) }
        guard let node: NodeRow = try reader.row(.node) else {
            throw EngineError.corrupt("the node's own row is missing")
        }
        return node
    }

    /// Turns a copy of another node's store into the store of a new node with its own name.
    package static func rename(
        _ engine: any StorageEngine,
        using dice: inout some RandomNumberGenerator
    ) throws(Failure) {
        let state = try open(engine, using: &dice)
        var node = NodeRow(nodeID: identifier(&dice), clusterID: state.node.clusterID)
        node.latestTime = state.clock.latest
        node.nextScope = state.node.nextScope
        node.nextDatabase = state.node.nextDatabase
        node.nextZone = state.node.nextZone
        node.nextIndex = state.node.nextIndex
        var batch = EngineBatch()
        let key = RowKey.node
        batch.writes.append(.init(family: key.family, key: key.bytes, value: node.rowBytes))
        do {
            try engine.commit(batch)
        } catch {
            throw .engine(error)
        }
        try markBackup(engine)
    }

    /// Marks a store as a backup.
    package static func markBackup(_ engine: any StorageEngine) throws(Failure) {
        var batch = EngineBatch()
        batch.writes.append(.init(family: .meta, key: RowKey.restored.bytes, value: []))
        do {
            try engine.commit(batch)
        } catch {
            throw .engine(error)
        }
    }

    private static func create(
        _ engine: any StorageEngine,
        _ clusterID: Bytes?,
        joins: Bool,
        using dice: inout some RandomNumberGenerator
    ) throws -> WriterState {
        let nodeID = identifier(&dice)
        let node = NodeRow(nodeID: nodeID, clusterID: clusterID ?? identifier(&dice))
        let state = WriterState(incarnation: node.newIncarnation(using: &dice), node: node)
        var transaction = WriteTransaction(engine: engine, state: state)
        transaction.put(.format, NumberRow(number: formatVersion))
        transaction.put(.packOrigin, PackOriginRow(run: state.incarnation))
        if joins { transaction.put(.joining, Bytes()) }
        _ = try transaction.makeScope(.cluster)
        let (rows, created) = transaction.finish()
        try engine.commit(rows.batch())
        return created
    }

    private static func identifier(_ dice: inout some RandomNumberGenerator) -> Bytes {
        (0..<16).map { _ in UInt8.random(in: 0...255, using: &dice) }
    }
}

// MARK: - Earlier formats

extension OpenStore {
    private static func takeOver(
        from format: UInt32,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        try keepLastPositions(&transaction)
        if format < 9 { try countAssets(&transaction) }
        transaction.put(.format, NumberRow(number: formatVersion))
    }

    /// Drops the rows of the local order, and notes each scope's last position in the row of a run.
    ///
    /// A row's key is its byte, the scope and the position; its value begins with the commit's dot.
    private static func keepLastPositions(
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        let order: Bytes = [97]
        for (_, scope) in try ScopeDirectory.all(in: transaction) {
            let ofScope = order + [UInt8(scope >> 8), UInt8(truncatingIfNeeded: scope)]
            let range = KeyRange(prefix: ofScope)
            let last = try transaction.rows(.log, range, backwards: true, limit: 1).first
            guard let last else { continue }
            let (position, dot) = try transaction.decoding(last.key) {
                () throws(MalformedBytes) -> (UInt64, Dot) in
                var (key, value) = (CanonicalReader(last.key), CanonicalReader(last.value))
                _ = try key.take(ofScope.count)
                return (try key.bigEndian(), try value.dot())
            }
            let key = RowKey.vector(scope, dot.incarnation)
            guard var run: RunRow = try transaction.row(key) else {
                throw .corrupt("commit \(dot) has a position, and its run has no row")
            }
            run.position = position
            transaction.put(key, run)
        }
        transaction.deleteRange(.log, KeyRange(prefix: order))
    }

    /// Counts the bytes of assets in each zone, for stores of releases that did not.
    ///
    /// Reads the records that name assets.
    private static func countAssets(
        _ transaction: inout WriteTransaction
    ) throws(EngineError) {
        for (_, scope) in try ScopeDirectory.all(in: transaction) {
            for (_, database) in try transaction.databases(of: scope) {
                for (_, zone) in try transaction.zoneRows(of: database) where zone.exists {
                    let sum = try assetBytes(in: zone.number, &transaction)
                    guard sum != 0 else { continue }
                    var state = try transaction.zoneState(zone.number)
                    state.assetBytes = sum
                    transaction.setZoneState(zone.number, state)
                }
            }
        }
    }

    private static func assetBytes(
        in zone: ZoneNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Int64 {
        var names: Set<String> = []
        for (key, _) in try transaction.rows(.index, .assetUses(of: zone)) {
            var parts = KeyReader(key)
            _ = try parts.number(ZoneNumber.self)
            _ = try parts.bytes(32)
            names.insert(try parts.text())
        }
        var sum: Int64 = 0
        for name in names {
            for row in try transaction.lives(zone, name) where !row.isDead {
                sum &+= try transaction.decoding(Bytes(name.utf8)) { () throws(MalformedBytes) in
                    try row.body.assetBytes()
                }
            }
        }
        return sum
    }
}
