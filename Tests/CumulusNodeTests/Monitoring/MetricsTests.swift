// The text that monitoring reads, and what a node says in it.

import Cumulus
import CumulusModel
import CumulusTesting
import CumulusWire
import Testing

@testable import CumulusNode

@Suite struct MetricsTests {
    // MARK: Text

    @Test func theTextIsThatOfPrometheus() {
        var odd = MetricFamily("a_total", .counter, "Back\\slash,\nline.")
        odd.add(3, ("x", "a\"b\\c\nd"), ("y", ""))
        odd.add(0.5)
        var times = MetricFamily("b_seconds", .histogram, "Times.")
        times.add(bounds: [0.001, 0.25, 10], counts: [1, 0, 2, 4], sum: 0.75, [("m", "x")])
        let none = MetricFamily("c_bytes", .gauge, "Nothing.")
        #expect(
            MetricsText.text([odd, times, none]) == #"""
                # HELP a_total Back\\slash,\nline.
                # TYPE a_total counter
                a_total{x="a\"b\\c\nd",y=""} 3
                a_total 0.5
                # HELP b_seconds Times.
                # TYPE b_seconds histogram
                b_seconds_bucket{m="x",le="0.001"} 1
                b_seconds_bucket{m="x",le="0.25"} 1
                b_seconds_bucket{m="x",le="10"} 3
                b_seconds_bucket{m="x",le="+Inf"} 7
                b_seconds_sum{m="x"} 0.75
                b_seconds_count{m="x"} 7
                # HELP c_bytes Nothing.
                # TYPE c_bytes gauge

                """#
        )
    }

    // MARK: A node

    /// The samples of a node's metrics, by name and labels.
    private func samples(_ admin: RawClient) throws -> [String: Double] {
        let text = try MetricsResponse(wire: admin.perform(.operatorMetrics)[0]).text
        return text.split(separator: "\n").reduce(into: [:]) { samples, line in
            guard !line.hasPrefix("#"), let space = line.lastIndex(of: " ") else { return }
            samples[String(line[..<space])] = Double(line[line.index(after: space)...])
        }
    }

    @Test func aNodeCountsWhatItDoes() async throws {
        try await withServer { server in
            let token = try await server.makeUser("ada")
            let admin = try RawClient.administering(server)
            let before = try samples(admin)
            let container = server.container(token: token)
            for name in ["a", "b"] {
                let id = Record.ID(recordName: name)
                try await container.privateCloudDatabase.save(Record(recordType: "N", recordID: id))
            }
            let stranger = try RawClient(greeting: server.endpoint, token: token)
            #expect(throws: (any Error).self) { try stranger.perform(.operatorStatus) }
            let after = try samples(admin)
            func growth(_ name: String) -> Double { (after[name] ?? 0) - (before[name] ?? 0) }
            #expect(growth(#"cumulus_calls_total{method="RECORDS_MODIFY",code="ok"}"#) == 2)
            let refused = #"cumulus_calls_total{method="OPERATOR_STATUS",code="permissionFailure"}"#
            #expect(growth(refused) == 1)
            let times = "cumulus_call_duration_seconds"
            #expect(growth(#"\#(times)_count{method="RECORDS_MODIFY"}"#) == 2)
            #expect(growth(#"\#(times)_bucket{method="RECORDS_MODIFY",le="+Inf"}"#) == 2)
            #expect(growth(#"\#(times)_sum{method="RECORDS_MODIFY"}"#) > 0)
            #expect(growth("cumulus_flushes_total") >= 2)
            #expect(growth("cumulus_flush_duration_seconds_count") >= 2)
            #expect(growth("cumulus_connections") >= 1)
            #expect(after["cumulus_ready"] == 1)
            #expect(after[#"cumulus_queue_length{queue="writer"}"#] == 0)
            #expect(after[#"cumulus_store_bytes{family="records"}"#] ?? 0 > 0)
            #expect(after["process_start_time_seconds"] ?? 0 > 0)
            await container.close()
        }
    }

    /// Every call that began is in progress or has ended, however it ended.
    @Test func noCallIsLost() async throws {
        try await withServer { server in
            let admin = try RawClient.administering(server)
            for _ in 0..<3 {
                let client = try RawClient(greeting: server.endpoint)
                #expect(throws: (any Error).self) { try client.perform(.zonesList) }
                client.close()
            }
            let samples = try samples(admin)
            let ended = samples.filter { $0.key.hasPrefix("cumulus_calls_total{") }
                .reduce(0) { $0 + $1.value }
            // This is the call that asks.
            #expect(samples["cumulus_calls_in_progress"] == 1)
            #expect(samples["cumulus_calls_started_total"] == ended + 1)
        }
    }
}
