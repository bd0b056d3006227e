// The rules for names. They are checked once, where a name enters the node; a violation is
// `invalidArguments` and says what was wrong.
//
// Folder: what may be a name, and how things are identified. Read `Names`, then `Identifiers`.

package enum Names {
    package static let defaultZone = "_defaultZone"
    /// Stands for the caller wherever a user record name is expected.
    package static let currentUser = "__defaultOwner__"

    /// Record and zone names: 1 to 255 printable ASCII characters, not beginning with an
    /// underscore.
    package static func checkIdentifier(
        _ name: ArraySlice<UInt8>,
        _ what: String
    ) throws(ServiceError) -> String {
        let text = try checkASCII(name, what)
        guard text.utf8.first != UInt8(ascii: "_") else {
            throw invalid("\(what) '\(text)' must not begin with an underscore")
        }
        return text
    }

    /// A name without the spaces before and behind it, which phones add to what they complete.
    package static func trimmed(_ name: String) -> String {
        var name = name.drop { $0 == " " }
        while name.last == " " { name.removeLast() }
        return String(name)
    }

    /// Names of new users: identifiers, without the spaces before and behind them.
    package static func checkNewUserName(_ name: [UInt8]) throws(ServiceError) -> String {
        let text = trimmed(try checkASCII(name[...], "user name"))
        return try checkIdentifier(Array(text.utf8)[...], "user name")
    }

    /// Ids of subscriptions: 1 to 255 printable ASCII characters.
    package static func checkASCII(
        _ name: ArraySlice<UInt8>,
        _ what: String
    ) throws(ServiceError) -> String {
        let text = try checkText(name, what)
        guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else {
            throw invalid("\(what) '\(text)' must consist of printable ASCII characters")
        }
        return text
    }

    /// Record names: identifiers, and the names of users' own records.
    package static func checkRecordName(
        _ name: ArraySlice<UInt8>,
        _ what: String
    ) throws(ServiceError) -> String {
        if isUserRecordName(name) { return String(decoding: name, as: UTF8.self) }
        return try checkIdentifier(name, what)
    }

    /// Whether a name has the form of a user's record name: an underscore and 32 lower-case
    /// hexadecimal digits.
    package static func isUserRecordName(_ name: String) -> Bool {
        name.utf8.first == UInt8(ascii: "_") && isUserRecordName(ArraySlice(name.utf8))
    }

    private static func isUserRecordName(_ name: ArraySlice<UInt8>) -> Bool {
        name.count == 33 && name.first == UInt8(ascii: "_")
            && name.dropFirst().allSatisfy { $0.isASCIIDigit || (0x61...0x66).contains($0) }
    }

    /// Record types and field names: a letter, then letters, digits and underscores.
    package static func checkSchemaName(
        _ name: ArraySlice<UInt8>,
        _ what: String
    ) throws(ServiceError) -> String {
        let text = try checkText(name, what)
        guard text.utf8.first?.isASCIILetter == true else {
            throw invalid("\(what) '\(text)' must begin with a letter")
        }
        guard isSchemaName(name) else {
            throw invalid("\(what) '\(text)' may hold only letters, digits and underscores")
        }
        return text
    }

    /// Record types: schema names, and the type of shares.
    package static func checkTypeName(_ name: ArraySlice<UInt8>) throws(ServiceError) -> String {
        if name.elementsEqual(Schema.shareType.utf8) { return Schema.shareType }
        return try checkSchemaName(name, "record type")
    }

    /// Checks a field name: a name of the schema, or of a share, which begins with "cloudkit.".
    package static func checkFieldName(
        _ name: ArraySlice<UInt8>,
        _ what: String
    ) throws(ServiceError) -> String {
        guard name.starts(with: Schema.sharePrefix.utf8) else {
            return try checkSchemaName(name, what)
        }
        let text = try checkText(name, what)
        _ = try checkSchemaName(name.dropFirst(Schema.sharePrefix.utf8.count), what)
        return text
    }

    /// Whether `checkSchemaName` takes it.
    package static func isSchemaName(_ name: ArraySlice<UInt8>) -> Bool {
        guard name.first?.isASCIILetter == true else { return false }
        return name.count <= Limits.standard.nameBytes
            && name.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || $0 == UInt8(ascii: "_") }
    }

    /// 1 to 255 bytes of UTF-8 without NUL.
    package static func checkText(
        _ name: ArraySlice<UInt8>,
        _ what: String
    ) throws(ServiceError) -> String {
        guard !name.isEmpty else { throw invalid("\(what) must not be empty") }
        guard name.count <= Limits.standard.nameBytes else {
            throw invalid("\(what) is \(name.count) bytes long; the limit is 255")
        }
        guard let text = String(utf8: name) else {
            throw invalid("\(what) is not valid UTF-8")
        }
        guard !name.contains(0) else { throw invalid("\(what) must not contain NUL") }
        return text
    }

    private static func invalid(_ message: String) -> ServiceError {
        ServiceError(.invalidArguments, .invalidName, message)
    }
}
