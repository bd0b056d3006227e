// What participants of a zone's share do in the shared database: all ways of reading, saves,
// repeated requests, tokens and cursors, and what is left when their right ends.

import CumulusAssets
import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct SharedDatabaseTests: ShareTesting {
    let bed: ShareTestBed

    init() throws {
        bed = try ShareTestBed()
        try bed.save("a", by: owner)
        try bed.shareZoneAccepted(
            with: [bed.member(bob), bed.member(carol, .readOnly)],
            by: bob,
            carol
        )
    }

    private func query(
        zone: ZoneAddress?,
        from cursor: QueryCursor? = nil,
        limit: Int = 100,
        by caller: Caller
    ) throws -> QueryRecords.Page {
        let query = Query(recordType: "Note", predicate: .field("n") > Int64(0))
        return try store.query(
            query,
            in: .shared,
            zone: zone,
            limit: limit,
            from: cursor,
            by: caller
        )
    }

    // MARK: Reads

    @Test func participantsReadTheZone() throws {
        #expect(try bed.names(by: carol) == ["a", Names.zoneShare])
        #expect(try bed.code("a", by: carol) == nil)
        let page = try query(zone: bed.zone(of: carol), by: carol)
        #expect(page.records.map(\.record.name) == ["a"])
        #expect(page.records.map(\.zone) == [bed.zone(of: carol)])
        #expect(try bed.zones(by: carol) == [bed.zone(of: carol)])
        let changes = try bed.changes(by: carol)
        #expect(Set(changes.records.map(\.name)) == ["a", Names.zoneShare])
        #expect(changes.records.contains { $0.sharing?.details.owner == owner.user })
    }

    @Test func aQueryNamesItsZone() throws {
        #expect(try bed.refusal { _ = try query(zone: nil, by: bob) } == .invalidArguments)
    }

    @Test func othersSeeNothing() throws {
        #expect(try bed.code("a", by: dave) == .zoneNotFound)
        #expect(try bed.zones(by: dave) == [])
        #expect(try bed.refusal { _ = try bed.names(by: dave) } == .zoneNotFound)
        #expect(try bed.refusal { _ = try bed.changes(by: dave) } == .zoneNotFound)
        let zone = bed.zone(of: dave)
        #expect(try bed.refusal { _ = try query(zone: zone, by: dave) } == .zoneNotFound)
        #expect(try bed.save("b", by: dave) == .zoneNotFound)
        #expect(try bed.delete("a", by: dave) == .zoneNotFound)
        // The owner's zone is neither in the owner's shared database nor in other users' private
        // ones.
        let own = ZoneAddress(name: ShareTestBed.zone)
        for zone in [own, bed.zone(of: bob)] {
            let found = try store.fetch("a", in: .shared, zone: zone, by: owner)
            #expect(throws: ServiceError.self) { try found.get() }
        }
        let found = try store.fetch("a", in: .private, zone: bed.zone(of: bob), by: bob)
        #expect(throws: ServiceError.self) { try found.get() }
    }

    /// Zones in the shared database have other owners, and can't be made there.
    @Test func aZoneThatIsNotThereIsToldWithWhatToDo() throws {
        func text(_ zone: ZoneAddress, in database: DatabaseScope) throws -> String {
            let request = ModifyZones(database: database, deletes: [.success(zone)])
            let item = try store.modify(request, by: bob).deletes[0]
            guard case .failure(let failure) = item else { return "" }
            #expect(failure.code == .zoneNotFound)
            return failure.error.message
        }
        let nameless = ZoneAddress(name: ShareTestBed.zone)
        let unowned = try text(nameless, in: .shared)
        #expect(unowned.contains("without its owner") && !unowned.contains("or create it"))
        let unknown = ZoneAddress(name: "Never", owner: bed.zone(of: bob).owner)
        let gone = try text(unknown, in: .shared)
        #expect(gone.contains("not shared with you") && !gone.contains("or create it"))
        #expect(try text(nameless, in: .private).contains("or create it"))
    }

    // MARK: Saves

    @Test func aWriterSavesInTheOwnersZone() throws {
        #expect(try bed.save("b", by: bob) == nil)
        let saved = try bed.fetch("b", by: owner).get()
        #expect(saved.createdBy == bob.user && saved.modifiedBy == bob.user)
        #expect(try bed.save("a", 2, by: bob) == nil)
        #expect(try bed.fetch("a", by: owner).get().createdBy == owner.user)
        #expect(try bed.delete("b", by: bob) == nil)
        #expect(try bed.code("b", by: owner) == .unknownItem)
    }

    @Test func whatADisabledUserSharesStaysShared() throws {
        let change = SetDisabled(true, user: "owner")
        let request = WriteRequest(change, caller: .administrator)
        _ = try store.run(request).get()
        #expect(try bed.names(by: carol) == ["a", Names.zoneShare])
        #expect(try bed.save("a", 2, by: bob) == nil)
    }

    @Test func aReaderSavesNothing() throws {
        #expect(try bed.save("b", by: carol) == .permissionFailure)
        #expect(try bed.save("a", 2, by: carol) == .permissionFailure)
        #expect(try bed.delete("a", by: carol) == .permissionFailure)
        #expect(try bed.delete("missing", by: carol) == nil)
    }

    /// Case 31: a client writes createdBy and entries; only a share says who its participants are.
    @Test func entriesWrittenByAClient() throws {
        var item = bed.shareItem(
            "c",
            WantedShare(root: "a", members: [bed.member(carol)]),
            by: bob
        )
        item.content = item.content.map { content in
            var content = content
            content.type = "Note"
            return content
        }
        #expect(try bed.save([item], by: bob) == .invalidArguments)
        #expect(try bed.save("c", by: bob) == nil)
        #expect(try bed.fetch("c", by: owner).get().createdBy == bob.user)
        #expect(try bed.save("c", by: carol) == .permissionFailure)
    }

    @Test func theOwnersQuotaCounts() throws {
        var limits = Limits()
        limits.privateDatabaseBytes = 10
        let modify = ModifyRecords(
            database: .shared,
            policy: .changedKeys,
            saves: [bed.item("b", by: bob)],
            limits: limits
        )
        let outcome = try store.modify(modify, by: bob)
        #expect(outcome.codes == [.quotaExceeded])
        let text = "the owner's database has no room for this; ask the owner"
        guard case .failure(let failure) = outcome.saves[0] else { return }
        // Participants are not told how much the owner's database holds.
        #expect(failure.error.message == text)
        let request = PrepareAssets(
            database: .shared,
            zone: bed.zone(of: bob),
            lists: [.success(SampleAsset.list(of: [6_000]))],
            limits: limits
        )
        let lists = try store.run(store.request(request, by: bob)).get()
        guard case .failure(let refusal) = lists[0] else {
            Issue.record("the asset was taken")
            return
        }
        #expect(refusal.code == .quotaExceeded && refusal.error.message == text)
    }

    /// Case 2: a token is revoked while its save waits; after a removal the next save finds no
    /// zone.
    @Test func afterARemovalTheZoneIsGone() throws {
        let token = try bed.changes(by: bob).token
        let zones = try store.zoneChanges(of: .shared, by: bob)
        #expect(zones.changed == [bed.zone(of: bob)])
        try bed.set([bed.member(carol, .readOnly)])
        #expect(try bed.save("b", by: bob) == .zoneNotFound)
        #expect(try bed.refusal { _ = try bed.changes(since: token, by: bob) } == .zoneNotFound)
        let later = try store.zoneChanges(since: zones.token, of: .shared, by: bob)
        #expect(later.changed == [] && later.deletions.map(\.zone) == [bed.zone(of: bob)])
        let last = try store.zoneChanges(since: later.token, of: .shared, by: bob)
        #expect(last.changed == [] && last.deletions == [])
        // The other participants see only that something changed.
        #expect(try bed.code("a", by: carol) == nil)
    }

    @Test func aPermissionThatIsLoweredBinds() throws {
        try bed.set([bed.member(bob, .readOnly), bed.member(carol, .readOnly)])
        #expect(try bed.save("b", by: bob) == .permissionFailure)
        #expect(try bed.code("a", by: bob) == nil)
    }

    // MARK: Repeated requests

    /// Cases 28 and 14: an old request id after a removal, and what its outcome shows.
    @Test func anOldRequestIDAfterRemoval() throws {
        let items = [
            bed.item("b", by: bob), bed.item("a", tag: Bytes(repeating: 1, count: 8), by: bob),
        ]
        let modify = ModifyRecords(
            database: .shared,
            policy: .ifUnchanged,
            isAtomic: false,
            saves: items
        )
        var request = store.request(modify, by: bob)
        request.asker.digest = Bytes(repeating: 1, count: 16)
        func codes() throws -> [ServiceError.Code?] {
            try store.run(request).get().codes
        }
        #expect(try codes() == [nil, .serverRecordChanged])
        #expect(try codes() == [nil, .serverRecordChanged])
        try bed.set([bed.member(bob, .readOnly), bed.member(carol, .readOnly)])
        #expect(try codes() == [.permissionFailure, .permissionFailure])
        try bed.set([bed.member(carol, .readOnly)])
        #expect(try codes() == [.zoneNotFound, .zoneNotFound])
    }

    // MARK: Tokens and cursors

    /// Case 30: the cursor and token of another user; the owner's token used by a participant.
    @Test func anothersCursorAndToken() throws {
        try bed.save("b", by: owner)
        let theirs = try bed.changes(by: bob).token
        #expect(
            try bed.refusal { _ = try bed.changes(since: theirs, by: carol) } == .invalidArguments
        )
        #expect(
            try bed.refusal { _ = try bed.changes(since: theirs, by: owner) } == .invalidArguments
        )
        let owners = try bed.changes(by: owner).token
        #expect(
            try bed.refusal { _ = try bed.changes(since: owners, by: bob) } == .invalidArguments
        )
        let zones = try store.zoneChanges(of: .shared, by: bob).token
        #expect(
            try bed.refusal { _ = try store.zoneChanges(since: zones, of: .shared, by: carol) }
                == .invalidArguments
        )
        let page = try query(zone: bed.zone(of: bob), limit: 1, by: bob)
        let cursor = try #require(page.next)
        #expect(
            try bed.refusal {
                _ = try query(zone: bed.zone(of: carol), from: cursor, limit: 1, by: carol)
            } == .invalidArguments
        )
        #expect(try query(zone: bed.zone(of: bob), from: cursor, by: bob).records.count == 1)
    }

    @Test func aDeviceFollowsAZone() throws {
        var device = ShareDevice(of: bob)
        try device.follow(bed)
        #expect(device.held == ["a", Names.zoneShare])
        try bed.save((0..<10).map { bed.item("c\($0)", by: owner) }, by: owner)
        try bed.delete("a", by: owner)
        try device.follow(bed, limit: 3)
        #expect(device.held == Set((0..<10).map { "c\($0)" } + [Names.zoneShare]))
        #expect(device.strange == [])
    }

    @Test func theSharedDatabaseTellsZonesPageByPage() throws {
        var zones = [bed.zone(of: bob)]
        for name in ["x", "y"] {
            try store.modify(ModifyZones(saving: [name]), by: owner)
            var item = bed.shareItem(
                Names.zoneShare,
                WantedShare(root: nil, members: [bed.member(bob)]),
                by: owner
            )
            item.address.zone = ZoneAddress(name: name)
            try bed.save([item], by: owner)
            let view = try store.fetch(
                Names.zoneShare,
                in: .private,
                zone: ZoneAddress(name: name),
                by: owner
            ).get()
            try bed.accept(ShareID(bytes: view.sharing?.share ?? []), by: bob)
            zones.append(ZoneAddress(name: name, owner: owner.user))
        }
        var told: [ZoneAddress] = []
        var token: ChangeToken?
        repeat {
            let page = try store.zoneChanges(since: token, limit: 1, of: .shared, by: bob)
            told += page.changed
            token = try ChangeToken(content: page.token.content)
        } while token?.progress != nil
        #expect(told.map(\.name).sorted() == ["x", "y", "z"] && Set(told) == Set(zones))
        try bed.save("b", by: owner)
        let next = try store.zoneChanges(since: token, of: .shared, by: bob)
        #expect(next.changed == [bed.zone(of: bob)] && next.deletions == [])
        // A zone that the owner deletes is gone, even if there is a new one of its name.
        try store.modify(ModifyZones(deleting: ["x"]), by: owner)
        try store.modify(ModifyZones(saving: ["x"]), by: owner)
        let last = try store.zoneChanges(since: next.token, of: .shared, by: bob)
        #expect(last.deletions.map(\.zone.name) == ["x"] && last.changed == [])
    }

    @Test func aTokenOfTheSharedDatabaseReadsBack() throws {
        let tokens = [
            try bed.changes(by: bob).token, try bed.changes(limit: 1, by: bob).token,
            try store.zoneChanges(of: .shared, by: bob).token,
        ]
        var dice = SeededGenerator(seed: 1)
        for token in tokens {
            #expect(token.viewer?.user == bob.user)
            #expect(try ChangeToken(content: token.content) == token)
            for cut in Damage.truncations(of: token.content) {
                #expect(throws: MalformedBytes.self) { try ChangeToken(content: cut) }
            }
            for _ in 0..<500 {
                let damaged = Damage.mutation(of: token.content, using: &dice)
                _ = try? ChangeToken(content: damaged)
            }
        }
    }

    // MARK: Assets

    private static let list = SampleAsset.list(of: [65_536, 1_000])

    private func prepare(
        in zone: ZoneAddress?,
        by caller: Caller
    ) throws -> Result<[Int], ModifyOutcome.Failure>? {
        let request = PrepareAssets(
            database: bed.database(of: caller),
            zone: zone,
            lists: [.success(Self.list)],
            limits: .standard
        )
        return try store.run(store.request(request, by: caller)).get().first
    }

    private func send(by caller: Caller) throws {
        let number = PackNumber(try store.reader.rows(.records, .all(.pack)).count + 1)
        let packed = Self.list.entries.enumerated().map { index, chunk in
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
            database: bed.database(of: caller),
            zone: bed.zone(of: caller),
            chunks: packed,
            length: 2_000
        )
        _ = try store.run(store.request(request, by: caller)).get()
    }

    private func saveAsset(_ name: String, by caller: Caller) throws -> ServiceError.Code? {
        let asset = FieldValue.asset(Asset(digest: Self.list.digest, size: Self.list.size))
        return try bed.save([SaveItem(name, ["file": asset], in: bed.zone(of: caller))], by: caller)
    }

    private func read(_ name: String, by caller: Caller) throws -> ServiceError.Code? {
        let record = RecordAddress(zone: bed.zone(of: caller), name: name)
        let place = ReadAsset.Place(record: record, field: "file")
        return try bed.refusal {
            _ = try ReadAsset(asset: Self.list.digest, place: place).run(
                store.scopeNumber(),
                in: .shared,
                by: caller,
                store.reader
            )
        }
    }

    /// Case 29: an asset by its digest: after a removal, in a record of one's own, in PREPARE.
    @Test func anAssetByDigestIsNoKey() throws {
        // The owner has the asset in another zone, so it does not exist for the others here.
        try store.modify(ModifyZones(saving: ["y"]), by: owner)
        _ = try prepare(in: nil, by: owner)
        try send(by: owner)
        let hidden = SaveItem(
            "diary",
            ["file": .asset(Asset(digest: Self.list.digest, size: Self.list.size))],
            in: ZoneAddress(name: "y")
        )
        #expect(try bed.save([hidden], by: owner) == nil)
        #expect(try saveAsset("b", by: bob) == .assetNotAvailable)
        #expect(try prepare(in: bed.zone(of: bob), by: bob)?.get() == [0, 1])
        #expect(try saveAsset("b", by: bob) == .assetNotAvailable)
        // A caller may name an asset that it sent itself.
        try send(by: bob)
        #expect(try saveAsset("b", by: bob) == nil)
        #expect(try read("b", by: bob) == nil)
        #expect(try read("b", by: carol) == nil)
        #expect(try read("a", by: carol) == .assetNotAvailable)
        try bed.set([bed.member(carol, .readOnly)])
        #expect(try read("b", by: bob) == .assetNotAvailable)
        #expect(try saveAsset("c", by: bob) == .zoneNotFound)
    }

    /// A type that the schema dropped gives no right either, though its records are still stored.
    @Test func anAssetOfADroppedTypeIsNoKey() throws {
        _ = try prepare(in: nil, by: owner)
        try send(by: owner)
        let file = FieldValue.asset(Asset(digest: Self.list.digest, size: Self.list.size))
        let photo = SaveItem("photo", ["file": file], type: "Photo", in: bed.zone(of: owner))
        #expect(try bed.save([photo], by: owner) == nil)
        #expect(try prepare(in: bed.zone(of: bob), by: bob)?.get() == [])
        let source = SchemaImport.Source.file(
            try Schema(ckdb: "DEFINE SCHEMA RECORD TYPE Note ( n INT64 );"),
            drops: true
        )
        _ = try store.administer(SchemaImport(source)).get()
        #expect(try prepare(in: bed.zone(of: bob), by: bob)?.get() == [0, 1])
    }

    @Test func uploadsNeedAZoneThatMayBeWritten() throws {
        #expect(try bed.refusal { _ = try prepare(in: nil, by: bob) } == .invalidArguments)
        let zone = bed.zone(of: bob)
        #expect(try bed.refusal { _ = try prepare(in: zone, by: carol) } == .permissionFailure)
        #expect(try bed.refusal { _ = try prepare(in: zone, by: dave) } == .zoneNotFound)
    }
}
