// `cumulus-sim`: simulated clusters from seeds, thousands of them, and the story of one.
//
// Prints each seed whose history breaks an invariant, with what is needed to see it again: the
// commit, the build and the seed. Exit codes: 0 nothing found, 1 violations, 64 wrong usage.

import ArgumentParser
import CumulusStorage
import CumulusTesting
import Foundation
import RocksDBStorage
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
              cumulus-sim --seeds 1..100,286 --break token-horizon
              cumulus-sim --whole --seeds 1..100
              cumulus-sim --queries --seeds 1..200
              cumulus-sim --assets --seeds 1..10000
              cumulus-sim --accounts --seeds 1..1000
              cumulus-sim --shares --seeds 1..1000
              cumulus-sim --shares --seed 7 --trace
              cumulus-sim --shares --public --seeds 1..1000
              cumulus-sim --shares --seeds 1..300 --break subtree
              cumulus-sim --whole --assets --seeds 1..100
              cumulus-sim --whole --seeds 1..100 --break marks

            Without --whole it is stores that work and exchange commits, by the rules of \
            replication alone. With it, whole nodes run on simulated machines: their sessions, \
            their links to each other and their collectors, over a network that fails. With \
            --queries, each seed asks 100 random queries over random records, in memory and on \
            the disk, and compares with what a plain loop finds. With --assets, uploads, saves, \
            deletions, the collection of assets and power cuts race with each other; with both, \
            callers of whole nodes put files on their records. With --accounts, users, thieves \
            and operators change passwords, sessions and roles on nodes that lose each other. \
            With --shares, an owner shares trees of records on nodes that hear of each other late, \
            and participants join, write and leave, and fetch what they may see. With --public the \
            owner also opens shares to everybody who has the URL, and invites users by their \
            handles.

            Exit codes: 0 nothing was found, 1 an invariant was broken, 64 wrong usage, 74 the \
            output can't be written.
            """
    )

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

    @Option(help: "Seeds to run: FIRST..LAST, or several with commas between them.")
    var seeds: String?
    @Option(help: "One seed.") var seed: UInt64?
    @Flag(help: "Tell the story of the seed, a line per step.") var trace = false
    @Flag(help: "Simulate whole nodes, not only their stores.") var whole = false
    @Flag(help: "With --whole: print a digest of each seed's story, to compare runs.")
    var digests = false
    @Flag(help: "Hold random queries against a plain loop, in both stores.") var queries = false
    @Flag(help: "Race uploads and saves with the collection of assets; with --whole, use assets.")
    var assets = false
    @Flag(help: "Play histories of passwords, sessions, roles and disabled users.")
    var accounts = false
    @Flag(help: "Play histories of shared zones and trees, and of what participants are told.")
    var shares = false
    @Flag(
        name: .customLong("public"),
        help: "With --shares: open shares to the public, and invite users by their handles."
    )
    var isPublic = false
    @Option(help: "Nodes of each cluster, 2 to 9.") var nodes = 3
    @Option(help: "Steps of each history.") var steps = 160
    @Option(help: "Seconds of each history of whole nodes, in virtual time.") var seconds = 30
    @Option(
        name: .customLong("break"),
        help: """
            A rule to break: \(names(of: SimulatedRule.self)). With --whole: \
            \(names(of: SimulatedNodeRule.self)). With --accounts: \
            \(names(of: SimulatedAccountRule.self)). With --shares: \
            \(names(of: SimulatedShareRule.self)).
            """
    )
    var broken: String?

    func run() throws {
        let list = try seedList()
        let simulate = try simulation()
        let start = Date()
        let (failures, counts) = try run(list, simulate)
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
        guard (1...1_000_000).contains(steps) else {
            throw ValidationError("--steps: from 1 to 1000000")
        }
        guard (1...100_000).contains(seconds) else {
            throw ValidationError("--seconds: from 1 to 100000")
        }
        guard !queries || !assets && !whole && !trace && broken == nil else {
            throw ValidationError("--queries: only with seeds")
        }
        guard !assets || whole || !trace && broken == nil else {
            throw ValidationError("--assets: only with --whole, or with seeds and --steps")
        }
        guard !accounts || !whole && !assets && !queries else {
            throw ValidationError("--accounts: only with seeds, --trace and --break")
        }
        guard !shares || !whole && !assets && !queries && !accounts else {
            throw ValidationError("--shares: only with seeds, --trace and --break")
        }
        guard !isPublic || shares else { throw ValidationError("--public: only with --shares") }
        guard !digests || whole else { throw ValidationError("--digests: only with --whole") }
        _ = try seedList()
        if whole {
            _ = try brokenRule(SimulatedNodeRule.self)
        } else if accounts {
            _ = try brokenRule(SimulatedAccountRule.self)
        } else if shares {
            _ = try brokenRule(SimulatedShareRule.self)
        } else {
            _ = try brokenRule(SimulatedRule.self)
        }
    }

    private func simulation() throws -> Simulate {
        if queries { return randomQueries }
        if whole { return try wholeNodes() }
        if assets { return assetRaces }
        if shares { return try shareHistories() }
        return accounts ? try accountHistories() : try stores()
    }

    private typealias Simulate = @Sendable (UInt64) throws -> Simulation.Verdict

    private func stores() throws -> Simulate {
        var simulation = Simulation()
        simulation.nodes = nodes
        simulation.steps = steps
        simulation.broken = try brokenRule(SimulatedRule.self)
        simulation.isTold = trace
        return { [simulation] seed in try simulation.run(seed: seed) }
    }

    private func wholeNodes() throws -> Simulate {
        var simulation = NodeSimulation()
        simulation.nodes = nodes
        simulation.seconds = Int64(seconds)
        simulation.isTold = trace
        simulation.hasAssets = assets
        simulation.broken = try brokenRule(SimulatedNodeRule.self)
        return { [simulation, digests] seed in
            var verdict = try simulation.run(seed: seed)
            let digest = String(verdict.digest, radix: 16)
            if digests { verdict.story.append("seed \(seed): \(digest)") }
            return verdict
        }
    }

    private var assetRaces: Simulate {
        { [steps] seed in try AssetSimulation.run(seed: seed, steps: steps) }
    }

    private func accountHistories() throws -> Simulate {
        let rule = try brokenRule(SimulatedAccountRule.self)
        return { [trace] seed in
            try AccountSimulation.run(seed: seed, breaking: rule, isTold: trace)
        }
    }

    private func shareHistories() throws -> Simulate {
        let rule = try brokenRule(SimulatedShareRule.self)
        return { [trace, isPublic] seed in
            try ShareSimulation.run(
                seed: seed,
                breaking: rule,
                isPublic: isPublic,
                isTold: trace
            )
        }
    }

    private var randomQueries: Simulate {
        { seed in
            let folder = FileManager.default.temporaryDirectory
                .appending(path: "cumulus-sim-\(UUID().uuidString)").path()
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let disk = try RocksDBEngine(directory: folder, profile: .small, reserve: 0)
            var verdict = Simulation.Verdict()
            for (name, engine) in [("memory", MemoryEngine() as any StorageEngine), ("disk", disk)]
            {
                let run = try QueryDifferences(
                    seed: seed,
                    engine: engine,
                    queries: 100,
                    builds: seed % 4 != 0
                )
                verdict.violations += run.differences.map { (checker: name, text: $0) }
                verdict.counts["queries, \(name)"] = 100
                verdict.counts["records found", default: 0] += run.found
                for (plan, count) in run.plans { verdict.counts["'\(plan)'", default: 0] += count }
            }
            return verdict
        }
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

    private func brokenRule<Rule: RawRepresentable<String>>(_: Rule.Type) throws -> Rule? {
        guard let broken else { return nil }
        guard let rule = Rule(rawValue: broken) else {
            throw ValidationError("--break: there is no rule '\(broken)'; see --help")
        }
        return rule
    }

    private static func names<Rule>(of: Rule.Type) -> String
    where Rule: CaseIterable & RawRepresentable<String> {
        Rule.allCases.map(\.rawValue).joined(separator: ", ")
    }

    // MARK: Running

    /// Runs the seeds on all processors; returns how many have violations, and how often what
    /// happened in them.
    private func run(
        _ seeds: [UInt64],
        _ simulate: @escaping Simulate
    ) throws -> (failures: Int, counts: [String: Int]) {
        let failures = Atomic<Int>(0)
        let printing = Mutex<[String: Int]>([:])
        DispatchQueue.concurrentPerform(iterations: seeds.count) { index in
            let seed = seeds[index]
            let (lines, counts) = Self.report(seed, simulate)
            if lines.contains(where: { $0.hasPrefix("FAILED") }) {
                failures.wrappingAdd(1, ordering: .relaxed)
            }
            printing.withLock { all in
                all.merge(counts, uniquingKeysWith: +)
                if !lines.isEmpty { print(lines.joined(separator: "\n")) }
            }
        }
        return (failures.load(ordering: .relaxed), printing.withLock { $0 })
    }

    /// What is to be said of a seed; nothing if all is well and no story is wanted.
    private static func report(
        _ seed: UInt64,
        _ simulate: Simulate
    ) -> (lines: [String], counts: [String: Int]) {
        do {
            let verdict = try simulate(seed)
            guard let first = verdict.violations.first else {
                return (verdict.story, verdict.counts)
            }
            let checkers = Set(verdict.violations.map(\.checker)).sorted()
            let lines = [
                "FAILED seed \(seed): \(checkers.joined(separator: ", ")); \(build)",
                "  \(first.checker): \(first.text)",
            ]
            return (verdict.story + lines, verdict.counts)
        } catch {
            return (["FAILED seed \(seed): \(error); \(build)"], [:])
        }
    }

    /// Commit and build: a seed means something with both only.
    ///
    /// The commit is that of the clone in which this program was built, if it is still as old.
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

    /// What git says in the directory of a file; nil means it is in no clone.
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
