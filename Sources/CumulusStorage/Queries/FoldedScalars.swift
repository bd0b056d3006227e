// Folds Unicode scalars: removes case and diacritics, and classifies letters and digits.
//
// `SearchWords` uses it for texts that are not ASCII. Asking the library about a scalar takes
// longer than splitting a whole word, so answers are cached, 256 scalars at a time, as they are
// needed. All threads share the cache. hot: twice per scalar of a saved text.

@_spi(_Unicode) import Swift
import Synchronization

/// Looks scalars up, keeping the pages that one text needs at hand.
struct FoldedScalars {
    enum Kind: UInt8 {
        case other
        case letter
        case digit
        /// A word of its own: an ideograph or a hiragana.
        case alone
    }

    /// Cached pages, each in the slot of its last bits: texts mix few pages, such as Latin and
    /// Cyrillic.
    private var near: [Page]
    private static let nearCount: UInt32 = 8

    private static let first = Page(0)
    private static let pages = Mutex<[UInt32: Page]>([:])

    init() {
        near = Array(repeating: FoldedScalars.first, count: Int(FoldedScalars.nearCount))
    }

    mutating func kind(of scalar: Unicode.Scalar) -> Kind {
        page(of: scalar).kinds[Int(scalar.value & 0xFF)]
    }

    /// Appends the folded form of a scalar: none for an accent, two letters for a ligature.
    mutating func fold(_ scalar: Unicode.Scalar, into folded: inout [Unicode.Scalar]) {
        let page = page(of: scalar)
        let index = Int(scalar.value & 0xFF)
        if page.isOther[index] {
            folded += page.others[UInt8(index)] ?? []
        } else {
            folded.append(page.singles[index])
        }
    }

    private mutating func page(of scalar: Unicode.Scalar) -> Page {
        let number = scalar.value >> 8
        let slot = Int(number % FoldedScalars.nearCount)
        if near[slot].number != number { near[slot] = FoldedScalars.page(number) }
        return near[slot]
    }

    private static func page(_ number: UInt32) -> Page {
        pages.withLock { pages in
            if let known = pages[number] { return known }
            let made = Page(number)
            pages[number] = made
            return made
        }
    }

    /// The folded forms of 256 scalars.
    private final class Page: Sendable {
        let number: UInt32
        let kinds: [Kind]
        /// The folded form of scalars that have exactly one.
        let singles: [Unicode.Scalar]
        /// Whether the folded form of a scalar is empty or has several scalars.
        let isOther: [Bool]
        let others: [UInt8: [Unicode.Scalar]]

        init(_ number: UInt32) {
            let scalars = (UInt32(0)..<256).map { low in
                // Surrogates occur in no text.
                Unicode.Scalar(number << 8 | low) ?? "\u{FFFD}"
            }
            let folded = scalars.map(Page.fold)
            self.number = number
            kinds = scalars.map(Page.kind)
            singles = zip(scalars, folded).map { $1.count == 1 ? $1[0] : $0 }
            isOther = folded.map { $0.count != 1 }
            let several = folded.enumerated().filter { $1.count > 1 }.map { (UInt8($0), $1) }
            others = Dictionary(uniqueKeysWithValues: several)
        }

        private static func kind(of scalar: Unicode.Scalar) -> Kind {
            let properties = scalar.properties
            if properties.isIdeographic || (0x3041...0x309F).contains(scalar.value) {
                return .alone
            }
            if properties.generalCategory == .decimalNumber { return .digit }
            return properties.isAlphabetic ? .letter : .other
        }

        /// Letters of recent scripts that are not decomposed, as in Foundation's tables; indexes on
        /// disks hold this form.
        private static let whole: Set<UInt32> = [
            0x105C9, 0x105E4, 0x11383, 0x11385, 0x1138E, 0x11391, 0x113C5, 0x113C7, 0x113C8,
            0x16D68, 0x16D69, 0x16D6A,
        ]

        private static func fold(_ scalar: Unicode.Scalar) -> [Unicode.Scalar] {
            var bare = String.UnicodeScalarView()
            // The library's own canonical decomposition (NFD).
            let parts = whole.contains(scalar.value) ? [scalar] : Array(String(scalar)._nfd)
            for part in parts where part.properties.generalCategory != .nonspacingMark {
                bare.append(part)
            }
            // Case is mapped up and down, since some letters have several small forms of one
            // capital.
            return Array(String(bare).uppercased().lowercased().unicodeScalars)
        }
    }
}
