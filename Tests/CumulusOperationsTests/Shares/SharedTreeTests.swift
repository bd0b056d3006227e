// What participants of a tree see, change and are told.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

/// A tree with a root and three other records, which Bob writes and Carol reads, beside other
/// records of the owner.
@Suite struct SharedTreeTests: ShareTesting {
    let bed: ShareTestBed
    private static let tree: Set = ["r", "a", "aa", "b", "share-r"]

    init() throws {
        bed = try ShareTestBed()
        try bed.save("out", by: owner)
        try bed.save("under", under: "out", by: owner)
        let members = [bed.member(bob), bed.member(carol, .readOnly)]
        try bed.shareAccepted("r", with: members, by: bob, carol)
        try bed.save("a", under: "r", by: owner)
        try bed.save("aa", under: "a", by: owner)
        try bed.save("b", under: "r", by: owner)
    }

    private func query(by caller: Caller, counts: Bool = false) throws -> QueryRecords.Page {
        let query = Query(recordType: "Note", predicate: .field("n") > Int64(0))
        return try store.query(
            query,
            in: .shared,
            zone: bed.zone(of: caller),
            counts: counts,
            by: caller
        )
    }

    private func follow(
        _ device: inout ShareDevice,
        limit: Int = 1_000,
        on node: ShareTestBed? = nil
    ) throws {
        try device.follow(node ?? bed, limit: limit)
    }

    /// Changes outside the tree end no page and are no news, even if there are more than one turn
    /// looks at.
    @Test func whatIsOutsideEndsNoPage() throws {
        let token = try bed.changes(by: carol).token
        let zones = try store.zoneChanges(of: .shared, by: carol).token
        for start in stride(from: 0, to: 4_200, by: 200) {
            let items = (start..<start + 200).map { bed.item("out-\($0)", by: owner) }
            #expect(try bed.save(items, by: owner) == nil)
        }
        #expect(try store.zoneChanges(since: zones, of: .shared, by: carol).changed == [])
        let nothing = try bed.changes(since: token, limit: 1, by: carol)
        #expect(nothing.records.isEmpty && nothing.deletions.isEmpty && !nothing.moreComing)
        try bed.save("c", under: "r", by: owner)
        let news = try store.zoneChanges(since: zones, of: .shared, by: carol)
        #expect(news.changed == [bed.zone(of: carol)])
        // The token is older than all of these changes.
        let page = try bed.changes(since: token, limit: 1, by: carol)
        #expect(page.records.map(\.name) == ["c"] && !page.moreComing)
    }

    // MARK: Inside and outside

    @Test func whatIsOutsideDoesNotExist() throws {
        for name in ["r", "a", "aa", "b", "share-r"] {
            #expect(try bed.code(name, by: carol) == nil)
        }
        #expect(try bed.code("out", by: carol) == .unknownItem)
        #expect(try bed.code("under", by: carol) == .unknownItem)
        #expect(try bed.code("missing", by: carol) == .unknownItem)
        #expect(Set(try bed.names(by: carol)) == Self.tree)
        let found = try query(by: carol)
        #expect(Set(found.records.map(\.record.name)) == Self.tree.subtracting(["share-r"]))
        #expect(try query(by: carol, counts: true).count == 4)
    }

    /// Case 26: an orphan, an unseen parent, an unseen name.
    @Test func orphanUnseenParentUnseenName() throws {
        #expect(try bed.save("new", by: bob) == .permissionFailure)
        #expect(try bed.save("new", under: "out", by: bob) == .permissionFailure)
        #expect(try bed.save("new", under: "missing", by: bob) == .permissionFailure)
        #expect(try bed.save("new", under: "aa", by: carol) == .permissionFailure)
        // A record that Bob does not see has this name.
        #expect(try bed.save("out", under: "a", by: bob) == .permissionFailure)
        #expect(try bed.save("out", 2, by: bob) == .permissionFailure)
        let tag = Bytes(repeating: 1, count: 8)
        for name in ["out", "missing"] {
            let item = bed.item(name, tag: tag, by: bob)
            #expect(try bed.save([item], .ifUnchanged, by: bob) == .unknownItem)
            #expect(try bed.delete(name, by: bob) == nil)
        }
        #expect(try bed.code("out", by: owner) == nil)
        #expect(try bed.save("new", under: "aa", by: bob) == nil)
        #expect(try bed.fetch("new", by: owner).get().createdBy == bob.user)
    }

