// Bytes as RocksDB's C interface takes and gives them: characters and their count.

import CumulusModel

extension Bytes {
    /// Lends the bytes to a call, with a pointer that is never nil.
    func withCharacters<Result>(
        _ body: (_ start: UnsafePointer<CChar>, _ count: Int) -> Result
    ) -> Result {
        withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress, !bytes.isEmpty else {
                return withUnsafePointer(to: 0 as CChar) { body($0, 0) }
            }
            return body(start.assumingMemoryBound(to: CChar.self), bytes.count)
        }
    }

    /// Copies what a call returns that also stores a count.
    init(_ call: (_ count: UnsafeMutablePointer<Int>) -> UnsafePointer<CChar>?) {
        var count = 0
        let start = call(&count)
        self.init(UnsafeRawBufferPointer(start: start, count: count))
    }
}
