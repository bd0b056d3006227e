// The checksum of RocksDB's logs: CRC-32C (Castagnoli), a table of 256 entries, a byte at a time.
//
// Called by `LogScan` for each record that it reads when the engine opens, and by `TakenOverEnd`.

enum CRC32C {
    /// RocksDB stores checksums rotated and moved, so that a log within a log has other ones.
    static func masked(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        var crc = ~UInt32(0)
        for byte in bytes {
            crc = table[Int(UInt8(truncatingIfNeeded: crc) ^ byte)] ^ (crc >> 8)
        }
        crc = ~crc
        return (crc >> 15 | crc << 17) &+ 0xa282_ead8
    }

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { crc, _ in
            crc & 1 == 0 ? crc >> 1 : crc >> 1 ^ 0x82f6_3b78
        }
    }
}
