// A digest is no key: in the public database a caller downloads, prepares and names only content
// that it sent itself or may read in a record. Other content is answered as if it did not exist.

import CumulusAssets
import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct AssetClaimsTests {
    private let store: TestStore
    /// The asset of Alice's diary, in two chunks.
    private static let secret = SampleAsset.list(of: [65_536, 1_000])
    /// An asset with the second chunk of that asset, and one that nobody has.
    private static let edited: ChunkList = {
        var list = ChunkList()
        list.append(ChunkList.Entry(digest: Bytes(repeating: 9, count: 32), size: 70_000))
        list.append(secret[1])
        return list
    }()
    /// An asset of which nobody has any chunk.
    private static let unknown: ChunkList = {
        var list = ChunkList()
        list.append(ChunkList.Entry(digest: Bytes(repeating: 7, count: 32), size: 65_536))
        list.append(ChunkList.Entry(digest: Bytes(repeating: 8, count: 32), size: 1_000))
        return list
    }()

    init() throws {
        store = try TestStore()
        try hideDiaries()
        try grant("Page", #"GRANT READ TO "_world", GRANT CREATE, WRITE TO "_icloud""#)
        try grant("Drop", #"GRANT CREATE, WRITE TO "_icloud""#)
    }

    // MARK: What callers do

    private func grant(_ type: String, _ grants: String) throws {
        try store.importType(type, "file ASSET, files LIST<ASSET>, s STRING, \(grants)")
    }

    private func hideDiaries() throws {
        try grant("Diary", #"GRANT READ, WRITE TO "_creator", GRANT CREATE TO "_icloud""#)
    }

    private func showDiaries() throws {
        try grant("Diary", #"GRANT READ TO "_world", GRANT CREATE TO "_icloud""#)
    }

    private func prepare(
        _ lists: [ChunkList],
        in database: DatabaseScope = .public,
        limits: Limits = .standard,
        by caller: Caller
    ) throws -> PrepareAssets.Outcome {
        let request = PrepareAssets(
            database: database,
            lists: lists.map { .success($0) },
            limits: limits
        )
        return try store.run(store.request(request, by: caller)).get()
    }

    private func missing(_ list: ChunkList, by caller: Caller) throws -> [Int]? {
        try prepare([list], by: caller).map { try? $0.get() }[0]
    }

    private func send(
        _ chunks: [ChunkList.Entry],
        in database: DatabaseScope = .public,
        by caller: Caller
    ) throws -> EnterChunks.Outcome {
        let number = PackNumber(try store.reader.rows(.records, .all(.pack)).count + 1)
        let packed = chunks.enumerated().map { index, chunk in
            PackedChunk(
                digest: chunk.digest,
                row: ChunkRow(
                    pack: number,
                    offset: 1_000 * index,
                    length: 1_000,
                    size: chunk.size,
                    isCompressed: true,
                    checksum: Bytes(repeating: 1, count: 16)
                )
            )
        }
        let request = EnterChunks(
            database: database,
            chunks: packed,
            length: 1_000 * chunks.count
        )
        return try store.run(store.request(request, by: caller)).get()
    }

    private func item(
        _ name: String,
        _ type: String,
        _ list: ChunkList? = nil,
        text: String = "t"
    ) -> SaveItem {
        var fields: [String: FieldValue?] = ["s": .string(text)]
        if let list { fields["file"] = .asset(Asset(digest: list.digest, size: list.size)) }
        return SaveItem(name, fields, type: type)
    }

    /// Why a save fails; nil if it succeeds.
    private func save(
        _ name: String,
        _ type: String,
        _ list: ChunkList? = nil,
        text: String = "t",
        by caller: Caller
    ) throws -> ModifyOutcome.Failure? {
        let item = item(name, type, list, text: text)
        let outcome = try store.save([item], in: .public, by: caller)
        guard case .failure(let failure) = outcome.saves[0] else { return nil }
        return failure
    }

    /// Brings an asset to the public database, and saves it on a record.
    private func upload(
        _ list: ChunkList,
        to name: String = "d",
        _ type: String = "Diary",
        text: String = "t",
        by caller: Caller = .alice
    ) throws {
        let wanted = try #require(try missing(list, by: caller))
        #expect(try send(wanted.map { list[$0] }, by: caller).refusal == nil)
        #expect(try save(name, type, list, text: text, by: caller) == nil)
    }

    /// Why a download fails; nil if it succeeds.
    private func download(
        _ list: ChunkList,
        from name: String? = "d",
        _ field: String = "file",
        by caller: Caller
    ) throws -> ServiceError? {
        let place = name.map {
            ReadAsset.Place(
                record: RecordAddress(zone: ZoneAddress(), name: $0),
                field: field
            )
        }
        let read = ReadAsset(asset: list.digest, place: place)
        do {
            let scope = try store.scopeNumber()
            let found = try read.run(scope, in: .public, by: caller, store.reader)
            #expect(found.list == list)
            return nil
        } catch let error as ServiceError {
            return error
        }
    }

    /// Ends all leases that began before now, but leaves the assets alone.
    ///
    /// - Returns: The number of leases that ended.
    @discardableResult private func endLeases() throws -> Int {
        let collection = AssetCollection(idleBefore: store.now)
        let scope = try store.scopeNumber()
        let database = try #require(try store.reader.database(scope, .public))
        let found = try collection.findLeases(in: database, after: [], limit: 100, store.reader)
        #expect(found.last == nil)
        try store.change { transaction throws(EngineError) in
            try collection.end(found.ended, &transaction)
        }
        return found.ended.count
    }

    private func passHour() { store.now += 3_600_000 }

    private func text(_ message: String?, without list: ChunkList) -> String? {
        message?.replacing(list.digest.hex, with: "")
    }

    // MARK: Downloads

    @Test func aDownloadTakesARecordThatTheCallerMayRead() throws {
        try upload(Self.secret)
        for caller in [Caller.alice, .administrator] {
            #expect(try download(Self.secret, by: caller) == nil)
        }
        for caller in [Caller.bob, .anonymous] {
            let refusal = try download(Self.secret, by: caller)
            let nothing = try download(Self.unknown, by: caller)
            #expect(refusal?.code == .assetNotAvailable && refusal?.code == nothing?.code)
            #expect(
                text(refusal?.message, without: Self.secret)
                    == text(nothing?.message, without: Self.unknown)
            )
        }
        try showDiaries()
        for caller in [Caller.bob, .anonymous] {
            #expect(try download(Self.secret, by: caller) == nil)
        }
        try hideDiaries()
        #expect(try download(Self.secret, by: .bob)?.code == .assetNotAvailable)
        #expect(try download(Self.secret, by: .alice) == nil)
    }

    @Test func theFieldNamesItNow() throws {
        try upload(Self.secret)
        try upload(Self.unknown, to: "other", by: .bob)
        let refusals = [
            try download(Self.secret, from: nil, by: .alice),
            try download(Self.secret, from: "none", by: .alice),
            try download(Self.secret, "s", by: .alice),
            try download(Self.secret, "files", by: .alice),
            // A record of Bob's own is not enough: it must hold that asset.
            try download(Self.secret, from: "other", by: .bob),
        ]
        // An operator needs no record, as long as some record names the asset.
        #expect(try download(Self.secret, from: nil, by: .administrator) == nil)
        for refusal in refusals { #expect(refusal?.code == .assetNotAvailable) }
        #expect(Set(refusals.map { $0?.message }).count == 1)
        // Later another field holds it, in a list; then the record is deleted.
        let files = FieldValue.list([
            .asset(Asset(digest: Self.secret.digest, size: Self.secret.size))
        ])
        let item = SaveItem("d", ["file": nil, "files": files], type: "Diary")
        #expect(try store.save([item], in: .public).codes == [nil])
        #expect(try download(Self.secret, by: .alice)?.code == .assetNotAvailable)
        #expect(try download(Self.secret, "files", by: .alice) == nil)
        try store.delete([DeleteItem("d")], in: .public)
        #expect(try download(Self.secret, "files", by: .alice)?.code == .assetNotAvailable)
        let nothing = try download(Self.secret, from: nil, by: .administrator)
        #expect(nothing?.code == .assetNotAvailable)
    }

    // MARK: Uploads

    @Test func whatOthersSentIsMissing() throws {
        try upload(Self.secret)
        #expect(try missing(Self.secret, by: .alice) == [])
        #expect(try missing(Self.secret, by: .bob) == [0, 1])
        #expect(try missing(Self.edited, by: .bob) == [0, 1])
        #expect(try missing(Self.edited, by: .alice) == [0])
        try showDiaries()
        #expect(try missing(Self.secret, by: .bob) == [])
        #expect(try missing(Self.edited, by: .bob) == [0])
        // The answer that Bob got then gives him no right to the asset.
        try hideDiaries()
        #expect(try missing(Self.secret, by: .bob) == [0, 1])
        #expect(try missing(Self.edited, by: .bob) == [0, 1])
        #expect(try DerivedRows.differences(in: store.engine) == [])
    }

    @Test func callersWhoChangeNothingPrepareNothing() throws {
        try upload(Self.secret)
        for (caller, code) in [
            (Caller.anonymous, ServiceError.Code.notAuthenticated),
            (.administrator, .permissionFailure),
        ] {
            let error = #expect(throws: ServiceError.self) {
                try prepare([Self.secret], by: caller)
            }
            #expect(error?.code == code)
        }
    }

    @Test func whatOthersPreparedCantBeSent() throws {
        try upload(Self.secret)
        #expect(try missing(Self.unknown, by: .alice) == [0, 1])
        for list in [Self.secret, Self.unknown] {
            let outcome = try send(Array(list.entries), by: .bob)
            #expect(outcome.refusal?.error.reason == .assetNotPrepared)
        }
    }

    /// Bob must send all of it, although it is stored already.
    @Test func whoSendsItAllHasItToo() throws {
        try upload(Self.secret)
        #expect(try missing(Self.secret, by: .bob) == [0, 1])
        #expect(try send([Self.secret[0]], by: .bob).refusal == nil)
        #expect(try missing(Self.secret, by: .bob) == [1])
        let half = try save("p", "Page", Self.secret, by: .bob)
        #expect(half?.message.contains("of which 1 chunks are missing") == true)
        let outcome = try send([Self.secret[1]], by: .bob)
        #expect(outcome == EnterChunks.Outcome(refusal: nil, isUsed: false))
        #expect(try save("p", "Page", Self.secret, by: .bob) == nil)
        #expect(try missing(Self.secret, by: .bob) == [])
        #expect(try DerivedRows.differences(in: store.engine) == [])
    }

    /// A list with a wrong size of a chunk must not take the chunk from the same caller's other
    /// assets.
    @Test func aWrongSizeUndoesNothing() throws {
        let wrong = SampleAsset.list(of: [65_537, 1_000])
        #expect(try missing(Self.secret, by: .alice) == [0, 1])
        #expect(try send(Array(Self.secret.entries), by: .alice).refusal == nil)
        #expect(try missing(wrong, by: .alice) == [0])
        #expect(try missing(Self.secret, by: .alice) == [])
    }

    // MARK: Saves

    @Test func whatOthersSentCantBeNamed() throws {
        try upload(Self.secret)
        func expectNothing() throws {
            let refusal = try save("p", "Page", Self.secret, by: .bob)
            let nothing = try save("q", "Page", Self.unknown, by: .bob)
            #expect(refusal?.code == .assetNotAvailable)
            #expect(refusal == nothing)
        }
        try expectNothing()
        for list in [Self.secret, Self.unknown] { _ = try missing(list, by: .bob) }
        try expectNothing()
        let refusal = try save("p", "Page", Self.secret, by: .bob)
        #expect(refusal?.message.contains("of which 2 chunks are missing") == true)
        try showDiaries()
        #expect(try save("p", "Page", Self.secret, by: .bob) == nil)
        // Bob may read the asset in a record of his own by now.
        try hideDiaries()
        #expect(try save("p2", "Page", Self.secret, by: .bob) == nil)
    }

    @Test func whatALaterSaveRepeatsIsNotAskedAgain() throws {
        try upload(Self.secret)
        passHour()
        #expect(try endLeases() == 3)
        #expect(try save("d", "Diary", Self.secret, text: "u", by: .alice) == nil)
        #expect(try download(Self.secret, by: .alice) == nil)
        // A caller who may write a record, but not read it, can't name an asset by repeating it.
        try upload(Self.unknown, to: "x", "Drop")
        passHour()
        try endLeases()
        for caller in [Caller.alice, .bob] {
            #expect(try save("x", "Drop", Self.unknown, by: caller)?.code == .assetNotAvailable)
            #expect(try save("x", "Drop", text: "u", by: caller) == nil)
        }
    }

    /// An asset that was sent, and not saved within the time of grace, counts as not sent.
    @Test func aLeaseEnds() throws {
        #expect(try missing(Self.secret, by: .alice) == [0, 1])
        #expect(try send(Array(Self.secret.entries), by: .alice).refusal == nil)
        passHour()
        #expect(try missing(Self.secret, by: .alice) == [])
        // Preparing the asset again has renewed the lease.
        #expect(try endLeases() == 0)
        passHour()
        #expect(try endLeases() == 3)
        let refusal = try save("d", "Diary", Self.secret, by: .alice)
        #expect(refusal?.message.contains("was not uploaded") == true)
        #expect(try missing(Self.secret, by: .alice) == [0, 1])
        #expect(try send(Array(Self.secret.entries), by: .alice).refusal == nil)
        #expect(try save("d", "Diary", Self.secret, by: .alice) == nil)
    }

    /// A repeated request is told that it was done, even if its caller could not name the asset any
    /// more.
    @Test func aRepeatedSaveWasDone() throws {
        #expect(try missing(Self.secret, by: .alice) == [0, 1])
        #expect(try send(Array(Self.secret.entries), by: .alice).refusal == nil)
        let modify = ModifyRecords(
            database: .public,
            policy: .changedKeys,
            saves: [item("x", "Drop", Self.secret)]
        )
        var request = store.request(modify, by: .alice)
        request.asker.digest = [1]
        let outcome = try store.run(request).get()
        passHour()
        try endLeases()
        #expect(try save("x", "Drop", Self.secret, by: .alice)?.code == .assetNotAvailable)
        let again = try store.run(request).get()
        #expect(outcome.codes == [nil] && again.codes == [nil] && again.isRepeated)
    }

    // MARK: Bounds

    /// The writer looks at ten records that name the asset.
    @Test(arguments: [9, 10]) func soManyRecordsAreLookedAt(hidden: Int) throws {
        for number in 0..<hidden { try upload(Self.secret, to: "d\(number)") }
        try upload(Self.secret, to: "z", "Page")
        let isFound = hidden == 9
        #expect(try (save("p", "Page", Self.secret, by: .bob) == nil) == isFound)
        #expect(try missing(Self.secret, by: .bob) == (isFound ? [] : [0, 1]))
        #expect(try download(Self.secret, from: "z", by: .bob) == nil)
    }

    /// The writer looks at 4 MiB of records, besides the saved ones.
    @Test func soMuchOfThemIsLookedAt() throws {
        let text = String(repeating: "x", count: 700_000)
        let names = (0..<7).map { "d\($0)" }
        for name in names { try upload(Self.secret, to: name, text: text) }
        try upload(Self.secret, to: "z", "Page")
        #expect(try save("p", "Page", Self.secret, by: .bob)?.code == .assetNotAvailable)
        passHour()
        try endLeases()
        let items = names.map { item($0, "Diary", Self.secret) }
        // All of them hold more than one request may change.
        for some in [items[..<4], items[4...]] {
            #expect(try store.save(Array(some), in: .public).codes == some.map { _ in nil })
        }
        #expect(try save("p", "Page", Self.secret, by: .bob) == nil)
    }

    /// Content that others sent takes the caller's quota as if it were new.
    @Test func theQuotaTellsNothing() throws {
        try upload(Self.secret)
        var limits = Limits.standard
        limits.userAssetBytes = Int(Self.secret.size) - 1
        func codes(_ lists: [ChunkList]) throws -> [ServiceError.Code?] {
            try prepare(lists, limits: limits, by: .bob).map { result in
                if case .failure(let failure) = result { failure.code } else { nil }
            }
        }
        let full = ServiceError.Code.quotaExceeded
        #expect(try codes([Self.secret, Self.unknown]) == [full, full])
        limits.userAssetBytes = Int(Self.secret.size)
        #expect(try codes([Self.secret, Self.unknown, Self.secret]) == [nil, full, nil])
        #expect(try DerivedRows.differences(in: store.engine) == [])
        passHour()
        try endLeases()
        #expect(try codes([Self.unknown, Self.secret]) == [nil, full])
        try showDiaries()
        #expect(try codes([Self.secret]) == [nil])
        #expect(try DerivedRows.differences(in: store.engine) == [])
    }

    // MARK: Private databases

    /// In a private database everything is the owner's, and no leases are written.
    @Test func aPrivateDatabaseHasNoLeases() throws {
        #expect(
            try prepare([Self.secret], in: .private, by: .bob).map { try $0.get() } == [[0, 1]]
        )
        let chunks = Array(Self.secret.entries)
        #expect(try send(chunks, in: .private, by: .bob).refusal == nil)
        #expect(try prepare([Self.secret], in: .private, by: .bob).map { try $0.get() } == [[]])
        let item = item("d", "Diary", Self.secret)
        #expect(try store.save([item], by: .bob).codes == [nil])
        let read = ReadAsset(asset: Self.secret.digest)
        let scope = try store.scopeNumber()
        #expect(
            try read.run(scope, in: .private, by: .bob, store.reader).list == Self.secret
        )
        #expect(try store.reader.rows(.log, .all(.lease)).isEmpty)
    }
}
