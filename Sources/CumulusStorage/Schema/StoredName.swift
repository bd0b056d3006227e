// How record types and fields that were dropped are told from later ones of the same name.
//
// To drop a type or a field rewrites no records: the schema counts how often it was dropped, and
// from then on the name stands for another type or field, which is stored under the name, a number
// sign and the count. What stands under an older name is shown to nobody. Callers can't use such
// names: a name has no number sign.

package struct StoredName: Hashable, Sendable {
    /// As callers know it.
    package var shown: String
    /// How often what had this name before was dropped.
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

    /// As it stands in rows and registers.
    package var text: String { drops == 0 ? shown : "\(shown)#\(drops)" }

    /// Whether callers can know something under a name.
    package static func isShown(_ text: String) -> Bool { !text.utf8.contains(UInt8(ascii: "#")) }

    /// A stored name as callers know it.
    package static func shown(_ text: String) -> String { StoredName(text).shown }
}
