// The trace that a call belongs to, as W3C's Trace Context names it in the field `traceparent`.
//
// The HTTP gateway and the node read it; apps set it for the client. An invalid value is ignored,
// as that recommendation says: tracing never fails a call.

/// A step of a trace.
///
/// Calls that are made within `TraceContext.$current.withValue(trace) { ... }` carry it to the
/// node, which names the trace in its log lines.
public struct TraceContext: Hashable, Sendable {
    /// Id of the whole trace: 32 hexadecimal digits, not all of them zeros.
    public let traceID: String
    /// Id of the step that made the call: 16 hexadecimal digits, not all of them zeros.
    public let parentID: String
    /// Whether the trace is recorded.
    public let isSampled: Bool

    /// The trace of calls that the current task makes.
    @TaskLocal public static var current: TraceContext?

    private static let traceDigits = 3..<35
    private static let parentDigits = 36..<52
    /// Length in version 00; later versions may continue after a hyphen.
    private static let byteCount = 55

    /// Reads a `traceparent`; nil if it is not valid.
    public init?(traceparent text: some StringProtocol) {
        self.init(traceparent: Array(text.utf8))
    }

    package init?(traceparent bytes: Bytes) {
        let count = TraceContext.byteCount
        let hyphen = UInt8(ascii: "-")
        guard bytes.count >= count, let version = TraceContext.number(bytes[0..<2]), version != 255,
            bytes.count == count || (version > 0 && bytes[count] == hyphen),
            bytes[2] == hyphen, bytes[35] == hyphen, bytes[52] == hyphen,
            let flags = TraceContext.number(bytes[53..<55]),
            let traceID = TraceContext.id(bytes[TraceContext.traceDigits]),
            let parentID = TraceContext.id(bytes[TraceContext.parentDigits])
        else { return nil }
        self.traceID = traceID
        self.parentID = parentID
        isSampled = flags & 1 == 1
    }

    private init(traceID: String, parentID: String, isSampled: Bool) {
        self.traceID = traceID
        self.parentID = parentID
        self.isSampled = isSampled
    }

    /// A step of the same trace, with a random id.
    package func step(_ id: UInt64) -> TraceContext {
        let digits = String(max(1, id), radix: 16)
        let zeros = String(repeating: "0", count: 16 - digits.count)
        return TraceContext(traceID: traceID, parentID: zeros + digits, isSampled: isSampled)
    }

    /// The value of the HTTP field.
    public var traceparent: String { "00-\(traceID)-\(parentID)-\(isSampled ? "01" : "00")" }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        var number = 0
        for digit in digits {
            guard let value = value(digit) else { return nil }
            number = number * 16 + value
        }
        return number
    }

    /// Lower-case digits, not all of them zeros.
    private static func id(_ digits: ArraySlice<UInt8>) -> String? {
        guard digits.allSatisfy({ value($0) != nil }),
            digits.contains(where: { $0 != UInt8(ascii: "0") })
        else { return nil }
        return String(decoding: digits, as: UTF8.self)
    }

    private static func value(_ digit: UInt8) -> Int? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(digit - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): Int(digit - UInt8(ascii: "a")) + 10
        default: nil
        }
    }
}
