// Unicode's composed form (NFC) of a text, by the tables of Swift's library.
//
// Passwords and handles use it, so that all keyboards produce the same bytes.

@_spi(_Unicode) import Swift

extension String {
    /// The text in Unicode's form NFC.
    package var inNFC: String {
        var scalars = String.UnicodeScalarView()
        for scalar in _nfc { scalars.append(scalar) }
        return String(scalars)
    }
}
