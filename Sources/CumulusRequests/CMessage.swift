// Owner of a message that libprotobuf-c unpacked: the only place where C memory of a message is
// made and freed.
//
// Messages live in an arena with a byte limit, so that hostile input that would expand many times
// fails cleanly, and all of it goes at once. Used by the other files, which read the C struct in
// place and hand out the structs of CumulusWire. hot: once per message.

import CCumulusWire
import CumulusModel
import CumulusWire

/// A message of a caller.
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

    /// What a message may take of memory for each of its bytes.
    ///
    /// Fields of records stay bytes in it, so that no part that is repeated is tiny.
    private static var growth: Int { 16 }

    init(_ bytes: ArraySlice<UInt8>, _ unpack: Unpack) throws(MalformedMessage) {
        var arena = Arena(limit: CMessage.growth * bytes.count + 256 << 10)
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
