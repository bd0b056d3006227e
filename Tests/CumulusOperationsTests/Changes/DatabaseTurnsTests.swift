// Tests the turns of a page of the shared database: no turn reads a whole zone, however many of its
// records are hidden.

import CumulusModel
import CumulusOperations
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct DatabaseTurnsTests: ShareTesting {
    let bed: ShareTestBed

    init() throws { bed = try ShareTestBed() }

    /// Shares a tree of one record with Carol.
    private func shareTree(in zone: String) throws {
        try store.modify(ModifyZones(saving: [zone]), by: owner)
        let parts = WantedShare(root: "r", members: [bed.member(carol)])
        var items = [bed.item("r", by: owner), bed.shareItem("share-r", parts, by: owner)]
        for index in items.indices { items[index].address.zone.name = zone }
        #expect(try bed.save(items, by: owner) == nil)
        let address = ZoneAddress(name: zone)
        let share = try store.fetch("share-r", in: .private, zone: address, by: owner).get()
        try bed.accept(ShareID(bytes: share.sharing?.share ?? []), by: carol)
    }

    /// Saves records outside of the tree.
    private func hide(_ count: Int, in zone: String) throws {
        for start in stride(from: 0, to: count, by: 400) {
            var items = (start..<min(start + 400, count)).map { bed.item("out-\($0)", by: owner) }
            for index in items.indices { items[index].address.zone.name = zone }
            #expect(try bed.save(items, by: owner) == nil)
        }
    }

    /// A page of Carol's shared database, and the rows that each of its turns read.
    private func page(
        since token: ChangeToken?
    ) throws -> (page: FetchDatabaseChanges.Page, rows: [Int]) {
        let engine = CountingEngine(store.engine)
        let reader = ReadTransaction(engine, reach: .disk)
        let fetch = FetchDatabaseChanges(database: .shared, since: token, limit: 400)
        var reading = try fetch.begin(store.scope, store.scopeNumber(), by: carol, in: reader)
        var rows: [Int] = []
        while true {
            let before = engine.looks
            let page = try reading.turn()
            rows.append(engine.looks - before)
            if let page { return (page, rows) }
        }
    }

    @Test func aTurnReadsAPartOfALargeZone() throws {
        try bed.shareAccepted("r", with: [bed.member(carol)], by: carol)
        let begin = try page(since: nil)
        #expect(begin.page.changed == [bed.zone(of: carol)] && begin.rows.count == 1)
        try hide(20_000, in: ShareTestBed.zone)
        let (nothing, rows) = try page(since: begin.page.token)
        #expect(nothing.changed == [] && nothing.deletions == [] && !nothing.moreComing)
        // The page takes four full turns of 4,096 records, and one for the rest.
        #expect(rows.count == 5)
        #expect(try #require(rows.max()) < rows.reduce(0, +) / 3)
        // The only visible change comes last.
        try bed.save("c", under: "r", by: owner)
        let news = try page(since: begin.page.token)
        #expect(news.page.changed == [bed.zone(of: carol)] && !news.page.moreComing)
        #expect(news.rows.count == 5)
        let later = try page(since: nothing.token)
        #expect(later.page.changed == [bed.zone(of: carol)] && later.rows.count == 1)
    }

    /// The limit of a turn is for all zones together.
    @Test func zonesShareTheTurns() throws {
        let zones = ["x", "y", "z"]
        for zone in zones { try shareTree(in: zone) }
        let begin = try page(since: nil)
        #expect(begin.page.changed.map(\.name) == zones)
        for zone in zones { try hide(2_000, in: zone) }
        let (nothing, rows) = try page(since: begin.page.token)
        #expect(nothing.changed == [] && nothing.deletions == [] && !nothing.moreComing)
        #expect(rows.count == 2)
        let (most, all) = (try #require(rows.max()), rows.reduce(0, +))
        #expect(most < all * 3 / 4)
    }

    @Test func aFollowersPageTakesTurnsToo() throws {
        try bed.shareAccepted("r", with: [bed.member(carol)], by: carol)
        let token = try page(since: nil).page.token
        try hide(10_000, in: ShareTestBed.zone)
        let fetch = FetchDatabaseChanges(database: .shared, since: token, limit: 400)
        var reading = try FollowChanges(.database(fetch)).begin(
            store.scope,
            store.scopeNumber(),
            by: carol,
            in: store.reader
        )
        var turns = 1
        while true {
            if let page = try reading.turn() {
                #expect(page.isEmpty && turns == 3)
                return
            }
            turns += 1
        }
    }
}
