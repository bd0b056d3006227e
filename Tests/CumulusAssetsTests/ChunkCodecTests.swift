// Compressed chunks: what comes back, and every frame that must be refused before it costs memory.

import CumulusAssets
import CumulusModel
import CumulusTesting
import Testing

@Suite struct ChunkCodecTests {
    private let codec = ChunkCodec()

    private func chunk(of plain: Bytes) -> Chunk {
        codec.chunk(plain[...], digest: plain.withUnsafeBytes(Chunk.digest(of:)))
    }

    private static let text = Bytes(
        (0..<20_000).map { "line \($0) of a text that repeats itself\n" }.joined().utf8.prefix(
            700_000
        )
    )

    @Test func textIsCompressedAndComesBack() throws {
        let chunk = chunk(of: Self.text)
        #expect(chunk.isCompressed && chunk.content.count < Self.text.count / 4)
        #expect(try chunk.plain(codec) == Self.text[...])
    }

    @Test(arguments: [1, 100, 65_536, 1_048_576]) func whatDoesNotShrinkStaysPlain(size: Int) throws
    {
        let plain = randomBytes(size, seed: 1)
        let chunk = chunk(of: plain)
        #expect(!chunk.isCompressed && chunk.content == plain[...])
        #expect(try chunk.plain(codec) == plain[...])
    }

    // MARK: Refused

    private func refuses(_ chunk: Chunk, _ words: String) {
        do throws(MalformedBytes) {
            _ = try chunk.plain(codec)
            Issue.record("it was taken")
        } catch {
            #expect(error.reason.contains(words), "\(error.reason)")
        }
    }

    @Test func aWrongDigestOrLengthIsRefused() {
        for plain in [Self.text, randomBytes(70_000, seed: 2)] {
            let good = chunk(of: plain)
            var other = good
            other.digest[31] ^= 1
            refuses(other, "digest")
            other = good
            other.size += 1
            refuses(other, good.isCompressed ? "announce" : "came with")
            other = good
            other.size = ContentCutter.largest + 1
            refuses(other, "1,048,576")
            other.size = 0
            refuses(other, "1,048,576")
            other = good
            other.digest = []
            refuses(other, "32 bytes")
        }
    }

    @Test func framesBehindEachOtherAreRefused() {
        let good = chunk(of: Self.text)
        var other = good
        other.content += good.content
        refuses(other, "exactly one")
        other.content = good.content + [0]
        refuses(other, "exactly one")
        // A frame that is to be skipped, before or behind.
        let skippable: Bytes = [0x50, 0x2A, 0x4D, 0x18, 4, 0, 0, 0, 1, 2, 3, 4]
        other.content = skippable + good.content
        refuses(other, "announce")
        other.content = good.content + skippable
        refuses(other, "exactly one")
    }

    /// 16 KB that expand to 512 MB: blocks that repeat one byte 131,072 times.
    private func bomb(announcing size: UInt32?, window: UInt8 = 0x38) -> Bytes {
        var frame: Bytes = [0x28, 0xB5, 0x2F, 0xFD, size == nil ? 0 : 0x80, window]
        if let size { withUnsafeBytes(of: size.littleEndian) { frame += $0 } }
        for number in 0..<4_096 {
            let isLast = number == 4_095
            let header = UInt32(131_072 << 3 | 1 << 1 | (isLast ? 1 : 0))
            withUnsafeBytes(of: header.littleEndian) { frame += $0.prefix(3) }
            frame.append(0x41)
        }
        return frame
    }

    @Test func bombsAreRefused() {
        func chunk(_ frame: Bytes) -> Chunk {
            Chunk(
                digest: Bytes(repeating: 0, count: 32),
                size: 1 << 20,
                isCompressed: true,
                content: frame[...]
            )
        }
        refuses(chunk(bomb(announcing: 512 << 20)), "announce")
        refuses(chunk(bomb(announcing: nil)), "announce")
        // It lies: only the room for what it announced is filled.
        refuses(chunk(bomb(announcing: 1 << 20)), "damaged")
        // A window of 2 GB, as a streaming reader would keep it.
        refuses(chunk(bomb(announcing: 1 << 20, window: 0xA8)), "window")
    }

    @Test func aChunkIsCutOffAnywhere() {
        let good = chunk(of: Bytes(Self.text.prefix(70_000)))
        for length in stride(from: 0, to: good.content.count, by: 7) {
            var other = good
            other.content = good.content.prefix(length)
            #expect(throws: MalformedBytes.self) { try other.plain(codec) }
        }
    }

    @Test func mutatedChunksAreRefused() {
        let good = chunk(of: Bytes(Self.text.prefix(70_000)))
        var dice = SeededGenerator(seed: 3)
        for _ in 0..<3_000 {
            var other = good
            let place = Int.random(in: 0..<other.content.count, using: &dice)
            other.content[place] ^= UInt8.random(in: 1...255, using: &dice)
            // zstd may know two forms of the same bytes: then they are the right ones.
            if let plain = try? other.plain(codec) {
                #expect(plain.withUnsafeBytes(Chunk.digest(of:)) == good.digest)
            }
        }
    }
}

extension Chunk {
    fileprivate static func digest(of plain: Bytes) -> Bytes {
        plain.withUnsafeBytes { digest(of: $0) }
    }
}
