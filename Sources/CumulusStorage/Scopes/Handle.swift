// The address by which people know each other: an e-mail address or a telephone number, in one
// spelling.
//
// It is made from requests; the register of a handle says which user has it, see `HandleHolder`.
// Two spellings that look the same to a reader are the same handle; look-alike letters of another
// script make another one.

package import CumulusModel

package struct Handle: Hashable, Sendable {
    /// Numbers as in `accounts.proto`.
    package enum Kind: UInt8, CaseIterable, Sendable {
        case email = 1
        case phone = 2
    }

    package let kind: Kind
    package let text: String

    /// Reads an address in Unicode's form NFKC and in lower case, or a number in the form E.164.
    ///
    /// Clients convert to that form. Other spellings are refused, except for case and composition,
    /// which are corrected here.
    package init(_ kind: Kind, _ raw: Bytes) throws(ServiceError) {
        self.kind = kind
        switch kind {
        case .email: text = try Handle.email(raw)
        case .phone: text = try Handle.phone(raw)
        }
    }

    private static func email(_ raw: Bytes) throws(ServiceError) -> String {
        let given = try Names.checkText(raw[...], "e-mail address")
        let scalars = given.lowercased().inNFC.unicodeScalars
        let parts = scalars.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), scalars.allSatisfy(isPlain)
        else {
            throw invalid(
                """
                '\(given)' is no e-mail address in plain form: name@domain, without spaces, \
                invisible characters, and compatibility forms of Unicode (send NFKC)
                """
            )
        }
        // The composed text may be longer.
        return try Names.checkText(Bytes(String(scalars).utf8)[...], "e-mail address")
    }

    /// Whether NFKC leaves a scalar unchanged, and it is neither a space nor invisible.
    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        // Case folding changes these two letters; NFKC doesn't.
        if scalar == "ß" || scalar == "ς" { return true }
        let properties = scalar.properties
        return !properties.changesWhenNFKCCaseFolded && !properties.isWhitespace
            && properties.generalCategory != .control
    }

    private static func phone(_ raw: Bytes) throws(ServiceError) -> String {
        let digits = raw.dropFirst()
        guard raw.first == UInt8(ascii: "+"), (7...15).contains(digits.count),
            digits.allSatisfy({ (0x30...0x39).contains($0) }), digits.first != 0x30
        else {
            throw invalid(
                "a telephone number has the form E.164: a plus sign, then 7 to 15 digits, country "
                    + "first"
            )
        }
        return String(decoding: raw, as: UTF8.self)
    }

    private static func invalid(_ message: String) -> ServiceError {
        ServiceError(.invalidArguments, .invalidValue, message)
    }

    // MARK: Keys

    /// The key of the registers that say who holds it.
    package var key: [Bytes] { [[kind.rawValue], Bytes(text.utf8)] }

    /// - Parameter key: A key as `key` returns it.
    package init(key: [Bytes]) throws(MalformedBytes) {
        guard key.count == 2, key[0].count == 1, let kind = Kind(rawValue: key[0][0]) else {
            throw MalformedBytes("it is no handle")
        }
        self.kind = kind
        text = String(decoding: key[1], as: UTF8.self)
    }
}

/// The user who has a handle: the value of its register.
///
/// Each change raises the number, and the greater bytes win on every node: the greater number, at
/// equal numbers no user, and then the greater user id. The result does not depend on clocks.
package struct HandleHolder: Hashable, Sendable {
    package let number: UInt64
    /// nil if no user has it any more.
    package let userID: Bytes?
    /// The issuer that verified the handle.
    package let verifiedBy: String

    package init(number: UInt64, userID: Bytes?, verifiedBy: String = "") {
        self.number = number
        self.userID = userID
        self.verifiedBy = verifiedBy
    }

    /// Number big-endian, then 0, user id and issuer; or 1 if no user has it.
    package var value: Bytes {
        var writer = CanonicalWriter()
        writer.bigEndian(number)
        writer.raw([userID == nil ? 1 : 0])
        if let userID {
            writer.delimited(userID)
            writer.delimited(verifiedBy.utf8)
        }
        return writer.bytes
    }

    package init(value: Bytes) throws(MalformedBytes) {
        var reader = CanonicalReader(value)
        number = try reader.bigEndian()
        guard try reader.varint() == 0 else {
            (userID, verifiedBy) = (nil, "")
            return
        }
        userID = try reader.delimitedBytes()
        verifiedBy = try reader.text()
    }
}
