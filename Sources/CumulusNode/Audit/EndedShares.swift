// The shares of records that end with their zone, for the audit log.
//
// Made by `ZoneCalls` before a request deletes zones, since afterwards nothing says which shares
// were in them, and begun by `OpenCalls.audit` once they are deleted. All records of the zones are
// looked through, in the state from before and a few at a time, while others read: a deletion does
// not wait for its lines, and neither fails nor is slowed down by them.

import CumulusModel
import CumulusOperations
import CumulusStorage

struct EndedShares: Sendable {
    /// Up to so many shares of a zone have a line each; for more, one line tells their number.
    static let mostLines = 8
    /// Records that are looked at on a reader thread before others may read.
    private static let looksAtOnce = 1_000

    /// The state from before.
    let reader: ReadTransaction
    let scope: ScopeID
    let caller: Caller
    /// The zones that were deleted.
    var zones: [ZoneAddress] = []

    /// Writes down which shares ended.
    ///
    /// - Parameter note: Writes one line, by its target.
    func write(_ node: Node, _ note: @escaping @Sendable (String) -> Void) {
        Task {
            for zone in zones {
                do {
                    let names = try await names(in: zone, node)
                    for target in EndedShares.targets(names, in: zone) { note(target) }
                } catch {
                    note("\(EndedShares.text(of: zone)): its shares of records can't be told")
                }
            }
        }
    }

    private func names(in zone: ZoneAddress, _ node: Node) async throws -> [String] {
        let (reader, scope, caller) = (reader, scope, caller)
        var shares = try await node.gate.reading { _ in
            try reader.scope(scope).flatMap { try ZoneShares(in: zone, of: $0, by: caller, reader) }
        }
        while let begun = shares, !begun.isComplete {
            shares = try await node.gate.reading { _ in
                var shares = begun
                try shares.look(at: EndedShares.looksAtOnce, reader)
                return shares
            }
        }
        guard let found = shares, !found.names.isEmpty else { return [] }
        return try await node.gate.reading { _ in try found.ofRecords(in: reader) }
    }

    private static func text(of zone: ZoneAddress) -> String {
        "\(DatabaseScope.private.name)/\(zone.name)"
    }

    /// The targets in the lines of a zone.
    static func targets(_ names: [String], in zone: ZoneAddress) -> [String] {
        guard names.count > mostLines else {
            return names.map { RecordAddress(zone: zone, name: $0).text(in: .private) }
        }
        return ["\(text(of: zone)): \(names.count) shares of records"]
    }
}
