// `cumulus top`: its arguments, how it reads what a node tells, and what it makes of it.

import ArgumentParser
import CumulusModel
import CumulusTerminal
import Testing

@testable import CumulusCLI

@Suite struct TopTests {
    @Test func argumentsAreTaken() throws {
        let words = ["top", "--samples", "3", "--json", "--endpoint", "127.0.0.1:7421"]
        let command = try #require(try Main.parseAsRoot(words) as? TopCommand)
        #expect(command.samples == 3 && command.output.json)
        #expect(command.connection.nodes.endpoints == ["127.0.0.1:7421"])
    }

    @Test(arguments: [["--samples", "0"], ["--samples", "x"], ["--endpoint", "a:1,b:1"]])
    func argumentsAreRefused(words: [String]) throws {
        let error = #expect(throws: (any Error).self) { try Main.parseAsRoot(["top"] + words) }
        #expect(Main.exitCode(for: try #require(error)) == ExitCode(64))
    }

    // MARK: Reading

    private static let text = #"""
        # HELP a_total What a is.
        # TYPE a_total counter
        a_total{x="1",y="a\"b\\c\nd"} 3
        a_total{x="2",y=""} 0.5
        b_bytes -7
        c{le="+Inf"} 1e-05

        """#

    @Test func samplesAreRead() {
        let samples = MetricSamples(text: Self.text)
        #expect(samples.samples.count == 3)
        #expect(samples.sum("a_total") == 3.5)
        #expect(samples.sum("a_total", ["x": "2"]) == 0.5)
        #expect(samples.values(of: "y", in: "a_total") == ["a\"b\\c\nd", ""])
        #expect(samples.all("b_bytes") == [.init(labels: [:], value: -7)])
        #expect(samples.all("c", ["le": "+Inf"]).map(\.value) == [0.00001])
        #expect(samples.sum("nothing") == 0)
    }

    /// Cut off or changed anywhere, what can be read is read.
    @Test func damagedLinesAreSkipped() {
        let bytes = Array(Self.text.utf8)
        for count in bytes.indices {
            _ = MetricSamples(text: String(decoding: bytes.prefix(count), as: UTF8.self))
        }
        var dice = SeededGenerator(seed: 1)
        for _ in 0..<5_000 {
            var changed = bytes
            for _ in 0..<3 {
                let place = Int.random(in: changed.indices, using: &dice)
                changed[place] = UInt8.random(in: 0...255, using: &dice)
            }
            _ = MetricSamples(text: String(decoding: changed, as: UTF8.self))
        }
        for line in [
            "a{", "a{x", "a{x=", "a{x=\"", "a{x=\"1", "a{x=\"1\"", "a{x=\"1\"}", "a{x=\"1\"} ",
            "a{x=\"1\\", "a{,} 1", "{} 1", "a", "a x", " 1", "a{x=\"1\"}1",
        ] {
            #expect(MetricSamples(text: line + "\nb 1").samples.keys.sorted() == ["b"], "\(line)")
        }
    }

    // MARK: Figures

    private func samples(ok: Int, failed: Int, fast: Int, slow: Int) -> MetricSamples {
        let times = #"cumulus_call_duration_seconds_bucket{method="RECORDS_FETCH""#
        return MetricSamples(
            text: """
                cumulus_ready 1
                cumulus_build_info{version="1.2"} 1
                cumulus_calls_total{method="RECORDS_FETCH",code="ok"} \(ok)
                cumulus_calls_total{method="RECORDS_FETCH",code="zoneNotFound"} \(failed)
                cumulus_calls_total{method="ZONES_LIST",code="ok"} 9
                \(times),le="0.001"} \(fast)
                \(times),le="0.01"} \(fast + slow)
                \(times),le="+Inf"} \(fast + slow)
                cumulus_replication_lag_commits{peer="0a"} 7
                cumulus_replication_lag_seconds{peer="0a"} 2.5
                process_resident_memory_bytes 1500000

                """
        )
    }

    @Test func ratesAreBetweenTwoSamples() throws {
        let figures = TopFigures(
            from: samples(ok: 100, failed: 1, fast: 50, slow: 51),
            to: samples(ok: 300, failed: 3, fast: 150, slow: 153),
            seconds: 2
        )
        #expect(figures.isReady && figures.version == "1.2")
        #expect(figures.methods.map(\.name) == ["RECORDS_FETCH"])
        let method = try #require(figures.methods.first)
        #expect(method.callsPerSecond == 101 && method.errorsPerSecond == 1)
        // 100 of 202 took a millisecond at most, the others up to ten.
        let median = try #require(method.times.median)
        #expect(median > 0.001 && median < 0.0012)
        #expect(try #require(method.times.high) > 0.0098)
        #expect(
            figures.peers == [.init(node: "0a", lagCommits: 7, lagSeconds: 2.5, delaySeconds: nil)]
        )
        let json = try JSONReader.read(figures.json.text.utf8)
        #expect(json["version"] == .string("1.2"))
        #expect(json["residentBytes"] == .integer(1_500_000))
        let lines = TopScreen.lines(figures, of: "a:1")
        #expect(lines[0] == "a:1  ready  1.2  since 1970-01-01 00:00Z")
        #expect(lines.contains { $0.contains(/^memory +1\.5 MB/) })
        #expect(lines.contains { $0.hasPrefix("RECORDS_FETCH  101.0") })
        #expect(lines.last?.hasPrefix("0a      7      2.5 s") == true, "\(lines.last ?? "")")
    }

    // MARK: The screen

    /// A node that does much, for a cluster of so many members.
    private func busy(methods: Int, peers: Int) -> TopFigures {
        let nothing = MetricSamples(text: "")
        var figures = TopFigures(from: nothing, to: nothing, seconds: 1)
        (figures.version, figures.start) = ("10.11.12", 1_800_000_000)
        figures.methods = (0..<methods).map { number in
            .init(
                name: "OPERATOR_SET_SOMETHING_OF_A_LONG_NAME_\(number)",
                callsPerSecond: 123_456.7,
                errorsPerSecond: 123_456.7,
                times: .init(median: 0.99999, high: 12_345.6)
            )
        }
        figures.peers = (0..<peers).map { number in
            .init(
                node: "\(number)-0123456789abcdef0123456789abcdef",
                lagCommits: Double(number),
                lagSeconds: 123_456.7,
                delaySeconds: 123_456.7
            )
        }
        for count in [\TopFigures.connections, \.callsInProgress, \.followers] {
            figures[keyPath: count] = 123_456
        }
        for rate in [
            \TopFigures.notificationsPerSecond, \.changesPerSecond, \.receivedPerSecond,
            \.flushesPerSecond, \.waitingWrites, \.waitingReads, \.processors,
        ] {
            figures[keyPath: rate] = 999_999.9
        }
        for bytes in [
            \TopFigures.residentBytes, \.storeBytes, \.assetBytes, \.logBytes, \.freeBytes,
        ] {
            figures[keyPath: bytes] = 999_499_999_999
        }
        figures.flushes = .init(median: 0.99999, high: 999.9)
        figures.damagedRows = 7
        return figures
    }

    @Test(
        arguments: [(0, 0), (3, 2), (40, 2), (3, 30), (40, 30)],
        [(80, 24), (80, 12), (40, 10), (132, 60), (1, 1)]
    )
    func aScreenFitsIntoItsTerminal(content: (Int, Int), size: (Int, Int)) {
        let room = TopScreen.Room(columns: size.0, rows: size.1)
        let figures = busy(methods: content.0, peers: content.1)
        let lines = TopScreen.lines(figures, of: "node-1.cluster.example.org:7420", in: room)
        #expect(lines.count <= size.1)
        for line in lines { #expect(line.count <= size.0, "\(line)") }
        let waiting = TopScreen.waiting(for: "node-1.cluster.example.org:7420", in: room)
        #expect(waiting.count == 1 && waiting[0].count <= size.0)
    }

    /// 80 columns have room for all figures as they are usual, so nothing is cut off there.
    @Test func nothingIsCutOffAtTheUsualSize() {
        let room = TopScreen.Room(columns: 80, rows: 24)
        let figures = busy(methods: 40, peers: 30)
        let lines = TopScreen.lines(figures, of: "node-1.cluster.example.org:7420", in: room)
        #expect(lines.count == 24)
        #expect(lines.prefix(9).allSatisfy { !$0.contains("…") }, "\(lines)")
        // Both tables are there, and say what they leave out; the member that lacks most is first.
        #expect(lines.count { $0.hasPrefix("... and ") } == 2)
        let members = lines.drop { !$0.hasPrefix("MEMBER") }.dropFirst()
        #expect(members.first?.hasPrefix("29-") == true)
        let all = TopScreen.lines(figures, of: "a:1")
        #expect(all.count { $0.hasPrefix("OPERATOR_") } == 40)
        #expect(all.filter { $0.contains("0123456789abcdef") }.count == 30)
    }

    /// A node that was started anew counts from zero.
    @Test func aRestartMakesNoNegativeRate() {
        let figures = TopFigures(
            from: samples(ok: 1_000, failed: 10, fast: 500, slow: 510),
            to: samples(ok: 4, failed: 0, fast: 4, slow: 0),
            seconds: 1
        )
        #expect(figures.methods.map(\.callsPerSecond) == [4])
        #expect(figures.methods.map(\.errorsPerSecond) == [0])
    }

    @Test func quantilesLieBetweenBounds() {
        func quantile(_ share: Double, _ counts: [(Double, Double)]) -> Double? {
            Histogram(counts.map { .init(bound: $0.0, count: $0.1) }).quantile(share)
        }
        #expect(quantile(0.5, []) == nil)
        #expect(quantile(0.5, [(1, 0), (.infinity, 0)]) == nil)
        #expect(quantile(0.5, [(.infinity, 10), (1, 10)]) == 0.5)
        #expect(quantile(0.99, [(1, 0), (2, 10), (.infinity, 10)]) == 1.99)
        // Beyond the last bound nothing is known.
        #expect(quantile(0.99, [(1, 0), (2, 0), (.infinity, 10)]) == 2)
    }

    @Test func numbersAreShort() {
        #expect(TopScreen.time(nil) == "-")
        #expect(TopScreen.time(0.00123) == "1.23 ms")
        #expect(TopScreen.time(12.34) == "12.3 s")
    }
}
