// Frames cut out of a stream, however it is cut; and written as the golden files say.

import CumulusModel
import CumulusRequests
import CumulusTesting
import CumulusWire
import Testing

extension FrameDecoder {
    mutating func append(_ bytes: some Sequence<UInt8>) {
        Bytes(bytes).withUnsafeBytes { append($0) }
    }

    /// All whole frames that are there.
    mutating func frames() throws(ProtocolFault) -> [Frame] {
        var frames: [Frame] = []
        while let frame = try next() { frames.append(frame) }
        return frames
    }
}

@Suite struct FrameEncoderTests {
    private static func decoded(_ name: String) throws -> Frame {
        var decoder = FrameDecoder(frameLimit: 1 << 20, expectsPreface: false)
        decoder.append(try Golden("Frame-\(name)").bytes)
        return try #require(try decoder.next())
    }

    @Test func framesAreWhatTheFilesSay() throws {
        #expect(try Self.decoded("ping") == Frame(.ping, payload: [1, 2, 3, 4, 5, 6, 7, 8]))
        #expect(try Self.decoded("cancel") == Frame(.cancel, stream: 5))
        #expect(try Self.decoded("credit") == Frame(.credit, stream: 5, payload: [0, 1, 0, 0]))
        #expect(try Self.decoded("nonce") == Frame(.nonce, payload: Bytes(0x60..<0x80)))
        let hello = try Golden("Hello").bytes
        #expect(try Self.decoded("hello") == Frame(.hello, payload: hello))
        let call = try Self.decoded("call")
        #expect(call.kind == .call)
        #expect(call.isEnd)
        #expect(call.stream == 1)
        let (header, message) = try CallHeader.split(call.payload)
        #expect(header.method == Method.recordsFetch.rawValue)
        #expect(header.timeout == 5_000)
        #expect(message == (try Golden("FetchRecordsRequest").bytes))
    }

    @Test(
        arguments: try Golden.all().filter { $0.message == "Frame" && $0.name != "Frame-unknown" }
    )
    func framesAreWrittenAsTheFilesSay(golden: Golden) throws {
        var decoder = FrameDecoder(frameLimit: 1 << 20, expectsPreface: false)
        decoder.append(golden.bytes)
        let frame = try #require(try decoder.next())
        var output: Bytes = [42]
        FrameEncoder.append(frame, to: &output)
        #expect(Bytes(output.dropFirst()).hex == golden.bytes.hex)
    }

    @Test func thePrefaceIsWhatTheFileSays() throws {
        #expect(Frame.preface == (try Golden("Preface").bytes))
    }

    @Test func numbersAreBigEndian() {
        var output = Bytes()
        FrameEncoder.append(0x0102_0304, to: &output)
        #expect(output == [1, 2, 3, 4])
    }
}

@Suite struct FrameOutputTests {
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func piecesMakeTheSameBytes(seed: UInt64) {
        var dice = SeededGenerator(seed: seed)
        var (output, whole) = (FrameOutput(Frame.preface), Frame.preface)
        var larger = 0
        for stream in 0..<UInt32.random(in: 1...12, using: &dice) {
            let size = [0, 8, 300, 32_767, 32_768, 90_000].randomElement(using: &dice) ?? 0
            let payload = Bytes(repeating: UInt8(stream), count: size)
            let frame = Frame(.message, isEnd: size == 8, stream: stream, payload: payload)
            output.append(frame)
            FrameEncoder.append(frame, to: &whole)
            larger += size >= 32_768 ? 1 : 0
        }
        #expect(output.bytes == whole && output.count == whole.count)
        #expect(output.pieces.count <= 2 * larger + 1)
        #expect(output.pieces.allSatisfy { !$0.isEmpty })
    }

    /// A message in pieces leaves as the same frame as in one.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func messagesInPiecesMakeTheSameBytes(seed: UInt64) {
        var dice = SeededGenerator(seed: seed)
        var (output, whole) = (FrameOutput(), FrameOutput())
        for stream in 0..<UInt32.random(in: 1...6, using: &dice) {
            var message = MessagePieces(Bytes("head".utf8))
            for _ in 0..<Int.random(in: 0...4, using: &dice) {
                let size = [0, 9, 32_767, 32_768, 90_000].randomElement(using: &dice) ?? 0
                message.append(Bytes(repeating: UInt8(size % 251), count: size + 4)[2..<size + 2])
            }
            let isEnd = Bool.random(using: &dice)
            output.append(Frame(.message, isEnd: isEnd, stream: stream), message)
            whole.append(Frame(.message, isEnd: isEnd, stream: stream, payload: message.bytes))
        }
        #expect(output.bytes == whole.bytes && output.count == whole.count)
        #expect(output.pieces.allSatisfy { !$0.isEmpty })
    }

    @Test func nothingIsEmpty() {
        #expect(FrameOutput().isEmpty && FrameOutput().bytes.isEmpty)
    }
}

