// Uploads, saves, deletions, the collection of assets, the rewriting of packs and power cuts, step
// by step in a random order: what a record names is there whole, and nothing else stays.
//
// `cumulus-sim` and a test run it. The operations, the store and the start are a node's; anything
// else may happen between two steps of a node. Chunks are stand-ins of a few bytes, so a history
// takes milliseconds.

import CumulusAssets
import CumulusModel
import CumulusNode
import CumulusOperations
import CumulusStorage

struct AssetSimulation: History {
    static let usualSteps = 160

    private static let grace: Int64 = 10_000
    private var dice: SeededGenerator
    private let store: TestStore
    private var packs = MemoryPacks()
    private var assets: AssetStore
    private let samples: [ChunkList]
    private var steps = 0
    private(set) var verdict: Verdict

    // Writes that are under way, and gone after a power cut.
    private var written: [Written] = []
    private var walks: [Walk] = []
    private var moves: [Move] = []
    private var files: [Set<PackNumber>] = []

    /// The asset that each record names.
    private var records: [Place: Int] = [:]
    /// The time at which each asset was last prepared, while nothing of it has been lost.
    private var prepared: [Owned: Int64] = [:]

    private struct Place: Hashable {
        let user: Int
        let name: String
    }

    private struct Owned: Hashable {
        let user: Int
        let sample: Int
    }

    /// A pack whose file is there and whose rows are not.
    private struct Written {
        let user: Int
        let pack: AssetStore.Pack
    }

    /// The findings of a step of the collector.
    private struct Walk {
        let database: DatabaseNumber
        let collection: AssetCollection
        let findings: [AssetCollection.Finding]
    }

    /// Chunks that were copied into a new pack.
    private struct Move {
        let survivors: [SparsePacks.Survivor]
        let pack: AssetStore.Pack
    }

    init(_ plan: HistoryPlan) throws {
        verdict = Verdict(isTold: plan.isTold)
        dice = SeededGenerator(seed: plan.seed)
        store = try TestStore(seed: plan.seed)
        assets = Self.assetStore(packs, next: try store.recover(packs))
        // Few chunks in many assets: each is shared.
        var samples: [ChunkList] = []
        for _ in 0..<5 {
            var list = ChunkList()
            for _ in 0..<Int.random(in: 1...4, using: &dice) {
                list.append(Self.entry(Int.random(in: 0..<6, using: &dice)))
            }
            samples.append(list)
        }
        self.samples = samples
    }

    private static func assetStore(_ packs: MemoryPacks, next: PackNumber) -> AssetStore {
        AssetStore(packs, next: next, capacity: 1, diskReserve: 0, freeBytes: { nil })
    }

    private static func entry(_ number: Int) -> ChunkList.Entry {
        ChunkList.Entry(
            digest: Bytes(repeating: UInt8(number), count: 32),
            size: ContentCutter.smallest
        )
    }

    /// The chunk as it would travel; it is never expanded here.
    private static func chunk(_ digest: Bytes) -> Chunk {
        Chunk(
            digest: digest,
            size: ContentCutter.smallest,
            isCompressed: true,
            content: digest.prefix(2 + Int(digest[0]))
        )
    }

    // MARK: Steps

    mutating func step() throws {
        try drawStep()
        if steps % 8 == 0 { try checkRecords() }
        steps += 1
    }

    private mutating func drawStep() throws {
        switch Int.random(in: 0..<100, using: &dice) {
        case 0..<16: try prepare()
        case 16..<30: try write()
        case 30..<46: try enter()
        case 46..<60: try save()
        case 60..<70: try delete()
        case 70..<76: try find()
        case 76..<82: try settleWalk()
        case 82..<85: try copySparse()
        case 85..<88: try move()
        case 88..<92: removeFiles()
        case 92..<94: try cutPower()
        default: store.now += .random(in: 0...Self.grace / 2, using: &dice)
        }
    }

    private mutating func count(_ what: String) {
        verdict.count(what)
        verdict.tell("step \(steps): \(what)")
    }

