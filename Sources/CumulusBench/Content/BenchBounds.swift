// Bounds of the disk and of the engine, measured by `cumulusd bound` in the node's directory.
//
// Run before and after the figure that stands beside them, half of its time each, while the node is
// idle.

import CumulusTerminal
import Foundation

struct BenchBounds {
    private let options: BenchOptions
    private let directory: String
    private let cleanup: Cleanup

    init(_ options: BenchOptions, _ directory: String, _ cleanup: Cleanup) {
        self.options = options
        self.directory = directory
        self.cleanup = cleanup
    }

    /// The output of `cumulusd bound`.
    private struct Answer: Decodable {
        var operations: Int
        var seconds: Double
        var peakPerSecond: Double
        var cpuMicroseconds: Double
    }

    /// Overwriting 4 KB and flushing, one after the other.
    func flush() throws -> BenchFigure.Bound {
        try run("flush", ["--data", directory + "/bound-flush"])
    }

    /// The engine alone, committing the rows of so many saves at once.
    ///
    /// - Parameter fieldBytes: Bytes of each record's field; nil means 1 KB.
    func engine(savesPerCommit count: Int, fieldBytes: Int? = nil) throws -> BenchFigure.Bound {
        let data = directory + "/bound-engine"
        defer { try? FileManager.default.removeItem(atPath: data) }
        return try run(
            "engine",
            [
                "--data", data, "--in-flight", String(count), "--profile", options.profile,
                "--records", String(options.records),
            ] + (fieldBytes.map { ["--field-bytes", String($0)] } ?? [])
        )
    }

    /// The engine alone reading what queries need; medians in milliseconds.
    func reads(_ needs: [BenchQuestion.Need]) throws -> [Double] {
        let data = directory + "/bound-query"
        defer { try? FileManager.default.removeItem(atPath: data) }
        let progress = BenchProgress("measuring the bound: reads")
        defer { progress.end() }
        let process = try BenchProcess(
            [
                "bound", "query", "--data", data, "--profile", options.profile, "--records",
                String(options.records), "--seconds", String(min(2, options.seconds / 4)),
            ] + needs.map { "\($0.ranges),\($0.rows),\($0.records)" },
            cleanup
        )
        guard let output = try process.result() else {
            throw BenchProblem(message: "the bound 'query' could not be measured")
        }
        return String(decoding: output, as: UTF8.self).split(separator: "\n")
            .compactMap { Double($0).map { $0 / 1_000 } }
    }

    private func run(_ name: String, _ arguments: [String]) throws -> BenchFigure.Bound {
        let progress = BenchProgress("measuring the bound: \(name)")
        defer { progress.end() }
        let process = try BenchProcess(
            ["bound", name, "--seconds", String(options.seconds / 2)] + arguments,
            cleanup
        )
        guard let line = try process.result(),
            let answer = try? JSONDecoder().decode(Answer.self, from: line), answer.seconds > 0
        else { throw BenchProblem(message: "the bound '\(name)' could not be measured") }
        return BenchFigure.Bound(
            name: name,
            perSecond: Double(answer.operations) / answer.seconds,
            cpuMicroseconds: answer.cpuMicroseconds / Double(max(1, answer.operations)),
            ceiling: answer.peakPerSecond
        )
    }
}

extension BenchBounds? {
    /// A figure beside the bound that was measured around it; alone where nothing is known of the
    /// node's disk.
    func compare(
        _ bound: (BenchBounds) throws -> BenchFigure.Bound,
        with measure: () async throws -> BenchFigure
    ) async throws -> BenchFigure {
        guard let bounds = self else { return try await measure() }
        let before = try bound(bounds)
        var figure = try await measure()
        figure.compare(with: [before, try bound(bounds)])
        return figure
    }
}
