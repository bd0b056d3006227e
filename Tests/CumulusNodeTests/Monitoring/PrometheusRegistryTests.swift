// Metrics of swift-metrics, from their handles to the text that Prometheus reads.

import CoreMetrics
import CumulusModel
import CumulusWire
import Testing

@testable import CumulusNode

@Suite struct PrometheusRegistryTests {
    private let registry = PrometheusRegistry()

    private var text: String { MetricsText.text(registry.families) }

    private var lines: Set<String> { Set(text.split(separator: "\n").map { String($0) }) }

    @Test func aTimeFallsIntoTheBucketOfItsBound() {
        let bounds: [UInt64] = [1_000_000, 250_000_000]
        let described = MetricDescription("a_seconds", .histogram, "Times.", bounds: bounds)
        let registry = PrometheusRegistry([described])
        let timer = Timer(label: "a_seconds", factory: registry)
        for time in [0, -5, 1_000_000, 1_000_001, 250_000_000, 250_000_001] as [Int64] {
            timer.recordNanoseconds(time)
        }
        #expect(
            MetricsText.text(registry.families) == """
                # HELP a_seconds Times.
                # TYPE a_seconds histogram
                a_seconds_bucket{le="0.001"} 3
                a_seconds_bucket{le="0.25"} 5
                a_seconds_bucket{le="+Inf"} 6
                a_seconds_sum 0.502000002
                a_seconds_count 6

                """
        )
    }

    @Test func theUsualBucketsReachFromMemoryToDeadlines() {
        Timer(label: "b", factory: registry).recordNanoseconds(10_000_000_001)
        #expect(lines.contains(#"b_seconds_bucket{le="0.0001"} 0"#))
        #expect(lines.contains(#"b_seconds_bucket{le="10"} 0"#))
        #expect(lines.contains(#"b_seconds_bucket{le="+Inf"} 1"#))
    }

    /// Each kind that swift-metrics has, under the names that libraries give.
    @Test func everyKindIsWrittenDown() {
        Counter(label: "http.requests", factory: registry).increment(by: 3)
        FloatingPointCounter(label: "joules", factory: registry).increment(by: 2.75)
        Gauge(label: "9 lives", factory: registry).record(7.5)
        Gauge(label: "odd", factory: registry).record(Double.nan)
        let meter = Meter(label: "room", factory: registry)
        meter.set(4)
        meter.increment(by: 1.5)
        meter.decrement(by: 0.5)
        let sizes = Recorder(label: "sizes", factory: registry)
        sizes.record(100)
        sizes.record(0.5)
        #expect(
            text == """
                # TYPE _9_lives gauge
                _9_lives 7.5
                # TYPE http_requests_total counter
                http_requests_total 3
                # TYPE joules_total counter
                joules_total 2
                # TYPE odd gauge
                odd NaN
                # TYPE room gauge
                room 5
                # TYPE sizes summary
                sizes_sum 100.5
                sizes_count 2

                """
        )
    }

    @Test func labelsAreWrittenAsPrometheusTakesThem() {
        let dimensions = [("content-type", "a\"b\\c\nd"), ("le", "x"), ("content.type", "twice")]
        Timer(label: "t", dimensions: dimensions, factory: registry).recordNanoseconds(1)
        Counter(label: "c", dimensions: [("8", "")], factory: registry).increment()
        #expect(lines.contains(#"t_seconds_count{content_type="a\"b\\c\nd",le_="x"} 1"#))
        let last = #"t_seconds_bucket{content_type="a\"b\\c\nd",le_="x",le="+Inf"} 1"#
        #expect(lines.contains(last))
        #expect(lines.contains(#"c_total{_8=""} 1"#))
    }

    @Test func seriesAreSorted() {
        for value in ["c", "a", "b"] {
            Counter(label: "n", dimensions: [("x", value)], factory: registry).increment()
        }
        let values = registry.families[0].samples.map { $0.labels[0].value }
        #expect(values == ["a", "b", "c"])
    }

    @Test func aMetricThatIsMadeTwiceIsOne() {
        let labels = [("x", "1"), ("y", "2")]
        Counter(label: "n", dimensions: labels, factory: registry).increment()
        Counter(label: "n_total", dimensions: labels.reversed(), factory: registry).increment()
        Counter(label: "n", dimensions: [("x", "2"), ("y", "1")], factory: registry).increment()
        #expect(
            text == """
                # TYPE n_total counter
                n_total{x="1",y="2"} 2
                n_total{x="2",y="1"} 1

                """
        )
    }

    /// Prometheus takes no text that has two types for a name.
    @Test func aNameHasOneKind() {
        Counter(label: "n", factory: registry).increment()
        Gauge(label: "n_total", factory: registry).record(9)
        #expect(text == "# TYPE n_total counter\nn_total 1\n")
        let again = MetricFamily("n_total", .gauge, "Another.", 5)
        #expect(MetricsText.text(registry.families + [again]) == text)
    }

    @Test func whatIsDestroyedIsNotShown() {
        let (counter, timer) = (
            Counter(label: "a", factory: registry), Timer(label: "b", factory: registry)
        )
        let (gauge, meter) = (
            Gauge(label: "c", factory: registry), Meter(label: "d", factory: registry)
        )
        let kept = Counter(label: "kept", factory: registry)
        #expect(registry.families.count == 5)
        counter.destroy()
        timer.destroy()
        gauge.destroy()
        meter.destroy()
        kept.increment()
        #expect(text == "# TYPE kept_total counter\nkept_total 1\n")
        kept.reset()
        #expect(lines.contains("kept_total 0"))
    }

    @Test func threadsLoseNothing() async {
        let registry = registry
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let counter = Counter(label: "n", factory: registry)
                    let timer = Timer(label: "t", factory: registry)
                    let meter = Meter(label: "m", factory: registry)
                    for _ in 0..<10_000 {
                        counter.increment(by: 2)
                        timer.recordNanoseconds(1_000)
                        meter.increment(by: 0.5)
                    }
                }
            }
        }
        #expect(lines.contains("n_total 80000"))
        #expect(lines.contains("t_seconds_count 40000"))
        #expect(lines.contains("t_seconds_sum 0.04"))
        #expect(lines.contains("m 20000"))
    }

    // MARK: A node's events

    /// An embedder's factory is told what the node counts, and the node still reads its own counts.
    @Test func anEmbedderIsToldEvents() {
        let meter = NodeMeter(telling: registry)
        meter.commits.add(2)
        meter.flushTimes.recordNanoseconds(5_000)
        meter.endedCalls.note(.recordsFetch, .zoneNotFound, nanoseconds: 7_000)
        #expect(meter.commits.value == 2)
        for families in [registry.families, meter.registry.families] {
            let lines = MetricsText.text(families).split(separator: "\n")
            #expect(lines.contains("cumulus_commits_total 2"))
            #expect(lines.contains("cumulus_flush_duration_seconds_count 1"))
            let call = #"cumulus_calls_total{method="RECORDS_FETCH",code="zoneNotFound"} 1"#
            #expect(lines.contains { $0 == call })
        }
    }

    @Test func threadsLoseNoCall() async {
        let meter = CallMeter(registry)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for number in 0..<10_000 {
                        meter.note(
                            .recordsFetch,
                            number % 10 == 0 ? .zoneNotFound : nil,
                            nanoseconds: 1_000
                        )
                    }
                }
            }
        }
        let name = #"cumulus_calls_total{method="RECORDS_FETCH""#
        #expect(lines.contains(#"\#(name),code="ok"} 36000"#))
        #expect(lines.contains(#"\#(name),code="zoneNotFound"} 4000"#))
        let times = "cumulus_call_duration_seconds"
        #expect(lines.contains(#"\#(times)_count{method="RECORDS_FETCH"} 40000"#))
        #expect(lines.contains(#"\#(times)_sum{method="RECORDS_FETCH"} 0.04"#))
    }

    @Test func methodsAreToldApart() {
        let meter = CallMeter(registry)
        meter.note(.sharingStop, nil, nanoseconds: 5)
        meter.note(.recordsFetch, nil, nanoseconds: 7)
        // An unknown method never begins; how long a followed stream goes on says nothing.
        meter.note(nil, .invalidArguments, nanoseconds: nil)
        meter.note(.feedsFollow, .operationCancelled, nanoseconds: nil)
        let counted = lines.filter { $0.hasPrefix("cumulus_calls_total") }
        #expect(
            counted == [
                #"cumulus_calls_total{method="FEEDS_FOLLOW",code="operationCancelled"} 1"#,
                #"cumulus_calls_total{method="RECORDS_FETCH",code="ok"} 1"#,
                #"cumulus_calls_total{method="SHARING_STOP",code="ok"} 1"#,
                #"cumulus_calls_total{method="unknown",code="invalidArguments"} 1"#,
            ]
        )
        let timed = lines.filter { $0.hasPrefix("cumulus_call_duration_seconds_count") }
        #expect(timed.count == 2)
    }
}
