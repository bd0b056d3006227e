// Folded scalars are what Foundation makes of them, for every scalar that there is: indexes on
// disks were written by it.

import Foundation
import Testing

@testable import CumulusStorage

@Suite struct FoldedScalarsTests {
    /// All planes with letters, and the ideographs that stand for others.
    @Test(arguments: [UInt32(0)...0x1FFFF, 0x2F800...0x2FA1F])
    func everyScalarIsFoldedAsByFoundation(range: ClosedRange<UInt32>) {
        var scalars = FoldedScalars()
        let different = range.compactMap(Unicode.Scalar.init).filter { scalar in
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
