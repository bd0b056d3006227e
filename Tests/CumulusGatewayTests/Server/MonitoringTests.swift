// The dashboard and the article name the metrics that a node has, and no others. What libraries
// record stands beside them.

import CoreMetrics
import CumulusGateway
import CumulusNode
import CumulusTesting
import Foundation
import Testing

@Suite struct MonitoringTests {
    /// What `/metrics` announces: names with their types.
    private func announced() async throws -> [String: String] {
        let server = try await TestServer()
        let web =
            WebMeter().metrics + WebhookMeter().metrics(now: 0) + PushMeter().metrics(now: 0)
        let text = await server.node.metricsText() + MetricsText.text(web)
        try await server.stop()
        let lines = text.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }
        return Dictionary(
            uniqueKeysWithValues: lines.map { line in
                let words = line.split(separator: " ").map(String.init)
                return (words[2], words[3])
            }
        )
    }

    /// A library knows only the factory of its process.
    @Test func whatALibraryCountsIsShown() async throws {
        let server = try await TestServer()
        let libraries = PrometheusRegistry()
        let counter = withMetricsFactory(libraries) { Counter(label: "library.retries") }
        counter.increment(by: 3)
        // It would hide nothing of the node.
        withMetricsFactory(libraries) { Gauge(label: "cumulus_ready") }.record(9)
        let pages = OperatorPages(server.node, WebMeter(), libraries: libraries)
        let told = await pages.answer("GET", "/metrics", isLoopback: true, isOwnHost: true)
        let answer = try #require(told)
        let text = String(decoding: answer.body, as: UTF8.self)
        #expect(text.contains("\n# TYPE library_retries_total counter\nlibrary_retries_total 3\n"))
        #expect(text.contains("\ncumulus_ready 1\n"))
        #expect(!text.contains("cumulus_ready 9"))
        try await server.stop()
    }

    /// What a new node waits for names its peers.
    @Test func onlyThisMachineIsToldWhatANewNodeWaitsFor() async throws {
        let key = [UInt8](repeating: 0x5B, count: 32)
        let server = try await TestServer(clusterKey: key, joins: true)
        server.node.expectPeers(["127.0.0.1:1"])
        let pages = OperatorPages(server.node, WebMeter())
        for (isLoopback, isOwnHost) in [(true, true), (true, false), (false, true)] {
            let told = await pages.answer(
                "GET",
                "/readyz",
                isLoopback: isLoopback,
                isOwnHost: isOwnHost
            )
            let answer = try #require(told)
            let text = String(decoding: answer.body, as: UTF8.self)
            #expect(answer.status == 503)
            #expect(text.hasPrefix("joining"))
            #expect(text.contains("127.0.0.1:1") == (isLoopback && isOwnHost), "\(text)")
        }
        try await server.stop()
    }

    @Test func namesAreByTheConventions() async throws {
        for (name, type) in try await announced() {
            #expect(name.hasPrefix("cumulus_") || name.hasPrefix("process_"), "\(name)")
            #expect(name.hasSuffix("_total") == (type == "counter"), "\(name) is a \(type)")
            for unit in ["millis", "micro", "kilo", "percent", "minutes"] {
                #expect(!name.contains(unit), "\(name) is not in a base unit")
            }
        }
    }

    private struct Dashboard: Decodable {
        struct Panel: Decodable {
            struct Target: Decodable { var expr: String }

            var title: String
            var targets: [Target]
        }

        var panels: [Panel]
    }

    @Test func theDashboardAsksForMetricsThatExist() async throws {
        let announced = try await announced()
        let file = try Data(contentsOf: Checkout.file("cluster/grafana.json"))
        let dashboard = try JSONDecoder().decode(Dashboard.self, from: file)
        var asked: Set<String> = []
        for panel in dashboard.panels {
            for target in panel.targets {
                let names = target.expr.matches(of: /\b(?:cumulus|process)_[a-z_]+\b/)
                    .map { String($0.output) }
                #expect(!names.isEmpty, "\(panel.title): \(target.expr)")
                for name in names {
                    let isPart = name.hasSuffix("_bucket")
                    let family = isPart ? String(name.dropLast("_bucket".count)) : name
                    let type = announced[family]
                    let isRight = type != nil && isPart == (type == "histogram")
                    #expect(isRight, "\(panel.title): \(name)")
                    // What only grows is shown as a rate.
                    let isRate = target.expr.contains("rate(") || target.expr.contains("increase(")
                    #expect(type != "counter" || isRate, "\(panel.title): \(name)")
                    asked.insert(family)
                }
            }
        }
        #expect(Set(announced.keys).subtracting(asked) == [], "the dashboard does not show them")
    }

    /// Prometheus' rules: each has a cause that the node tells, and says what to do.
    @Test func theAlertsAskForMetricsThatExist() async throws {
        let announced = try await announced()
        let file = Checkout.file("cluster/alerts.yml")
        let text = try String(contentsOf: file, encoding: .utf8)
        let rules = text.split(separator: "- alert: ").dropFirst()
        #expect(rules.count >= 10)
        for rule in rules {
            let title = rule.prefix { !$0.isNewline }
            let start = try #require(rule.firstRange(of: "expr:"), "\(title)").upperBound
            let end = try #require(rule.firstRange(of: "labels:"), "\(title)").lowerBound
            let cause = rule[start..<end]
            let names = cause.matches(of: /\b(?:cumulus|process)_[a-z_]+\b/)
                .map { String($0.output) }
            // Prometheus itself says whether a target is up.
            #expect(!names.isEmpty || cause.contains("up{job=\"cumulus\"}"), "\(title)")
            for name in names {
                let type = try #require(announced[name], "\(title): \(name)")
                let isRate = cause.contains("rate(") || cause.contains("increase(")
                #expect(type != "counter" || isRate, "\(title): \(name)")
            }
            for part in ["severity: ", "summary: ", "description: "] {
                #expect(rule.contains(part), "\(title) has no \(part)")
            }
        }
    }

    /// The end of a certificate stands there only if the node shows one.
    @Test func theCertificatesEndIsTold() async throws {
        let server = try await TestServer()
        let name = "\ncumulus_certificate_end_time_seconds"
        #expect(await !server.node.metricsText().contains(name))
        try await server.stop()
    }

    @Test func theArticleListsEveryMetric() async throws {
        let path = "Sources/CumulusGateway/CumulusGateway.docc/Monitoring.md"
        let article = try String(contentsOf: Checkout.file(path), encoding: .utf8)
        let rows = article.matches(of: /\| `([a-z_]+)` \| ([a-z]+) \|/)
        let listed = rows.map { (String($0.output.1), String($0.output.2)) }
        let announced = try await announced()
        #expect(Dictionary(listed) { first, _ in first } == announced)
        #expect(listed.count == announced.count)
    }
}
