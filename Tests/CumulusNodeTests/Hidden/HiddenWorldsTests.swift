// No answer depends on what its caller may not see: in two worlds that differ in nothing else,
// every method answers every kind of caller with the same bytes.
//
// Folder: what callers can't find out over the binary protocol. Read `HiddenWorldsTests`, then
// `HiddenProbes` and `HiddenCaller`; the worlds are `HiddenWorlds`.

import CumulusModel
import CumulusTesting
import CumulusWire
import Testing

@testable import CumulusNode

/// It takes two nodes and thousands of calls, and so some seconds.
@Suite(.serialized, .timeLimit(.minutes(10))) struct HiddenWorldsTests {
    @Test func noAnswerTellsWhatIsHidden() async throws {
        try await HiddenWorlds.run { worlds in
            let sides = try worlds.worlds.map { world in
                let callers = try HiddenScene.Who.allCases.map {
                    try HiddenCaller($0, worlds.scene, in: world)
                }
                for caller in callers { try caller.askAll() }
                for caller in callers { try caller.tryTakenNames() }
                return callers
            }
            for (one, other) in zip(sides[0], sides[1]) { compare(one, other) }
            checkThatAllWasAsked(sides[0])
        }
    }

    /// What happens meanwhile, too: a stream is silent about what its caller may not see.
    @Test func noStreamTellsWhatIsHidden() async throws {
        try await HiddenWorlds.run { worlds in
            var sides: [[HiddenCaller]] = []
            for world in worlds.worlds {
                let callers = try HiddenScene.Who.allCases.map {
                    try HiddenCaller($0, worlds.scene, in: world)
                }
                let streams = try callers.map { try $0.followAll() }
                if world.name == .other { try await worlds.scene.hideMore(at: world.server) }
                for sight in HiddenScene.Sight.allCases {
                    try await worlds.scene.show(sight, at: world.server)
                    for (caller, streams) in zip(callers, streams) {
                        for stream in streams where stream.sights.contains(sight) {
                            try wait(for: sight, in: stream, of: caller)
                        }
                    }
                }
                sides.append(callers)
            }
            for (one, other) in zip(sides[0], sides[1]) { compare(one, other) }
        }
    }

    private func wait(
        for sight: HiddenScene.Sight,
        in stream: HiddenCaller.Stream,
        of caller: HiddenCaller
    ) throws {
        do {
            try caller.read(stream, to: sight)
        } catch {
            let what = "\(caller.who), \(stream.method) \(stream.what): \(sight) does not show"
            Issue.record(error, "\(what)")
            throw error
        }
    }

    // MARK: Judgement

    private func compare(_ one: HiddenCaller, _ other: HiddenCaller) {
        #expect(one.answers.count == other.answers.count, "\(one.who) was asked otherwise")
        for (left, right) in zip(one.answers, other.answers) {
            #expect(left.question == right.question)
            let difference = difference(one, left, other, right)
            if left.known.isEmpty {
                #expect(difference == nil, "\(one.who): \(left.question)")
            } else {
                #expect(difference != nil, "\(one.who), \(left.question): \(left.known)")
            }
        }
    }

    /// Where two answers differ, with what stands around; nil: they don't.
    private func difference(
        _ one: HiddenCaller,
        _ left: HiddenCaller.Answer,
        _ other: HiddenCaller,
        _ right: HiddenCaller.Answer
    ) -> String? {
        // Most are equal byte for byte.
        let frames = zip(left.frames, right.frames)
        if left.frames.count == right.frames.count,
            frames.allSatisfy({ $0.payload == $1.payload && $0.isEnd == $1.isEnd })
        {
            return nil
        }
        let (texts, others) = (lines(left, by: one), lines(right, by: other))
        if texts == others { return nil }
        let place = zip(texts, others).prefix { $0 == $1 }.count
        let around = { (lines: [Substring]) in
            lines.dropFirst(max(0, place - 3)).prefix(8).joined(separator: "\n")
        }
        return """
            \(left.frames.count) and \(right.frames.count) messages
            --- at line \(place)
            \(around(texts))
            --- and
            \(around(others))
            """
    }

    private func lines(_ answer: HiddenCaller.Answer, by caller: HiddenCaller) -> [Substring] {
        answer.frames.flatMap { frame in
            let text = caller.text.text(of: frame.payload, answer.method)
            return (text + (frame.isEnd ? "\nend" : "")).split(separator: "\n")
        }
    }

    /// Also what makes a new method fail that nobody thought of here.
    private func checkThatAllWasAsked(_ callers: [HiddenCaller]) {
        let asked = callers.reduce(into: Set<CumulusWire.Method>()) { $0.formUnion($1.asked) }
        let answered = callers.reduce(into: Set<CumulusWire.Method>()) { $0.formUnion($1.answered) }
        for entry in MethodTable.entries {
            #expect(asked.contains(entry.method), "nobody asks \(entry.method)")
            let isForCallers = entry.needs.isDisjoint(with: [.operator, .peer])
            // A right password would open another session in each world.
            let isRefused = [.accountsSignIn, .accountsChangePassword, .accountsResetPassword]
                .contains(entry.method)
            if !isForCallers || isRefused { continue }
            #expect(answered.contains(entry.method), "nobody is answered by \(entry.method)")
        }
    }
}

extension HiddenCaller {
    /// Streams of all that the caller may follow.
    func followAll() throws -> [Stream] {
        var streams = [try followZone(Place(.public, Names.defaultZone), past.publicZone, .note)]
        if who == .anonymous { return streams }
        let isIn = who == .reader || who == .writer
        let sights: Set<HiddenScene.Sight> = isIn ? [.trips] : who == .joiner ? [.park] : []
        let feed = FollowFeedRequest(token: past.feed)
        streams.append(
            try follow(.feedsFollow, "", feed.encoded(), sights.union([.note])) {
                try WireFeedPage(wire: $0).isCheckpoint
            }
        )
        if sights.isEmpty { return streams }
        let database = FetchDatabaseChangesRequest(
            database: .shared,
            token: past.sharedZones,
            limit: 0
        )
        streams.append(
            try follow(.changesFollowDatabase, "shared", database.encoded(), sights) {
                try !FetchDatabaseChangesResponse(wire: $0).moreComing
            }
        )
        guard isIn else { return streams }
        let trips = Place(.shared, "trips", of: scene.owner)
        return streams + [try followZone(trips, past.trips, .trips)]
    }

    private func followZone(
        _ place: Place,
        _ token: Bytes,
        _ sight: HiddenScene.Sight
    ) throws -> Stream {
        let request = FetchZoneChangesRequest(
            database: place.database,
            zone: place.zone,
            token: token,
            limit: 0
        )
        return try follow(.changesFollowZone, place.name, request.encoded(), [sight]) {
            try !FetchZoneChangesResponse(wire: $0).moreComing
        }
    }
}
