// Unicode's composed form (NFC) of a text, by the tables of Swift's own library.
//
// Asked for passwords and for handles, so that all keyboards make the same bytes of one text.

@_spi(_Unicode) import Swift

extension String {
    /// The text in Unicode's form NFC.
    package var inNFC: String {
        var scalars = String.UnicodeScalarView()
        for scalar in _nfc { scalars.append(scalar) }
        return String(scalars)
    }
}