    @Test func aBatchBringsParentsWithIt() throws {
        let items = [
            bed.item("x2", under: "x1", by: bob), bed.item("x1", under: "b", by: bob),
        ]
        #expect(try bed.save(items, by: bob) == nil)
        let orphans = [
            bed.item("y2", under: "y1", by: bob), bed.item("y1", under: "y2", by: bob),
        ]
        #expect(try bed.save(orphans, by: bob) == .permissionFailure)
    }

    /// Case 25: a writer moves a record out, or to another tree.
    @Test func aWriterMovesARecordOutOrToAnotherTree() throws {
        #expect(try bed.save("aa", under: "b", by: bob) == nil)
        #expect(try bed.save("aa", under: "out", by: bob) == .permissionFailure)
        #expect(try bed.save("aa", under: "", by: bob) == .permissionFailure)
        #expect(try bed.save("b", under: "aa", by: bob) == .permissionFailure)
        #expect(try bed.save("aa", 7, by: bob) == nil)
        try bed.shareAccepted("q", with: [bed.member(bob, .readOnly)], by: bob)
        #expect(try bed.save("aa", under: "q", by: bob) == .permissionFailure)
        try bed.set([bed.member(bob)], of: "share-q")
        #expect(try bed.save("aa", under: "q", by: bob) == nil)
        #expect(try bed.code("aa", by: carol) == .unknownItem)
        #expect(try bed.save("r", under: "a", by: bob) == .permissionFailure)
    }

    /// Case 27: a cascade reaches the root; a participant can delete neither the root nor the
    /// share.
    @Test func aCascadeReachesTheRoot() throws {
        #expect(try bed.delete("r", by: bob) == .permissionFailure)
        let root = SaveItem("r", ["of": .owner("b")], in: bed.zone(of: owner))
        try bed.save([root], by: owner)
        #expect(try bed.delete("b", by: bob) == .permissionFailure)
        #expect(try bed.code("r", by: bob) == nil)
        #expect(try bed.delete("aa", by: bob) == nil)
    }

    // MARK: Lists that go on

    /// Each page of a list checks what its caller may read by now.
    @Test func aListThatGoesOnTellsWhatIsStillShared() throws {
        let list = ListRecords(database: .shared, zone: bed.zone(of: bob), keys: [])
        let scope = try store.scopeNumber()
        let began = ReadTransaction(try store.engine.snapshot(), reach: .disk)
        let opened = try list.open(scope, by: bob, in: began)
        func rest() throws -> [String] {
            let present = try list.askAgain(opened, scope, in: store.reader)
            let page = try list.page(
                of: opened,
                from: nil,
                byteLimit: .max,
                in: began,
                asking: present
            )
            return page.records.map(\.name)
        }
        #expect(Set(try rest()) == Self.tree)
        // The record is moved out with what is below it; later records are not in this snapshot.
        try bed.save("a", under: "out", by: owner)
        try bed.save("under", under: "r", by: owner)
        #expect(Set(try rest()) == ["r", "b", "share-r"])
        try bed.set([bed.member(carol, .readOnly)], of: "share-r")
        #expect(try bed.refusal { _ = try rest() } == .zoneNotFound)
    }

    // MARK: References

    /// Lets Bob save a record that refers to its owner record.
    private func refer(
        _ name: String,
        to target: String,
        under parent: String? = nil,
        by caller: Caller? = nil
    ) throws -> ServiceError.Code? {
        let caller = caller ?? bob
        let item = SaveItem(
            name,
            ["of": .owner(target)],
            in: bed.zone(of: caller),
            parent: parent
        )
        return try bed.save([item], by: caller)
    }

    /// Otherwise a participant would have a hold on a record that it may not see: the owner could
    /// not delete that record, or would delete the participant's with it.
    @Test func participantsReferToWhatTheySee() throws {
        #expect(try refer("a", to: "out") == .referenceViolation)
        #expect(try refer("new", to: "out", under: "a") == .referenceViolation)
        #expect(try refer("new", to: "aa", under: "a") == nil)
        // A missing target gets the same error, and nobody has a hold on a later record of its
        // name.
        func text(_ target: String) throws -> String {
            let item = SaveItem("a", ["of": .owner(target)], in: bed.zone(of: bob))
            guard case .failure(let failure) = try bed.outcome(of: [item], by: bob).saves[0] else {
                return "done"
            }
            return failure.message.replacing("'\(target)'", with: "it")
        }
        #expect(try text("out") == text("missing"))
        #expect(try refer("a", to: "b") == nil)
        #expect(try bed.delete("under", "out", by: owner) == nil)
        #expect(try bed.code("a", by: owner) == nil)
    }

