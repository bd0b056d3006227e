// `cumulus top`: what a node does, second by second, as its operator.
//
// It asks the node for its metrics once a second and shows how they changed. On a terminal the
// screen is drawn anew each time; elsewhere samples follow each other.
//
// Folder: the live view of a node. Read `TopCommand`, then `MetricSamples`, which reads what a node
// tells, `TopFigures`, which makes rates of two of them, `TopScreen` and `LiveTerminal`.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal

struct TopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Show what a node does, second by second, as its operator.",
        discussion: help(
            "cumulus top --token-file cumulus-data/operator.token",
            "cumulus top --samples 10 --json",
            note: """
                Calls, errors and times by method, changes and flushes, connections and memory of \
                the node that is asked, and what the other members lack of what it has: LACKS is \
                how many commits, AGE is the age of the oldest, both as the member reported last; \
                DELAY is how old that member's newest commit was when it came. Times are of the \
                last second; they lie between the bounds of the node's histograms. q or Ctrl-C \
                ends it. What has no room on the screen is counted in its last line. Where \
                standard input or output is no terminal, each sample is printed below the last \
                one. --json prints an object per line and sample. The same numbers are on the \
                page /metrics of a node with --http.
                """
        )
    )

    @Option(help: "End after so many samples, one per second.") var samples: Int?
    @OptionGroup var connection: NodeConnection
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard samples.map({ $0 > 0 }) ?? true else {
            throw ValidationError("--samples must be at least 1.")
        }
    }

    func run() async throws {
        try await connection.withOperator { node in
            let terminal = output.json ? nil : LiveTerminal()
            // The first signal gives the terminal back, since another one ends the process.
            let interruption = Interruption {
                terminal?.leave()
                Task { await node.close() }
            }
            let keys = terminal.map { terminal in
                Task { if await terminal.waitForQuit() { await node.close() } }
            }
            defer {
                keys?.cancel()
                terminal?.leave()
                interruption.stopListening()
            }
            func isOver() -> Bool { interruption.hasCome || terminal?.hasLeft == true }
            do {
                try await watch(node, terminal, isOver: isOver)
            } catch let error as ServiceError where error.code == .operationCancelled {
                guard isOver() else { throw error }
            }
        }
    }

    private static let sampleNanoseconds: UInt64 = 1_000_000_000

    private func watch(
        _ node: NodeOperator,
        _ terminal: LiveTerminal?,
        isOver: () -> Bool
    ) async throws {
        var (last, time) = (MetricSamples(text: try await node.metrics()), TopCommand.time)
        // A node that does not answer is told on the screen where the command was typed.
        try terminal?.enter()
        try terminal?.show { TopScreen.waiting(for: endpoint, in: $0) }
        var left = samples ?? .max
        while left > 0 {
            let due = time + TopCommand.sampleNanoseconds
            while TopCommand.time < due {
                if isOver() { return }
                let rest = due - min(due, TopCommand.time)
                try await Task.sleep(nanoseconds: min(rest, 50_000_000))
            }
            let next = MetricSamples(text: try await node.metrics())
            let now = TopCommand.time
            let figures = TopFigures(from: last, to: next, seconds: Double(now - time) / 1e9)
            try show(figures, on: terminal)
            (last, time) = (next, now)
            left -= 1
        }
    }

    private var endpoint: String { connection.nodes.endpoints[0] }

    private func show(_ figures: TopFigures, on terminal: LiveTerminal?) throws {
        if output.json { return try StandardOutput.write(line: figures.json.text) }
        if let terminal {
            return try terminal.show { TopScreen.lines(figures, of: endpoint, in: $0) }
        }
        let lines = TopScreen.lines(figures, of: endpoint)
        try StandardOutput.write(line: lines.joined(separator: "\n") + "\n")
    }

    private static var time: UInt64 { DispatchTime.now().uptimeNanoseconds }
}
