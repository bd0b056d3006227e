// The parameters of a statement in PostgreSQL's binary form, one after another in one buffer.
//
// hot: built for each read and each commit.
//
//   bytea     its bytes
//   bigint    8 bytes, the highest first
//   bytea[]   dimensions 1 · nulls 0 · type of elements 17 · count · first index 1, each 4 bytes;
//             then per element its length in 4 bytes, and its bytes
//             an empty one: dimensions 0 · nulls 0 · type of elements 17

import CumulusModel

struct Parameters {
    /// The first byte belongs to no parameter, so that even an empty one has an address.
    private(set) var buffer: Bytes = [0]
    private var ends: [Int] = []

    /// The number by which PostgreSQL knows the type bytea.
    private static let bytea: Int32 = 17

    mutating func add(_ bytes: Bytes) {
        buffer += bytes
        ends.append(buffer.count)
    }

    mutating func add(_ number: Int64) {
        put(number)
        ends.append(buffer.count)
    }

    mutating func add(array elements: [Bytes]) {
        put(elements.isEmpty ? 0 : 1 as Int32)
        put(0 as Int32)
        put(Parameters.bytea)
        if !elements.isEmpty {
            put(Int32(elements.count))
            put(1 as Int32)
        }
        for element in elements {
            put(Int32(element.count))
            buffer += element
        }
        ends.append(buffer.count)
    }

    mutating func reserve(_ byteCount: Int) { buffer.reserveCapacity(byteCount) }

    private mutating func put(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.bigEndian) { buffer += $0 }
    }

    /// Lends what libpq takes: addresses, lengths, and that all are binary.
    func lend<Result>(
        _ body: (
            _ count: Int32,
            _ values: [UnsafePointer<CChar>?],
            _ lengths: [Int32],
            _ formats: [Int32]
        ) -> Result
    ) -> Result {
        buffer.withUnsafeBytes { bytes in
            let starts = [1] + ends.dropLast()
            let first = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            return body(
                Int32(ends.count),
                starts.map { start in first.map { UnsafePointer($0 + start) } },
                zip(starts, ends).map { Int32($1 - $0) },
                ends.map { _ in 1 }
            )
        }
    }
}
