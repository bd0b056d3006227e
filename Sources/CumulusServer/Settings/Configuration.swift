// The values of the settings: flag before environment before file before default, and where each
// value came from.
//
// Made by `Main` at the start, asked by `Wiring`. A value is read when it is asked for, so that
// `config show` can print one that can't be used.

import CumulusModel
import CumulusSystem

/// Why the node can't start, in one line.
struct StartProblem: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }

    /// A problem with a setting; the description names it.
    init<Value>(_ setting: KeyPath<Settings, Setting<Value>>, _ description: String) {
        self.init("\(Settings.table[keyPath: setting].row.name): \(description)")
    }
}

struct Configuration {
    /// A text and where it came from, as `config show` prints them.
    struct Value: Encodable {
        var value: String
        var origin: String
    }

    /// A setting that takes any text.
    typealias Text = KeyPath<Settings, Setting<String>>

    /// Names the file with settings.
    static let fileVariable = "CUMULUS_CONFIG"

    /// Values by the names of the settings.
    private(set) var values: [String: Value] = [:]

    /// Gathers all values; an empty variable is one that is not set.
    ///
    /// `flags` holds what the command line named.
    init(flags: [String: String], environment: [String: String], file: String?) throws {
        let variables = environment.filter { !$0.value.isEmpty }
        let path = file ?? variables[Configuration.fileVariable]
        let file = try path.map(Configuration.read) ?? [:]
        for row in Settings.rows {
            let texts = [
                (flags[row.name], "flag"),
                (variables[row.variable], "environment \(row.variable)"),
                (file[row.fileKey], "file \(path ?? "")"),
                (row.standard, "default"),
            ]
            let found = texts.first { $0.0 != nil }
            values[row.name] = found.map { Value(value: $0.0 ?? "", origin: $0.1) }
        }
    }

    /// The texts in a file, by key.
    private static func read(_ path: String) throws(StartProblem) -> [String: String] {
        let file = "the configuration file \(path)"
        guard let data = FileManager.default.contents(atPath: path) else {
            throw StartProblem("\(file) can't be read")
        }
        let json: JSON
        do throws(JSONReader.Problem) {
            json = try JSONReader.read(data, numbers: .nearest)
        } catch {
            throw StartProblem("\(file): \(error.message)")
        }
        guard case .object(let members) = json else {
            throw StartProblem("\(file) is not a JSON object")
        }
        let known = Settings.rows.map(\.fileKey)
        var texts: [String: String] = [:]
        for member in members {
            guard let text = text(of: member.value) else {
                throw StartProblem(
                    "\(file): '\(member.key)' must be a text, a whole number, or true or false"
                )
            }
            guard known.contains(member.key) else {
                let names = known.sorted().joined(separator: ", ")
                throw StartProblem("\(path): '\(member.key)' is no setting; known are \(names)")
            }
            texts[member.key] = text
        }
        return texts
    }

    /// A value in the file: a text, a whole number, or true or false; nil for all others.
    private static func text(of value: JSON) -> String? {
        switch value {
        case .string(let text): text
        case .bool(let flag): "\(flag)"
        case .integer(let number): "\(number)"
        case .decimal(let number): Int(exactly: number).map { "\($0)" }
        case .null, .array, .object: nil
        }
    }

    // MARK: Values

    /// The text of a setting that takes any.
    subscript(setting: Text) -> String { value(of: Settings.table[keyPath: setting].row).value }

    /// The value of a setting; throws a problem that names the setting if its text is not one.
    subscript<Content>(setting: KeyPath<Settings, Setting<Content>>) -> Content {
        get throws(StartProblem) {
            let found = Settings.table[keyPath: setting]
            do throws(StartProblem) {
                return try found.kind.read(value(of: found.row).value)
            } catch {
                throw StartProblem(setting, error.description)
            }
        }
    }

    func value(of row: SettingRow) -> Value {
        values[row.name] ?? Value(value: row.standard, origin: "default")
    }
}
