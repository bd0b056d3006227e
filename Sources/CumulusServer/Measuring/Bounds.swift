// `cumulusd bound`: what the machine and the parts beneath the node can do at most, measured by the
// node's own executable.
//
// Hidden: `cumulus-bench` runs these beside its figures. Each prints one line of JSON, apart from
// `echo` and `writer`, which serve until they are ended.
//
// Folder: what the machine and the parts beneath the node can do at most. Read `Bounds`, then one
// bound, such as `EngineBound`.

import ArgumentParser
import CumulusSystem

struct Bound: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure a bound for 'cumulus-bench'.",
        shouldDisplay: false,
        subcommands: [
            EchoBound.self, FlushBound.self, EngineBound.self, QueryBound.self, WriterBound.self,
        ]
    )
}

/// The figures of a bound.
struct BoundFigure: Encodable {
    var operations = 0
    var seconds = 0.0
    /// The rate of the best moment: whatever else the machine did, so much was possible.
    var peakPerSecond = 0.0
    /// Processor time of this process, all of its threads.
    var cpuMicroseconds = 0.0

    private static let momentSeconds = 0.25

    /// Repeats `work`, which returns how many operations it did, for that long.
    static func measure(
        seconds: Double,
        _ work: () throws -> Int
    ) rethrows -> BoundFigure {
        let cpu = processorTime()
        var figure = BoundFigure()
        while figure.seconds < seconds {
            let moment = try rate(seconds: min(momentSeconds, seconds), work)
            figure.operations += moment.operations
            figure.seconds += moment.seconds
            let perSecond = Double(moment.operations) / moment.seconds
            figure.peakPerSecond = max(figure.peakPerSecond, perSecond)
        }
        figure.cpuMicroseconds = processorTime() - cpu
        return figure
    }

    private static func rate(
        seconds: Double,
        _ work: () throws -> Int
    ) rethrows -> (operations: Int, seconds: Double) {
        let start = DispatchTime.now().uptimeNanoseconds
        var operations = 0
        var elapsed = 0.0
        repeat {
            operations += try work()
            elapsed = Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
        } while elapsed < seconds
        return (operations, elapsed)
    }

    func printLine() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        print(String(decoding: try encoder.encode(self), as: UTF8.self))
    }

    static func processorTime() -> Double {
        Double(clock()) * 1e6 / Double(CLOCKS_PER_SEC)
    }
}
