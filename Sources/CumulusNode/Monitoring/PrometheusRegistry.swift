// Metrics that are recorded with swift-metrics, as families that `MetricsText` writes down.
//
// `NodeMeter`, `WebMeter` and `WebhookMeter` have one each; `cumulusd` has one more, for what its
// libraries record. Making a handle takes a lock, so its user makes it once and keeps it; recording
// takes no lock. A metric that is made twice is the same one. It is written by hand, like
// `MetricsText`: a library's registry gives out a text of its own, not families to write beside
// others.

package import CoreMetrics
import Synchronization

/// The description of a metric before it is made.
package struct MetricDescription: Sendable {
    package let name: String
    package let kind: MetricFamily.Kind
    package let help: String
    /// Bounds of a histogram in nanoseconds, ascending.
    package let bounds: [UInt64]

    package init(
        _ name: String,
        _ kind: MetricFamily.Kind,
        _ help: String,
        bounds: [UInt64] = MetricDescription.usualBounds
    ) {
        self.name = name
        self.kind = kind
        self.help = help
        self.bounds = bounds
    }

    /// Two or three for each power of ten: from a read that is in memory to a call that is near its
    /// deadline.
    package static let usualBounds: [UInt64] = [
        100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000,
        50_000_000, 100_000_000, 250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000,
        10_000_000_000,
    ]
}

package final class PrometheusRegistry: MetricsFactory {
    private struct Series {
        let labels: [MetricFamily.Label]
        let cell: any MetricCell
    }

    private struct Family {
        let description: MetricDescription
        /// Series by the names and values of their labels, sorted by name.
        var series: [[String]: Series] = [:]
    }

    /// They are announced also while nothing was recorded, in this order.
    private let described: [MetricDescription]
    private let made: Mutex<[String: Family]>

    package init(_ described: [MetricDescription] = []) {
        self.described = described
        made = Mutex(
            Dictionary(uniqueKeysWithValues: described.map { ($0.name, Family(description: $0)) })
        )
    }

    /// A factory that records here, and in another factory if there is one.
    package func and(_ other: (any MetricsFactory)?) -> any MetricsFactory {
        guard let other else { return self }
        return MultiplexMetricsHandler(factories: [self, other])
    }

    // MARK: Making

    package func makeCounter(
        label: String,
        dimensions: [(String, String)]
    ) -> any CounterHandler {
        count(label, dimensions)
    }

    /// The count of a series, which its maker can read, too.
    func count(_ label: String, _ dimensions: [(String, String)] = []) -> CountCell {
        cell(label, "_total", .counter, dimensions) { _ in CountCell() }
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        cell(label, "", .gauge, dimensions) { _ in GaugeCell() }
    }

    package func makeRecorder(
        label: String,
        dimensions: [(String, String)],
        aggregate: Bool
    ) -> any RecorderHandler {
        guard aggregate else { return cell(label, "", .gauge, dimensions) { _ in GaugeCell() } }
        return cell(label, "", .summary, dimensions) { _ in SummaryCell() }
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        cell(label, "_seconds", .histogram, dimensions) { TimesCell(bounds: $0.bounds) }
    }

    private func cell<Cell: MetricCell>(
        _ label: String,
        _ suffix: String,
        _ kind: MetricFamily.Kind,
        _ dimensions: [(String, String)],
        make: (MetricDescription) -> Cell
    ) -> Cell {
        var name = PrometheusRegistry.word(label)
        if !name.hasSuffix(suffix) { name += suffix }
        let labels = PrometheusRegistry.labels(dimensions)
        let key = labels.sorted { $0.name < $1.name }.flatMap { [$0.name, $0.value] }
        return made.withLock { families in
            var family =
                families[name] ?? Family(description: MetricDescription(name, kind, ""))
            if let cell = family.series[key]?.cell as? Cell { return cell }
            let cell = make(family.description)
            // A name has one kind. A handle of another kind records, but is not shown.
            guard family.description.kind == kind else { return cell }
            family.series[key] = Series(labels: labels, cell: cell)
            families[name] = family
            return cell
        }
    }

    // MARK: Removing

    package func destroyCounter(_ handler: any CounterHandler) { remove(handler) }

    package func destroyMeter(_ handler: any MeterHandler) { remove(handler) }

    package func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }

    package func destroyTimer(_ handler: any TimerHandler) { remove(handler) }

    private func remove(_ handler: AnyObject) {
        let id = ObjectIdentifier(handler)
        made.withLock { families in
            for (name, family) in families {
                let found = family.series.first { ObjectIdentifier($0.value.cell) == id }
                if let found { families[name]?.series[found.key] = nil }
            }
        }
    }

    // MARK: Reading

    /// The recorded metrics: described ones first, then the others by name.
    package var families: [MetricFamily] {
        let all = made.withLock { $0 }
        let names = Set(described.map(\.name))
        let others = all.values.filter {
            !names.contains($0.description.name) && !$0.series.isEmpty
        }
        .sorted { $0.description.name < $1.description.name }
        return (described.compactMap { all[$0.name] } + others).map { family in
            var shown = MetricFamily(family.description)
            for (_, series) in family.series.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }
            ) {
                series.cell.write(to: &shown, series.labels)
            }
            return shown
        }
    }

    // MARK: Names

    /// Labels as Prometheus takes them; of several with one name the first counts.
    private static func labels(_ dimensions: [(String, String)]) -> [MetricFamily.Label] {
        var labels: [MetricFamily.Label] = []
        for (name, value) in dimensions {
            var name = word(name).replacing(":", with: "_")
            // A histogram's own label, and a summary's.
            if name == "le" || name == "quantile" { name += "_" }
            if !labels.contains(where: { $0.name == name }) { labels.append((name, value)) }
        }
        return labels
    }

    /// A name of letters, digits, `_` and `:` that does not begin with a digit.
    private static func word(_ text: String) -> String {
        let bytes = text.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: ":"):
                byte
            default: UInt8(ascii: "_")
            }
        }
        let word = String(decoding: bytes, as: UTF8.self)
        return word.first.map { $0.isNumber } ?? true ? "_" + word : word
    }
}
