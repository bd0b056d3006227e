// No answer of web services depends on what its caller may not see: in two worlds that differ in
// nothing else, every endpoint answers every kind of caller with the same status, headers and JSON.
//
// Folder: what callers can't find out over HTTP. Read `WebHiddenWorldsTests`, then
// `WebHiddenProbes` and `WebHiddenCaller`; the worlds are `HiddenWorlds`.

import CumulusGateway
import CumulusModel
import CumulusTesting
import Testing

/// It takes two nodes and thousands of calls, and so some seconds.
@Suite(.serialized, .timeLimit(.minutes(10))) struct WebHiddenWorldsTests {
    @Test func noAnswerTellsWhatIsHidden() async throws {
        try await HiddenWorlds.run { worlds in
            var sides: [[WebHiddenCaller]] = []
            for world in worlds.worlds {
                let api = WebAPIToken(scope: WebUser.scope, origins: ["https://app"])
                let door = NodeDoor(world.server.node) { $0 == WebUser.apiDigest ? api : nil }
                let gateway = WebGateway(door, signInURL: "https://node.example/sign-in")
                var callers: [WebHiddenCaller] = []
                for who in HiddenScene.Who.allCases {
                    var caller = WebHiddenCaller(who, worlds.scene, gateway, door, in: world)
                    try await caller.askAll()
                    callers.append(caller)
                }
                sides.append(callers)
            }
            for (one, other) in zip(sides[0], sides[1]) { compare(one, other) }
            checkThatAllWasAsked(sides[0])
        }
    }

    private func compare(_ one: WebHiddenCaller, _ other: WebHiddenCaller) {
        #expect(one.answers.count == other.answers.count, "\(one.who) was asked otherwise")
        for (left, right) in zip(one.answers, other.answers) {
            if left.known.isEmpty {
                #expect(left == right, "\(one.who): \(Self.difference(left, right))")
            } else {
                #expect(left != right, "\(one.who), \(left.question): \(left.known) is not told")
            }
        }
    }

    private static func difference(
        _ one: WebHiddenCaller.Answer,
        _ other: WebHiddenCaller.Answer
    ) -> String {
        guard one.question == other.question else {
            return "after other questions: \(one.question), \(other.question)"
        }
        let place = zip(one.text, other.text).prefix { $0 == $1 }.count
        let around = { (text: String) in text.dropFirst(max(0, place - 100)).prefix(400) }
        return """
            \(one.question)
            --- at character \(place)
            \(around(one.text))
            --- and
            \(around(other.text))
            """
    }

    /// Also what makes a new endpoint fail that nobody thought of here.
    private func checkThatAllWasAsked(_ callers: [WebHiddenCaller]) {
        let asked = callers.reduce(into: Set<WebEndpoint>()) { $0.formUnion($1.asked) }
        let answered = callers.reduce(into: Set<WebEndpoint>()) { $0.formUnion($1.answered) }
        #expect(WebEndpoint.allCases.filter { !asked.contains($0) } == [])
        #expect(WebEndpoint.allCases.filter { !answered.contains($0) } == [])
    }
}
