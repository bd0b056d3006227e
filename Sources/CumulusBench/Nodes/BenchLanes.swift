// Work that is done before or beside what is measured, such as saving all records: in parts, and in
// lanes beside each other.

import Cumulus
import CumulusModel

enum BenchLanes {
    /// Does all parts, in each lane one after the other.
    ///
    /// - Parameters:
    ///   - what: Shown to people, with how far the first lane is.
    ///   - firstSeed: The seed of the first lane's dice; the next lane has the next number.
    @concurrent
    static func run<Part: Sendable>(
        _ parts: [Part],
        lanes: Int,
        _ what: String,
        firstSeed: UInt64 = 0,
        _ work: @escaping @Sendable (Part, inout SeededGenerator) async throws -> Void
    ) async throws {
        let progress = BenchProgress(what)
        defer { progress.end() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<lanes {
                group.addTask {
                    var dice = SeededGenerator(seed: firstSeed + UInt64(lane))
                    for index in stride(from: lane, to: parts.count, by: lanes) {
                        try await work(parts[index], &dice)
                        if lane == 0 { progress.show(index, of: parts.count) }
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}

extension RandomAccessCollection where Index == Int {
    /// The records of one request of the path `batch`, or of a request that saves records
    /// beforehand.
    var batches: [SubSequence] {
        stride(from: startIndex, to: endIndex, by: BenchOptions.batchSize).map {
            self[$0..<Swift.min($0 + BenchOptions.batchSize, endIndex)]
        }
    }
}

extension Database {
    /// Saves records in one call, and throws the first refusal.
    func save(_ records: [Record], _ policy: RecordSavePolicy) async throws {
        let results = try await modifyRecords(
            saving: records,
            deleting: [],
            savePolicy: policy
        )
        for result in results.saveResults.values { _ = try result.get() }
    }
}
