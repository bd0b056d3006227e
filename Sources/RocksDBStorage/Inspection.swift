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
            try inspectLogs(directory, files.filter { $0.hasSuffix(".log") })
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

    private mutating func inspectLogs(
        _ directory: DataDirectory,
        _ logs: [String]
    ) throws(RocksDBError) {
        var torn: (file: String, offset: UInt64)?
        var next: UInt64?
        for log in logs {
            let scan = LogScan(try directory.contents(of: log))
            let path = "\(directory.path)/\(log)"
            // A later log that goes on right where the torn one stops is from an earlier opening,
            // which dropped that end and didn't live to delete the file. Any other number means
            // lost batches.
            if let torn, let first = scan.first, first != next {
                throw .damaged(file: torn.file, offset: torn.offset)
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
        tornEnds.append("\(file) ended in an entry that was never acknowledged: cut at \(wound)")
    }
}
