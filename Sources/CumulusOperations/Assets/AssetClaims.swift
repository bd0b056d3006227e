// Which content a caller may take for records of the public database, or of a zone that another
// user shares: what it sent itself, and what a record names there that it may read. Anything else
// does not exist for it, so that a digest is no key, and that a chunk is there already tells nobody
// what others hold.
//
// Asked by `PrepareAssets` and `SavePlanner`, in the writer. Made once per request: it remembers
// what it found, and looks at a bounded number of records. One's own database needs none: there all
// is the owner's.

import CumulusAssets
import CumulusModel
import CumulusStorage

struct AssetClaims {
    let holder: Leaseholder
    private let scope: ScopeNumber
    private let caller: Caller
    /// The zone of the records, with the names that are shown; nil: not looked for yet.
    private var zone: FoundZone??
    private var access: RecordAccess?
    /// Whether a record names an asset that the caller may read, of those that were asked for.
    private var readable: [Bytes: Bool] = [:]
    /// The record that is saved, with what it names if the caller may read it.
    private var saved: (name: String, assets: Set<Bytes>)?
    /// What further looks may cost, in bytes of records.
    private var room = 4 << 20
    /// What a look costs beside the bytes that it finds.
    private static let lookBytes = 1 << 10
    /// Records that name an asset, or assets that contain a chunk: so many are looked at.
    private static let mostUses = 10

    /// - Parameter shared: A zone of another user's; nil means that of all public records.
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

    /// Whether such a record names an asset.
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

    /// Whether the record that is saved names an asset as it is, and the caller may read it.
    ///
    /// That record is read anyway, so it takes no room.
    private mutating func isNamed(
        _ asset: Bytes,
        by name: String,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        if let saved, saved.name == name { return saved.assets.contains(asset) }
        var found: Set<Bytes> = []
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

    /// False if too much was looked at.
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

    /// Makes an asset known that the caller prepares, and keeps what it has and announces of it.
    ///
    /// - Returns: Indexes of the chunks that it has to send, each chunk once.
    mutating func prepare(
        _ list: ChunkList,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> [Int] {
        let share = try share(of: list, in: &transaction)
        _ = try transaction.enter(list, by: holder.user, in: holder.database)
        for index in share.missing {
            try transaction.lease(chunk: list[index], to: holder, isHeld: false)
        }
        // What a record names needs no lease beside it.
        if try mayRead(list.digest, in: &transaction) { return share.missing }
        let chunks = list.distinct
        for chunk in chunks where share.held.contains(chunk.digest) {
            try transaction.lease(chunk: chunk, to: holder, isHeld: true)
        }
        let isHeld = share.held.count == chunks.count
        try transaction.lease(asset: list.digest, to: holder, isHeld: isHeld)
        return share.missing
    }

    /// Whether an asset takes the caller's space already, or needs none.
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
        /// So many of its chunks the caller has not sent yet.
        case missing(Int)
    }

    /// Why the caller can't save a record that names an asset; nil if it can, as far as what is its
    /// goes.
    ///
    /// - Parameter record: That is saved; nil if it is new.
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
        let share = try share(of: list, in: &transaction)
        guard share.missing.isEmpty else { return .missing(share.missing.count) }
        if share.held.count == list.distinct.count { try transaction.hold(asset, by: holder) }
        return nil
    }

    // MARK: Chunks

    /// What of an asset the caller has.
    struct Share {
        /// Indexes of the chunks that it still has to send, each chunk once.
        var missing: [Int] = []
        /// Those that it sent itself.
        var held: Set<Bytes> = []
    }

    /// Looks which chunks of an asset the caller has, and which it has to send.
    mutating func share(
        of list: ChunkList,
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> Share {
        let isReadable = try mayRead(list.digest, in: &transaction)
        var seen: Set<Bytes> = []
        var share = Share()
        for (index, entry) in list.entries.enumerated() where seen.insert(entry.digest).inserted {
            let row = try transaction.chunk(entry.digest, in: holder.database)
            guard row?.size == entry.size else {
                share.missing.append(index)
                continue
            }
            let lease = try transaction.lease(entry.digest, of: holder)
            if let lease, lease.isHeld, lease.size == UInt64(entry.size) {
                share.held.insert(entry.digest)
                continue
            }
            if isReadable { continue }
            if try !mayRead(chunk: entry, in: &transaction) { share.missing.append(index) }
        }
        return share
    }

    /// Whether an asset contains a chunk that the caller may read.
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
