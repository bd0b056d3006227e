// The path `feed`: how soon devices are told of a save, how many at once, and what that costs.
//
// Followers are not full clients but connections that count notifications (`BenchFollowers`), so
// that the node is measured. The bound of a fan-out is a loop without a protocol that writes the
// same bytes to as many sockets (`BareFollowers`).

import Cumulus
import CumulusModel
import CumulusTerminal
import Foundation

extension Bench {
    func feed(_ cleanup: Cleanup) async throws -> [BenchFigure] {
        try BenchFiles.allow(options.followers, "--followers")
        try BenchFiles.allow(options.idleFeeds, "--idle-feeds")
        var figures = try await onFreshNode(cleanup) { target in
            try await target.database.save(BenchEvents.subscription(to: BenchEvents.told))
            return try await fanOut(target, cleanup) + told(target, cleanup)
                + [catchUp(target)]
        }
        figures += try await onFreshNode(cleanup) { try await topics($0) }
        figures.append(try await onFreshNode(cleanup) { try await idleFeeds($0) })
        return figures
    }

    private func onFreshNode<Value>(
        _ cleanup: Cleanup,
        _ body: (BenchTarget) async throws -> Value
    ) async throws -> Value {
        try await BenchTarget.open(options, cleanup).use(body)
    }

    // MARK: Fan-out

    /// One save after the other, then as many as the node takes; to devices and to users.
    private func fanOut(_ target: BenchTarget, _ cleanup: Cleanup) async throws -> [BenchFigure] {
        let (count, names) = (options.followers, BenchNames())
        let devices = try await target.followers(target.devices(count))
        var (single, bytes) = try await self.single(
            "a save to \(count) devices",
            devices,
            target,
            target.database,
            names
        )
        var burst = try await burst(devices, target, names)
        await devices.close()

        let users = try await target.followers(target.users(count))
        var (toUsers, _) = try await self.single(
            "a save to \(count) users",
            users,
            target,
            target.publicDatabase,
            names
        )
        await users.close()

        let bare = try await BareFollowers(count, bytes: bytes, cleanup)
        let bound = try await self.bare(bare, times: 1)
        single.compare(with: [bound])
        toUsers.compare(with: [bound])
        let times = max(1, min(100, burst.operations / count))
        burst.compare(with: [try await self.bare(bare, times: times)])
        burst.expect(ratio: 0.5)
        await bare.close()
        return [single, burst, toUsers]
    }

    /// Times are those from a save's answer until the last follower has its notification.
    ///
    /// - Returns: The figure, and the bytes that a follower received for each event.
    private func single(
        _ path: String,
        _ followers: BenchFollowers,
        _ target: BenchTarget,
        _ database: Database,
        _ names: BenchNames
    ) async throws -> (figure: BenchFigure, bytes: Int) {
        let progress = BenchProgress("measuring: \(path)")
        defer { progress.end() }
        _ = try await followers.tell(database, names)
        let (start, before) = (Date(), BenchMeter(target))
        let countsBefore = followers.tally.current
        let end = start.addingTimeInterval(options.seconds / 2)
        var told: [BenchFollowers.Told] = []
        repeat { told.append(try await followers.tell(database, names)) } while Date() < end
        let use = BenchMeter(target).use(since: before)
        let counts = followers.tally.current
        let events = counts.notifications - countsBefore.notifications
        var figure = BenchFigure(
            path: path,
            since: start,
            milliseconds: told.map(\.sinceAnswer)
        )
        figure.count(events, seconds: told.map(\.sinceSent).reduce(0, +) / 1_000, use)
        return (figure, (counts.bytes - countsBefore.bytes) / max(1, events))
    }

    /// Saves as they come for a part of the time; then, for as long at most as all of it, until
    /// the followers have all of them.
    private func burst(
        _ followers: BenchFollowers,
        _ target: BenchTarget,
        _ names: BenchNames
    ) async throws -> BenchFigure {
        let path = "a burst to \(followers.count) devices"
        let progress = BenchProgress("measuring: \(path)")
        defer { progress.end() }
        let database = target.database
        let (start, before) = (Date(), BenchMeter(target))
        let already = followers.tally.current.notifications
        let load = BenchLoad(callers: options.inFlight, seconds: options.seconds / 4)
        let saves = try await load.run(on: target.executor) { _ in
            let record = BenchEvents.record(names.next(), number: BenchEvents.told)
            try await BenchEvents.save(record, in: database)
        }
        let all = already + saves.operations * followers.count
        _ = try await followers.tally.settle(seconds: min(10, options.seconds)) {
            $0.notifications >= all
        }
        let use = BenchMeter(target).use(since: before)
        var figure = BenchFigure(path: path, since: start, milliseconds: [])
        let told = followers.tally.current.notifications - already
        figure.count(told, seconds: Date().timeIntervalSince(start), use)
        return figure
    }

