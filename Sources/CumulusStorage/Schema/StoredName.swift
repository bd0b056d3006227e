// Distinguishes dropped record types and fields from later ones of the same name.
//
// Dropping a type or a field rewrites no records. The schema counts the drops, and from then on the
// name stands for another type or field, which is stored under the name, a number sign and the
// count. Values under an older name are never shown. Callers can't use such names: a valid name has
// no number sign.

package struct StoredName: Hashable, Sendable {
    /// The name that callers know.
    package var shown: String
    /// How often a type or field of this name was dropped before.
    package var drops: UInt32

    package init(_ shown: String, drops: UInt32) {
        self.shown = shown
        self.drops = drops
    }

    /// Reads a name of a row or register.
    package init(_ text: String) {
        self.init(text, drops: 0)
        let bytes = text.utf8
        guard let sign = bytes.lastIndex(of: UInt8(ascii: "#")),
            let count = UInt32(text[bytes.index(after: sign)...])
        else { return }
        shown = String(text[..<sign])
        drops = count
    }

    /// The name in rows and registers.
    package var text: String { drops == 0 ? shown : "\(shown)#\(drops)" }

    /// Whether a name is one that callers can know.
    package static func isShown(_ text: String) -> Bool { !text.utf8.contains(UInt8(ascii: "#")) }

    /// The shown name of a stored name.
    package static func shown(_ text: String) -> String { StoredName(text).shown }
}
