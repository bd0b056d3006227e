// The two kinds of an upload's messages, and what is neither.

import CumulusModel
import Testing

@testable import CumulusGRPC

@Suite struct UploadPartTests {
    @Test func whatIsInside() throws {
        #expect(try UploadPart.content([0x0A, 2, 8, 2], of: UploadPart.begin) == [8, 2])
        #expect(try UploadPart.content([0x0A, 0], of: UploadPart.begin) == [])
        let long = Bytes(repeating: 7, count: 300)
        let part = [0x12, 0xAC, 0x02] + long
        #expect(try UploadPart.content(part, of: UploadPart.chunks) == long)
    }

    @Test(
        arguments: [
            [], [0x12], [0x12, 0], [0x0A], [0x0A, 1], [0x0A, 1, 0, 0], [0x0A, 0x80],
            [0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1], [0x0A, 2, 8, 2, 0x0A, 0], [8, 2],
        ] as [Bytes]
    )
    func whatIsNoBeginning(part: Bytes) {
        #expect(throws: ServiceError.self) { try UploadPart.content(part, of: UploadPart.begin) }
    }
}
