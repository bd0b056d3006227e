// The measurement of one path, beside the bound of the same run and its target.
//
// Made by the paths, printed by `BenchReport`.

import Foundation

struct BenchFigure: Encodable {
    /// The most that could be had here, measured in the same run.
    struct Bound: Encodable {
        var name: String
        var perSecond: Double
        /// Processor time of all that took part, in microseconds per operation.
        var cpuMicroseconds: Double?
        /// The rate of its best moment, which no save can exceed for long; nil where the bound is
        /// no more than a comparison.
        var ceiling: Double?
    }

    /// The target in relation to something that the same run measured.
    ///
    /// A rate or a time alone depends on the machine and its hour.
    struct Target: Encodable {
        var text: String
        var isMet: Bool
    }

    var path: String
    /// ISO 8601, UTC.
    var start: String
    var seconds: Double
    /// Records where a call carries several.
    var operations: Int
    var perSecond: Double
    /// Milliseconds of a call.
    var p50: Double?
    var p99: Double?
    var p999: Double?
    /// Processor time per operation, in microseconds.
    var serverMicroseconds: Double?
    var clientMicroseconds: Double?
    /// Per operation: how often a thread of the server gave its processor to another one, and bytes
    /// that the server had written to its disk.
    var serverSwitches: Double?
    var serverWrittenBytes: Double?
    /// Per operation: what the node handed to its engine, rows and bytes of their keys and values.
    var serverRows: Double?
    var serverRowBytes: Double?
    /// Bytes of the server when the path ended, and at most so far.
    var serverResident: Int?
    var serverPeakResident: Int?
    /// Bytes by which the server grew, where the path is about that.
    var serverResidentGrowth: Int?
    var bound: Bound?
    /// Why there is no bound, where one is wanted.
    var note: String?
    var ratio: Double?
    var targets: [Target] = []
    /// The part of all processors that other processes had meanwhile, 0 to 1.
    var others: Double?
    /// Operations in each second.
    var samples: [Int] = []

    /// Whether so much else went on that the figure is worth little.
    var isDisturbed: Bool { others ?? 0 > 0.1 }

    /// A write figure above its bound, in words.
    var problem: String? {
        guard let bound, let ceiling = bound.ceiling, perSecond > ceiling else { return nil }
        let advice = isDisturbed ? " (or the other work on this machine: run it alone)" : ""
        return """
            \(path): \(Int(perSecond))/s is above its bound of \(Int(ceiling))/s \
            (\(bound.name)): the flush or the bound is wrong\(advice)
            """
    }

    /// Takes the higher of the bounds: it was measured before and after, and one of them is enough
    /// to show what can be had.
    mutating func compare(with bounds: [Bound]) {
        guard var bound = bounds.max(by: { $0.perSecond < $1.perSecond }), bound.perSecond > 0
        else { return }
        bound.ceiling = bounds.compactMap(\.ceiling).max()
        self.bound = bound
        ratio = perSecond / bound.perSecond
    }

    /// The medians of a node without the network, and of the engine below it, in milliseconds:
    /// the one is at most three times the other.
    mutating func compare(_ atNode: Double, withBoundOf engine: Double) {
        guard atNode > 0, engine > 0 else { return }
        bound = Bound(name: "engine", perSecond: 1_000 / engine)
        ratio = engine / atNode
        let times = atNode / engine
        targets.append(
            Target(
                text: String(format: "%.2f ms at the node <= 3 x engine: %.1f", atNode, times),
                isMet: times <= 3
            )
        )
    }

    /// Expects at least that part of the bound.
    mutating func expect(ratio wanted: Double) {
        guard let ratio else { return }
        targets.append(Target(text: ">= \(Int(wanted * 100)) % of bound", isMet: ratio >= wanted))
    }
}
