// The metrics of a node at one moment, read from the text form of Prometheus.
//
// Made by `TopCommand` of what OPERATOR_METRICS answers. A line that can't be read is skipped: a
// later release may write something new.

struct MetricSamples: Equatable {
    struct Sample: Equatable {
        var labels: [String: String]
        var value: Double
    }

    /// Samples by name; a histogram's end in `_bucket`, `_sum` and `_count`.
    private(set) var samples: [String: [Sample]] = [:]

    init(text: String) {
        for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
            guard line.first != UInt8(ascii: "#"), let (name, sample) = MetricSamples.sample(line)
            else { continue }
            samples[name, default: []].append(sample)
        }
    }

    /// The samples of a metric whose labels have these values.
    func all(_ name: String, _ labels: [String: String] = [:]) -> [Sample] {
        (samples[name] ?? []).filter { sample in
            labels.allSatisfy { sample.labels[$0.key] == $0.value }
        }
    }

    /// The sum of those; 0 if there are none.
    func sum(_ name: String, _ labels: [String: String] = [:]) -> Double {
        all(name, labels).reduce(0) { $0 + $1.value }
    }

    /// The values that a label has.
    func values(of label: String, in name: String) -> Set<String> {
        Set((samples[name] ?? []).compactMap { $0.labels[label] })
    }

    // MARK: Reading

    private static func sample(_ line: Substring.UTF8View) -> (String, Sample)? {
        var rest = line[...]
        let name = rest.prefix { $0 != UInt8(ascii: "{") && $0 != UInt8(ascii: " ") }
        guard !name.isEmpty else { return nil }
        rest = rest[name.endIndex...]
        var labels: [String: String] = [:]
        if rest.first == UInt8(ascii: "{") {
            rest = rest.dropFirst()
            while rest.first != UInt8(ascii: "}") {
                guard let (label, value) = label(&rest) else { return nil }
                labels[label] = value
                if rest.first == UInt8(ascii: ",") { rest = rest.dropFirst() }
            }
            rest = rest.dropFirst()
        }
        guard rest.first == UInt8(ascii: " "),
            let value = Double(String(decoding: rest.dropFirst(), as: UTF8.self))
        else { return nil }
        return (String(decoding: name, as: UTF8.self), Sample(labels: labels, value: value))
    }

    /// Takes `name="value"` off the front.
    private static func label(_ rest: inout Substring.UTF8View) -> (String, String)? {
        let name = rest.prefix { $0 != UInt8(ascii: "=") }
        rest = rest[name.endIndex...].dropFirst()
        guard !name.isEmpty, rest.popFirst() == UInt8(ascii: "\"") else { return nil }
        var value: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""):
                return (
                    String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self)
                )
            case UInt8(ascii: "\\"):
                guard let escaped = rest.popFirst() else { return nil }
                value.append(escaped == UInt8(ascii: "n") ? UInt8(ascii: "\n") : escaped)
            default: value.append(byte)
            }
        }
        return nil
    }
}