@Suite struct FrameDecoderTests {
    private static let sent: [Frame] = [
        Frame(.hello, payload: [1, 2, 3]),
        Frame(.call, isEnd: true, stream: 1, payload: Bytes(repeating: 7, count: 300)),
        Frame(.cancel, stream: .max),
        Frame(.message, stream: 2, payload: []),
    ]

    private static func encoded(_ frames: [Frame]) -> Bytes {
        frames.reduce(into: Frame.preface) { FrameEncoder.append($1, to: &$0) }
    }

    @Test(arguments: [1, 2, 3, 7, 100, 10_000])
    func theSizeOfReadsDoesNotMatter(size: Int) throws {
        let bytes = Self.encoded(Self.sent)
        var decoder = FrameDecoder(frameLimit: 1 << 10)
        var frames: [Frame] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            decoder.append(bytes[start..<min(start + size, bytes.count)])
            frames += try decoder.frames()
        }
        #expect(frames == Self.sent)
        #expect(!decoder.isMidFrame)
        #expect(decoder.ended == Self.sent.count + 1)
    }

    /// Large ones are gathered apart from what stands around them.
    @Test(arguments: [1_000, 32 << 10, 65_545, 100_000, 1 << 20])
    func largeFramesComeInPieces(size: Int) throws {
        let sizes = [65_530, 65_531, 65_532, 100_000, 0, 150_000, 70_000]
        let sent = sizes.enumerated().map { index, size in
            Frame(.message, stream: UInt32(index), payload: Self.noise(size))
        }
        let bytes = Self.encoded(sent)
        var decoder = FrameDecoder(frameLimit: 1 << 20)
        var frames: [Frame] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            decoder.append(bytes[start..<min(start + size, bytes.count)])
            frames += try decoder.frames()
            #expect(
                decoder.isMidFrame
                    == (decoder.ended <= sent.count && !Self.ends(bytes, start + size))
            )
            if decoder.incomingBytes > 0 {
                #expect(decoder.incomingBytes == 9 + sizes[frames.count])
                if start % 3 == 0 { decoder.reserveIncoming() }
            }
        }
        #expect(frames == sent)
        #expect(!decoder.isMidFrame && decoder.incomingBytes == 0)
    }

    private static func noise(_ size: Int) -> Bytes {
        (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8 &+ size) }
    }

    /// Whether a frame, or the preface, ends at a place.
    private static func ends(_ bytes: Bytes, _ place: Int) -> Bool {
        var end = Frame.preface.count
        while end < min(place, bytes.count) {
            end += 4 + bytes[end..<end + 4].reduce(0) { $0 << 8 | Int($1) }
        }
        return end == min(place, bytes.count)
    }

    @Test func aFrameThatIsCutIsNotThereYet() throws {
        let bytes = Self.encoded([Self.sent[1]])
        for end in 0..<bytes.count {
            var decoder = FrameDecoder(frameLimit: 1 << 10)
            decoder.append(bytes[..<end])
            #expect(try decoder.next() == nil)
            #expect(decoder.isMidFrame == (end != 0 && end != Frame.preface.count))
        }
    }

    @Test(arguments: 0..<8)
    func anotherPrefaceIsRefusedAtItsFirstWrongByte(index: Int) throws {
        var bytes = Frame.preface
        bytes[index] ^= 0x20
        var decoder = FrameDecoder(frameLimit: 1 << 10)
        decoder.append(bytes[..<index])
        #expect(try decoder.next() == nil)
        decoder.append([bytes[index]])
        #expect(throws: ProtocolFault.self) { try decoder.next() }
    }

    @Test func aLengthIsJudgedBeforeItsBytesAreHere() throws {
        for length: Bytes in [
            [0xFF, 0xFF, 0xFF, 0xFF], [0, 0, 4, 1], [0, 0, 0, 4], [0, 0, 0, 0],
        ] {
            var decoder = FrameDecoder(frameLimit: 1 << 10, expectsPreface: false)
            decoder.append(length.prefix(3))
            #expect(try decoder.next() == nil)
            decoder.append([length[3]])
            #expect(throws: ProtocolFault.self) { try decoder.next() }
        }
        var decoder = FrameDecoder(frameLimit: 1 << 10, expectsPreface: false)
        decoder.append([0, 0, 4, 0])
        #expect(try decoder.next() == nil)
    }

    @Test func theLimitCanBeRaised() throws {
        let frame = Frame(.call, isEnd: true, stream: 1, payload: Bytes(repeating: 1, count: 2_000))
        var decoder = FrameDecoder(frameLimit: 1 << 10)
        decoder.append(Self.encoded([frame]))
        decoder.frameLimit = 1 << 12
        #expect(try decoder.next() == frame)
    }

    @Test(arguments: [1, 3, 9, 64, 5_000])
    func unknownKindsAreSkippedAcrossReads(size: Int) throws {
        var bytes = Frame.preface
        let known = Frame(.ping, payload: Bytes(repeating: 0, count: 8))
        for kind: UInt8 in [0, 12, 77, 0x7F] {
            var unknown = Bytes()
            let payload = Bytes(repeating: kind, count: 500)
            FrameEncoder.append(Frame(.call, stream: 9, payload: payload), to: &unknown)
            unknown[4] = kind | 0x80
            bytes += unknown
            FrameEncoder.append(known, to: &bytes)
        }
        bytes += try Golden("Frame-unknown").bytes
        var decoder = FrameDecoder(frameLimit: 1 << 10)
        var frames: [Frame] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            decoder.append(bytes[start..<min(start + size, bytes.count)])
            frames += try decoder.frames()
        }
        #expect(frames == Array(repeating: known, count: 4))
        #expect(decoder.ended == 10)
        #expect(!decoder.isMidFrame)
    }

    /// The golden frames, changed at random: each is a frame, a piece of one, skipped or refused.
    ///
    /// What is a frame is written again as it came, and its payload is decoded and encoded again.
    @Test func mutations() throws {
        var dice = SeededGenerator(seed: 2)
        var counts: [String: Int] = [:]
        let golden = try Golden.all().filter { $0.message == "Frame" }
        for round in 0..<6_000 {
            let bytes = Self.mutated(golden[round % golden.count].bytes, using: &dice)
            var decoder = FrameDecoder(frameLimit: 1 << 10, expectsPreface: false)
            decoder.append(bytes)
            do throws(ProtocolFault) {
                let frames = try decoder.frames()
                for frame in frames { counts[Self.verdict(frame), default: 0] += 1 }
                if frames.isEmpty {
                    counts[decoder.isMidFrame ? "cut" : "skipped", default: 0] += 1
                }
                if decoder.ended == frames.count {
                    let again = frames.reduce(into: Bytes()) { FrameEncoder.append($1, to: &$0) }
                    #expect(bytes.starts(with: again))
                }
            } catch {
                counts["refused", default: 0] += 1
            }
        }
        let verdicts = counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        print("mutated frames: \(verdicts.joined(separator: ", "))")
        for verdict in ["cut", "skipped", "refused", "accepted", "bad payload", "other kind"] {
            #expect(counts[verdict, default: 0] > 100, "\(verdict)")
        }
    }

    private static func mutated(_ golden: Bytes, using dice: inout SeededGenerator) -> Bytes {
        var bytes = golden
        for _ in 0..<Int.random(in: 1...3, using: &dice) where !bytes.isEmpty {
            let index = Int.random(in: 0..<bytes.count, using: &dice)
            switch Int.random(in: 0..<5, using: &dice) {
            case 0: bytes[index] = .random(in: 0...255, using: &dice)
            case 1: bytes[index] ^= 1 << UInt8.random(in: 0...7, using: &dice)
            case 2: bytes.removeSubrange(index...)
            case 3: bytes.insert(.random(in: 0...255, using: &dice), at: index)
            default: bytes[min(4, bytes.count - 1)] = .random(in: 0...255, using: &dice)
            }
        }
        return bytes
    }

    /// Decodes what the frame carries, and encodes it again.
    private static func verdict(_ frame: Frame) -> String {
        switch frame.kind {
        case .hello:
            guard let hello = try? Hello(wire: frame.payload) else { return "bad payload" }
            #expect((try? Hello(wire: hello.encoded())) == hello)
            return "accepted"
        case .call:
            guard let (header, message) = try? CallHeader.split(frame.payload) else {
                return "bad payload"
            }
            let again = try? CallHeader.split(header.encoded(before: message))
            #expect(again?.header == header)
            #expect(again?.message == message)
            return "accepted"
        case .status:
            guard let error = try? ServiceError(wire: frame.payload) else { return "bad payload" }
            #expect((try? ServiceError(wire: error.encoded()))?.message == error.message)
            return "accepted"
        case .drain:
            guard let notice = try? DrainNotice(wire: frame.payload) else { return "bad payload" }
            #expect((try? DrainNotice(wire: notice.encoded())) == notice)
            return "accepted"
        default: return "other kind"
        }
    }
}
