// Pairs: two records that are only ever written together, with one value, in one atomic batch.
// A look at a node, at any instant, finds both with the same value or neither.
//
// Drawn by a `SimulatedWorld` beside its other load, in some histories; `WorldWatch` looks.

import CumulusModel
import CumulusOperations

struct PairLoad {
    static let names = ["pair-a", "pair-b"]
    static let caller = Caller(role: .user("_alice"))

    private var dice: SeededGenerator

    init(seed: UInt64) {
        dice = SeededGenerator(seed: seed)
    }

    /// What is asked for next, if anything, and of which of so many machines.
    mutating func next(machines: Int) -> (change: DrawnChange, machine: Int)? {
        let isTime = Int.random(in: 0..<4, using: &dice) == 0
        return isTime ? (change(), Int.random(in: 0..<machines, using: &dice)) : nil
    }

    private mutating func change() -> DrawnChange {
        let zone = ZoneAddress(name: "pairs")
        var modify = ModifyRecords(database: .private, policy: .changedKeys)
        switch Int.random(in: 0..<8, using: &dice) {
        case 0: return .modifyZones(ModifyZones(saving: [zone.name]))
        case 1: modify.deletes = Self.names.map { DeleteItem($0, in: zone) }
        default:
            let value = FieldValue.int64(Int64.random(in: 0...Int64.max, using: &dice))
            modify.saves = Self.names.map { SaveItem($0, ["pair": value], in: zone) }
        }
        return .modifyRecords(modify)
    }
}
