// The digests of zones for operators: equal on nodes that have read the same, page by page.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct ZoneDigestTests {
    private let pair: StorePair

    init() throws {
        pair = try StorePair()
        try pair.one.modify(ModifyZones(saving: ["notes"]), by: .alice)
        try pair.together([SaveItem("one", ["a": 1]), SaveItem("two", ["a": 2])])
    }

    private func zones(of store: TestStore, limit: Int) throws -> [ZoneDigest] {
        let reader = store.reader
        var zones: [ZoneDigest] = []
        var place: ZoneDigest.Position? = try ZoneDigest.Position(store.scopeNumber(), in: reader)
        while let start = place {
            let page = try ZoneDigest.page(from: start, limit: limit, in: reader)
            #expect(page.zones.count <= limit)
            zones += page.zones
            place = page.next
        }
        return zones
    }

    @Test(arguments: [1, 2, 100]) func nodesThatReadTheSameShowTheSame(limit: Int) throws {
        let zones = try zones(of: pair.one, limit: limit)
        #expect(try zones == self.zones(of: pair.other, limit: 100))
        #expect(zones.contains { $0.zone == "notes" && $0.records == 0 })
        let records = try #require(zones.first { $0.records > 0 })
        #expect(records.records == 3)
        #expect(records.bytes > 0)
        let scopes = try ScopeDigest.all(in: pair.one.reader)
        #expect(scopes.contains { $0.digest == records.digest })
    }

    @Test func anotherValueIsAnotherDigest() throws {
        let before = try zones(of: pair.one, limit: 100)
        try pair.other.save([SaveItem("new", ["a": 3])])
        let after = try zones(of: pair.other, limit: 100)
        #expect(before.map(\.digest) != after.map(\.digest))
    }
}
