// `cumulusd bound`: what the machine and the parts beneath the node can do at most, measured by the
// node's own executable.
//
// Hidden: `cumulus bench` runs these beside its figures. Each prints one line of JSON, apart from
// `echo`, which serves until a signal ends it.

import ArgumentParser
import Foundation

struct Bound: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure a bound for 'cumulus bench'.",
        shouldDisplay: false,
        subcommands: [EchoBound.self, FlushBound.self, EngineBound.self]
    )
}

/// What a bound measured.
struct BoundFigure: Encodable {
    var operations: Int
    var seconds: Double
    /// Of this process, all of its threads.
    var cpuMicroseconds: Double

    /// Repeats `work`, which returns how many operations it did, for that long.
    static func measure(
        seconds: Double,
        _ work: () throws -> Int
    ) rethrows -> BoundFigure {
        let cpu = processorTime()
        let start = DispatchTime.now().uptimeNanoseconds
        let end = start + UInt64(seconds * 1e9)
        var figure = BoundFigure(operations: 0, seconds: 0, cpuMicroseconds: 0)
        var now = start
        while now < end {
            figure.operations += try work()
            now = DispatchTime.now().uptimeNanoseconds
        }
        figure.seconds = Double(now - start) / 1e9
        figure.cpuMicroseconds = processorTime() - cpu
        return figure
    }

    func printLine() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        print(String(decoding: try encoder.encode(self), as: UTF8.self))
    }

    private static func processorTime() -> Double {
        Double(clock()) * 1e6 / Double(CLOCKS_PER_SEC)
    }
}
