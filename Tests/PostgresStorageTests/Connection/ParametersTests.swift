// Parameters in PostgreSQL's binary form, byte by byte.

import CumulusModel
import Testing

@testable import PostgresStorage

@Suite struct ParametersTests {
    /// The bytes of each parameter, as libpq is lent them.
    private func parts(_ parameters: Parameters) -> [Bytes] {
        parameters.lend { _, values, lengths, _ in
            zip(values, lengths).map { value, length in
                Bytes(UnsafeRawBufferPointer(start: value, count: Int(length)))
            }
        }
    }

    @Test func bytesAndNumbers() {
        var parameters = Parameters()
        parameters.add([1, 2, 3])
        parameters.add([] as Bytes)
        parameters.add(-2 as Int64)
        parameters.add(258 as Int64)
        #expect(
            parts(parameters) == [
                [1, 2, 3], [], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE],
                [0, 0, 0, 0, 0, 0, 1, 2],
            ]
        )
    }

    @Test func arrays() {
        var parameters = Parameters()
        parameters.add(array: [])
        parameters.add(array: [[9], []])
        #expect(
            parts(parameters) == [
                [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 17],
                [
                    0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 9, 0,
                    0, 0, 0,
                ],
            ]
        )
    }

    @Test func noneAtAll() {
        #expect(parts(Parameters()) == [])
    }
}