    private mutating func pick<Element>(
        _ list: WritableKeyPath<AssetSimulation, [Element]>
    ) -> Element? {
        let indices = self[keyPath: list].indices
        if indices.isEmpty { return nil }
        return self[keyPath: list].remove(at: Int.random(in: indices, using: &dice))
    }

    private mutating func anAsset() -> Owned {
        Owned(
            user: Int.random(in: 0..<2, using: &dice),
            sample: Int.random(in: samples.indices, using: &dice)
        )
    }

    private func caller(_ user: Int) -> Caller { user == 0 ? .alice : .bob }

    private mutating func prepare() throws {
        let asset = anAsset()
        let request = PrepareAssets(
            database: .private,
            lists: [.success(samples[asset.sample])],
            limits: .standard
        )
        _ = try store.run(store.request(request, by: caller(asset.user))).get()
        prepared[asset] = store.now
        count("prepared")
    }

    /// Writes some of the chunks of an asset to a pack, whether they are missing or not.
    private mutating func write() throws {
        let asset = anAsset()
        let digests = samples[asset.sample].distinct.map(\.digest).shuffled(using: &dice)
        let some = digests.prefix(Int.random(in: 1...digests.count, using: &dice))
        let pack = try assets.write(some.map(Self.chunk))
        written.append(Written(user: asset.user, pack: pack))
    }

    private mutating func enter() throws {
        guard let next = pick(\.written) else { return }
        let request = EnterChunks(
            database: .private,
            chunks: next.pack.chunks,
            length: next.pack.length
        )
        let outcome = try store.run(store.request(request, by: caller(next.user))).get()
        if !outcome.isUsed { files.append([next.pack.number]) }
        count(outcome.refusal == nil ? "stored" : "refused as not prepared")
    }

    /// A save succeeds if all of the asset came within the time of grace.
    private mutating func save() throws {
        let asset = anAsset()
        let list = samples[asset.sample]
        let place = Place(user: asset.user, name: "r\(Int.random(in: 0..<4, using: &dice))")
        let value = FieldValue.asset(Asset(digest: list.digest, size: list.size))
        let item = SaveItem(place.name, ["file": .some(value)])
        let outcome = try store.save([item], by: caller(asset.user))
        if case .success = outcome.saves[0] {
            records[place] = asset.sample
            count("saved")
        } else {
            count("refused as incomplete")
            if try isComplete(asset) {
                verdict.violate("saves", "asset \(asset.sample) of user \(asset.user) was refused")
            }
        }
    }

    private mutating func delete() throws {
        guard let place = records.keys.sorted(by: { $0.name < $1.name }).randomElement(using: &dice)
        else { return }
        try store.delete([DeleteItem(place.name)], by: caller(place.user))
        records[place] = nil
        count("deleted")
    }

    private mutating func find() throws {
        for user in 0..<2 {
            guard let database = try database(user) else { continue }
            let collection = AssetCollection(idleBefore: store.now - Self.grace)
            let found = try collection.find(in: database, after: [], limit: 100, store.reader)
            walks.append(
                Walk(database: database, collection: collection, findings: found.findings)
            )
        }
    }

    private mutating func settleWalk() throws {
        guard let walk = pick(\.walks) else { return }
        var settled: (freed: Set<PackNumber>, assets: Int) = ([], 0)
        try store.change { transaction throws(EngineError) in
            settled = try walk.collection.settle(walk.findings, in: walk.database, &transaction)
        }
        verdict.counts["collected", default: 0] += settled.assets
        files.append(settled.freed)
    }

    private mutating func copySparse() throws {
        let found = try SparsePacks.find(after: 0, limit: 100, store.reader).survivors
        let readable = try found.filter { try assets.read($0.digest, $0.row) != nil }
        if readable.isEmpty { return }
        let pack = try assets.write(readable.map { Self.chunk($0.digest) })
        moves.append(Move(survivors: readable, pack: pack))
    }

    private mutating func move() throws {
        guard let next = pick(\.moves) else { return }
        var moved: (freed: Set<PackNumber>, isUsed: Bool) = ([], false)
        try store.change { transaction throws(EngineError) in
            moved = try Packs.move(
                zip(next.survivors, next.pack.chunks).map { ($0.database, $0.row, $1) },
                length: next.pack.length,
                &transaction
            )
        }
        files.append(moved.isUsed ? moved.freed : moved.freed.union([next.pack.number]))
        if moved.isUsed { count("rewritten") }
    }

