// How far the journal reaches, as its file `journal.end` says, so that the loss of its end is
// noticed.
//
// `EndKeeper` writes it, and `StoreInspection` reads it before RocksDB opens the store. The numbers
// and checksums in segments prove that nothing is missing between two records. They can't prove
// that nothing is missing behind the last one: what was lost there looks like what was never
// written. So the number stands in another file, too. A backup has no journal, and no such file.
//
//     sequence   number of a record that is on the disk, and all before it                 8 B
//     checksum   XXH3 of the 8 bytes before                                                8 B
//
// Both numbers are big-endian.

import CXXHash
import CumulusModel

struct JournalEnd: Equatable {
    /// RocksDB leaves files alone whose names it doesn't know.
    static let file = "journal.end"
    private static let size = 16

    var sequence: UInt64

    init(sequence: UInt64) { self.sequence = sequence }

    /// nil unless the file is whole.
    init?(_ file: some Collection<UInt8>) {
        guard file.count == Self.size else { return nil }
        let bytes = Bytes(file)
        var reader = CanonicalReader(bytes)
        guard let sequence = try? reader.bigEndian() else { return nil }
        self.init(sequence: sequence)
        guard self.bytes == bytes else { return nil }
    }

    var bytes: Bytes {
        var writer = CanonicalWriter()
        writer.bigEndian(sequence)
        let checksum = writer.bytes.withUnsafeBytes { XXH3_64bits($0.baseAddress, $0.count) }
        writer.bigEndian(checksum)
        return writer.bytes
    }
}
