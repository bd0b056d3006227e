// Metrics in the text form that Prometheus reads.
//
// Written for `/metrics` and for OPERATOR_METRICS. Names end in their unit, which is a base unit,
// and in `_total` where they only grow. Every family of a node is announced with HELP and TYPE,
// also while it has no sample: what a node can tell is known before it happens. It is written by
// hand: most values are read from the node when somebody asks, and a library's registry writes down
// only what was recorded in it.

/// A metric with all its label values at one moment.
package struct MetricFamily: Sendable {
    package enum Kind: String, Sendable {
        case counter
        case gauge
        case histogram
        case summary
    }

    package typealias Label = (name: String, value: String)

    package struct Sample: Sendable {
        /// `_bucket`, `_sum` or `_count` of a histogram or a summary.
        package fileprivate(set) var suffix = ""
        package fileprivate(set) var labels: [Label]
        package fileprivate(set) var value: Double
    }

    package let name: String
    package let kind: Kind
    package let help: String
    package private(set) var samples: [Sample] = []

    package init(_ name: String, _ kind: Kind, _ help: String) {
        self.name = name
        self.kind = kind
        self.help = help
    }

    /// A family with one sample, which has no labels.
    package init(_ name: String, _ kind: Kind, _ help: String, _ value: some BinaryInteger) {
        self.init(name, kind, help)
        add(Double(value))
    }

    package init(_ description: MetricDescription) {
        self.init(description.name, description.kind, description.help)
    }

    package mutating func add(_ value: Double, _ labels: Label...) {
        add(value, labels)
    }

    package mutating func add(_ value: Double, _ labels: [Label]) {
        samples.append(Sample(labels: labels, value: value))
    }

    /// Adds a summary, or the end of a histogram.
    package mutating func add(count: Int, sum: Double, _ labels: [Label]) {
        samples.append(Sample(suffix: "_sum", labels: labels, value: sum))
        samples.append(Sample(suffix: "_count", labels: labels, value: Double(count)))
    }

    /// Adds a histogram of times.
    ///
    /// - Parameters:
    ///   - bounds: Seconds, ascending.
    ///   - counts: How many times were at most as long as each bound and longer than the one
    ///     before; then those beyond all bounds.
    ///   - sum: Seconds.
    package mutating func add(
        bounds: [Double],
        counts: [Int],
        sum: Double,
        _ labels: [Label] = []
    ) {
        var count = 0
        for (index, more) in counts.enumerated() {
            count += more
            let bound = index < bounds.count ? MetricsText.number(bounds[index]) : "+Inf"
            samples.append(
                Sample(suffix: "_bucket", labels: labels + [("le", bound)], value: Double(count))
            )
        }
        add(count: count, sum: sum, labels)
    }
}

package enum MetricsText {
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// Among families with the same name only the first is written: Prometheus accepts a name once.
    package static func text(_ families: [MetricFamily]) -> String {
        var text = ""
        var names: Set<String> = []
        for family in families where names.insert(family.name).inserted {
            if !family.help.isEmpty {
                text += "# HELP \(family.name) \(escaped(family.help, quotes: false))\n"
            }
            text += "# TYPE \(family.name) \(family.kind.rawValue)\n"
            for sample in family.samples {
                text += family.name + sample.suffix
                if !sample.labels.isEmpty {
                    let labels = sample.labels.map { "\($0.name)=\"\(escaped($0.value))\"" }
                    text += "{" + labels.joined(separator: ",") + "}"
                }
                text += " \(number(sample.value))\n"
            }
        }
        return text
    }

    /// A whole number without a point.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        return Int(exactly: value).map(String.init) ?? "\(value)"
    }

    private static func escaped(_ text: String, quotes: Bool = true) -> String {
        var escaped = ""
        for character in text {
            switch character {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.append(character)
            }
        }
        return escaped
    }
}
