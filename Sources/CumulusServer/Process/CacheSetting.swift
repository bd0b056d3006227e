// How much memory the engine has for rows that were read: the setting `cache`.
//
// Part of `Configuration`; asked once, when the store is opened.

import CumulusSystem

extension Configuration {
    /// Bytes; nil means what the profile has.
    ///
    /// - Parameter machine: Bytes of memory that the process may have at all.
    func cacheBytes(of machine: UInt64 = Machine.memoryBytes) throws -> Int? {
        let text = self["cache"]
        if text.isEmpty { return nil }
        guard let bytes = Configuration.cacheBytes(text, of: machine) else {
            throw Problem(
                message: """
                    cache: '\(text)' is no amount of memory; write something like 512MB, 2GB or 25%
                    """
            )
        }
        guard bytes >= 16 << 20, bytes <= machine else {
            throw Problem(
                message: """
                    cache: \(text) are \(bytes >> 20) MB; write 16MB or more, and less than the \
                    \(machine >> 20) MB that this machine has
                    """
            )
        }
        return Int(bytes)
    }

    private static func cacheBytes(_ text: String, of machine: UInt64) -> UInt64? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = UInt64(digits), number <= 1 << 20 else { return nil }
        switch text.dropFirst(digits.count).uppercased() {
        case "%": return number <= 100 ? machine / 100 * number : nil
        case "MB": return number << 20
        case "GB": return number << 30
        default: return nil
        }
    }
}

/// The machine, or the container that the process runs in.
enum Machine {
    /// Bytes of memory that the process may have at most.
    static let memoryBytes: UInt64 = {
        let all = ProcessInfo.processInfo.physicalMemory
        // Of control groups, version 2; without a limit it says `max`.
        let limit = try? String(contentsOfFile: "/sys/fs/cgroup/memory.max", encoding: .utf8)
        let bytes = limit.flatMap { UInt64($0.trimmed) }
        return min(all, bytes ?? all)
    }()
}
