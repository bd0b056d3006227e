// Which content a caller may use in records of the public database, or of a zone that another user
// shares: what it sent itself, and what a record there names that it may read. Other content does
// not exist for it. So a digest is no key, and a chunk that is there already tells nobody what
// others hold.
//
// Asked by `PrepareAssets` and `SavePlanner`, in the writer. Made once per request: it remembers
// what it found, and looks at a bounded number of records. One's own database needs no claims:
// everything there is the owner's.

import CumulusAssets
import CumulusModel
import CumulusStorage

struct AssetClaims {
    let holder: Leaseholder
    private let scope: ScopeNumber
    private let caller: Caller
    /// The zone of the records, as the caller finds it; nil if it was not looked for yet.
    private var zone: FoundZone??
    private var access: RecordAccess?
    /// Whether a record that the caller may read names an asset, for the assets that were asked
    /// about.
    private var readable: [Bytes: Bool] = [:]
    /// The record that is saved, with the assets that it names if the caller may read it.
    private var saved: (name: String, assets: Set<Bytes>)?
    /// The bytes of records that may still be looked at.
    private var room = 4 << 20
    /// The cost of a look, besides the bytes that it finds.
    private static let lookBytes = 1 << 10
    /// The most records that name an asset, or assets that contain a chunk, that are looked at.
    private static let mostUses = 10

    /// - Parameter shared: Another user's zone; nil means the zone of all public records.
    init(
        _ database: DatabaseNumber,
        of scope: ScopeNumber,
        by caller: Caller,
        in shared: FoundZone?
    ) {
        holder = Leaseholder(database: database, user: caller.user)
        self.scope = scope
        self.caller = caller
        if let shared { zone = .some(shared) }
    }

    // MARK: Records that the caller may read

    /// Whether a record that the caller may read names an asset.
    mutating func mayRead(
        _ asset: Bytes,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        if let known = readable[asset] { return known }
        let found = try isNamedReadably(asset, in: &transaction)
        readable[asset] = found
        return found
    }

    private mutating func isNamedReadably(
        _ asset: Bytes,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        guard takeRoom(), let zone = try zone(in: transaction), let number = zone.number else {
            return false
        }
        // `room` bounds what is read here.
        let read = transaction.recordBytes
        defer { transaction.recordBytes = read }
        let uses = try transaction.rows(
            .index,
            .assetUses(of: number, asset),
            limit: AssetClaims.mostUses
        )
        for (key, _) in uses {
            let name = try RowKey.assetUser(key)
            guard takeRoom(), let row = try transaction.get(.record(number, name)) else { continue }
            room -= row.count
            if try assets(in: row, name, of: zone, &transaction).contains(asset) { return true }
        }
        return false
    }

    /// Whether the stored version of the saved record names an asset, and the caller may read it.
    ///
    /// That record is read anyway, so the look costs nothing.
    private mutating func isNamed(
        _ asset: Bytes,
        by name: String,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        if let saved, saved.name == name { return saved.assets.contains(asset) }
        var found: Set<Bytes> = []
        // The batch counted the record when it loaded it.
        let read = transaction.recordBytes
        defer { transaction.recordBytes = read }
        if let zone = try zone(in: transaction), let number = zone.number,
            let row = try transaction.get(.record(number, name))
        {
            found = try assets(in: row, name, of: zone, &transaction)
        }
        saved = (name, found)
        return found.contains(asset)
    }

