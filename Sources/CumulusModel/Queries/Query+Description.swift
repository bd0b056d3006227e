// Predicates as text: what the format language says for a postfix list.
//
// It is for logs and `--explain`. The initialisers read it back.

extension Query.Predicate: CustomStringConvertible {
    /// The predicate in the format language, with its values as literals.
    ///
    /// A predicate that was made from a format gives a text from which the same predicate is made
    /// again, unless it nests deeper or is longer than a format may. This also holds for a
    /// predicate made with operators if a format can express it: not NaN, an asset, or a moment
    /// outside of the years 1 to 9999. The text of any other predicate only describes it.
    public var format: String {
        guard isWellFormed else { return "a malformed predicate of \(nodes.count) nodes" }
        var writer = PredicateWriter(nodes: nodes)
        return writer.text()
    }

    /// The predicate in the format language.
    public var description: String { format }
}

/// Writes a well-formed postfix list from its end to its beginning.
///
/// Read backwards, an operator comes before its operands, so that neither recursion nor more than
/// one copy of the text is needed.
private struct PredicateWriter {
    /// The steps that remain, the rightmost last.
    private enum Step {
        case text(String)
        /// The predicate that ends at the next node.
        case operand(of: Query.Node?, isRight: Bool)
    }

    private let nodes: [Query.Node]
    private var index: Int
    private var steps: [Step] = [.operand(of: nil, isRight: false)]
    /// The pieces from the right to the left.
    private var pieces: [String] = []

    init(nodes: [Query.Node]) {
        self.nodes = nodes
        index = nodes.count - 1
    }

    mutating func text() -> String {
        while let step = steps.popLast() {
            switch step {
            case .text(let text): pieces.append(text)
            case .operand(let parent, let isRight): operand(of: parent, isRight: isRight)
            }
        }
        return pieces.reversed().joined()
    }

    private mutating func operand(of parent: Query.Node?, isRight: Bool) {
        let node = nodes[index]
        index -= 1
        switch node {
        case .constant(let value): pieces.append(value ? "TRUEPREDICATE" : "FALSEPREDICATE")
        case .comparison(let comparison): pieces.append(comparison.format)
        case .not: negation()
        case .and, .or:
            let isEnclosed = node.needsParentheses(in: parent, isRight: isRight)
            if isEnclosed { steps.append(.text("(")) }
            steps.append(.operand(of: node, isRight: false))
            steps.append(.text(node == .and ? " AND " : " OR "))
            steps.append(.operand(of: node, isRight: true))
            if isEnclosed { steps.append(.text(")")) }
        }
    }

    private mutating func negation() {
        if case .comparison(let comparison) = nodes[index], comparison.relation == .isNil {
            pieces.append(Query.Comparison.keyFormat(comparison.key) + " != nil")
            index -= 1
            return
        }
        pieces.append(")")
        steps.append(.text("NOT ("))
        steps.append(.operand(of: nil, isRight: false))
    }
}

extension Query.Node {
    /// Whether an AND or OR would be read otherwise as an operand of another.
    fileprivate func needsParentheses(in parent: Query.Node?, isRight: Bool) -> Bool {
        switch parent {
        case nil, .not, .constant, .comparison: false
        case .and: self == .or || isRight
        case .or: self == .or && isRight
        }
    }
}

extension Query.Comparison {
    fileprivate var format: String {
        let field = Self.keyFormat(key)
        let values = operands.map(\.format)
        let first = values.first ?? "nil"
        switch relation {
        case .equals: return "\(field) == \(first)"
        case .notEquals: return "\(field) != \(first)"
        case .lessThan: return "\(field) < \(first)"
        case .lessThanOrEquals: return "\(field) <= \(first)"
        case .greaterThan: return "\(field) > \(first)"
        case .greaterThanOrEquals: return "\(field) >= \(first)"
        case .beginsWith: return "\(field) BEGINSWITH \(first)"
        case .isIn: return "\(field) IN {\(values.joined(separator: ", "))}"
        case .listContains: return "\(field) CONTAINS \(first)"
        case .listContainsAny: return "ANY \(field) IN {\(values.joined(separator: ", "))}"
        case .listMemberBeginsWith: return "ANY \(field) BEGINSWITH \(first)"
        case .containsAnyToken: return "self CONTAINS \(first)"
        case .containsAllTokens: return "allTokens TOKENMATCHES[cdl] \(first)"
        case .isNearerThan: return "\(distanceFormat(field, first)) < \(values[1])"
        case .isAtMostAsFarAs: return "\(distanceFormat(field, first)) <= \(values[1])"
        case .isNil: return "\(field) == nil"
        }
    }

    private func distanceFormat(_ field: String, _ place: String) -> String {
        "distanceToLocation:fromLocation:(\(field), \(place))"
    }

    /// The key, marked if it would be read as something else.
    fileprivate static func keyFormat(_ key: String) -> String {
        PredicateToken.Keyword(word: key) == nil ? key : "#" + key
    }
}

extension Query.Operand {
    fileprivate var format: String {
        switch self {
        case .now: "now()"
        case .value(let value): value.format
        }
    }
}

extension FieldValue {
    /// The value as a literal of the format language.
    fileprivate var format: String {
        switch self {
        case .string(let text): text.quoted
        case .int64(let number): String(number)
        case .double(let number): number.format
        case .timestamp(let moment): moment.format
        case .bytes(let bytes): "CAST('\(bytes.hex)', 'NSData')"
        case .location(let place): place.format
        case .reference(let reference): reference.format
        case .asset(let asset): "ASSET('\(asset.digest.hex)', \(asset.size))"
        case .list(let elements): "{\(elements.map(\.format).joined(separator: ", "))}"
        }
    }
}

extension String {
    /// The text in single quotes; controls become escape sequences, so that a line of a log remains
    /// one.
    fileprivate var quoted: String {
        var text = "'"
        for scalar in unicodeScalars {
            switch scalar {
            case "'": text += "\\'"
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\t": text += "\\t"
            case "\r": text += "\\r"
            case "\0"..<" ", "\u{7F}"..."\u{9F}", "\u{2028}"..."\u{202E}", "\u{2066}"..."\u{2069}":
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "'"
    }
}

extension Double {
    fileprivate var format: String { isFinite ? description : "CAST('\(self)', 'NSNumber')" }
}

extension Timestamp {
    fileprivate var format: String {
        if Timestamp.range.contains(millisecondsSince1970) { return "CAST('\(text)', 'NSDate')" }
        return "CAST(\(Double(millisecondsSince1970) / 1_000 - 978_307_200), 'NSDate')"
    }
}

extension Record.Reference {
    fileprivate var format: String {
        "REFERENCE(\(recordName.quoted)\(action == .deleteSelf ? ", 'deleteSelf'" : ""))"
    }
}

extension Location {
    fileprivate var format: String {
        let optional: [(String, String?)] = [
            ("altitude", altitude?.format), ("horizontalAccuracy", horizontalAccuracy?.format),
            ("verticalAccuracy", verticalAccuracy?.format), ("course", course?.format),
            ("speed", speed?.format), ("timestamp", timestamp?.format),
        ]
        let known = optional.map { name, value in value.map { ", \(name): \($0)" } ?? "" }
        return "LOCATION(\(latitude.format), \(longitude.format)\(known.joined()))"
    }
}