    private mutating func removeFiles() {
        guard let freed = pick(\.files) else { return }
        assets.remove(freed)
    }

    /// Committed rows and written files stay; sometimes the disk loses one.
    private mutating func cutPower() throws {
        (written, walks, moves, files) = ([], [], [], [])
        packs = MemoryPacks(copying: packs)
        if Int.random(in: 0..<3, using: &dice) == 0,
            let lost = try packs.all().keys.sorted().randomElement(using: &dice)
        {
            packs.remove(lost)
            count("lost packs")
        }
        try restart()
        count("power cuts")
    }

    private mutating func restart() throws {
        try store.restart()
        assets = Self.assetStore(packs, next: try store.recover(packs))
    }

    // MARK: Checks

    private var allAssets: [Owned] {
        (0..<2).flatMap { user in samples.indices.map { Owned(user: user, sample: $0) } }
    }

    /// Samples may be the same.
    private func isNamed(_ asset: Owned) -> Bool {
        records.contains { place, sample in
            place.user == asset.user && samples[sample].digest == samples[asset.sample].digest
        }
    }

    private func database(_ user: Int) throws -> DatabaseNumber? {
        let owner = caller(user).user
        return try store.reader.database(
            store.scopeNumber(),
            DatabaseID(kind: .private, owner: owner)
        )
    }

    /// Whether all of an asset can be read.
    private func isComplete(_ asset: Owned) throws -> Bool {
        guard let database = try database(asset.user),
            try store.reader.asset(samples[asset.sample].digest, in: database) != nil
        else { return false }
        return try samples[asset.sample].distinct.allSatisfy { entry in
            guard let row = try store.reader.chunk(entry.digest, in: database) else { return false }
            return try assets.read(entry.digest, row)?.content == Self.chunk(entry.digest).content
        }
    }

    /// Checks that assets which the rows call whole can be read.
    ///
    /// An asset exists as long as a record names it, or for the time of grace.
    private mutating func checkRecords() throws {
        for asset in allAssets {
            guard let database = try database(asset.user) else { continue }
            let row = try store.reader.asset(samples[asset.sample].digest, in: database)
            let isFresh = prepared[asset].map { store.now - $0 < Self.grace } ?? false
            if row == nil, isNamed(asset) || isFresh {
                verdict.violate("kept", "asset \(asset.sample) of user \(asset.user) is gone")
            }
            if row?.isComplete == true, try !isComplete(asset) {
                verdict.violate(
                    "whole",
                    "asset \(asset.sample) of user \(asset.user) can't be read"
                )
            }
        }
        verdict.violations += try DerivedRows.differences(in: store.engine).map { ("rows", $0) }
    }

    /// Starts anew, and collects what nothing names once the time of grace is over.
    mutating func settle() throws {
        try checkRecords()
        try restart()
        (written, walks, moves, files) = ([], [], [], [])
        for _ in 0..<2 {
            store.now += 2 * Self.grace
            try find()
            while !walks.isEmpty { try settleWalk() }
        }
        for freed in files { assets.remove(freed) }
    }

    /// Checks that assets without a name are gone, and so are their files.
    mutating func check() throws {
        let rows = try store.reader.rows(.records, .all(.pack)).map { key, value in
            var parts = KeyReader(key)
            return (try parts.number(PackNumber.self), try PackRow(row: value).length)
        }
        let known = Dictionary(uniqueKeysWithValues: rows)
        if try packs.all() != known {
            verdict.violate("files", "\(try packs.all().keys.sorted()), not \(known.keys.sorted())")
        }
        for asset in allAssets {
            guard let database = try database(asset.user) else { continue }
            let row = try store.reader.asset(samples[asset.sample].digest, in: database)
            if (row != nil) != isNamed(asset) {
                verdict.violate("collected", "asset \(asset.sample) of user \(asset.user) stayed")
            }
        }
        try checkRecords()
    }
}
