// Records, ids, values and queries in a line that a person reads, for `print` and logs, and as a
// debugger shows them.
//
// Long values are cut: the text is for people, and nothing reads it back.

/// How long a text in a description may be, and how many elements a list may show.
private enum Cut {
    static let characters = 60
    static let elements = 5

    static func text(_ text: String) -> String {
        let shown = text.prefix(characters)
        return shown.endIndex == text.endIndex
            ? "\"\(text)\"" : "\"\(shown)…\" (\(text.utf8.count) bytes)"
    }

    static func list(_ elements: [FieldValue]) -> String {
        let shown = elements.prefix(Self.elements).map(\.description).joined(separator: ", ")
        return elements.count <= Self.elements
            ? "[\(shown)]" : "[\(shown), …] (\(elements.count) elements)"
    }
}

extension RecordZone.ID: CustomStringConvertible {
    /// The zone's name, and its owner if that is another user: `Notes`, `Notes of _b1`.
    public var description: String {
        ownerName == RecordZone.ID.currentUserName ? zoneName : "\(zoneName) of \(ownerName)"
    }
}

extension RecordZone: CustomStringConvertible {
    /// The zone's name: `zone Notes`.
    public var description: String { "zone \(zoneID)" }
}

extension Record.ID: CustomStringConvertible {
    /// The record's name, and its zone if that is not the default one: `n1`, `n1 in Notes`.
    public var description: String {
        zoneID == .default ? recordName : "\(recordName) in \(zoneID)"
    }
}

extension Record.Reference: CustomStringConvertible {
    /// The target: `-> n1`, `-> n1 (deleteSelf)`.
    public var description: String {
        action == .none ? "-> \(recordName)" : "-> \(recordName) (\(action))"
    }
}

extension Timestamp: CustomStringConvertible {
    /// The moment as `2024-02-29T12:00:00.000Z`.
    public var description: String { text }
}

extension Location: CustomStringConvertible {
    /// Latitude and longitude in degrees: `(35.7, 139.7)`.
    public var description: String { "(\(latitude), \(longitude))" }
}

extension Asset: CustomStringConvertible {
    /// The size of the content: `asset of 1024 bytes`.
    public var description: String { "asset of \(size) bytes" }
}

extension FieldValue: CustomStringConvertible {
    /// The value as a person writes it, cut if it is long: `"Hello"`, `3`, `[1, 2]`, `12 bytes`.
    public var description: String {
        switch self {
        case .string(let text): Cut.text(text)
        case .int64(let number): "\(number)"
        case .double(let number): "\(number)"
        case .timestamp(let moment): "\(moment)"
        case .bytes(let bytes): "\(bytes.count) bytes"
        case .location(let place): "\(place)"
        case .reference(let target): "\(target)"
        case .asset(let asset): "\(asset)"
        case .list(let elements): Cut.list(elements)
        }
    }
}

extension Record: CustomStringConvertible, CustomReflectable {
    /// Type, name, zone and fields: `Note n1 in Notes {title: "Hello"}`.
    public var description: String {
        let shown = allKeys().map { key in
            "\(key): \(self[key].map(\.description) ?? "")"
        }
        return "\(recordType) \(recordID) {\(shown.joined(separator: ", "))}"
    }

    /// Type, name, change tag and fields, as a debugger shows them.
    public var customMirror: Mirror {
        let fields = allKeys().map { (label: Optional($0), value: self[$0] as Any) }
        let children: [Mirror.Child] = [
            ("recordType", recordType), ("recordID", recordID),
            ("recordChangeTag", recordChangeTag as Any), ("changedKeys", changedKeys()),
        ]
        return Mirror(self, children: children + fields, displayStyle: .struct)
    }
}

extension Query.SortDescriptor: CustomStringConvertible {
    /// The key, with a minus in front if it is descending: `title`, `-title`, `place from (1, 2)`.
    public var description: String {
        if let relativeLocation { return "\(key) from \(relativeLocation)" }
        return ascending ? key : "-\(key)"
    }
}

extension Query: CustomStringConvertible {
    /// The type, the predicate and the order: `Note where votes > 3 by -votes`.
    public var description: String {
        let order = sortDescriptors.map(\.description).joined(separator: ", ")
        let asked = predicate == .all ? "" : " where \(predicate)"
        return recordType + asked + (order.isEmpty ? "" : " by \(order)")
    }
}
