// `cumulus-sim`: simulated histories from seeds, thousands of them, the story of one, and the table
// of the rules that they show.
//
// Prints each seed whose history breaks an invariant, with what is needed to see it again: the
// commit, the build and the seed. Exit codes: 0 nothing found, 1 violations, 64 wrong usage.

import ArgumentParser
import CumulusTesting
import Foundation
import RocksDBStorage
import Synchronization

extension HistoryKind: ExpressibleByArgument {}

@main
struct Simulator: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cumulus-sim",
        abstract: "Simulate histories and check what must hold.",
        discussion: """
            Examples:
              cumulus-sim --seeds 1..1000
              cumulus-sim --seed 379 --trace
              cumulus-sim --seeds 1..100,286 --break token-horizon
              cumulus-sim --history shares --seeds 1..1000
              cumulus-sim --history nodes --seeds 1..100 --digests
              cumulus-sim --rules

            Histories:
            \(histories)

            Exit codes: 0 nothing was found, 1 an invariant was broken, 64 wrong usage, 74 the \
            output can't be written.
            """
    )

    private static let histories = HistoryKind.allCases.map { history in
        "  \(padded(history.rawValue, to: 13))  \(history.summary)"
    }.joined(separator: "\n")

    static func main() {
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch {
            let text = fullMessage(for: error)
            guard exitCode(for: error) == .success, !text.isEmpty else { exit(withError: error) }
            // Help was asked for: the parser would not notice that it can't be written.
            print(text)
            if fflush(nil) == 0 { exit() }
            exit(withError: ExitCode(74))
        }
    }

    @Option(help: "What is simulated.") var history = HistoryKind.stores
    @Option(help: "Seeds to run: FIRST..LAST, or several with commas between them.")
    var seeds: String?
    @Option(help: "One seed.") var seed: UInt64?
    @Flag(help: "Tell the story of the seed, a line per step.") var trace = false
    @Flag(help: "Print a digest of each seed's story, to compare runs.") var digests = false
    @Option(help: "Nodes of stores, nodes and node-assets, 2 to 9.") var nodes = 3
    @Option(help: "Steps of each history; of whole nodes, seconds of virtual time.")
    var steps: Int?
    @Option(
        name: .customLong("break"),
        help: "A rule to break, which has to be noticed; --rules lists them.",
        transform: rule
    )
    var broken: Rule?
    @Flag(help: "Print the rules, the history that shows each, and what is done without it.")
    var rules = false
    @Flag(help: "With --rules: print JSON.") var json = false

    func run() throws {
        if rules { return try printRules() }
        let list = try seedList()
        let start = Date()
        let (failures, counts) = run(list)
        let seconds = String(format: "%.1f", Date().timeIntervalSince(start))
        print(
            counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(
                separator: ", "
            )
        )
        print("\(list.count) seeds in \(seconds) s, \(failures) with violations; \(Self.build)")
        if failures > 0 { throw ExitCode.failure }
    }

    func validate() throws {
        guard (2...9).contains(nodes) else { throw ValidationError("--nodes: from 2 to 9") }
        guard steps.map((1...1_000_000).contains) ?? true else {
            throw ValidationError("--steps: from 1 to 1000000")
        }
        if let broken, !history.rules.contains(broken) {
            let others = broken.histories.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("--break: '\(broken.name)' shows in other histories: \(others)")
        }
        guard !json || rules else { throw ValidationError("--json: only with --rules") }
        if !rules { _ = try seedList() }
    }

    private static func rule(named name: String) throws -> Rule {
        guard let rule = Rule(name: name) else {
            throw ValidationError("there is no such rule; see --rules")
        }
        return rule
    }

    private func seedList() throws -> [UInt64] {
        if let seed, seeds == nil { return [seed] }
        guard seed == nil, let seeds else {
            throw ValidationError("name --seed N, or --seeds FIRST..LAST")
        }
        return try seeds.split(separator: ",", omittingEmptySubsequences: false)
            .flatMap { try Self.seeds(in: $0) }
    }

    /// The seeds of one part of a list: `N`, or `FIRST..LAST`.
    private static func seeds(in part: Substring) throws -> ClosedRange<UInt64> {
        let bounds = part.components(separatedBy: "..").map { UInt64($0) }
        guard let first = bounds[0], let last = bounds[bounds.count - 1], bounds.count <= 2,
            first <= last, last - first < 10_000_000
        else { throw ValidationError("--seeds: '\(part)' is neither N nor FIRST..LAST") }
        return first...last
    }

    // MARK: Running

    /// Runs the seeds on all processors; returns how many have violations, and how often what
    /// happened in them.
    private func run(_ seeds: [UInt64]) -> (failures: Int, counts: [String: Int]) {
        let failures = Atomic<Int>(0)
        let printing = Mutex<[String: Int]>([:])
        DispatchQueue.concurrentPerform(iterations: seeds.count) { index in
            let (lines, counts, isFailure) = report(seeds[index])
            if isFailure { failures.wrappingAdd(1, ordering: .relaxed) }
            printing.withLock { all in
                all.merge(counts, uniquingKeysWith: +)
                if !lines.isEmpty { print(lines.joined(separator: "\n")) }
            }
        }
        return (failures.load(ordering: .relaxed), printing.withLock { $0 })
    }

    /// Reports a seed; prints nothing if all is well and no story is wanted.
    private func report(
        _ seed: UInt64
    ) -> (lines: [String], counts: [String: Int], isFailure: Bool) {
        do {
            let verdict = try play(seed)
            var lines = verdict.story
            if digests { lines.append("seed \(seed): \(String(verdict.digest, radix: 16))") }
            guard let first = verdict.violations.first else {
                return (lines, verdict.counts, false)
            }
            let checkers = Set(verdict.violations.map(\.checker)).sorted()
            lines += [
                "FAILED seed \(seed): \(checkers.joined(separator: ", ")); \(Self.build)",
                "  \(first.checker): \(first.text)",
            ]
            return (lines, verdict.counts, true)
        } catch {
            return (["FAILED seed \(seed): \(error); \(Self.build)"], [:], true)
        }
    }

    private func play(_ seed: UInt64) throws -> Verdict {
        var plan = HistoryPlan(history, seed: seed, breaking: broken, isTold: trace)
        plan.nodes = nodes
        plan.steps = steps
        guard history == .queries else { return try plan.run() }
        let folder = try TemporaryFolder()
        let store = "\(folder.path)/store"
        plan.disk = try RocksDBEngine(directory: store, profile: .small, reserve: 0)
        return try withExtendedLifetime(folder) { try plan.run() }
    }

    // MARK: Rules

    private struct Row: Encodable {
        let history: String
        let rule: String
        let holds: String
        let without: String
        /// nil: any may notice.
        let check: String?
    }

    /// Prints a rule once for each history that shows it.
    private func printRules() throws {
        let rows = HistoryKind.allCases.flatMap { history in
            Rule.allCases.filter { $0.histories.contains(history) }.map { rule in
                Row(
                    history: history.rawValue,
                    rule: rule.name,
                    holds: rule.holds,
                    without: rule.without,
                    check: rule.check
                )
            }
        }
        print(try json ? Self.json(rows) : Self.table(rows))
    }

    private static func json(_ rows: [Row]) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let lines = try rows.map { String(decoding: try encoder.encode($0), as: UTF8.self) }
        return "[\n\(lines.joined(separator: ",\n"))\n]"
    }

    /// Two lines for each rule.
    ///
    /// The first begins with the history and the name, as scripts read it, the second with
    /// `without:`.
    private static func table(_ rows: [Row]) -> String {
        let widths = (rows.map(\.history.count).max() ?? 0, rows.map(\.rule.count).max() ?? 0)
        return rows.map { row in
            let place = "\(padded(row.history, to: widths.0))  \(padded(row.rule, to: widths.1))"
            let margin = padded("", to: place.count)
            let check = row.check.map { " (\($0))" } ?? ""
            return "\(place)  \(row.holds)\n\(margin)  without: \(row.without)\(check)"
        }.joined(separator: "\n")
    }

    private static func padded(_ text: String, to width: Int) -> String {
        text.padding(toLength: width, withPad: " ", startingAt: 0)
    }

    /// Commit and build: a seed means something with both only.
    ///
    /// The commit of the clone in which this program was built, if the clone has not changed since.
    private static let build: String = {
        #if DEBUG
            let mode = "debug build"
        #else
            let mode = "release build"
        #endif
        let program = Bundle.main.executableURL
        let made = try? program?.resourceValues(forKeys: [.contentModificationDateKey])
            .contentModificationDate?.timeIntervalSince1970
        let committed = git("log", "-1", "--format=%ct", beside: program).flatMap { Double($0) }
        guard let commit = git("describe", "--always", "--dirty", beside: program), let made,
            let committed
        else { return "unknown commit, \(mode)" }
        return "commit \(commit)\(made < committed ? ", built before it" : ""), \(mode)"
    }()

    /// The output of git in the directory of a file; nil if the file is in no clone.
    private static func git(_ words: String..., beside file: URL?) -> String? {
        guard let folder = file?.deletingLastPathComponent() else { return nil }
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["git", "-C", folder.path(percentEncoded: false)] + words
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil,
            let data = try? output.fileHandleForReading.readToEnd()
        else { return nil }
        process.waitUntilExit()
        let text = String(decoding: data, as: UTF8.self)
        return text.isEmpty ? nil : text.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
