// Cleans up packs when a node starts: deletes files that no row names, and marks chunks whose file
// is gone as missing, so that they are fetched again.
//
// It runs once, before the node has threads. A crash leaves files without rows; a restored backup
// may come without files. Packs of another store are left alone, and so are packs that may be the
// only copy: then it throws and changes nothing. A read-only node only looks, and changes nothing
// either.

import CumulusModel
package import CumulusStorage

package struct AssetRecovery {
    private let engine: any StorageEngine
    private let packs: any PackFiles
    private let mayLose: Bool
    private static let packsAtOnce = 100

    /// - Parameter mayLose: Goes on without any packs, also where no other node may have them.
    package init(engine: any StorageEngine, packs: any PackFiles, mayLose: Bool) {
        self.engine = engine
        self.packs = packs
        self.mayLose = mayLose
    }

    package struct Outcome {
        /// The writer's state after the changes.
        package let state: WriterState
        /// Higher than the number of any pack.
        package let next: PackNumber
        /// Bytes of the packs that are there.
        package let bytes: Int
        /// Packs that are gone.
        package let missing: Int
    }

    /// Throws `OpenStore.Failure` where the packs are not this store's.
    package func run(
        _ state: WriterState,
        now: Int64,
        changesNothing: Bool = false
    ) throws -> Outcome {
        let found = try survey()
        let mended = changesNothing ? state : try mend(found, state, now)
        let highest = max(found.known.max() ?? 0, found.files.keys.max() ?? 0)
        let present = found.known.subtracting(found.missing)
        return Outcome(
            state: mended,
            next: highest + 1,
            bytes: present.reduce(0) { $0 + (found.files[$1] ?? 0) },
            missing: found.missing.count
        )
    }

    /// Makes rows and files say the same.
    private func mend(_ found: Survey, _ state: WriterState, _ now: Int64) throws -> WriterState {
        var state = try claim(found, state, now)
        for start in stride(from: 0, to: found.missing.count, by: AssetRecovery.packsAtOnce) {
            let part = found.missing[start...].prefix(AssetRecovery.packsAtOnce)
            state = try commit(state, now) { transaction throws(EngineError) in
                for pack in part { try Packs.lose(pack, &transaction) }
            }
        }
        for pack in found.files.keys where !found.known.contains(pack) { packs.remove(pack) }
        for pack in found.missing { packs.remove(pack) }
        return state
    }

    // MARK: Parts

    private struct Survey {
        let files: [PackNumber: Int]
        /// Packs that rows name.
        var known: Set<PackNumber> = []
        /// The known packs whose files are gone or too short.
        var missing: [PackNumber] = []
    }

    private func survey() throws -> Survey {
        var found = Survey(files: try packs.all())
        let reader = ReadTransaction(engine, reach: .disk)
        for (key, value) in try reader.rows(.records, .all(.pack)) {
            var parts = KeyReader(key)
            let pack: PackNumber = try parts.number()
            found.known.insert(pack)
            let length = try PackRow(row: value).length
            if found.files[pack] ?? -1 < length { found.missing.append(pack) }
        }
        return found
    }

    /// Makes sure that store and packs name the same origin, before anything is given up.
    private func claim(_ found: Survey, _ state: WriterState, _ now: Int64) throws -> WriterState {
        let reader = ReadTransaction(engine, reach: .disk)
        let row: PackOriginRow? = try reader.row(.packOrigin)
        let origin = try packs.origin()
        guard let row else {
            // A store from before packs had an origin.
            if origin == nil { try packs.setOrigin(state.incarnation) }
            return try begin(origin ?? state.incarnation, state, now)
        }
        if origin == row.run { return state }
        let isWhole = found.missing.isEmpty && !found.known.isEmpty
        if found.files.isEmpty ? found.known.isEmpty : origin == nil && isWhole {
            // The first start, or only the name of theirs is gone.
            try packs.setOrigin(row.run)
            return state
        }
        guard found.files.isEmpty else { throw OpenStore.Failure.otherPacks(found.files.count) }
        guard try mayLose || hasOthers(reader, state) else {
            throw OpenStore.Failure.packsGone(found.known.count)
        }
        // Another origin: if the lost ones come back, they are not taken for these.
        let begun = try begin(state.incarnation, state, now)
        try packs.setOrigin(state.incarnation)
        return begun
    }

    private func begin(
        _ run: Incarnation,
        _ state: WriterState,
        _ now: Int64
    ) throws -> WriterState {
        try commit(state, now) { $0.put(.packOrigin, PackOriginRow(run: run)) }
    }

    /// Whether the cluster has other members.
    private func hasOthers(_ reader: ReadTransaction, _ state: WriterState) throws -> Bool {
        try reader.members().contains { $0.nodeID != state.node.nodeID && $0.row.value != nil }
    }

    private func commit(
        _ state: WriterState,
        _ now: Int64,
        _ change: (inout WriteTransaction) throws(EngineError) -> Void
    ) throws -> WriterState {
        var group = GroupCommit(engine: engine, state: state)
        try group.run(now: now) { transaction throws(EngineError) in
            try change(&transaction)
            return ((), true)
        }
        return try group.commit()
    }
}
