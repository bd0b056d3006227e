// The lines that `cumulus top` shows of one sample.
//
// Pure. On a terminal they fit into its columns and rows; what has no room is counted in a line.

import CumulusModel
import CumulusSystem

enum TopScreen {
    /// How much room there is.
    struct Room: Equatable {
        var columns: Int
        var rows: Int

        static let unlimited = Room(columns: .max, rows: .max)
    }

    static func lines(
        _ figures: TopFigures,
        of endpoint: String,
        in room: Room = .unlimited
    ) -> [String] {
        let fixed = [head(figures, endpoint), ""] + grid(figures) + damage(figures)
        let left = room.rows == .max ? .max : max(0, room.rows - fixed.count)
        let peers = peers(figures, room: left == .max ? .max : left / 2)
        let methods = methods(figures, room: left == .max ? .max : left - peers.count)
        return (fixed + methods + peers).prefix(room.rows).map { fit($0, room.columns) }
    }

    /// What stands there until there are two samples.
    static func waiting(for endpoint: String, in room: Room) -> [String] {
        [fit("\(endpoint)  measuring the first second; q ends it", room.columns)]
    }

    private static func head(_ figures: TopFigures, _ endpoint: String) -> String {
        let began = Timestamp(millisecondsSince1970: Int64(clamped(figures.start * 1_000))).text
        let since = began.prefix(16).replacing("T", with: " ")
        let state = figures.isReady ? "ready" : "not ready"
        return "\(fit(endpoint, 32))  \(state)  \(figures.version)  since \(since)Z"
    }

    /// Names and values in three pairs of columns, which are never wider than 80 together.
    private static func grid(_ figures: TopFigures) -> [String] {
        let rows = [
            [
                "connections", count(figures.connections),
                "calls running", count(figures.callsInProgress),
                "followers", count(figures.followers),
            ],
            [
                "changes", perSecond(figures.changesPerSecond),
                "from others", perSecond(figures.receivedPerSecond),
                "notifications", perSecond(figures.notificationsPerSecond),
            ],
            [
                "flushes", perSecond(figures.flushesPerSecond),
                "flush p50", time(figures.flushes.median), "flush p99", time(figures.flushes.high),
            ],
            [
                "waiting writes", count(figures.waitingWrites),
                "waiting reads", count(figures.waitingReads),
                "processors", fixed(figures.processors, 2),
            ],
            [
                "memory", ByteCount.text(figures.residentBytes),
                "store", ByteCount.text(figures.storeBytes),
                "assets", ByteCount.text(figures.assetBytes),
            ],
            [
                "logs", ByteCount.text(figures.logBytes),
                "disk free", ByteCount.text(figures.freeBytes),
            ],
        ]
        return lines(rows)
    }

    private static func damage(_ figures: TopFigures) -> [String] {
        guard figures.damagedRows > 0 else { return [] }
        return ["damaged rows \(count(figures.damagedRows)): see the node's log"]
    }

    private static func methods(_ figures: TopFigures, room: Int) -> [String] {
        let rows = figures.methods.map { method in
            [
                fit(method.name, 34), rate(method.callsPerSecond), rate(method.errorsPerSecond),
                time(method.times.median), time(method.times.high),
            ]
        }
        return table(["METHOD", "CALLS/S", "ERRORS/S", "P50", "P99"], rows, room: room)
    }

    /// Peers that lack most come first where not all have room.
    private static func peers(_ figures: TopFigures, room: Int) -> [String] {
        if figures.peers.isEmpty { return [] }
        let isCut = room < figures.peers.count + 2
        let peers =
            isCut ? figures.peers.sorted { $0.lagCommits > $1.lagCommits } : figures.peers
        let rows = peers.map { peer in
            [
                fit(peer.node, 34), count(peer.lagCommits), time(peer.lagSeconds),
                time(peer.delaySeconds),
            ]
        }
        return table(["MEMBER", "LACKS", "AGE", "DELAY"], rows, room: room)
    }

    /// A blank line, titles, and as many rows as have room.
    private static func table(_ titles: [String], _ rows: [[String]], room: Int) -> [String] {
        guard room >= 3 else { return [] }
        let places = room - 2
        if rows.count <= places { return [""] + lines([titles] + rows) }
        let shown = rows.prefix(places - 1)
        return [""] + lines([titles] + shown) + ["... and \(rows.count - shown.count) more"]
    }

    private static func lines(_ rows: [[String]]) -> [String] {
        Table.aligned(rows).split(separator: "\n").map(String.init)
    }

    private static func fit(_ text: String, _ columns: Int) -> String {
        text.count <= columns ? text : text.prefix(max(0, columns - 1)) + "…"
    }

    // MARK: Numbers

    /// Clamps a value to the range of an integer.
    private static func clamped(_ value: Double) -> Double {
        value.isFinite ? min(max(value, -1e15), 1e15) : 0
    }

    private static func count(_ value: Double) -> String { "\(Int64(clamped(value)))" }

    private static func rate(_ value: Double) -> String { fixed(value, 1) }

    private static func perSecond(_ value: Double) -> String { rate(value) + "/s" }

    static func time(_ seconds: Double?) -> String {
        guard let seconds else { return "-" }
        if seconds < 1 { return fixed(seconds * 1_000, 2) + " ms" }
        return fixed(seconds, 1) + " s"
    }

    private static func fixed(_ value: Double, _ digits: Int) -> String {
        clamped(value).text(digits: digits)
    }
}
