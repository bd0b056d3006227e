// Inspects a data directory before RocksDB opens it.
//
// RocksDB by itself makes a new, empty store if CURRENT is missing. It takes a damaged length near
// the end of a log or of its list of tables for the end, and silently drops the rest. So the engine
// looks first. It refuses to open if acknowledged rows would be lost. It accepts a torn end, which
// a power cut leaves of a batch that was never acknowledged. The file END says how far the store
// had come by then: see `StoreEnd`.
//
// Folder: the checks before a store is opened, so that no loss goes unnoticed. Read
// `StoreInspection`, then `LogScan` and `StoreEnd`.

import CumulusStorage

struct StoreInspection {
    /// Nothing was ever stored here.
    let isNew: Bool
    /// The end of a file isn't whole and may be dropped: one line each, for the node's log.
    private(set) var tornEnds: [String] = []
    /// Further remarks for an operator; one line each.
    private(set) var remarks: [String] = []
    /// How far the store has to reach; nil where nobody can tell, as in a backup.
    private(set) var end: StoreEnd?

    init(_ directory: DataDirectory) throws(RocksDBError) {
        let files = try directory.files()
        isNew = !files.contains("CURRENT")
        if isNew {
            // A crash while the store was being made leaves other files only.
            let kinds = [".sst", ".log", ".blob", StoreEnd.file]
            guard !files.contains(where: { file in kinds.contains(where: file.hasSuffix) }) else {
                throw .currentMissing(directory: directory.path)
            }
        } else {
            try inspectTableList(directory, files)
            let logs = LogScan.logs(among: files)
            if logs.isEmpty { try inspectWithoutLogs(directory, files) }
            let reached = try inspectLogs(directory, logs)
            try inspectEnd(directory, files, reached)
        }
    }

    private mutating func inspectTableList(
        _ directory: DataDirectory,
        _ files: [String]
    ) throws(RocksDBError) {
        let current = String(decoding: try directory.contents(of: "CURRENT"), as: UTF8.self)
        let name = String(current.dropLast())
        guard current.hasSuffix("\n"), files.contains(name) else {
            throw .damaged(file: "\(directory.path)/CURRENT", offset: 0)
        }
        let scan = LogScan(try directory.contents(of: name))
        guard let wound = scan.wound else { return }
        guard !scan.goesOn else { throw .damaged(file: "\(directory.path)/\(name)", offset: wound) }
        noteTornEnd(name, wound)
    }

    /// There is always a log, but in a copy that was made of tables only, and before the first list
    /// of tables has a successor.
    private mutating func inspectWithoutLogs(
        _ directory: DataDirectory,
        _ files: [String]
    ) throws(RocksDBError) {
        if files.contains("MANIFEST-000001") { return }
        guard files.contains(where: { $0.hasSuffix(".sst") }) else {
            throw .logMissing(directory: directory.path)
        }
        remarks.append(
            """
            there is no log, as in a backup; if this isn't one, what was written last is lost: \
            compare with a backup
            """
        )
    }

    /// Returns the last whole sequence number of each log, 0 if there is none.
    private mutating func inspectLogs(
        _ directory: DataDirectory,
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
                noteTornEnd(log, wound)
            }
            reached[number] = max(scan.next ?? 1, 1) - 1
            next = scan.next ?? next
        }
        return reached
    }

    /// RocksDB can't distinguish a missing or cut log from one that was never written.
    ///
    /// A damaged END is no reason to refuse: the rows may all be there, and it is written anew.
    private mutating func inspectEnd(
        _ directory: DataDirectory,
        _ files: [String],
        _ reached: [UInt64: UInt64]
    ) throws(RocksDBError) {
        guard files.contains(StoreEnd.file) else { return }
        guard let end = StoreEnd(try directory.contents(of: StoreEnd.file)) else {
            remarks.append(
                """
                \(StoreEnd.file) is damaged, so nobody can tell whether the newest log is whole: \
                compare with a backup
                """
            )
            return
        }
        guard end.isReached(by: reached) else { throw .endMissing(directory: directory.path) }
        self.end = end
    }

    private mutating func noteTornEnd(_ file: String, _ wound: UInt64) {
        tornEnds.append(
            """
            \(file) is not whole from byte \(wound) on, what stands there is dropped: after a \
            power cut that is what nobody was told of; after anything else, compare with a backup
            """
        )
    }
}
