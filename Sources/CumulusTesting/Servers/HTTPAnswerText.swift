// The received part of an HTTP/1.1 answer, and whether it is whole.
//
// Used by `RawClient.exchange`, so that a slow machine does not cut an answer short. Only the first
// of several answers is looked at.

import CumulusModel

struct HTTPAnswerText {
    private var bytes: Bytes = []
    /// Whether it answers HEAD: it has no body then, whatever its fields say.
    private let isToHead: Bool

    init(isToHead: Bool) { self.isToHead = isToHead }

    mutating func append(_ more: Bytes) { bytes += more }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Whether nothing of it is missing; false if only the end of the connection can tell.
    var isWhole: Bool {
        guard let end = bytes.firstRange(of: Bytes("\r\n\r\n".utf8)) else { return false }
        let head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).lowercased()
        if isToHead || head.contains(/^http\/1\.1 (1..|204|304)/) { return true }
        if head.contains("\r\ntransfer-encoding: chunked") {
            return bytes.suffix(5).elementsEqual("0\r\n\r\n".utf8)
        }
        guard let length = head.firstMatch(of: /\r\ncontent-length: *([0-9]+)/),
            let count = Int(length.output.1)
        else { return false }
        return bytes.count - end.upperBound >= count
    }
}
