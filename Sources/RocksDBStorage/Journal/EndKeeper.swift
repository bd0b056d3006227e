// Keeps the file `journal.end` close behind the journal: what was committed is named there a second
// later.
//
// `RocksDBStore` owns it; the journal tells it of each flush. It writes on a queue of its own, so
// no commit but the first waits for it. A failed write, as on a full disk, is repeated later: until
// then the file says less than is true, and never more.

import CumulusSystem
import Synchronization

final class EndKeeper: @unchecked Sendable {
    // `noted` and `timer` are touched on `queue` only.

    private let directory: DataDirectory
    private let queue = DispatchQueue(label: "cumulus.store-end")
    private let reached = Atomic<UInt64>(0)
    private var noted: UInt64?
    private var timer: (any DispatchSourceTimer)?

    init(_ directory: DataDirectory) {
        self.directory = directory
    }

    /// All records up to this number are on the disk.
    func reach(_ sequence: UInt64) {
        reached.store(sequence, ordering: .releasing)
    }

    /// Writes at once, and from now on after commits.
    func begin() {
        queue.sync {
            note()
            let timer = DispatchSource.makeTimerSource(queue: queue)
            timer.schedule(deadline: .now() + .seconds(1), repeating: .seconds(1))
            timer.setEventHandler { [weak self] in self?.note() }
            timer.resume()
            self.timer = timer
        }
    }

    /// Writes a last time; when it returned, nothing is written any more.
    func close() {
        queue.sync {
            guard let timer else { return }
            timer.cancel()
            note()
        }
    }

    private func note() {
        let sequence = reached.load(ordering: .acquiring)
        guard sequence != noted else { return }
        do {
            let end = JournalEnd(sequence: sequence)
            try directory.replace(JournalEnd.file, with: end.bytes)
            if noted == nil { unlink("\(directory.path)/\(TakenOverEnd.file)") }
            noted = sequence
        } catch {
            // Tried again in a second.
        }
    }
}