    /// The same number of events from a loop without a protocol, again and again.
    private func bare(_ bare: BareFollowers, times: Int) async throws -> BenchFigure.Bound {
        let progress = BenchProgress("measuring the bound: bare writer")
        defer { progress.end() }
        _ = try await bare.tell(1)
        let end = Date(timeIntervalSinceNow: options.seconds / 8)
        var (events, seconds) = (0, 0.0)
        repeat {
            seconds += try await bare.tell(times)
            events += times * options.followers
        } while Date() < end
        return BenchFigure.Bound(name: "bare writer", perSecond: Double(events) / seconds)
    }

    // MARK: Beside a load

    /// One device, beside a tenth of the saves that the node can take: how long after a save was
    /// sent, and after it was answered, the device has its notification.
    private func told(_ target: BenchTarget, _ cleanup: Cleanup) async throws -> [BenchFigure] {
        let (database, names) = (target.database, BenchNames())
        let load = BenchLoad(callers: options.inFlight, seconds: options.seconds / 8)
        let most = try await load.run(on: target.executor) { dice in
            let name = "load-\(Int.random(in: 0..<1_000, using: &dice))"
            let record = BenchEvents.record(name, number: BenchEvents.untold)
            try await BenchEvents.save(record, in: database)
        }
        let rate = max(10, Double(most.operations) / most.seconds / 10)
        let path = "told beside \(Int(rate)) saves/s"
        let follower = try await target.followers(target.devices(1, named: "told"))
        let start = Date()
        var told: [BenchFollowers.Told] = []
        let bounds = target.directory.map { BenchBounds(options, $0, cleanup) }
        let sinceSent = try await bounds.compare {
            try $0.flush()
        } with: {
            let progress = BenchProgress("measuring: \(path)")
            defer { progress.end() }
            let start = Date()
            let end = start.addingTimeInterval(options.seconds / 2)
            async let saves: Void = BenchEvents.save(perSecond: rate, in: database, until: end)
            while Date() < end {
                told.append(try await follower.tell(database, names, prefix: "beside"))
            }
            try await saves
            return BenchFigure(
                path: "\(path), since sent",
                since: start,
                milliseconds: told.map(\.sinceSent)
            )
        }
        await follower.close()
        let sinceAnswer = BenchFigure(
            path: "\(path), since answered",
            since: start,
            milliseconds: told.map(\.sinceAnswer)
        )
        return [sinceSent, sinceAnswer]
    }

    // MARK: Catching up

    /// A device that was away while records of 1 KB were saved; its peer in the same run fetches
    /// the records by their names, 200 in a call.
    private func catchUp(_ target: BenchTarget) async throws -> BenchFigure {
        let database = target.database
        try await database.save(BenchEvents.subscription(to: BenchEvents.missed))
        let device = target.devices(1, named: "away")
        let before = try await target.followers(device)
        let token = before.tally.current.token
        await before.close()
        let ids = try await target.saveMissed(options)

        let path = "catch-up by a token"
        let progress = BenchProgress("measuring: \(path)")
        let (start, meter, count) = (Date(), BenchMeter(target), ids.count)
        let follower = try await target.followers(device, since: token)
        try await follower.tally.wait("what it missed", seconds: 600) {
            $0.notifications >= count
        }
        let seconds = Date().timeIntervalSince(start)
        let use = BenchMeter(target).use(since: meter)
        await follower.close()
        progress.end()
        var figure = BenchFigure(path: path, since: start, milliseconds: [])
        figure.count(count, seconds: seconds, use)

        let size = BenchOptions.batchSize
        let load = BenchLoad(callers: 1, seconds: options.seconds / 4)
        let fetch = try await BenchFigure.measure("fetch", target, load, perCall: size) { dice in
            let first = Int.random(in: 0...ids.count - size, using: &dice)
            _ = try await database.records(for: Array(ids[first..<first + size]))
        }
        figure.compare(with: [.init(name: "fetch", perSecond: fetch.perSecond)])
        return figure
    }
}
