// What commands print: aligned columns for people, JSON for machines.

import ArgumentParser
import Foundation

/// `--json`, which every command has.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print JSON.") var json = false

    /// Prints one thing: an object, or its rows of name and value.
    func show(_ object: @autoclosure () -> JSON, rows: @autoclosure () -> [[String]]) {
        print(json ? object().text : Table.aligned(rows()))
    }

    /// Prints many things: an array with an element per line, or a table.
    func show<Thing>(
        _ things: [Thing],
        columns: [String],
        json element: (Thing) -> JSON,
        row: (Thing) -> [String]
    ) {
        if json {
            print(Table.array(things.map { element($0).text }))
        } else {
            print(Table.aligned([columns] + things.map(row)))
        }
    }
}

/// Prints a list as it arrives, however long it is; a table is aligned a page at a time.
struct Listing {
    let isJSON: Bool
    private var page: [[String]]
    private var isEmpty = true
    private static let pageRows = 200
    private static let cellWidth = 80

    init(_ columns: [String], isJSON: Bool) {
        self.isJSON = isJSON
        page = [columns]
    }

    mutating func add(_ json: @autoclosure () -> JSON, row: @autoclosure () -> [String]) {
        if isJSON {
            print(isEmpty ? "[\n" : ",\n", terminator: json().text)
        } else {
            page.append(row().map(Listing.shortened))
            if page.count >= Listing.pageRows { flush() }
        }
        isEmpty = false
    }

    mutating func end() {
        if isJSON { print(isEmpty ? "[]" : "\n]") } else { flush() }
    }

    private mutating func flush() {
        if !page.isEmpty { print(Table.aligned(page)) }
        page = []
    }

    private static func shortened(_ cell: String) -> String {
        cell.count > cellWidth ? cell.prefix(cellWidth - 1) + "…" : cell
    }
}

enum Table {
    /// Rows as lines, with columns as wide as their widest cell.
    static func aligned(_ rows: [[String]]) -> String {
        let rows = rows.map { $0.map(\.visible) }
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0
        }
        return rows.map { row in
            row.enumerated().map { column, cell in
                let missing = column == row.count - 1 ? 0 : widths[column] - cell.count
                return cell + String(repeating: " ", count: missing)
            }.joined(separator: "  ")
        }.joined(separator: "\n")
    }

    /// A JSON array with one element per line.
    static func array(_ elements: [String]) -> String {
        elements.isEmpty ? "[]" : "[\n" + elements.joined(separator: ",\n") + "\n]"
    }
}

extension String {
    /// Without what a terminal would act on.
    var visible: String {
        guard unicodeScalars.contains(where: \.isControl) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            text.unicodeScalars.append(scalar.isControl ? "\u{FFFD}" : scalar)
        }
        return text
    }
}

extension Unicode.Scalar {
    fileprivate var isControl: Bool { properties.generalCategory == .control }
}
