// The sizes of the messages of a stream, from the five bytes that gRPC puts before each.
//
// Read by `GRPCStreamGuard`, which knows so how much room a message takes before it has come. A
// value without I/O. hot: once per frame.

import CumulusModel

struct GRPCMessageSizes {
    static let prefixBytes = 5

    private var prefix: Bytes = []
    /// Bytes of the message that are still to come.
    private var rest = 0
    /// The bytes of the largest message that was announced.
    private(set) var largest = 0

    /// Whether a message has begun and is not whole.
    var isInside: Bool { rest > 0 || !prefix.isEmpty }

    /// Reads on; returns the bytes of all messages that begin here, with what stands before them.
    mutating func announced(in bytes: some Collection<UInt8>) -> Int {
        var bytes = bytes[...]
        var sum = 0
        while !bytes.isEmpty {
            if rest > 0 {
                let here = min(rest, bytes.count)
                rest -= here
                bytes = bytes.dropFirst(here)
                continue
            }
            let missing = GRPCMessageSizes.prefixBytes - prefix.count
            prefix += bytes.prefix(missing)
            bytes = bytes.dropFirst(missing)
            guard prefix.count == GRPCMessageSizes.prefixBytes else { break }
            rest = prefix.dropFirst().reduce(0) { $0 << 8 | Int($1) }
            largest = max(largest, rest)
            sum += rest + GRPCMessageSizes.prefixBytes
            prefix = []
        }
        return sum
    }
}
