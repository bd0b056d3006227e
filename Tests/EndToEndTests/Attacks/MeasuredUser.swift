// The well-behaved user beside an attack: fetches, queries and saves one after the other, with
// short pauses, and keeps how long each call took.
//
// `BesideAttacksTests` lets it call for a time, and compares the times with those without an
// attack. It has a thread of its own, so that nothing but the node, and the machine, can keep it
// waiting. A call that fails is kept as a failure, and the user goes on.

import CumulusModel
import CumulusTesting
import CumulusWire
import Foundation

struct MeasuredUser: Sendable {
    enum Call: String, CaseIterable, Sendable {
        case fetch
        case query
        case save
    }

    /// What the user saw in a round.
    struct Round: Sendable {
        fileprivate(set) var seconds: [Call: [Double]] = [:]
        fileprivate(set) var failures: [String] = []

        /// The time within which that share of a kind of calls was answered; infinite if none was.
        func percentile(_ share: Double, of call: Call) -> Double {
            let times = (seconds[call] ?? []).sorted()
            guard !times.isEmpty else { return .infinity }
            return times[min(times.count - 1, Int(Double(times.count) * share))]
        }

        func p99(_ call: Call) -> Double { percentile(0.99, of: call) }

        /// The longest time of any call; infinite if none was answered.
        var slowest: Double { seconds.values.joined().max() ?? .infinity }

        /// How many calls of the rarest kind were answered.
        var fewest: Int { Call.allCases.map { seconds[$0]?.count ?? 0 }.min() ?? 0 }
    }

    private static let records = 2_000
    /// Seconds between two calls.
    private static let pause = 0.005

    private let endpoint: String
    private let token: String

    init(_ endpoint: String, _ token: String) {
        self.endpoint = endpoint
        self.token = token
    }

    private func connect() throws -> RawClient { try RawClient(greeting: endpoint, token: token) }

    // MARK: Records

    private static func record(_ name: String, _ number: Int) -> Record {
        var record = Record(recordType: "Note", recordID: Record.ID(recordName: name))
        record["number"] = .int64(Int64(number))
        record["text"] = "what a user writes down"
        return record
    }

    /// Saves the records that the user fetches and asks for.
    func prepare() throws {
        let client = try connect()
        let most = Limits.standard.itemsPerRequest
        for first in stride(from: 0, to: Self.records, by: most) {
            let batch = (first..<min(first + most, Self.records)).map {
                Self.record("note\($0)", $0)
            }
            for result in try client.save(batch) { _ = try result.get() }
        }
    }

    // MARK: Calls

    /// Calls for some seconds.
    ///
    /// - Parameter name: Begins the names of what is saved; no two rounds may have the same.
    func calls(for seconds: Double, _ name: String) async -> Round {
        await onThread { run(seconds, name) }
    }

    private func run(_ seconds: Double, _ name: String) -> Round {
        var round = Round()
        var dice = SeededGenerator(seed: Chaos.seed)
        var client: RawClient?
        var number = 0
        let end = now + seconds
        while now < end {
            for call in Call.allCases {
                let chosen = Int.random(in: 0..<Self.records, using: &dice)
                number += 1
                do {
                    let open = try client ?? connect()
                    client = open
                    let start = now
                    try perform(call, chosen, "\(name)\(number)", open)
                    round.seconds[call, default: []].append(now - start)
                } catch {
                    round.failures.append("\(call): \(error)")
                    client = nil
                }
                Thread.sleep(forTimeInterval: Self.pause)
            }
        }
        return round
    }

    private var now: Double { ProcessInfo.processInfo.systemUptime }

    private func perform(
        _ call: Call,
        _ chosen: Int,
        _ newName: String,
        _ client: RawClient
    ) throws {
        switch call {
        case .fetch: _ = try client.fetch("note\(chosen)")[0].get()
        case .query: try ask(for: chosen, client)
        case .save: _ = try client.save([Self.record(newName, -1)])[0].get()
        }
    }

    /// Queries for one of the records by a number in it, and finds it.
    private func ask(for number: Int, _ client: RawClient) throws {
        let query = Query(recordType: "Note", predicate: .field("number") == Int64(number))
        let request = QueryRecordsRequest(query, database: .private, zone: nil)
        let found = try client.perform(.recordsQuery, request.encoded())
            .flatMap { try QueryRecordsResponse(wire: $0).records }
            .map(\.recordID.recordName)
        if found != ["note\(number)"] { throw WrongAnswer(found: found) }
    }

    private struct WrongAnswer: Error {
        var found: [String]
    }
}

/// Runs what blocks on a thread of its own.
func onThread<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: work()) }
    }
}
