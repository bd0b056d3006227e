// Limits the lines about refusals: a number per network and minute, and one line that counts the
// rest.
//
// A value without a clock, held by `AuditLog`. An address that is refused all day long gets four
// lines a minute. Memory is bounded: networks beyond `capacity` are counted together.

import CumulusModel
import CumulusWire

struct RefusalLines: Sendable {
    /// Lines of one network in a minute.
    static let mostPerMinute = 30
    /// The same of a network that had more than its lines in the minute before.
    static let fewestPerMinute = 3
    static let minute: Int64 = 60_000
    /// Networks that are told apart.
    private static let capacity = 1_000

    private struct Network: Sendable {
        var end: Instant
        /// Lines that may still be written before the end.
        var left: Int
        var leftOut = 0
        var last: AuditLine?
    }

    private var networks: [String: Network] = [:]
    /// The time of the next search for minutes that are over.
    private var nextLook: Instant

    init(now: Instant) {
        nextLook = now
    }

    /// The lines to write after a refusal.
    mutating func add(_ line: AuditLine, of network: String, now: Instant) -> [AuditLine] {
        let ended = takeEnded(now: now)
        let isKnown = networks[network] != nil
        let key = isKnown || networks.count < RefusalLines.capacity ? network : ""
        let end = now + RefusalLines.minute
        var entry = networks[key] ?? Network(end: end, left: RefusalLines.mostPerMinute)
        defer { networks[key] = entry }
        if entry.left > 0 {
            entry.left -= 1
            return ended + [line]
        }
        entry.leftOut += 1
        entry.last = line
        return ended
    }

    /// A line for each network that had too many refusals in a minute that is over: its last
    /// refusal, with the number of the earlier ones.
    mutating func takeEnded(now: Instant) -> [AuditLine] {
        guard now >= nextLook else { return [] }
        nextLook = now + 1_000
        var lines: [AuditLine] = []
        for (key, entry) in networks.filter({ $0.value.end <= now }).sorted(by: { $0.key < $1.key })
        {
            guard var last = entry.last else {
                networks[key] = nil
                continue
            }
            last.leftOut = entry.leftOut - 1
            lines.append(last)
            let end = now + RefusalLines.minute
            networks[key] = Network(end: end, left: RefusalLines.fewestPerMinute)
        }
        return lines
    }
}
