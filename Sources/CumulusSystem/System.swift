// The parts of the system that the programs use: Foundation's essentials, the C library, and a few
// functions beside them.
//
// Imported in place of Foundation by every target that `cumulusd` and `cumulus` consist of. The
// rest of Foundation would bring 34 MB of language data into each; a test holds the targets to
// it. On Apple's systems Foundation is part of the system.

#if canImport(FoundationEssentials)
    @_exported public import Dispatch
    @_exported public import FoundationEssentials
    #if canImport(Glibc)
        @_exported public import Glibc
    #elseif canImport(Musl)
        @_exported public import Musl
    #endif
#else
    @_exported public import Foundation
#endif

extension StringProtocol {
    /// The text without white space and newlines at its ends.
    package var trimmed: String {
        let start = drop { $0.isWhitespace }
        return String(start.reversed().drop { $0.isWhitespace }.reversed())
    }
}

extension Double {
    /// The number with so many digits after its point, as `printf` rounds it.
    package func text(digits: Int) -> String {
        // The largest number has 309 digits before its point.
        var room = [CChar](repeating: 0, count: 320 + digits)
        let count = withVaList([Int32(digits), self]) {
            vsnprintf(&room, room.count, "%.*f", $0)
        }
        return String(decoding: room.prefix(Int(count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// Writes a whole text to a descriptor, such as `STDERR_FILENO`.
///
/// Returns 0, or the number of the error (`errno`) that ended it.
@discardableResult
package func write(_ text: String, to descriptor: Int32) -> Int32 {
    do throws(FileProblem) {
        try writeAll(Array(text.utf8)[...], to: descriptor)
        return 0
    } catch {
        return error.code
    }
}

/// Writes all bytes to a descriptor.
package func writeAll(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) throws(FileProblem) {
    var rest = bytes
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { throw FileProblem() }
        rest = rest.dropFirst(count)
    }
}

/// The system's words for an error number.
package func systemText(_ code: Int32 = errno) -> String { String(cString: strerror(code)) }
