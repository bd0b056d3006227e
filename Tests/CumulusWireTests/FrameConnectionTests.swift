// What a connection does with bytes and with time. No clock is involved: time is an argument.

import CumulusModel
import CumulusTesting
import CumulusWire
import Testing

extension FrameConnection {
    mutating func received(_ bytes: some Sequence<UInt8>, at milliseconds: Int64) throws {
        let now = Instant(milliseconds: milliseconds)
        try Bytes(bytes).withUnsafeBytes { try received($0, now: now) }
    }

    mutating func timePassed(at milliseconds: Int64) throws(ProtocolFault) {
        try timePassed(now: Instant(milliseconds: milliseconds))
    }

    /// A connection that has been greeted at time 0, its output taken.
    static func open(
        _ limits: Limits = .standard,
        isPeer: Bool = false
    ) throws -> FrameConnection {
        var connection = FrameConnection(limits: limits, now: Instant(milliseconds: 0))
        try connection.received(Frame.preface, at: 0)
        try connection.received(Frame(.hello).encoded, at: 0)
        #expect(try connection.next() == Frame(.hello))
        connection.finishGreeting(isPeer: isPeer)
        _ = connection.takeOutput()
        return connection
    }
}

extension Frame {
    var encoded: Bytes {
        var bytes = Bytes()
        FrameEncoder.append(self, to: &bytes)
        return bytes
    }
}

@Suite struct FrameConnectionTests {
    private static let call = Frame(.call, isEnd: true, stream: 1, payload: [1, 2, 3])
    /// The PING of a moment: no two of a connection are equal.
    private static func ping(_ milliseconds: UInt32) -> Frame {
        var payload = Bytes(repeating: 0, count: 4)
        FrameEncoder.append(milliseconds, to: &payload)
        return Frame(.ping, payload: payload)
    }

    // MARK: Bytes

