// Which names of users look alike: those that differ only in case and in spaces.
//
// Asked in the writer when a user is made, so that no two new users look alike. Users from before
// this rule may look alike, and so may users that two nodes made without knowing of each other.
// Each of them keeps its name.

package import CumulusModel
package import CumulusStorage

package enum AlikeNames {
    /// Why a new user can't have a name; nil if no other user's name looks like it.
    ///
    /// An existing user with exactly this name is no reason.
    package static func refusal(
        of name: String,
        in reader: borrowing WriteTransaction
    ) throws(EngineError) -> ServiceError? {
        guard let scope = try reader.scope(.cluster),
            try Users.find(name, in: reader) == nil, try isTaken(name, scope, in: reader)
        else { return nil }
        return ServiceError(
            .invalidArguments,
            .invalidName,
            """
            the name '\(name)' looks like that of another user: case and spaces make no \
            difference; choose another one
            """
        )
    }

    /// Whether some user has a name that looks like this one.
    ///
    /// The search builds the spellings letter by letter, and goes on with the spellings that begin
    /// some user's name. So it reads a few rows per letter, however many users there are.
    private static func isTaken(
        _ name: String,
        _ scope: ScopeNumber,
        in reader: borrowing WriteTransaction
    ) throws(EngineError) -> Bool {
        let letters = name.utf8.filter { $0 != space }
        var open: [(spelling: Bytes, letters: Int)] = [([], 0)]
        while let (spelling, count) = open.popLast() {
            guard try isBegun(spelling, scope, in: reader) else { continue }
            open.append((spelling + [space], count))
            if count < letters.count {
                open += spellings(of: letters[count]).map { (spelling + [$0], count + 1) }
            } else if try Users.user(named: spelling, scope, in: reader) != nil {
                return true
            }
        }
        return false
    }

    private static let space = UInt8(ascii: " ")

    /// Both cases of an ASCII letter; any other byte alone.
    private static func spellings(of letter: UInt8) -> Set<UInt8> {
        guard letter.isASCIILetter else { return [letter] }
        return [letter | 0x20, letter & ~0x20]
    }

    /// Whether the name of some user begins with these bytes.
    private static func isBegun(
        _ start: Bytes,
        _ scope: ScopeNumber,
        in reader: borrowing WriteTransaction
    ) throws(EngineError) -> Bool {
        let users = RowKey.register(scope, AccountRegister.user, []).bytes
        return try !reader.rows(.meta, KeyRange(prefix: users + start), limit: 1).isEmpty
    }
}
