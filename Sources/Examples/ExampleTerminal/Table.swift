// Rows of texts in columns.
//
// Shown by `Terminal.show`.

/// A table whose columns are as wide as what stands in them.
public struct Table {
    /// The rows as lines, without blanks at their ends.
    public let lines: [String]

    /// A table of these rows.
    public init(_ rows: [[String]]) {
        let count = rows.map(\.count).max() ?? 0
        let widths = (0..<count).map { column in
            rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
        }
        lines = rows.map { row in
            var line = ""
            for (text, width) in zip(row, widths) {
                line += text + String(repeating: " ", count: width - text.count + 2)
            }
            return String(line.reversed().drop { $0 == " " }.reversed())
        }
    }
}
