// What a data directory holds, found out before RocksDB opens it.
//
// RocksDB by itself makes a new, empty store where CURRENT is missing, and takes a damaged length
// near the end of a log or of its list of tables for the end: what follows would be gone without a
// word. So the engine looks first. It refuses where acknowledged rows would be lost, and lets a
// torn end pass: that is what a power cut leaves of a batch that was never acknowledged.

import CumulusStorage

struct Inspection {
    /// Nothing was ever stored here.
    let isNew: Bool
    /// The end of a file isn't whole and may be dropped: one line each, for the node's log.
    private(set) var tornEnds: [String] = []
    /// What else an operator should know; one line each.
    private(set) var remarks: [String] = []

    init(_ directory: DataDirectory) throws(RocksDBError) {
        let files = try directory.files()
        isNew = !files.contains("CURRENT")
        if isNew {
            // Only a crash while the store was being made leaves files, and none of these.
            let kinds = [".sst", ".log", ".blob"]
            guard !files.contains(where: { file in kinds.contains(where: file.hasSuffix) }) else {
                throw .currentMissing(directory: directory.path)
            }
        } else {
            try inspectTableList(directory, files)
            let logs = files.filter { $0.hasSuffix(".log") }
            if logs.isEmpty { try inspectWithoutLogs(directory, files) }
            try inspectLogs(directory, logs)
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

    private mutating func inspectLogs(
        _ directory: DataDirectory,
        _ logs: [String]
    ) throws(RocksDBError) {
        var torn: (file: String, offset: UInt64)?
        var next: UInt64?
        for log in logs {
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
            next = scan.next ?? next
        }
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
