// `cumulus-sim`: simulated clusters from seeds, thousands of them, and the story of one.
//
// Prints each seed whose history breaks an invariant, with what is needed to see it again: the
// commit, the build and the seed. Exit codes: 0 nothing found, 1 violations, 64 wrong usage.

import ArgumentParser
import CumulusTesting
import Foundation
import Synchronization

@main
struct Simulator: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cumulus-sim",
        abstract: "Simulate clusters and check what must hold.",
        discussion: """
            Examples:
              cumulus-sim --seeds 1..1000
              cumulus-sim --seed 379 --trace
              cumulus-sim --seeds 1..200 --break causality

            Exit codes: 0 nothing was found, 1 an invariant was broken, 64 wrong usage.
            """
    )

    @Option(help: "Seeds to run, FIRST..LAST.") var seeds: String?
    @Option(help: "One seed.") var seed: UInt64?
    @Flag(help: "Tell the story of the seed, a line per step.") var trace = false
    @Option(help: "Nodes of each cluster, 2 to 9.") var nodes = 3
    @Option(help: "Steps of each history.") var steps = 160
    @Option(
        name: .customLong("break"),
        help: "A rule to break: \(SimulatedRule.allCases.map(\.rawValue).joined(separator: ", "))."
    )
    var broken: String?

    func run() throws {
        let range = try seedRange()
        var simulation = Simulation()
        simulation.nodes = nodes
        simulation.steps = steps
        simulation.broken = try brokenRule()
        simulation.isTold = trace
        let start = Date()
        let failures = try run(range, simulation)
        let seconds = String(format: "%.1f", Date().timeIntervalSince(start))
        print("\(range.count) seeds in \(seconds) s, \(failures) with violations; \(Self.build)")
        if failures > 0 { throw ExitCode.failure }
    }

    func validate() throws {
        guard (2...9).contains(nodes) else { throw ValidationError("--nodes: from 2 to 9") }
        guard (1...1_000_000).contains(steps) else {
            throw ValidationError("--steps: from 1 to 1000000")
        }
        _ = try seedRange()
        _ = try brokenRule()
    }

    private func seedRange() throws -> ClosedRange<UInt64> {
        if let seed, seeds == nil { return seed...seed }
        let parts = (seeds ?? "").components(separatedBy: "..").compactMap { UInt64($0) }
        guard seed == nil, parts.count == 2, parts[0] <= parts[1], parts[1] - parts[0] < 1 << 32
        else {
            throw ValidationError("name --seed N, or --seeds FIRST..LAST")
        }
        return parts[0]...parts[1]
    }

    private func brokenRule() throws -> SimulatedRule? {
        guard let broken else { return nil }
        guard let rule = SimulatedRule(rawValue: broken) else {
            throw ValidationError("--break: there is no rule '\(broken)'; see --help")
        }
        return rule
    }

    // MARK: Running

    /// Runs the seeds on all processors; returns how many have violations.
    private func run(_ seeds: ClosedRange<UInt64>, _ simulation: Simulation) throws -> Int {
        let failures = Atomic<Int>(0)
        let printing = Mutex(())
        DispatchQueue.concurrentPerform(iterations: seeds.count) { index in
            let seed = seeds.lowerBound + UInt64(index)
            let lines = Self.report(seed, simulation)
            guard !lines.isEmpty else { return }
            if lines.contains(where: { $0.hasPrefix("FAILED") }) {
                failures.wrappingAdd(1, ordering: .relaxed)
            }
            printing.withLock { _ in print(lines.joined(separator: "\n")) }
        }
        return failures.load(ordering: .relaxed)
    }

    /// What is to be said of a seed; nothing if all is well and no story is wanted.
    private static func report(_ seed: UInt64, _ simulation: Simulation) -> [String] {
        do {
            let verdict = try simulation.run(seed: seed)
            guard let first = verdict.violations.first else { return verdict.story }
            let checkers = Set(verdict.violations.map(\.checker)).sorted()
            return verdict.story + [
                "FAILED seed \(seed): \(checkers.joined(separator: ", ")); \(build)",
                "  \(first.checker): \(first.text)",
            ]
        } catch {
            return ["FAILED seed \(seed): \(error); \(build)"]
        }
    }

    /// Commit and build: a seed means something with both only.
    private static let build: String = {
        #if DEBUG
            let mode = "debug build"
        #else
            let mode = "release build"
        #endif
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["git", "describe", "--always", "--dirty"]
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil,
            let data = try? output.fileHandleForReading.readToEnd()
        else { return "unknown commit, \(mode)" }
        process.waitUntilExit()
        let commit = String(decoding: data, as: UTF8.self)
        return "commit \(commit.trimmingCharacters(in: .whitespacesAndNewlines)), \(mode)"
    }()
}
