// Owner of a message that libprotobuf-c unpacked: the only place where C memory of a message is
// made and freed.
//
// Messages live in an arena with a byte limit, so that hostile input that would expand many times
// fails cleanly, and all of it goes at once. Used by the `+Wire` files, which read the C struct in
// place and hand out Swift values. hot: once per message.
//
// Folder: what all messages share: decoding, values, errors and the greeting. Read `CMessage`, then
// `Values+Wire` and `Hello+Wire`.

import CCumulusWire
import CumulusModel

/// A message can't be decoded.
///
/// What to do about it depends on where it stood.
package struct MalformedMessage: Error, Equatable, Sendable {
    package let message: String
}

struct CMessage<Raw>: ~Copyable {
    typealias Unpack = (
        UnsafeMutablePointer<ProtobufCAllocator>?, Int, UnsafePointer<UInt8>?
    ) -> UnsafeMutablePointer<Raw>?

    private let arena: Arena
    private let pointer: UnsafeMutablePointer<Raw>

    /// The unpacked struct.
    ///
    /// Its pointers are valid as long as this message.
    var raw: Raw { pointer.pointee }

    /// A message of a caller.
    ///
    /// Fields stay bytes in it, so that no part that is repeated is tiny.
    init(_ bytes: ArraySlice<UInt8>, _ unpack: Unpack) throws(MalformedMessage) {
        try self.init(bytes, growth: 16, unpack)
    }

    /// A server's answer: in a list of locations, two bytes may stand for one.
    init(answer bytes: Bytes, _ unpack: Unpack) throws(MalformedMessage) {
        try self.init(bytes[...], growth: 128, unpack)
    }

    /// Unpacks a message that may take `growth` bytes of memory per byte, and a little more.
    private init(
        _ bytes: ArraySlice<UInt8>,
        growth: Int,
        _ unpack: Unpack
    ) throws(MalformedMessage) {
        var arena = Arena(limit: growth * bytes.count + 256 << 10)
        let unpacked = withUnsafeMutablePointer(to: &arena) { arena in
            var allocator = ProtobufCAllocator(
                alloc: { arena, size in
                    arena?.assumingMemoryBound(to: Arena.self).pointee.allocate(size)
                },
                free: { _, _ in },
                allocator_data: arena
            )
            return bytes.withUnsafeBufferPointer { unpack(&allocator, $0.count, $0.baseAddress) }
        }
        guard let unpacked else {
            arena.free()
            throw MalformedMessage(
                message: "the message is not what proto/ describes, or has too many small parts"
            )
        }
        self.arena = arena
        pointer = unpacked
    }

    // Not left to the arena's own end: what reads through `raw` must come before it.
    deinit {
        arena.free()
    }
}

/// Memory of one message: blocks that are filled from their beginning and freed together.
private struct Arena {
    private var blocks: [UnsafeMutableRawBufferPointer] = []
    private var used = 0
    private var rest: Int
    private static let blockSize = 8 << 10

    init(limit: Int) {
        rest = limit
    }

    func free() {
        for block in blocks { block.deallocate() }
    }

    /// nil beyond the limit: unpacking fails then.
    mutating func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
        let size = (size + 7) & ~7
        guard size <= rest else { return nil }
        if blocks.last.map({ $0.count - used < size }) ?? true {
            let count = max(size, Arena.blockSize)
            blocks.append(.allocate(byteCount: count, alignment: 8))
            used = 0
        }
        rest -= size
        defer { used += size }
        return blocks.last?.baseAddress.map { $0 + used }
    }
}

// MARK: - Reading C structs

extension ProtobufCBinaryData {
    var swiftBytes: Bytes {
        Bytes(UnsafeBufferPointer(start: data, count: len))
    }

    /// Text for people; what isn't UTF-8 is replaced.
    var swiftText: String {
        String(decoding: UnsafeBufferPointer(start: data, count: len), as: UTF8.self)
    }
}

/// The elements of a repeated field of messages; missing ones are left out.
func elements<Element>(
    _ count: Int,
    _ start: UnsafeMutablePointer<UnsafeMutablePointer<Element>?>?
) -> [Element] {
    UnsafeBufferPointer(start: start, count: start == nil ? 0 : count).compactMap { $0?.pointee }
}

/// The elements of a repeated field of plain values.
func elements<Element>(_ count: Int, _ start: UnsafeMutablePointer<Element>?) -> [Element] {
    Array(UnsafeBufferPointer(start: start, count: start == nil ? 0 : count))
}
