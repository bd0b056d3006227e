// How far RocksDB's logs reach in a store of a release before the journal, as its file END says.
//
// Read by `StoreInspection`, and compared by `TakenOverLogs`. The file goes once the store has a
// journal.
//
//     sequence   RocksDB's number of a row that is on the disk, and all before it          8 B
//     log        number of the log that holds it; 0: an older log, or tables               8 B
//     checksum   of the 16 bytes before, as in RocksDB's logs                              8 B
//
// All numbers are big-endian.

import CumulusModel

struct TakenOverEnd: Equatable {
    static let file = "END"
    private static let size = 24

    let sequence: UInt64
    let log: UInt64

    init(sequence: UInt64, log: UInt64) {
        self.sequence = sequence
        self.log = log
    }

    /// nil unless the file is whole.
    init?(_ file: some Collection<UInt8>) {
        guard file.count == Self.size else { return nil }
        let bytes = Bytes(file)
        var reader = CanonicalReader(bytes)
        guard let sequence = try? reader.bigEndian(), let log = try? reader.bigEndian() else {
            return nil
        }
        self.init(sequence: sequence, log: log)
        guard self.bytes == bytes else { return nil }
    }

    var bytes: Bytes {
        var writer = CanonicalWriter()
        writer.bigEndian(sequence)
        writer.bigEndian(log)
        let checksum = writer.bytes.withUnsafeBytes { CRC32C.masked($0) }
        writer.bigEndian(UInt64(checksum))
        return writer.bytes
    }

    /// Whether these logs can be all that there were: the last whole sequence number of each.
    ///
    /// RocksDB deletes a log only when a newer one is there and tables hold all its rows.
    func isReached(by logs: [UInt64: UInt64]) -> Bool {
        if let last = logs[log] { return last >= sequence }
        return logs.keys.contains { $0 > log }
    }
}