    /// A target may be made by the same batch.
    @Test func participantsReferToWhatTheySave() throws {
        let items = [
            SaveItem("x", ["of": .owner("y")], in: bed.zone(of: bob), parent: "a"),
            bed.item("y", under: "a", by: bob),
        ]
        #expect(try bed.save(items, by: bob) == nil)
        #expect(try bed.delete("y", by: bob) == nil)
        #expect(try bed.code("x", by: owner) == .unknownItem)
    }

    /// The owner let the record depend on one that Bob does not see; Bob may save the record as it
    /// is.
    @Test func whatTheOwnerReferredToStays() throws {
        #expect(try refer("a", to: "out", by: owner) == nil)
        #expect(try refer("a", to: "out") == nil)
        #expect(try refer("b", to: "out") == .referenceViolation)
        #expect(try bed.delete("aa", by: owner) == nil)
        #expect(try bed.delete("under", "out", by: owner) == nil)
        #expect(try bed.code("a", by: owner) == .unknownItem)
    }

    /// A participant can't delete a root, and can't let one be deleted with a record.
    @Test func aRootGoesWithNothingByAParticipant() throws {
        #expect(try refer("r", to: "b") == .permissionFailure)
        #expect(try refer("r", to: "b", by: owner) == nil)
        #expect(try refer("r", to: "b") == nil)
    }

    @Test func aRootIsWrittenLikeAnyRecord() throws {
        #expect(try bed.save("r", 5, by: bob) == nil)
        #expect(try bed.save("r", 5, by: carol) == .permissionFailure)
        #expect(try bed.save([bed.item("share-r", by: bob)], by: bob) == .permissionFailure)
    }

    @Test func childrenThatStayForbidADeletion() throws {
        #expect(try bed.delete("a", by: bob) == .referenceViolation)
        #expect(try bed.delete("a", "aa", by: bob) == nil)
    }

    /// Case 21: a chain that comes back to itself leads nowhere.
    @Test func aCycleLeadsNowhere() throws {
        try bed.save([bed.item("a", under: "aa", by: owner)], by: owner)
        #expect(try bed.code("a", by: bob) == .unknownItem)
        #expect(try bed.code("aa", by: bob) == .unknownItem)
        #expect(try bed.code("b", by: bob) == nil)
    }

    @Test func chainsHaveAHundredLinks() throws {
        var parent = "r"
        for number in 1...101 {
            try bed.save("n\(number)", under: parent, by: owner)
            parent = "n\(number)"
        }
        #expect(try bed.code("n100", by: bob) == nil)
        #expect(try bed.code("n101", by: bob) == .unknownItem)
        var device = ShareDevice(of: bob)
        try follow(&device)
        #expect(device.held.contains("n100") && !device.held.contains("n101"))
    }

    // MARK: Changes

    @Test func aDeviceHoldsTheTree() throws {
        for limit in [1, 2, 3, 100] {
            var device = ShareDevice(of: carol)
            try follow(&device, limit: limit)
            #expect(device.held == Self.tree, "pages of \(limit)")
            #expect(device.strange == [])
        }
    }

    /// Case 44: a zone of 1,000,000 records with a tree of 10; a first fetch walks the tree,
    /// however large the zone is.
    @Test func aFirstFetchCostsTheTree() throws {
        for part in 0..<10 {
            try bed.save((0..<300).map { bed.item("z\(part)-\($0)", by: owner) }, by: owner)
        }
        let page = try bed.changes(limit: 6, by: carol)
        #expect(Set(page.records.map(\.name)) == Self.tree && !page.moreComing)
        // An unrelated change tells nothing, and costs only itself.
        try bed.save("out", 2, by: owner)
        let next = try bed.changes(since: page.token, by: carol)
        #expect(next.records.isEmpty && next.deletions.isEmpty)
    }

    @Test func whatMovesInAndOutIsTold() throws {
        for limit in [1, 2, 100] {
            let bed = try SharedTreeTests().bed
            var device = ShareDevice(of: bed.carol)
            try device.follow(bed)
            try bed.save("out", under: "b", by: bed.owner)
            try device.follow(bed, limit: limit)
            #expect(device.held == Self.tree.union(["out", "under"]))
            try bed.save("a", under: "", by: bed.owner)
            try device.follow(bed, limit: limit)
            #expect(device.held == Self.tree.union(["out", "under"]).subtracting(["a", "aa"]))
            try bed.save("a", under: "out", by: bed.owner)
            try bed.delete("under", by: bed.owner)
            try device.follow(bed, limit: limit)
            #expect(device.held == Self.tree.union(["out"]))
            #expect(device.strange == [])
        }
    }

