// The types of fields as web services tag them: STRING, INT64_LIST, ASSETID.
//
// Used where field values are read and written. Answers always carry a tag; requests may leave it
// out, or use the older spelling of assets.

package import CumulusModel

package enum WebFieldType {
    /// How an answer tags a value.
    ///
    /// - Parameter column: The field's type in the schema, which tells what an empty list holds.
    package static func tag(of value: FieldValue, column: FieldType?) -> String {
        switch value {
        case .list(let elements):
            if let kind = elements.first?.kind { return tag(of: kind) + "_LIST" }
            if case .list(let kind)? = column { return tag(of: kind) + "_LIST" }
            return "UNKNOWN_LIST"
        default: return value.kind.map(tag) ?? "UNKNOWN"
        }
    }

    private static func tag(of kind: FieldKind) -> String {
        kind == .asset ? "ASSETID" : kind.name
    }

    /// The meaning of a request's tag.
    enum Wish: Hashable {
        case type(FieldType)
        /// A list whose members say themselves what they are.
        case anyList
    }

    /// nil for a tag that stands for no type.
    static func wish(_ tag: String) -> Wish? {
        if tag == "LIST" || tag == "UNKNOWN_LIST" { return .anyList }
        let suffix = "_LIST"
        if tag.hasSuffix(suffix) {
            return kind(String(tag.dropLast(suffix.count))).map { .type(.list($0)) }
        }
        return kind(tag).map { .type(.one($0)) }
    }

    private static func kind(_ tag: String) -> FieldKind? {
        if tag == "ASSETID" { return .asset }
        return FieldKind.allCases.first { $0.name == tag }
    }
}
