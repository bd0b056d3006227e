// The rows that a statement answered with, in PostgreSQL's binary form.
//
// Made by `Session`. They stand in the client's memory, so a visitor may ask for others meanwhile.

import CPostgres
import CumulusModel

final class Answer: @unchecked Sendable {
    // A result never changes once it is there.

    private let result: OpaquePointer
    private let library: LibPQ

    /// Takes the result over.
    init(_ result: OpaquePointer, _ library: LibPQ) {
        self.result = result
        self.library = library
    }

    deinit { library.calls.PQclear(result) }

    /// The number of rows.
    var count: Int { Int(library.calls.PQntuples(result)) }

    func isNull(_ row: Int, _ column: Int) -> Bool {
        library.calls.PQgetisnull(result, Int32(row), Int32(column)) == 1
    }

    /// Lends a value, for as long as the answer lives; empty if the value is null.
    func lend(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer {
        let (row, column) = (Int32(row), Int32(column))
        return UnsafeRawBufferPointer(
            start: library.calls.PQgetvalue(result, row, column),
            count: Int(library.calls.PQgetlength(result, row, column))
        )
    }

    func bytes(_ row: Int, _ column: Int) -> Bytes { Bytes(lend(row, column)) }

    func text(_ row: Int, _ column: Int) -> String {
        String(decoding: lend(row, column), as: UTF8.self)
    }

    func isTrue(_ row: Int, _ column: Int) -> Bool { lend(row, column).first == 1 }

    /// A number of two, four or eight bytes.
    func number(_ row: Int, _ column: Int) -> Int64 {
        let bytes = lend(row, column)
        let isNegative = bytes.first.map { $0 & 0x80 != 0 } ?? false
        return bytes.reduce(isNegative ? -1 : 0) { $0 << 8 | Int64($1) }
    }
}
