// The file DAMAGED of a store: which families have a damaged table.
//
// Kept by `RocksDBStore`. It is written when a read meets the damage, or when a merge of tables
// failed by it, and read by the next opening: tables of these families are not merged, since
// RocksDB would stop all writes, and are written anew once all their rows can be read.

import CRocksDB
import CumulusModel
import CumulusStorage
import Synchronization

final class DamageNote: Sendable {
    static let file = "DAMAGED"

    private let directory: DataDirectory
    private let noted: Mutex<Set<String>>

    init(_ directory: DataDirectory) {
        self.directory = directory
        var names: Set<String> = []
        if let text = try? directory.contents(of: DamageNote.file) {
            let known = Set(Family.allCases.map { "\($0)" })
            names = known.intersection(
                String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
            )
        }
        noted = Mutex(names)
    }

    func contains(_ family: Family) -> Bool {
        noted.withLock { $0.contains("\(family)") }
    }

    /// Returns whether that is news.
    func add(_ family: Family) -> Bool {
        noted.withLock { names in
            guard names.insert("\(family)").inserted else { return false }
            write(names)
            return true
        }
    }

    func remove(_ family: Family) {
        noted.withLock { names in
            names.remove("\(family)")
            write(names)
        }
    }

    /// If writing fails, the damage is noted again when it is met again.
    private func write(_ names: Set<String>) {
        let text = names.sorted().map { $0 + "\n" }.joined()
        try? directory.replace(DamageNote.file, with: Bytes(text.utf8))
    }
}