    @Test func thePrefaceGoesFirst() {
        var connection = FrameConnection(limits: .standard, now: Instant(milliseconds: 0))
        connection.send(Frame(.nonce, payload: [5]))
        #expect(
            connection.takeOutput().bytes == Frame.preface + Frame(.nonce, payload: [5]).encoded
        )
        #expect(connection.takeOutput().bytes == [])
    }

    @Test func pingIsAnsweredAndNotHandedOut() throws {
        var connection = try FrameConnection.open()
        let payload: Bytes = [8, 7, 6, 5, 4, 3, 2, 1]
        try connection.received(Frame(.ping, payload: payload).encoded + Self.call.encoded, at: 1)
        #expect(try connection.next() == Self.call)
        #expect(try connection.next() == nil)
        #expect(connection.takeOutput().bytes == Frame(.pong, payload: payload).encoded)
    }

    @Test(arguments: [0, 7, 9])
    func aPingOfAnotherSizeIsAFault(size: Int) throws {
        var connection = try FrameConnection.open()
        try connection.received(
            Frame(.ping, payload: Bytes(repeating: 1, count: size)).encoded,
            at: 1
        )
        #expect(throws: ProtocolFault.self) { try connection.next() }
    }

    @Test func framesAreSmallUntilTheGreetingIsOver() throws {
        let limits = Limits.standard
        let large = Frame(
            .call,
            isEnd: true,
            stream: 1,
            payload: Bytes(repeating: 0, count: limits.greetingBytes)
        )
        var greeting = FrameConnection(limits: limits, now: Instant(milliseconds: 0))
        try greeting.received(Frame.preface + Frame(.hello).encoded + large.encoded, at: 0)
        #expect(try greeting.next() == Frame(.hello))
        #expect(greeting.isGreeting)
        #expect(throws: ProtocolFault.self) { try greeting.next() }

        var open = try FrameConnection.open()
        #expect(!open.isGreeting)
        try open.received(large.encoded, at: 0)
        #expect(try open.next() == large)
    }

    @Test func aFloodBeforeTheGreetingIsNotKept() throws {
        var limits = Limits.standard
        limits.greetingBytes = 100
        limits.frameBytes = 100
        var connection = FrameConnection(limits: limits, now: Instant(milliseconds: 0))
        try connection.received(Bytes(repeating: 0, count: 200), at: 0)
        #expect(throws: ProtocolFault.self) { try connection.received([0], at: 0) }
    }

    @Test(arguments: ["GET / HTTP/1.1", "POST /x", "PRI * HTTP/2.0", "HEAD /"])
    func anHTTPClientIsRecognised(start: String) throws {
        var connection = FrameConnection(limits: .standard, now: Instant(milliseconds: 0))
        try connection.received(start.utf8, at: 0)
        #expect(throws: ProtocolFault.self) { try connection.next() }
        #expect(connection.looksLikeHTTP)
    }

    @Test func othersAreNotTakenForHTTP() throws {
        #expect(!(try FrameConnection.open()).looksLikeHTTP)
        var noise = FrameConnection(limits: .standard, now: Instant(milliseconds: 0))
        try noise.received([0x16, 3, 1, 2], at: 0)
        #expect(throws: ProtocolFault.self) { try noise.next() }
        #expect(!noise.looksLikeHTTP)
    }

    // MARK: Time

    @Test func theGreetingHasItsTime() throws {
        var connection = FrameConnection(limits: .standard, now: Instant(milliseconds: 500))
        #expect(connection.wakeTime == Instant(milliseconds: 10_500))
        try connection.timePassed(at: 10_499)
        // Bytes don't extend it.
        try connection.received(Frame.preface, at: 10_499)
        #expect(throws: ProtocolFault.self) { try connection.timePassed(at: 10_500) }
    }

    @Test func silenceIsAnsweredWithPingAndThenWithTheEnd() throws {
        var connection = try FrameConnection.open()
        #expect(connection.wakeTime == Instant(milliseconds: 60_000))
        try connection.timePassed(at: 59_999)
        #expect(connection.takeOutput().bytes == [])
        try connection.timePassed(at: 60_000)
        #expect(connection.takeOutput().bytes == Self.ping(60_000).encoded)
        #expect(connection.wakeTime == Instant(milliseconds: 120_000))
        try connection.timePassed(at: 119_999)
        #expect(connection.takeOutput().bytes == [])
        #expect(throws: ProtocolFault.self) { try connection.timePassed(at: 120_000) }
    }

    /// A node that is gone without a word is not taken for connected for long.
    @Test func aNodesSilenceIsShorter() throws {
        var connection = try FrameConnection.open(isPeer: true)
        #expect(connection.wakeTime == Instant(milliseconds: 15_000))
        try connection.timePassed(at: 15_000)
        #expect(connection.takeOutput().bytes == Self.ping(15_000).encoded)
        try connection.timePassed(at: 29_999)
        #expect(throws: ProtocolFault.self) { try connection.timePassed(at: 30_000) }
    }

    @Test func anythingAnswersAPing() throws {
        var connection = try FrameConnection.open()
        try connection.timePassed(at: 60_000)
        try connection.received(
            Frame(.pong, payload: Bytes(repeating: 0, count: 8)).encoded,
            at: 70_000
        )
        #expect(try connection.next() == nil)
        #expect(connection.wakeTime == Instant(milliseconds: 130_000))
        try connection.timePassed(at: 129_999)
        _ = connection.takeOutput()
        try connection.timePassed(at: 130_000)
        #expect(connection.takeOutput().bytes == Self.ping(130_000).encoded)
    }

    @Test func aFrameHasItsTime() throws {
        var connection = try FrameConnection.open()
        let bytes = Self.call.encoded
        try connection.received(bytes[..<3], at: 1_000)
        #expect(try connection.next() == nil)
        #expect(connection.wakeTime == Instant(milliseconds: 31_000))
        // More bytes don't extend it.
        try connection.received(bytes[3..<6], at: 30_999)
        #expect(try connection.next() == nil)
        try connection.timePassed(at: 30_999)
        #expect(throws: ProtocolFault.self) { try connection.timePassed(at: 31_000) }
    }

    /// A node's link may need minutes for a frame, as long as enough of it comes in time.
    @Test func aFrameOfANodeHasItsTimeAgainWhileEnoughComes() throws {
        let part = Limits.standard.slowPeerBytes
        let frame = Frame(.message, stream: 1, payload: Bytes(repeating: 7, count: 6 * part))
        var rest = frame.encoded[...]
        var connection = try FrameConnection.open(isPeer: true)
        for number in 0..<6 {
            let now = 1_000 + 29_999 * Int64(number)
            try connection.timePassed(at: now)
            // In two reads: their sum counts.
            try connection.received(rest.prefix(part / 2), at: now)
            try connection.received(rest.dropFirst(part / 2).prefix(part - part / 2), at: now)
            rest = rest.dropFirst(part)
            #expect(try connection.next() == nil)
            #expect(connection.wakeTime == Instant(milliseconds: now + 15_000))
        }
        try connection.received(rest, at: 180_000)
        #expect(try connection.next() == frame)
    }

    @Test func aFrameOfANodeThatComesTooSlowlyIsAFault() throws {
        let part = Limits.standard.slowPeerBytes
        let bytes = Frame(.message, stream: 1, payload: Bytes(repeating: 7, count: 6 * part))
            .encoded
        var connection = try FrameConnection.open(isPeer: true)
        try connection.received(bytes[..<1], at: 1_000)
        try connection.received(bytes[1..<(part - 1)], at: 30_999)
        #expect(try connection.next() == nil)
        try connection.timePassed(at: 30_999)
        #expect(throws: ProtocolFault.self) { try connection.timePassed(at: 31_000) }
    }

    @Test func howMuchComesOfAClientsFrameDoesNotExtendItsTime() throws {
        let part = Limits.standard.slowPeerBytes
        let bytes = Frame(.call, stream: 1, payload: Bytes(repeating: 7, count: 6 * part)).encoded
        var connection = try FrameConnection.open()
        try connection.received(bytes[..<(2 * part)], at: 1_000)
        try connection.received(bytes[(2 * part)..<(4 * part)], at: 30_999)
        #expect(try connection.next() == nil)
        try connection.timePassed(at: 30_999)
        #expect(throws: ProtocolFault.self) { try connection.timePassed(at: 31_000) }
    }

    @Test func theNextFrameHasItsOwnTime() throws {
        var connection = try FrameConnection.open()
        let bytes = Self.call.encoded
        try connection.received(bytes[..<3], at: 1_000)
        #expect(try connection.next() == nil)
        try connection.received(bytes[3...] + bytes[..<2], at: 20_000)
        #expect(try connection.next() == Self.call)
        #expect(try connection.next() == nil)
        try connection.timePassed(at: 49_999)
        #expect(throws: ProtocolFault.self) { try connection.timePassed(at: 50_000) }
    }

    @Test func aSkippedFrameEndsItsTime() throws {
        var connection = try FrameConnection.open()
        let unknown = try Golden("Frame-unknown").bytes
        try connection.received(unknown, at: 1_000)
        #expect(try connection.next() == nil)
        #expect(connection.wakeTime == Instant(milliseconds: 61_000))
        try connection.received(unknown[..<6], at: 2_000)
        #expect(try connection.next() == nil)
        try connection.received(unknown[6...] + unknown[..<6], at: 30_000)
        #expect(try connection.next() == nil)
        #expect(connection.wakeTime == Instant(milliseconds: 60_000))
    }

    @Test func whoDoesNotReadIsNotBlamedForSilence() throws {
        var connection = try FrameConnection.open()
        try connection.received(Self.call.encoded[..<3], at: 1_000)
        #expect(try connection.next() == nil)
        connection.reading(false, now: Instant(milliseconds: 2_000))
        try connection.timePassed(at: 200_000)
        #expect(connection.takeOutput().bytes == [])
        connection.reading(true, now: Instant(milliseconds: 201_000))
        #expect(connection.wakeTime == Instant(milliseconds: 231_000))
        #expect(throws: ProtocolFault.self) { try connection.timePassed(at: 231_000) }
    }

    // MARK: Writing

    @Test func aSocketThatTakesNothingIsClosed() throws {
        var connection = try FrameConnection.open()
        connection.writing(100, now: Instant(milliseconds: 1_000))
        #expect(connection.wakeTime == Instant(milliseconds: 31_000))
        // More to write is no progress.
        connection.writing(200, now: Instant(milliseconds: 5_000))
        try connection.timePassed(at: 30_999)
        #expect(throws: ProtocolFault.self) { try connection.timePassed(at: 31_000) }
    }

    @Test func aSlowSocketIsNotClosed() throws {
        var connection = try FrameConnection.open()
        connection.writing(100, now: Instant(milliseconds: 1_000))
        connection.writing(90, now: Instant(milliseconds: 30_000))
        try connection.timePassed(at: 59_999)
        connection.writing(0, now: Instant(milliseconds: 59_999))
        try connection.received(Self.call.encoded, at: 59_999)
        #expect(try connection.next() == Self.call)
        try connection.timePassed(at: 100_000)
        #expect(throws: ProtocolFault.self) {
            connection.writing(1, now: Instant(milliseconds: 100_000))
            try connection.timePassed(at: 130_000)
        }
    }
}
