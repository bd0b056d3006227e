// The lines that `cumulus top` shows of one sample.

import CumulusModel
import CumulusSystem

enum TopScreen {
    static func lines(_ figures: TopFigures, of endpoint: String) -> [String] {
        let began = Timestamp(millisecondsSince1970: Int64(clamped(figures.start * 1_000)))
        return [
            "\(endpoint)  \(figures.isReady ? "ready" : "not ready")  release \(figures.version)"
                + "  since \(began.text)",
            "",
            "connections \(count(figures.connections))"
                + "  calls in progress \(count(figures.callsInProgress))"
                + "  followers \(count(figures.followers))"
                + "  notifications \(rate(figures.notificationsPerSecond))/s",
            "changes \(rate(figures.changesPerSecond))/s"
                + "  from other nodes \(rate(figures.receivedPerSecond))/s"
                + "  waiting: \(count(figures.waitingWrites)) writes,"
                + " \(count(figures.waitingReads)) reads",
            "flushes \(rate(figures.flushesPerSecond))/s  p50 \(time(figures.flushes.median))"
                + "  p99 \(time(figures.flushes.high))",
            "memory \(bytes(figures.residentBytes))  processors \(fixed(figures.processors, 2))"
                + "  store \(bytes(figures.storeBytes))  assets \(bytes(figures.assetBytes))"
                + "  logs \(bytes(figures.logBytes))  free \(bytes(figures.freeBytes))",
        ] + damage(figures) + [""] + methods(figures) + peers(figures)
    }

    private static func damage(_ figures: TopFigures) -> [String] {
        guard figures.damagedRows > 0 else { return [] }
        return ["damaged rows \(count(figures.damagedRows)): see the node's log"]
    }

    private static func methods(_ figures: TopFigures) -> [String] {
        let rows = figures.methods.map { method in
            [
                method.name, rate(method.callsPerSecond), rate(method.errorsPerSecond),
                time(method.times.median), time(method.times.high),
            ]
        }
        return table(["METHOD", "CALLS/S", "ERRORS/S", "P50", "P99"], rows)
    }

    private static func peers(_ figures: TopFigures) -> [String] {
        if figures.peers.isEmpty { return [] }
        let rows = figures.peers.map { peer in
            [
                peer.node, count(peer.lagCommits), time(peer.lagSeconds), time(peer.delaySeconds),
            ]
        }
        return [""] + table(["MEMBER", "LACKS", "AGE", "DELAY"], rows)
    }

    private static func table(_ titles: [String], _ rows: [[String]]) -> [String] {
        Table.aligned([titles] + rows).split(separator: "\n").map(String.init)
    }

    // MARK: Numbers

    /// Clamps a value to the range of an integer.
    private static func clamped(_ value: Double) -> Double {
        value.isFinite ? min(max(value, -1e15), 1e15) : 0
    }

    private static func count(_ value: Double) -> String { "\(Int64(clamped(value)))" }

    private static func rate(_ value: Double) -> String { fixed(value, 1) }

    static func time(_ seconds: Double?) -> String {
        guard let seconds else { return "-" }
        if seconds < 1 { return fixed(seconds * 1_000, 2) + " ms" }
        return fixed(seconds, 1) + " s"
    }

    static func bytes(_ count: Double) -> String {
        var (value, units) = (clamped(count), ["kB", "MB", "GB", "TB"][...])
        guard value >= 1_000 else { return "\(Int64(value)) B" }
        value /= 1_000
        while value >= 1_000, units.count > 1 {
            value /= 1_000
            units = units.dropFirst()
        }
        return fixed(value, 1) + " " + (units.first ?? "")
    }

    private static func fixed(_ value: Double, _ digits: Int) -> String {
        clamped(value).text(digits: digits)
    }
}
