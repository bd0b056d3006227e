// Pairs: two records of a zone that are only ever written together, with one value, in one atomic
// batch. A look at a node, at any instant, finds both with the same value or neither.
//
// Some simulated histories write pairs beside everything else, and look after each step: a batch
// that is there by half, or mixed with a concurrent one, is noticed at once.

import CumulusModel
import CumulusOperations
import CumulusStorage

extension SimulatedCluster {
    /// The memory of histories with pairs.
    package struct Pairs {
        var dice: SeededGenerator
        /// A value of its own for each batch.
        var lastValue: Int64 = 0
        package var faults: [String] = []
        /// How often a pair was found to be there; a history without shows nothing.
        package var found = 0

        /// Whether it is time to write one.
        mutating func isNext() -> Bool { Int.random(in: 0..<4, using: &dice) == 0 }
    }

    private static let pair = ["pair-a", "pair-b"]
    private static let users = ["_alice", "_bob"]
    private static let zones = ["x", "y"]

    /// After a step that two nodes took part in.
    mutating func stepPairs(_ one: Int, _ other: Int) throws {
        guard let isNext = pairs?.isNext() else { return }
        if isNext { try editPair(one) }
        for node in Set([one, other]) { try checkPairs(node) }
    }

    /// Writes or deletes a pair at a node.
    private mutating func editPair(_ one: Int) throws {
        guard var pairs else { return }
        pairs.lastValue += 1
        let caller = Caller(role: .user(Self.users.randomElement(using: &pairs.dice) ?? ""))
        let zone = ZoneAddress(name: Self.zones.randomElement(using: &pairs.dice) ?? "")
        let isDelete = Int.random(in: 0..<5, using: &pairs.dice) == 0
        let value = FieldValue.int64(pairs.lastValue)
        self.pairs = pairs
        let modify = ModifyRecords(
            database: .private,
            policy: .changedKeys,
            saves: isDelete ? [] : Self.pair.map { SaveItem($0, ["pair": value], in: zone) },
            deletes: isDelete ? Self.pair.map { DeleteItem($0, in: zone) } : []
        )
        let before = try stores[one].vectors()
        try stores[one].run(stores[one].request(modify, by: caller))
        try acknowledge(one, since: before)
    }

    /// Looks at all pairs of a node.
    package mutating func checkPairs(_ one: Int) throws {
        for user in Self.users {
            for zone in Self.zones {
                let seen = Self.pair.map { name in
                    try? stores[one].fetch(
                        name,
                        in: .private,
                        zone: ZoneAddress(name: zone),
                        by: Caller(role: .user(user))
                    ).get().fields
                }
                if seen[0] != nil { pairs?.found += 1 }
                guard seen[0] != seen[1] else { continue }
                let (first, second) = (seen[0]?.hex ?? "nothing", seen[1]?.hex ?? "nothing")
                pairs?.faults.append(
                    "node \(one) shows \(first) and \(second) of one batch, of \(user) in '\(zone)'"
                )
            }
        }
    }
}
