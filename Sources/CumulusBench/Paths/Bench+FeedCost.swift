// The cost of feeds for callers who don't use them: a save beside many topics, and an idle feed.
//
// The second half of the path `feed`; each of the two has a fresh node.

import Cumulus
import CumulusModel
import Foundation

extension Bench {
    private static let someTopics = 100

    /// Saves of events in the public database: without a topic, beside some, and beside many.
    ///
    /// Ten topics match each event. They are spread over users, since one has 1,000 at most.
    func topics(_ target: BenchTarget) async throws -> [BenchFigure] {
        let (database, some) = (target.publicDatabase, Bench.someTopics)
        let load = BenchLoad(callers: options.inFlight, seconds: options.seconds / 2)
        func measure(_ name: String) async throws -> BenchFigure {
            try await BenchFigure.measure("save beside \(name)", target, load) { dice in
                let event = Int.random(in: 0..<1_000, using: &dice)
                // Always the same number, one that some topics are about: ten match before and
                // after, however many topics there are.
                let number = event % (some / BenchEvents.topicsPerNumber)
                let name = "event-\(event)"
                try await BenchEvents.save(BenchEvents.record(name, number: number), in: database)
            }
        }
        let none = try await measure("no topic")
        try await target.addTopics(0..<some)
        var few = try await measure("\(some) topics")
        few.compare(with: [.init(name: "no topic", perSecond: none.perSecond)])
        try await target.addTopics(some..<options.topics)
        var many = try await measure("\(options.topics) topics")
        many.compare(with: [.init(name: "\(some) topics", perSecond: few.perSecond)])
        many.expect(atMost: 2, timesTheCPUOf: few, "\(some) topics")
        return [none, few, many]
    }

    /// Devices of one user that were told that they are up to date, and then nothing.
    func idleFeeds(_ target: BenchTarget) async throws -> BenchFigure {
        let count = options.idleFeeds
        try await target.database.save(BenchEvents.subscription(to: BenchEvents.told))
        let (start, before) = (Date(), BenchMeter(target))
        let followers = try await target.followers(target.devices(count, named: "idle"))
        let seconds = Date().timeIntervalSince(start)
        // Work that connecting left is done meanwhile.
        try await Task.sleep(for: .seconds(1))
        let use = BenchMeter(target).use(since: before)
        await followers.close()
        var figure = BenchFigure(path: "\(count) idle feeds", since: start, milliseconds: [])
        figure.count(count, seconds: seconds, use)
        figure.serverResidentGrowth = use.residentGrowth
        return figure
    }
}

extension BenchTarget {
    /// Gives users of their own subscriptions to these topics.
    fileprivate func addTopics(_ topics: Range<Int>) async throws {
        let progress = BenchProgress("saving subscriptions")
        defer { progress.end() }
        let most = 1_000
        for start in stride(from: topics.lowerBound, to: topics.upperBound, by: most) {
            let token = try await addUser("topics-\(start)")
            let part = start..<min(start + most, topics.upperBound)
            try await subscribe(token, to: try part.map { try BenchEvents.topic($0) })
            progress.show(start - topics.lowerBound, of: topics.count)
        }
    }
}

extension BenchFigure {
    /// Expects the node's processor time of an operation in relation to another figure's.
    fileprivate mutating func expect(
        atMost wanted: Double,
        timesTheCPUOf other: BenchFigure,
        _ name: String
    ) {
        guard let own = serverMicroseconds, let others = other.serverMicroseconds, others > 0
        else { return }
        let times = own / others
        let text = String(format: "CPU %.2f <= %.0f x %@", times, wanted, name as NSString)
        targets.append(.init(text: text, isMet: times <= wanted))
    }
}
