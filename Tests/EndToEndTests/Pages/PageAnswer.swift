// What a page says that a block prints, beside what it has printed.
//
// Used by `PageTests`. A page was written on another day and another machine: ids, times, tokens
// and digests are compared by their form, all else as it is. Only a page decides where lines of
// JSON break, and how wide the columns of a table are.

import CumulusModel

struct PageAnswer: Equatable, CustomStringConvertible {
    let description: String

    /// An answer in a block of the language `json`.
    init(json text: String) throws {
        description = try PageAnswer.masked(JSONReader.read(text.utf8)).text
    }

    /// Any other output.
    init(text: String) {
        let lines = text.split(separator: "\n").map { line in
            line.split(separator: " ").map { PageAnswer.masked(String($0)) }
                .joined(separator: " ")
        }
        description = lines.joined(separator: "\n")
    }

    private static func masked(_ json: JSON) throws -> JSON {
        switch json {
        case .string(let text): .string(masked(text))
        // Milliseconds since 1970; a page's own numbers are smaller.
        case .integer(let number) where number > 1_000_000_000_000: .string("TIME")
        case .array(let elements): .array(try elements.map(masked))
        case .object(let members):
            .object(try members.map { JSON.Member($0.key, try masked($0.value)) })
        case .null, .bool, .integer, .decimal: json
        }
    }

    static func masked(_ text: String) -> String {
        text
            .replacing(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+0000)/, with: "TIME")
            .replacing(/[0-9A-F]{8}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{12}/, with: "UUID")
            .replacing(/[0-9a-f]{16,}/, with: "HEX")
            .replacing(/\b(?=[A-Za-z0-9\/+_-]*[0-9])[A-Za-z0-9\/+_-]{24,}=*/, with: "SEALED")
    }
}
