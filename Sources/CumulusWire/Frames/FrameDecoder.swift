// Cuts a stream of bytes into frames. The length is judged against the limit before a byte of
// payload is kept; frames of an unknown kind are skipped without being kept at all. The payload of
// a large frame is copied once, from the socket's buffer to where it stays.
//
// Fed by `FrameConnection` with whatever the socket gave. hot: once per read and once per frame.

import CumulusModel

package struct FrameDecoder: Sendable {
    /// Bytes that a frame may have behind its length field.
    ///
    /// May be raised once the greeting is over.
    package var frameLimit: Int
    private var buffer: Bytes = []
    private var position = 0
    /// A large frame that has begun: its payload is gathered where it will stay.
    private var large: Frame?
    /// Bytes that the payload of `large` will have.
    private var largeBytes = 0
    private static let largeSize = 64 << 10
    /// Bytes of a skipped frame that are still to come.
    private var toSkip = 0
    private var isPrefaceRead: Bool
    /// Frames that have ended, skipped ones and the preface too.
    package private(set) var ended = 0
    /// Bytes that the frame which has begun will take, by its length field.
    ///
    /// 0: none has, its length has not come yet, or it is being skipped.
    package private(set) var incomingBytes = 0

    package init(frameLimit: Int, expectsPreface: Bool = true) {
        self.frameLimit = frameLimit
        isPrefaceRead = !expectsPreface
    }

    /// Whether a frame, or the preface, has begun and not ended.
    package var isMidFrame: Bool { position < buffer.count || toSkip > 0 || large != nil }

    /// Makes room for the whole incoming frame at once: growing by and by would take twice of it.
    package mutating func reserveIncoming() {
        if incomingBytes == 0 { return }
        if large == nil {
            buffer.reserveCapacity(position + incomingBytes)
        } else {
            large?.payload.reserveCapacity(largeBytes)
        }
    }

    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        let missing = large.map { largeBytes - $0.payload.count } ?? 0
        if missing > 0 { large?.payload.append(contentsOf: bytes.prefix(missing)) }
        if missing < bytes.count { keep(.init(rebasing: bytes.dropFirst(missing))) }
    }

    private mutating func keep(_ bytes: UnsafeRawBufferPointer) {
        if position == buffer.count {
            buffer.removeAll(keepingCapacity: buffer.capacity <= 64 << 10)
            position = 0
        } else if position > 64 << 10 {
            buffer.removeSubrange(..<position)
            position = 0
        }
        buffer.append(contentsOf: bytes)
    }

    /// The next whole frame, nil if more bytes are needed.
    package mutating func next() throws(ProtocolFault) -> Frame? {
        incomingBytes = 0
        if !isPrefaceRead {
            guard try readPreface() else { return nil }
        }
        if let frame = large { return endLarge(frame) }
        while true {
            guard skipPending(), available >= Frame.lengthSize else { return nil }
            let length = number(at: position)
            guard length >= Frame.headSize, length <= frameLimit else {
                throw ProtocolFault(
                    "a frame of \(length) bytes; \(Frame.headSize) to \(frameLimit) are accepted"
                )
            }
            guard available > Frame.lengthSize else { return nil }
            let code = buffer[position + Frame.lengthSize]
            guard let kind = FrameKind(rawValue: code & 0x7F) else {
                toSkip = Frame.lengthSize + length
                continue
            }
            let isWhole = available >= Frame.lengthSize + length
            let isHeadHere = available >= Frame.lengthSize + Frame.headSize
            if !isWhole { incomingBytes = Frame.lengthSize + length }
            guard isWhole || isHeadHere && length > FrameDecoder.largeSize else { return nil }
            let start = position + Frame.lengthSize + Frame.headSize
            let end = min(position + Frame.lengthSize + length, buffer.count)
            let frame = Frame(
                kind,
                isEnd: code & 0x80 != 0,
                stream: UInt32(number(at: position + Frame.lengthSize + 1)),
                payload: Bytes(buffer[start..<end])
            )
            position = end
            guard isWhole else {
                (large, largeBytes) = (frame, length - Frame.headSize)
                return nil
            }
            ended += 1
            return frame
        }
    }

    /// The large frame, if all of it has come.
    private mutating func endLarge(_ frame: Frame) -> Frame? {
        guard frame.payload.count == largeBytes else {
            incomingBytes = Frame.lengthSize + Frame.headSize + largeBytes
            return nil
        }
        large = nil
        ended += 1
        return frame
    }

    private var available: Int { buffer.count - position }

    /// Drops what is here of a skipped frame.
    ///
    /// True when nothing of it is left to come.
    private mutating func skipPending() -> Bool {
        if toSkip == 0 { return true }
        let skipped = min(toSkip, available)
        position += skipped
        toSkip -= skipped
        if toSkip == 0 { ended += 1 }
        return toSkip == 0
    }

    private mutating func readPreface() throws(ProtocolFault) -> Bool {
        let count = min(available, Frame.preface.count)
        guard buffer[position..<position + count].elementsEqual(Frame.preface.prefix(count)) else {
            // An alert is what a TLS server answers to plain words.
            let isTLS = buffer[position] == 0x15
            throw ProtocolFault(
                isTLS
                    ? "it speaks TLS: ask for it, and name the authority of its certificate"
                    : "this is not the Cumulus protocol, version 1"
            )
        }
        guard count == Frame.preface.count else { return false }
        position += count
        isPrefaceRead = true
        ended += 1
        return true
    }

    private func number(at index: Int) -> Int {
        (0..<4).reduce(0) { $0 << 8 | Int(buffer[index + $1]) }
    }
}
