// The output of commands: aligned columns for people, JSON for machines.
//
// All of it goes through `StandardOutput`: what can't be written is an error, at once, and so ends
// also the fetching of what would come next.
//
// Folder: what a person or a pipe gets to see. Read `Output`, then `PasswordOption`.

import ArgumentParser
import CumulusModel
import CumulusSystem
import CumulusTerminal

/// `--json` and `--profile`, which every command has.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print JSON.") var json = false
    @OptionGroup(visibility: .hidden) var profile: ProfileOption

    /// Prints one thing: an object, or its rows of name and value.
    func show(_ object: @autoclosure () -> JSON, rows: @autoclosure () -> [[String]]) throws {
        try StandardOutput.write(line: json ? object().text : Table.aligned(rows()))
    }

    /// Prints many things: an array with an element per line, or a table.
    func show<Thing>(
        _ things: [Thing],
        columns: [String],
        json element: (Thing) -> JSON,
        row: (Thing) -> [String]
    ) throws {
        try StandardOutput.write(
            line: json
                ? Table.array(things.map { element($0).text })
                : Table.aligned([columns] + things.map(row))
        )
    }
}

/// Prints a list as it arrives, however long it is, a page at a time.
struct Listing {
    let isJSON: Bool
    /// JSON is an object on each line, of a list that has no end; else an array.
    private let isEndless: Bool
    private var page: [[String]]
    private var text = ""
    private var isEmpty = true
    private static let pageRows = 200
    private static let pageBytes = 32 << 10
    private static let cellWidth = 80

    init(_ columns: [String], isJSON: Bool, isEndless: Bool = false) {
        self.isJSON = isJSON
        self.isEndless = isEndless
        page = isJSON ? [] : [columns]
    }

    mutating func add(_ json: @autoclosure () -> JSON, row: @autoclosure () -> [String]) throws {
        if isJSON {
            text += isEndless ? json().text + "\n" : (isEmpty ? "[\n" : ",\n") + json().text
        } else {
            page.append(row().map(Listing.shortened))
        }
        isEmpty = false
        if page.count >= Listing.pageRows || text.utf8.count >= Listing.pageBytes { try flush() }
    }

    mutating func end() throws {
        if isJSON { text += isEmpty ? "[]\n" : "\n]\n" }
        try flush()
    }

    /// Prints what has been added so far.
    mutating func flush() throws {
        if !page.isEmpty { text += Table.aligned(page) + "\n" }
        try StandardOutput.write(text)
        (page, text) = ([], "")
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
