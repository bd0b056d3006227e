// The flags of `cumulusd`: one for each setting of the table, in the groups of the table.
//
// Called by `Main` through the parser. The parser looks for the flags of a type in the type's
// mirror, where the compiler puts the stored properties; `GroupFlags` puts the rows of a group
// there. All else is the parser's usual way.

import ArgumentParser
import CumulusSystem

/// The flags that `run` and `config show` share.
struct Flags: ParsableArguments {
    @Option(help: ArgumentHelp("JSON file with settings.", valueName: "file"))
    var config: String?
    @OptionGroup var settings: GroupFlags<Settings>

    func configuration() throws -> Configuration {
        try Configuration(
            flags: settings.texts,
            environment: ProcessInfo.processInfo.environment,
            file: config
        )
    }
}

/// A part of the table: a setting, or a group of them.
protocol TablePart: Sendable {
    var title: String { get }
    var rows: [SettingRow] { get }
    /// The property that the parser looks for: an `Option`, a `Flag` or an `OptionGroup`.
    var flag: Any { get }
    /// The texts of the flags that were named, by the names of the settings.
    func texts(in parsed: KeyedDecodingContainer<FlagName>) throws -> [String: String]
}

/// The name of a setting or the title of a group, in what was parsed.
struct FlagName: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension Setting: TablePart {
    var title: String { row.name }
    var rows: [SettingRow] { [row] }

    var flag: Any {
        let name = NameSpecification.customLong(row.name)
        let help = ArgumentHelp(row.help, valueName: row.unit)
        if row.unit == nil { return Flag(wrappedValue: false, name: name, help: help) }
        if row.isList { return Option<[String]>(wrappedValue: [], name: name, help: help) }
        return Option<String?>(name: name, help: help)
    }

    func texts(in parsed: KeyedDecodingContainer<FlagName>) throws -> [String: String] {
        let key = FlagName(stringValue: row.name)
        var text: String?
        if row.unit == nil {
            if try parsed.decode(Flag<Bool>.self, forKey: key).wrappedValue { text = "true" }
        } else if row.isList {
            let texts = try parsed.decode(Option<[String]>.self, forKey: key).wrappedValue
            if !texts.isEmpty { text = texts.joined(separator: ",") }
        } else {
            text = try parsed.decode(Option<String?>.self, forKey: key).wrappedValue
        }
        return text.map { [row.name: $0] } ?? [:]
    }
}

/// A group of settings: a type whose stored properties are settings, or other groups.
protocol SettingGroup: TablePart {
    /// The heading in the help.
    static var title: String { get }
    init()
}

extension SettingGroup {
    /// The settings and groups in the order in which they are declared.
    static var parts: [any TablePart] {
        Mirror(reflecting: Self()).children.compactMap { $0.value as? any TablePart }
    }

    var title: String { Self.title }
    var rows: [SettingRow] { Self.parts.flatMap(\.rows) }
    var flag: Any { OptionGroup<GroupFlags<Self>>(title: title) }

    func texts(in parsed: KeyedDecodingContainer<FlagName>) throws -> [String: String] {
        let key = FlagName(stringValue: title)
        return try parsed.decode(OptionGroup<GroupFlags<Self>>.self, forKey: key).wrappedValue.texts
    }
}

/// A type with a property for each part of a group, as the parser sees it.
struct GroupFlags<Group: SettingGroup>: ParsableArguments, CustomReflectable {
    /// The texts of the flags that were named, by the names of the settings.
    private(set) var texts: [String: String] = [:]

    init() {}

    init(from decoder: any Decoder) throws {
        let parsed = try decoder.container(keyedBy: FlagName.self)
        for part in Group.parts { texts.merge(try part.texts(in: parsed)) { $1 } }
    }

    var customMirror: Mirror {
        Mirror(self, children: Group.parts.map { part -> Mirror.Child in (part.title, part.flag) })
    }
}