    /// The assets of a record as the caller sees it; none if it may not read it.
    private mutating func assets(
        in row: Bytes,
        _ name: String,
        of zone: FoundZone,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Set<Bytes> {
        let key = Bytes(name.utf8)
        let view = try transaction.decoding(key) { () throws(MalformedBytes) in
            try zone.showing(nil) { (keys) throws(MalformedBytes) in
                try RecordView(row: row, name: name, keys: keys)
            }
        }
        guard let view else { return [] }
        let access = access ?? RecordAccess(to: zone, of: scope, by: caller)
        self.access = access
        if try access.refusal(.read, RecordAccess.Record(view), &transaction) != nil { return [] }
        return try transaction.decoding(key) { () throws(MalformedBytes) in
            try RecordBody(stored: view.fields).assets()
        }
    }

    /// Pays for a look; returns false if too much was looked at.
    private mutating func takeRoom() -> Bool {
        room -= AssetClaims.lookBytes
        return room >= 0
    }

    private mutating func zone(
        in transaction: borrowing WriteTransaction
    ) throws(EngineError) -> FoundZone? {
        if let zone { return zone }
        let found = try transaction.find(ZoneAddress(), in: .public, of: scope, by: caller)
        zone = .some(found)
        return found
    }

    // MARK: Assets of the caller's

    /// Prepares an asset for the caller, with leases for the chunks that it has and announces.
    ///
    /// - Returns: Indexes of the chunks that it has to send, each chunk once.
    mutating func prepare(
        _ list: ChunkList,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> [Int] {
        let holding = try holding(of: list, in: &transaction)
        _ = try DatabaseAssets(of: holder.database).enter(list, by: holder.user, &transaction)
        for index in holding.missing {
            try holder.lease(chunk: list[index], isHeld: false, &transaction)
        }
        // An asset that a readable record names needs no lease.
        if try mayRead(list.digest, in: &transaction) { return holding.missing }
        let chunks = list.distinct
        for chunk in chunks where holding.held.contains(chunk.digest) {
            try holder.lease(chunk: chunk, isHeld: true, &transaction)
        }
        let isHeld = holding.held.count == chunks.count
        try holder.lease(asset: list.digest, isHeld: isHeld, &transaction)
        return holding.missing
    }

    /// Whether an asset already counts for the caller's quota, or needs not to.
    mutating func isCounted(
        _ asset: Bytes,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        if try transaction.lease(asset, of: holder) != nil { return true }
        let row = try transaction.asset(asset, in: holder.database)
        if let row, row.user == holder.user { return true }
        return try mayRead(asset, in: &transaction)
    }

    enum Problem {
        /// The caller did not send it, whether or not it is here.
        case unknown
        /// The caller has not sent this many of its chunks yet.
        case missing(Int)
    }

    /// Why the caller can't save a record that names an asset; nil if its claims allow it.
    ///
    /// - Parameter record: The name of the saved record; nil if it is new.
    mutating func problem(
        with asset: Bytes,
        in record: String?,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Problem? {
        let lease = try transaction.lease(asset, of: holder)
        if lease?.isHeld == true { return nil }
        if let record, try isNamed(asset, by: record, in: &transaction) { return nil }
        if try mayRead(asset, in: &transaction) { return nil }
        guard lease != nil, let list = try transaction.chunkList(of: asset, in: holder.database)
        else { return .unknown }
        let holding = try holding(of: list, in: &transaction)
        guard holding.missing.isEmpty else { return .missing(holding.missing.count) }
        if holding.held.count == list.distinct.count { try holder.hold(asset, &transaction) }
        return nil
    }

    // MARK: Chunks

    /// What the caller has of an asset.
    struct Holding {
        /// The indexes of the chunks that the caller still has to send, each chunk once.
        var missing: [Int] = []
        /// The digests of the chunks that the caller sent itself.
        var held: Set<Bytes> = []
    }

    /// Finds which chunks of an asset the caller has, and which it has to send.
    mutating func holding(
        of list: ChunkList,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> Holding {
        let isReadable = try mayRead(list.digest, in: &transaction)
        var seen: Set<Bytes> = []
        var holding = Holding()
        for (index, entry) in list.entries.enumerated() where seen.insert(entry.digest).inserted {
            let row = try transaction.chunk(entry.digest, in: holder.database)
            guard row?.size == entry.size else {
                holding.missing.append(index)
                continue
            }
            let lease = try transaction.lease(entry.digest, of: holder)
            if let lease, lease.isHeld, lease.size == UInt64(entry.size) {
                holding.held.insert(entry.digest)
                continue
            }
            if isReadable { continue }
            if try !mayRead(chunk: entry, in: &transaction) { holding.missing.append(index) }
        }
        return holding
    }

    /// Whether an asset that the caller may read contains a chunk.
    private mutating func mayRead(
        chunk: ChunkList.Entry,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        let uses = try transaction.assets(
            containing: chunk,
            in: holder.database,
            limit: AssetClaims.mostUses
        )
        for asset in uses where try mayRead(asset, in: &transaction) { return true }
        return false
    }
}
