// `cumulus-bench`: how fast a node is, each figure beside what the machine could do at most.
//
// It is a program of its own, for people who work on nodes. It starts a private node from the
// folder of its executable and loads it from this process, so that the processor time of server and
// client are separate; or it loads the node of `--endpoint`. The folder Paths has a file for each
// path but `http`, which is in Web. The HTTP client is a library that takes more processor time in
// this process than the client of the binary protocol: `Bench+HTTP` says how that affects its
// figures.
//
// Folder: the program, its options, its load and its report. Read `Bench`, then `BenchLoad` and
// `BenchFigure`.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusTerminal
import Foundation

/// Measures what the command line names, and ends the process if it can't.
package func runBench() async { await Bench.main() }

struct Bench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cumulus-bench",
        abstract: "Measure how fast a node is.",
        discussion: help(
            "cumulus-bench",
            "cumulus-bench fetch --seconds 30",
            "cumulus-bench save --profile small --json",
            "cumulus-bench query --records 1000000",
            "cumulus-bench replicate --records 1000000",
            "cumulus-bench lag --seconds 5",
            "cumulus-bench feed --followers 1000 --topics 100000",
            "cumulus-bench auth --seconds 5",
            "cumulus-bench http --in-flight 100 --seconds 5",
            "cumulus-bench asset --megabytes 1000 --text access.log",
            "CUMULUS_TOKEN=cumulus_... cumulus-bench all --endpoint 127.0.0.1:7420",
            "cumulus-bench save --endpoint 10.0.0.5 --authority authority.pem --token cumulus_...",
            note: """
                Without --endpoint a private node is started, with its data in the current \
                directory; both are gone at the end. The disk must be a real one. With --endpoint \
                the node there is loaded, in a zone that is deleted at the end; bounds and the \
                processor time of the server are not measured then, and the node's limits per \
                caller count. CUMULUS_TOKEN, CUMULUS_CONTAINER, CUMULUS_TLS and CUMULUS_AUTHORITY \
                count for that node; CUMULUS_ENDPOINT does not name it.

                A write figure above its bound is an error: the flush or the bound is wrong.
                """
        ),
        version: Release.version
    )

    enum Path: String, CaseIterable, ExpressibleByArgument {
        case all
        case fetch
        case save
        case batch
        case idle
        case replicate
        case lag
        case query
        case asset
        case feed
        case auth
        case http

        /// Paths about the records that are saved beforehand.
        static let onFilledNode: Set<Path> = [.fetch, .save, .batch]
    }

    @Argument(
        help: """
            What to measure: fetch, save, batch, idle, query, replicate, lag, asset, feed, auth, \
            http or all.
            """
    )
    var path = Path.all
    @OptionGroup var options: BenchOptions

    static func main() async {
        await runProgram()
    }

    func validate() throws {
        try options.check(path)
    }

    func run() async throws {
        let cleanup = Cleanup()
        defer { cleanup.run() }
        do {
            var report = BenchReport(options)
            for path in paths {
                report.figures += try await figures(of: path, cleanup)
            }
            try StandardOutput.write(line: options.json ? report.encoded() : report.table())
            if let problem = report.problem {
                complain(problem)
                throw ExitCode.refused
            }
        } catch let problem as BenchProblem {
            complain(problem.message)
            throw ExitCode.refused
        }
    }

    /// Idle connections have a fresh node: what earlier paths left in memory isn't theirs.
    private var paths: [[Path]] {
        if path != .all { return [[path]] }
        let alone: [[Path]] = [[.fetch, .save, .batch], [.idle]]
        return options.endpoint == nil
            ? alone + [[.query], [.replicate], [.lag], [.asset], [.feed], [.auth], [.http]] : alone
    }

    private func figures(of paths: [Path], _ cleanup: Cleanup) async throws -> [BenchFigure] {
        switch paths {
        case [.replicate]: return try await replicate(cleanup)
        case [.lag]: return try await lag(cleanup)
        case [.feed]: return try await feed(cleanup)
        default: break
        }
        let target = try await BenchTarget.open(options, cleanup, servesHTTP: paths == [.http])
        return try await target.use { target in
            if Set(paths).isSubset(of: Path.onFilledNode) {
                try await target.prepare(options)
            }
            var figures: [BenchFigure] = []
            for path in paths { figures += try await self.figures(of: path, target, cleanup) }
            return figures
        }
    }

    private func figures(
        of path: Path,
        _ target: BenchTarget,
        _ cleanup: Cleanup
    ) async throws -> [BenchFigure] {
        switch path {
        case .fetch: [try await fetch(target, cleanup)]
        case .save: try await save(target, cleanup)
        case .batch: [try await batch(target, cleanup)]
        case .idle: [try await idle(target)]
        case .asset: try await asset(target, cleanup)
        case .query: try await query(target, cleanup)
        case .auth: try await auth(target)
        case .http: try await http(target, cleanup)
        case .replicate, .lag, .feed, .all: []
        }
    }

    /// As many concurrent calls as asked for, for as long as a figure takes.
    var load: BenchLoad { BenchLoad(callers: options.inFlight, seconds: options.seconds) }
}

/// The problem that prevents measuring, in one line.
struct BenchProblem: Error {
    var message: String
}
