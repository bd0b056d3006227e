// Sizes as people read them: the one way in which commands show bytes.
//
// Used by every table and every line for people. JSON has the bytes themselves.

import CumulusSystem

enum ByteCount {
    private static let units = ["B", "KB", "MB", "GB", "TB", "PB", "EB"]

    /// "1.2 MB" or "34 KB", with units of a thousand; one digit after the point below ten.
    static func text(_ bytes: some BinaryInteger) -> String { text(Double(bytes)) }

    /// - Parameter bytes: What is below zero, or no number, counts as zero.
    static func text(_ bytes: Double) -> String {
        var number = bytes.isFinite ? max(0, bytes) : 0
        var left = units[...]
        // 999.5 would be shown as a thousand.
        while number >= 999.5, left.count > 1 {
            number /= 1_000
            left = left.dropFirst()
        }
        let isWhole = left.count == units.count || number >= 9.95
        return "\(number.text(digits: isWhole ? 0 : 1)) \(left[left.startIndex])"
    }
}
