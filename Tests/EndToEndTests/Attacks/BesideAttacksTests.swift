// A well-behaved user, health checks and an operator beside attacks on a node: beside each attack
// alone, and beside all of them at once. They are answered, and the attacks stop no node.
//
// The gate runs all attacks at once for a moment. `cluster/chaos attacks` runs each of them for ten
// seconds, and all at once for a minute. Both print how long the user's calls took, beside the time
// without an attack.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.serialized, .timeLimit(.minutes(60))) struct BesideAttacksTests {
    private let folder: TestFolder
    private let isLong = Chaos.attackSeconds != nil
    /// The seconds of each round without an attack, or with one.
    private let seconds = Chaos.attackSeconds.map(Double.init) ?? 1
    /// The seconds beside all attacks: in the long form six times as many as beside each.
    private let secondsOfAll = Chaos.attackSeconds.map { 6 * Double($0) } ?? 3

    init() throws { folder = try TestFolder() }

    /// Takes more than five seconds: 14,000 records are saved first, and then the node is attacked
    /// for long enough that each of the attacks comes up to speed.
    @Test func aUserIsServedBesideAttacks() async throws {
        let node = try await startNode()
        let stage = try await Stage(node)
        print("attacks: | beside | fetch p50, p99 ms | query | save | calls of the attack |")
        let quiet = try await round("no attack", [], for: seconds, stage)
        report("no attack", quiet, quiet: quiet.user)
        if isLong {
            for attack in Attack.allCases { try await measure(attack, quiet.user, stage) }
        }
        let all = try await round("all at once", Attack.allCases, for: secondsOfAll, stage)
        report("all at once", all, quiet: quiet.user)
        #expect(node.ending == nil)
        try await #expect(node.end(SIGTERM) == .exit(0))
        try expectOperatorsAct()
    }

    /// A node with the limits per caller that `cumulusd` has by itself, and a small audit log.
    private func startNode() async throws -> NodeProcess {
        let limits = CallerLimits.standard
        return try await NodeProcess.ready(
            data: folder.node,
            arguments: [
                "--http", "127.0.0.1:0", "--audit-megabytes", "1",
                "--calls-per-second", "\(limits.callsPerSecond)",
                "--calls-burst", "\(limits.callsBurst)",
                "--bytes-per-second", "\(limits.bytesPerSecond)",
                "--calls-at-once", "\(limits.callsAtOnce)",
            ]
        )
    }

    // MARK: Rounds

    /// The node, its users, and what they have saved.
    private struct Stage {
        let node: NodeProcess
        let webEndpoint: String
        let user: MeasuredUser
        private(set) var targets: [Attack: Attack.Target] = [:]

        init(_ node: NodeProcess) async throws {
            self.node = node
            let endpoint = try node.endpoint
            webEndpoint = try await node.httpEndpoint()
            user = MeasuredUser(endpoint, try await node.makeToken(of: "ada"))
            try user.prepare()
            let other = try await node.makeToken(of: "other")
            for (number, attack) in Attack.allCases.enumerated() {
                let target = Attack.Target(
                    endpoint: endpoint,
                    webEndpoint: webEndpoint,
                    token: try await node.makeToken(of: "eve\(number)"),
                    otherToken: other
                )
                try attack.prepare(target)
                targets[attack] = target
            }
        }

        func begin(_ attack: Attack) -> AttackRun? { targets[attack].map(attack.begin) }
    }

    /// What happened in a round.
    private struct Outcome {
        var user: MeasuredUser.Round
        var attack: AttackRun.Counts
    }

    /// Lets the user, health checks and an operator call beside some attacks.
    private func round(
        _ name: String,
        _ attacks: [Attack],
        for seconds: Double,
        _ stage: Stage
    ) async throws -> Outcome {
        let runs = attacks.compactMap(stage.begin)
        async let user = stage.user.calls(for: seconds, name)
        async let badHealth = Self.badHealth(stage.webEndpoint, for: seconds)
        let refused = await failure { try await askAsOperator(stage, after: seconds / 2) }
        let (calls, bad) = await (user, badHealth)
        let counts = AttackRun.end(runs)
        #expect(refused == nil, "an operator beside \(name)")
        #expect(bad == [], "health checks beside \(name)")
        expectService(calls, beside: name)
        return Outcome(user: calls, attack: counts)
    }

    /// Measures beside one attack and expects what a user may want of the node then.
    ///
    /// A call takes at most ten times as long as without it. Within 0.1 s nobody is held up, and a
    /// machine with two processors, which the attackers share with the node, does not keep to less.
    private func measure(
        _ attack: Attack,
        _ quiet: MeasuredUser.Round,
        _ stage: Stage
    ) async throws {
        let name = attack.rawValue
        let outcome = try await round(name, [attack], for: seconds, stage)
        report(name, outcome, quiet: quiet)
        for call in MeasuredUser.Call.allCases {
            let most = max(10 * quiet.p99(call), 0.1)
            #expect(outcome.user.p99(call) <= most, "\(call) beside \(name)")
        }
        // What the node has begun for the attackers is no part of the next round.
        try await Task.sleep(for: .seconds(1))
    }

    // MARK: What must hold

    /// Each call was answered without an error, and none took long.
    ///
    /// Two seconds are far above what is measured, so that a busy machine fails no test. A minute
    /// is long enough to meet other work of the machine: there five seconds are allowed.
    private func expectService(_ calls: MeasuredUser.Round, beside name: String) {
        #expect(calls.failures == [], "beside \(name)")
        #expect(calls.fewest > 0, "beside \(name)")
        #expect(calls.slowest < (isLong ? 5 : 2), "beside \(name)")
    }

    /// What /livez and /readyz answered other than 200, asked five times a second.
    private static func badHealth(_ endpoint: String, for seconds: Double) async -> [String] {
        await onThread {
            var bad: [String] = []
            let end = Date().addingTimeInterval(seconds)
            while Date() < end {
                for path in ["/livez", "/readyz"] {
                    let answer = try? exchange(endpoint, "GET \(path)")
                    if answer?.hasPrefix("HTTP/1.1 200") != true {
                        bad.append("\(path): \(answer?.prefix(200) ?? "no answer")")
                    }
                }
                Thread.sleep(forTimeInterval: 0.2)
            }
            return bad
        }
    }

    /// An operator signs in at the console, and asks for the node's status and the schema.
    private func askAsOperator(_ stage: Stage, after seconds: Double) async throws {
        try await Task.sleep(for: .seconds(seconds))
        let token = try stage.node.operatorToken
        let page = await onThread { [endpoint = stage.webEndpoint] in
            try? Self.exchange(
                endpoint,
                "POST /console/api/session",
                ["Sec-Fetch-Site: same-origin"],
                #"{"token": "\#(token)"}"#
            )
        }
        #expect(page?.hasPrefix("HTTP/1.1 200") == true, "\(page ?? "no answer")")
        let admin = NodeOperator(endpoint: try stage.node.endpoint, token: token)
        _ = try await admin.status()
        let schema = try await admin.schema(of: NodeProcess.container, .development)
        #expect(schema.contains("RECORD TYPE Note"))
        await admin.close()
    }

    /// Why something failed; nil if it didn't.
    private func failure(_ body: () async throws -> Void) async -> String? {
        do {
            try await body()
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// What strangers were refused has pushed no act of an operator out of the audit log.
    private func expectOperatorsAct() throws {
        let lines = ["audit.log.1", "audit.log"].map {
            (try? String(contentsOfFile: "\(folder.node)/\($0)", encoding: .utf8)) ?? ""
        }.joined().split(separator: "\n")
        #expect(lines.contains { $0.contains("OPERATOR_ADD_USER") && $0.contains("ada") })
    }

    private static func exchange(
        _ endpoint: String,
        _ line: String,
        _ headers: [String] = [],
        _ body: String = ""
    ) throws -> String {
        let usual = ["Host: \(endpoint)", "Connection: close"]
        let length = ["Content-Length: \(body.utf8.count)"]
        let head = ["\(line) HTTP/1.1"] + usual + length + headers
        let text = head.joined(separator: "\r\n")
        return try RawClient.exchange(endpoint, "\(text)\r\n\r\n\(body)")
    }

    // MARK: The report

    /// Prints a row of the table in the article FaultTests.
    private func report(_ name: String, _ outcome: Outcome, quiet: MeasuredUser.Round) {
        let cells = MeasuredUser.Call.allCases.map { call in
            let median = outcome.user.percentile(0.5, of: call)
            let p99 = outcome.user.p99(call)
            let ratio = Self.text(p99 / quiet.p99(call), 1)
            return "\(Self.text(1_000 * median, 2)), \(Self.text(1_000 * p99, 2)) (\(ratio))"
        }
        let counts = outcome.attack
        print(
            """
            attacks: | \(name) | \(cells.joined(separator: " | ")) | \(counts.answered) answered, \
            \(counts.refused) refused, \(counts.broken) broken |
            """
        )
    }

    private static func text(_ number: Double, _ digits: Int) -> String {
        String(format: "%.\(digits)f", number)
    }
}
