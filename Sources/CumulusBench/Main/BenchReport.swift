// All figures of a run, as a table or as JSON.
//
// Printed once, at the end.

import Cumulus
import CumulusModel
import Foundation

struct BenchReport: Encodable {
    let version = Release.version
    let build = BenchReport.build
    let profile: String
    let records: Int
    let inFlight: Int
    let connections: Int
    let processors: Int
    let start: String
    var figures: [BenchFigure] = []

    init(_ options: BenchOptions) {
        profile = options.endpoint == nil ? options.profile : "that of \(options.endpoint ?? "")"
        records = options.records
        inFlight = options.inFlight
        connections = options.connections
        processors = ProcessInfo.processInfo.activeProcessorCount
        start = Date().formatted(.iso8601)
    }

    #if DEBUG
        private static let build = "debug"
    #else
        private static let build = "release"
    #endif

    /// A write figure above its bound, in words.
    var problem: String? { figures.lazy.compactMap(\.problem).first }

    func encoded() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    func table() -> String {
        let rows = [BenchReport.titles] + figures.map(row)
        let widths = BenchReport.titles.indices.map { column in
            rows.map { $0[column].count }.max() ?? 0
        }
        let lines = rows.map { row in
            zip(row, widths).enumerated().map { index, cell in
                let space = String(repeating: " ", count: cell.1 - cell.0.count)
                let isText = index == 0 || index == row.count - 1
                return isText ? cell.0 + space : space + cell.0
            }.joined(separator: "  ")
        }
        return (heading + lines + notes).joined(separator: "\n")
    }

    private var heading: [String] {
        var lines = [
            """
            cumulus \(version), \(build) build, profile \(profile), \(processors) processors, \
            \(records) records, \(inFlight) in flight over \
            \(connections) connections, \(start)
            """
        ]
        if build == "debug" {
            lines.append("DEBUG BUILD: these figures say nothing. Build with -c release.")
        }
        return lines + [""]
    }

    private var notes: [String] {
        let disturbed = figures.filter(\.isDisturbed).map { figure in
            "\(figure.path): other processes had a part of the processors; run it alone"
        }
        let missed = figures.flatMap { figure in
            figure.targets.filter { !$0.isMet }.map { "\(figure.path): missed \($0.text)" }
        }
        return (disturbed + missed).isEmpty ? [] : [""] + disturbed + missed
    }

    private static let titles = [
        "path", "per second", "p50 ms", "p99 ms", "p999 ms", "server us", "client us",
        "server MB", "others", "bound", "of bound", "wanted",
    ]

    private func row(_ figure: BenchFigure) -> [String] {
        func text(_ number: Double?, _ digits: Int) -> String {
            number.map { String(format: "%.\(digits)f", $0) } ?? ""
        }
        let mark = build == "debug" ? "!" : ""
        return [
            figure.path,
            text(figure.perSecond, 0) + mark,
            text(figure.p50, 2),
            text(figure.p99, 2),
            text(figure.p999, 2),
            text(figure.serverMicroseconds, 1),
            text(figure.clientMicroseconds, 1),
            text(figure.serverResident.map { Double($0) / 1_048_576 }, 0),
            figure.others.map { text($0 * 100, 0) + " %" } ?? "",
            figure.bound.map { "\($0.name) \(text($0.perSecond, 0))" } ?? figure.note ?? "",
            figure.ratio.map { text($0 * 100, 0) + " %" } ?? "",
            figure.targets.map { "\($0.text) \($0.isMet ? "yes" : "NO")" }.joined(separator: ", "),
        ]
    }
}
