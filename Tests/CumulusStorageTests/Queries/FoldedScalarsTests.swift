// Folded scalars are what Foundation makes of them, for every scalar that there is: indexes on
// disks were written by it.

import Foundation
import Testing

@testable import CumulusStorage

@Suite struct FoldedScalarsTests {
    /// All 1.1 million, since tables of Unicode have exceptions anywhere: about a second.
    @Test func everyScalarIsFoldedAsByFoundation() {
        var scalars = FoldedScalars()
        let different = (UInt32(0)...0x10FFFF).compactMap(Unicode.Scalar.init).filter { scalar in
            var folded: [Unicode.Scalar] = []
            scalars.fold(scalar, into: &folded)
            return folded != Self.folded(scalar)
        }
        #expect(different.isEmpty, "\(different.prefix(10))")
    }

    private static func folded(_ scalar: Unicode.Scalar) -> [Unicode.Scalar] {
        let parts = String(scalar).decomposedStringWithCanonicalMapping.unicodeScalars
        let bare = parts.filter { $0.properties.generalCategory != .nonspacingMark }
        var text = String.UnicodeScalarView()
        text.append(contentsOf: bare)
        return Array(String(text).uppercased().lowercased().unicodeScalars)
    }
}
