// Files on their way in: forms, and how they are cut.

import CumulusAssets
import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

@Suite struct MultipartBodyTests {
    private static let type = "multipart/form-data; boundary=\"x-1\""

    /// Takes a body in pieces of a size.
    private func file(_ body: String, by size: Int) throws -> String {
        var form = try #require(try MultipartBody(contentType: Self.type))
        var file: Bytes = []
        let bytes = Bytes(body.utf8)
        for start in stride(from: 0, to: bytes.count, by: size) {
            file += try form.take(Bytes(bytes[start...].prefix(size)))
        }
        try form.checkEnd()
        return String(decoding: file, as: UTF8.self)
    }

    private func part(_ name: String, _ content: String) -> String {
        """
        --x-1\r
        Content-Disposition: form-data; name="\(name)"; filename="a;b.txt"\r
        Content-Type: text/plain\r
        \r
        \(content)\r

        """
    }

    @Test(arguments: ["", "hello", "\r\n--x-\r\n--x", "\r\r\n\r\n"])
    func theFileIsTakenOut(_ content: String) throws {
        let parts = part("other", "no") + part("files", content) + part("files", "second")
        for size in [1, 2, 3, 7, 1_000] {
            for preamble in ["", "preamble\r\n"] {
                #expect(try file("\(preamble)\(parts)--x-1--\r\n", by: size) == content)
            }
        }
    }

    @Test func otherBodiesAreRefused() throws {
        #expect(try MultipartBody(contentType: "text/plain") == nil)
        #expect(try MultipartBody(contentType: "") == nil)
        #expect(throws: WebError.self) { try MultipartBody(contentType: "multipart/form-data") }
        #expect(throws: WebError.self) { try file("hello", by: 100) }
        #expect(throws: WebError.self) { try file(part("other", "a") + "--x-1--", by: 100) }
        let whole = part("files", "hello")
        // What follows the line break behind the file says whether it ends there.
        for count in 0..<whole.utf8.count {
            #expect(throws: WebError.self) {
                try file(String(decoding: Bytes(whole.utf8.prefix(count)), as: UTF8.self), by: 9)
            }
        }
        let long = "--x-1\r\n" + String(repeating: "a", count: 9_000)
        #expect(throws: WebError.self) { try file(long, by: 100) }
    }
}

@Suite struct UploadCutterTests {
    private func content(_ count: Int) -> Bytes {
        var dice = SeededGenerator(seed: 11)
        return Bytes(
            (0..<count / 8).flatMap { _ in
                withUnsafeBytes(of: UInt64.random(in: .min ... .max, using: &dice)) { Bytes($0) }
            }
        )
    }

    @Test(arguments: [0, 8, 100_000, 6_000_000])
    func theChunksAreThoseOfTheWholeFile(_ count: Int) throws {
        let content = content(count)
        let whole = content.withUnsafeBytes { ChunkList(cutting: $0) }
        for size in [70_001, 3_000_000] {
            var cutter = UploadCutter()
            var parts: [UploadCutter.Part] = []
            for start in stride(from: 0, to: content.count, by: size) {
                cutter.take(Bytes(content[start...].prefix(size)))
                #expect(cutter.byteCount == min(content.count, start + size))
                if cutter.isPartFull { parts.append(cutter.takePart()) }
            }
            cutter.end()
            parts.append(cutter.takePart())
            #expect(cutter.list == whole)
            #expect(parts.flatMap(\.list.entries) == whole.entries)
            #expect(parts.count == (count > UploadCutter.partBytes ? 2 : 1))
            for part in parts { #expect(try ChunkList(checking: part.list.bytes) == part.list) }
        }
    }
}
