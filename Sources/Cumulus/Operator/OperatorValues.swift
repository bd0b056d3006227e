// Values of the wire as operators read them.

import CumulusModel

extension Timestamp {
    /// Returns nil for 0, which stands for "never".
    init?(wire milliseconds: Int64) {
        if milliseconds == 0 { return nil }
        self.init(millisecondsSince1970: milliseconds)
    }
}

extension Incarnation {
    /// The digits that logs show.
    var digits: String { withUnsafeBytes(of: value.bigEndian, Array.init).hex }
}

extension VersionVector {
    var byRun: [String: UInt64] {
        Dictionary(dots.map { ($0.incarnation.digits, $0.seq) }) { $1 }
    }
}
