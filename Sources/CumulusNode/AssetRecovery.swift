// What a start finds among the packs: files that no row names go, and chunks whose file is gone are
// missing from now on, so that they are fetched again.
//
// Run once, before the node has threads. A crash leaves files without rows; a restored backup may
// come without files.

import CumulusModel
package import CumulusStorage

package struct AssetRecovery {
    private let engine: any StorageEngine
    private let packs: any PackFiles
    private static let packsAtOnce = 100

    package init(engine: any StorageEngine, packs: any PackFiles) {
        self.engine = engine
        self.packs = packs
    }

    package struct Outcome {
        /// The writer's state behind what was written.
        package let state: WriterState
        /// Higher than the number of any pack.
        package let next: PackNumber
        /// Bytes of the packs that are there.
        package let bytes: Int
        /// Packs that are gone.
        package let missing: Int
    }

    package func run(_ state: WriterState, now: Int64) throws -> Outcome {
        let files = try packs.all()
        var state = state
        var known: Set<PackNumber> = []
        var missing: [PackNumber] = []
        let reader = ReadTransaction(engine, reach: .disk)
        for (key, value) in try reader.rows(.records, .all(.pack)) {
            var parts = KeyReader(key)
            let pack: PackNumber = try parts.number()
            known.insert(pack)
            let length = try PackRow(row: value).length
            if files[pack] ?? -1 < length { missing.append(pack) }
        }
        for start in stride(from: 0, to: missing.count, by: AssetRecovery.packsAtOnce) {
            let part = missing[start..<min(start + AssetRecovery.packsAtOnce, missing.count)]
            var group = GroupCommit(engine: engine, state: state)
            try group.run(now: now) { transaction throws(EngineError) in
                for pack in part { try transaction.lose(pack: pack) }
                return ((), true)
            }
            state = try group.commit()
        }
        for pack in files.keys where !known.contains(pack) { packs.remove(pack) }
        for pack in missing { packs.remove(pack) }
        let highest = max(known.max() ?? 0, files.keys.max() ?? 0)
        let bytes = known.subtracting(missing).reduce(0) { $0 + (files[$1] ?? 0) }
        return Outcome(state: state, next: highest + 1, bytes: bytes, missing: missing.count)
    }
}