    @Test func whatWasNeverInsideIsNotTold() throws {
        var device = ShareDevice(of: carol)
        try follow(&device)
        try bed.save("secret", under: "out", by: owner)
        try bed.delete("secret", by: owner)
        try bed.save("under", under: "", by: owner)
        // The record comes and goes between two fetches.
        try bed.save("out", under: "r", by: owner)
        try bed.save("out", under: "", by: owner)
        try follow(&device, limit: 1)
        #expect(device.held == Self.tree && device.strange == [])
    }

    @Test func rootsThatAreGainedAndLost() throws {
        for limit in [1, 100] {
            let bed = try SharedTreeTests().bed
            var device = ShareDevice(of: bed.carol)
            try device.follow(bed)
            let members = [bed.member(bed.carol)]
            try bed.shareAccepted("out", with: members, by: bed.carol)
            try device.follow(bed, limit: limit)
            #expect(device.held == Self.tree.union(["out", "under", "share-out"]))
            try bed.set([bed.member(bed.bob)], of: "share-r")
            try device.follow(bed, limit: limit)
            #expect(device.held == ["out", "under", "share-out"])
            try bed.delete("share-out", by: bed.owner)
            #expect(try bed.refusal { try device.follow(bed) } == .zoneNotFound)
            #expect(device.strange == [])
        }
    }

    /// The device holds records that no fetch told it of.
    @Test(arguments: [1, 100]) func whatADeviceMadeAndWhatLeftTheTreeSince(limit: Int) throws {
        var device = ShareDevice(of: bob)
        var reader = ShareDevice(of: carol)
        try device.follow(bed)
        try reader.follow(bed)
        for name in ["moved", "deleted", "stays"] { try device.save(name, under: "r", at: bed) }
        try device.save("below", under: "a", at: bed)
        #expect(device.held.count == Self.tree.count + 4)
        try bed.save("moved", under: "out", by: owner)
        try bed.delete("deleted", by: owner)
        try bed.save("a", under: "out", by: owner)
        try device.follow(bed, limit: limit)
        #expect(device.held == ["r", "b", "stays", "share-r"])
        // Another participant, who made none of them, is told no names.
        try reader.follow(bed, limit: limit)
        #expect(reader.held == device.held && reader.strange == [])
        // Changes of these records outside the tree are not told.
        let token = try #require(device.token)
        try bed.save("moved", 2, by: owner)
        #expect(try bed.changes(since: token, by: bob).deletions.isEmpty)
    }

    @Test func aZoneShareInPlaceOfATreeBeginsAnew() throws {
        let page = try bed.changes(by: carol)
        try bed.delete("share-r", by: owner)
        try bed.shareZoneAccepted(with: [bed.member(carol)], by: carol)
        let expired = try bed.refusal { _ = try bed.changes(since: page.token, by: carol) }
        #expect(expired == .changeTokenExpired)
        var device = ShareDevice(of: carol)
        try follow(&device)
        #expect(device.held.contains("out"))
    }

    /// Case 24: a subtree of 10,000 records moves out and back between two pages.
    @Test func aSubtreeOutAndBackBetweenTwoPages() throws {
        for part in 0..<3 {
            try bed.save(
                (0..<100).map { bed.item("s\(part)-\($0)", under: "a", by: owner) },
                by: owner
            )
        }
        for isBack in [false, true] {
            var device = ShareDevice(of: bob)
            var turn = 0
            try device.follow(bed, limit: 40) {
                turn += 1
                guard turn == 2 else { return }
                try bed.save("a", under: "out", by: owner)
                if isBack { try bed.save("a", under: "r", by: owner) }
            }
            try follow(&device)
            #expect(device.held.isSuperset(of: ["r", "b", "share-r"]))
            #expect(device.held.contains("s2-99") == isBack)
            #expect(device.held.count == (isBack ? 305 : 3))
            if !isBack { try bed.save("a", under: "r", by: owner) }
        }
    }

    @Test func aTokenWithinATreeReadsBack() throws {
        var token: ChangeToken?
        var dice = SeededGenerator(seed: 3)
        repeat {
            token = try bed.changes(since: token, limit: 1, by: bob).token
            guard let token else { return }
            #expect(try ChangeToken(content: token.content) == token)
            for cut in Damage.truncations(of: token.content) {
                #expect(throws: MalformedBytes.self) { try ChangeToken(content: cut) }
            }
            for _ in 0..<200 {
                let damaged = Damage.mutation(of: token.content, using: &dice)
                _ = try? ChangeToken(content: damaged)
            }
        } while token?.progress != nil
    }
}
