// One setting of `cumulusd`: its name, how its text is read, its default and its sentence.
//
// The flag, the variable, the key of the file, the help, the row of the article Settings and the
// errors about a value follow from these. `Settings` declares every setting; `Configuration` finds
// the values.
//
// Folder: the settings. Read `Setting` and `Settings`, the table; then `Configuration`, which finds
// the values, and `Flags`, which gives the table to the parser. `Configuration+Engine` and
// `Configuration+Limits` judge settings by each other and by the machine.

import CumulusSystem

/// The description of a setting, whatever the type of its values.
struct SettingRow: Sendable {
    /// The name on the command line, without its dashes.
    let name: String
    /// The unit of a value, such as `file` or `days`; nil means that the flag takes no value.
    let unit: String?
    /// The values that are taken; empty if the unit says enough.
    let bounds: String
    /// Whether the flag may be repeated; commas join the values.
    let isList: Bool
    /// The text that counts if none is set.
    let standard: String
    /// The default in words: the text, or what an empty one means.
    let meaning: String
    /// The purpose of the setting, without a full stop.
    fileprivate(set) var sentence = ""

    /// `disk-reserve` → `CUMULUS_DISK_RESERVE`.
    var variable: String { "CUMULUS_" + name.uppercased().replacing("-", with: "_") }

    /// `disk-reserve` → `diskReserve`.
    var fileKey: String {
        let words = name.split(separator: "-")
        return words.dropFirst().reduce(String(words[0])) { $0 + $1.capitalized }
    }

    /// The sentence, the bounds and the default, as the help shows them.
    var help: String {
        let isTold = unit != nil && meaning != "none"
        let notes = [bounds, isTold ? "default: \(meaning)" : ""].filter { !$0.isEmpty }
        return sentence + (notes.isEmpty ? "." : " (\(notes.joined(separator: "; "))).")
    }
}

/// A setting whose text means a `Value`.
struct Setting<Value: Sendable>: Sendable {
    private(set) var row: SettingRow
    let kind: Kind<Value>

    /// Declares a setting; `none` says what an empty text means, where that is the default.
    init(_ name: String, _ kind: Kind<Value>, _ standard: String = "", none: String? = nil) {
        row = SettingRow(
            name: name,
            unit: kind.unit,
            bounds: kind.bounds,
            isList: kind.isList,
            standard: standard,
            meaning: none ?? standard
        )
        self.kind = kind
    }

    func help(_ sentence: String) -> Setting {
        var setting = self
        setting.row.sentence = sentence
        return setting
    }
}

extension Setting<Bool> {
    init(_ name: String) { self.init(name, .flag, "false") }
}

/// How the text of a setting becomes a value.
struct Kind<Value: Sendable>: Sendable {
    let unit: String?
    var bounds = ""
    var isList = false
    /// Throws a problem that doesn't name the setting.
    let read: @Sendable (String) throws(StartProblem) -> Value

    /// The same kind, with nil for an empty text.
    var orNone: Kind<Value?> {
        Kind<Value?>(unit: unit, bounds: bounds) { [read] text throws(StartProblem) in
            text.isEmpty ? nil : try read(text)
        }
    }
}

extension Kind<String> {
    static func text(_ unit: String, isList: Bool = false) -> Kind {
        Kind(unit: unit, isList: isList) { $0 }
    }
}

extension Kind<Bool> {
    static var flag: Kind {
        Kind(unit: nil) { text throws(StartProblem) in
            switch text {
            case "true", "1", "yes": return true
            case "false", "0", "no", "": return false
            default:
                throw StartProblem("'\(text)' is neither true nor false")
            }
        }
    }
}

extension Kind<Int> {
    /// Bounds too large to be met are not part of the help.
    static func number(_ range: ClosedRange<Int>, _ unit: String) -> Kind {
        let (least, most) = (range.lowerBound, range.upperBound)
        let bounds = most < UInt32.max ? "\(least) to \(most)" : ""
        return Kind(unit: unit, bounds: bounds) { text throws(StartProblem) in
            guard let number = Int(text), number >= 0 else {
                throw StartProblem("'\(text)' is not a number from 0 on")
            }
            guard range.contains(number) else {
                throw StartProblem("\(number) is not between \(least) and \(most)")
            }
            return number
        }
    }
}

extension Kind where Value: CaseIterable & RawRepresentable<String> {
    static func choice(_ unit: String) -> Kind {
        let names = Value.allCases.map(\.rawValue)
        let list = names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
        let wrong = names.count == 2 ? "neither \(names[0]) nor \(names[1])" : "not \(list)"
        return Kind(unit: unit, bounds: list) { text throws(StartProblem) in
            guard let value = Value(rawValue: text) else {
                throw StartProblem("'\(text)' is \(wrong)")
            }
            return value
        }
    }
}
