// Inspects a data directory before RocksDB opens it.
//
// RocksDB by itself makes a new, empty store if CURRENT is missing. It takes a damaged length near
// the end of its list of tables for the end, and silently drops the rest. So the engine looks
// first. It refuses to open if acknowledged rows would be lost. It accepts a torn end, which a
// power cut leaves of what nobody was told of. A file says how far the store had come by then: see
// `JournalEnd`. The journal itself is read once RocksDB is open: see `JournalReplay`.
//
// Folder: the checks before a store is opened, so that no loss goes unnoticed. Read
// `StoreInspection`, then `LogScan`, and `TakenOverLogs` for stores of earlier releases.

import CumulusStorage

struct StoreInspection {
    /// Nothing was ever stored here.
    let isNew: Bool
    /// The end of a file isn't whole and may be dropped: one line each, for the node's log.
    private(set) var tornEnds: [String] = []
    /// Further remarks for an operator; one line each.
    private(set) var remarks: [String] = []
    /// How far the store has to reach; nil where nobody can tell, as in a backup.
    private(set) var end: End?

    enum End {
        case journal(JournalEnd)
        /// The store is of a release before the journal.
        case takenOver(TakenOverEnd)
    }

    init(_ directory: DataDirectory) throws(RocksDBError) {
        let files = try directory.files()
        isNew = !files.contains("CURRENT")
        if isNew {
            // A crash while the store was being made leaves other files only.
            let kinds = [".sst", ".log", ".blob", ".journal", JournalEnd.file, TakenOverEnd.file]
            guard !files.contains(where: { file in kinds.contains(where: file.hasSuffix) }) else {
                throw .currentMissing(directory: directory.path)
            }
        } else {
            try inspectTableList(directory, files)
            try readEnd(directory, files)
            switch end {
            case .journal: break
            case .takenOver(let end):
                tornEnds += try TakenOverLogs(directory, files, end).tornEnds
            case nil: tornEnds += try TakenOverLogs(directory, files, nil).tornEnds
            }
        }
    }

    /// What an operator is told of a file whose end is dropped.
    static func tornEnd(_ file: String, at place: UInt64) -> String {
        """
        \(file) is not whole from byte \(place) on, what stands there is dropped: after a power \
        cut that is what nobody was told of; after anything else, compare with a backup
        """
    }

    /// Throws unless the rows and records that were found are all that the store is known to have.
    ///
    /// - Parameters:
    ///   - row: RocksDB's number of the last row that its tables and logs had.
    ///   - record: The number of the journal's last record.
    func check(
        _ directory: DataDirectory,
        row: UInt64,
        record: UInt64
    ) throws(RocksDBError) {
        switch end {
        case .journal(let end) where record < end.sequence:
            throw .endMissing(directory: directory.path, file: JournalEnd.file)
        case .takenOver(let end) where row < end.sequence:
            throw .endMissing(directory: directory.path, file: TakenOverEnd.file)
        default: break
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
        tornEnds.append(Self.tornEnd(name, at: wound))
    }

    /// A damaged file is no reason to refuse: the rows may all be there, and it is written anew.
    private mutating func readEnd(
        _ directory: DataDirectory,
        _ files: [String]
    ) throws(RocksDBError) {
        let file: String
        if files.contains(JournalEnd.file) {
            file = JournalEnd.file
            end = JournalEnd(try directory.contents(of: file)).map { .journal($0) }
        } else if files.contains(TakenOverEnd.file) {
            file = TakenOverEnd.file
            end = TakenOverEnd(try directory.contents(of: file)).map { .takenOver($0) }
        } else {
            return
        }
        guard end == nil else { return }
        remarks.append(
            """
            \(file) is damaged, so nobody can tell whether all that was acknowledged is there: \
            compare with a backup
            """
        )
    }
}
