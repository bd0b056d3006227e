// A walk through a donor's state goes on at any position, in the same snapshot, and sends nothing
// twice.

import CumulusModel
import CumulusOperations
import CumulusReplication
import CumulusStorage
import CumulusTesting
import Testing

@Suite struct StatePositionTests {
    private let one: TestStore
    private let other: TestStore
    private let source: StateSource

    /// Two zones; one record has three lives.
    init() throws {
        one = try TestStore(seed: 1)
        other = try TestStore(copying: one, seed: 2)
        let third = try TestStore(copying: one, seed: 3)
        try one.modify(ModifyZones(saving: ["z"]), by: .alice)
        for (number, store) in [other, third, one].enumerated() {
            store.now += 10 * Int64(number)
            try store.save([SaveItem("lives", ["n": .int64(Int64(number))])])
        }
        try one.save([SaveItem("a", ["n": 1]), SaveItem("z", ["n": 1])])
        try one.save(["s", "t", "u"].map { SaveItem($0, ["n": 1], in: ZoneAddress(name: "z")) })
        try one.take(from: third)
        try one.take(from: other)
        let snapshot = ReadTransaction(try one.engine.snapshot(), reach: .disk)
        source = StateSource(snapshot, scope: try one.scopeNumber())
    }

    private func offer(_ way: StateWay) throws -> StateOffer {
        try source.offer(to: VersionVector(), isLarge: { _ in way == .full })
    }

    private func names(_ pages: [StatePage]) -> [String] {
        pages.flatMap { page in page.records.map { "\(page.zone) \($0.name)" } }
    }

    @Test(arguments: StateWay.allCases) func aWalkGoesOnAnywhere(way: StateWay) throws {
        let offer = try offer(way)
        var walk = StatePages(source, offer)
        var whole: [StatePage] = []
        while let page = try walk.next(byteLimit: 1) { whole.append(page) }
        // A life of its own page each; three of one record.
        #expect(whole.count == 8)
        for count in 0...whole.count {
            var intake = try StateIntake(offer, above: VersionVector(), clock: .init(now: one.now))
            for page in whole.prefix(count) { _ = try intake.read(page) }
            #expect(offer.reaches(intake.position))
            var rest = StatePages(source, offer, from: intake.position)
            var pages: [StatePage] = []
            while let page = try rest.next(byteLimit: 1) {
                _ = try intake.read(page)
                pages.append(page)
            }
            try intake.checkEnd()
            #expect(names(pages) == names(Array(whole.dropFirst(count))), "after \(count) pages")
        }
    }

    /// Each page is the first one of a connection.
    @Test(arguments: StateWay.allCases) func aSyncOfManyConnectionsTakesAll(way: StateWay) throws {
        let fresh = try TestStore(seed: 4)
        fresh.now = one.now
        try fresh.takeState(of: one, way, breaking: true)
        let states = try [fresh, one].map {
            try ReplicatedState.rows(of: $0.scope, in: $0.engine, forgetting: true)
        }
        #expect(ReplicatedState.differences(states[0], states[1]) == [])
        #expect(states[0].count > 5)
    }

    @Test func positionsThatCanNotBeAreKnown() throws {
        let offer = try offer(.full)
        let all = offer.partCount
        let good: [StatePosition] = [
            .init(), .init(parts: 1), .init(parts: all), .init(parts: all, zone: 1),
            .init(parts: all, record: "r", rows: 9),
        ]
        let wrong: [StatePosition] = [
            .init(parts: all + 1), .init(parts: -1), .init(parts: 1, zone: 1),
            .init(parts: 1, record: "r"), .init(parts: all, zone: offer.zones.count),
            .init(parts: all, rows: 1), .init(parts: all, record: "r", rows: -1),
        ]
        for position in good { #expect(offer.reaches(position), "\(position)") }
        for position in wrong { #expect(!offer.reaches(position), "\(position)") }
        #expect(StateOffer().reaches(.init()))
    }
}
