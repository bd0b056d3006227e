// RocksDB's logs in a store of a release before the journal: whether they are all that there were.
//
// Read by `StoreInspection` until the store has a journal. RocksDB replays them once when it opens
// the store, and makes tables of them. It can't tell a missing or cut log from one that was never
// written, and drops what follows a damaged length near the end of one. So each log is read
// before. A log goes on where the one before it stops, and the file END says how far the last one
// reached: see `TakenOverEnd`. Stores of release 0.1, and backups of it, have such logs. In all
// other stores they are empty.

import CumulusStorage

struct TakenOverLogs {
    /// Ends of logs that aren't whole and may be dropped: one line each, for the node's log.
    private(set) var tornEnds: [String] = []
    private let directory: DataDirectory

    /// Throws if rows are missing that had been acknowledged.
    ///
    /// - Parameters:
    ///   - files: All files of the directory.
    ///   - end: What END says about the logs; nil if nobody can tell, as in a backup.
    init(_ directory: DataDirectory, _ files: [String], _ end: TakenOverEnd?) throws(RocksDBError) {
        self.directory = directory
        let logs = LogScan.logs(among: files)
        // There is always a log, but in a copy that was made of tables only, and before the first
        // list of tables has a successor.
        guard
            !logs.isEmpty || files.contains("MANIFEST-000001")
                || files.contains(where: { $0.hasSuffix(".sst") })
        else { throw .logMissing(directory: directory.path) }
        let reached = try inspect(logs)
        guard let end, !end.isReached(by: reached) else { return }
        throw .endMissing(directory: directory.path, file: TakenOverEnd.file)
    }

    /// Returns the last whole sequence number of each log, 0 if the log has no whole batch.
    private mutating func inspect(
        _ logs: [(number: UInt64, file: String)]
    ) throws(RocksDBError) -> [UInt64: UInt64] {
        var torn: (file: String, offset: UInt64)?
        var next: UInt64?
        var reached: [UInt64: UInt64] = [:]
        for (number, log) in logs {
            let scan = LogScan(try directory.contents(of: log))
            let path = "\(directory.path)/\(log)"
            // Each log goes on where the one before it stops: also where that is torn, and an
            // earlier opening dropped its end and didn't live to delete the file. Any other number
            // means lost batches.
            if let next, let first = scan.first, first != next {
                if let torn { throw .damaged(file: torn.file, offset: torn.offset) }
                throw .logGap(file: path)
            }
            if let wound = scan.wound {
                guard !scan.goesOn else { throw .damaged(file: path, offset: wound) }
                torn = (path, wound)
                tornEnds.append(StoreInspection.tornEnd(log, at: wound))
            }
            reached[number] = max(scan.next ?? 1, 1) - 1
            next = scan.next ?? next
        }
        return reached
    }
}
