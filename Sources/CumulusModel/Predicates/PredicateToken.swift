// The elements of a predicate's format, as the lexer finds them and the parser takes them.

package struct PredicateToken: Sendable {
    package var kind: Kind
    /// The bytes of the format that it was read from.
    package var range: Range<Int>

    package enum Kind: Hashable, Sendable {
        /// A word that is not a keyword: a field, a function, or letters of an option.
        case word(String)
        /// A field whose name was marked with `#`.
        case escaped(String)
        case keyword(Keyword)
        case string(String)
        /// An unsigned number: a minus is a symbol of its own.
        case integer(UInt64)
        case decimal(Double)
        /// A placeholder, with its number among the placeholders, from 0.
        case placeholder(Placeholder, Int)
        /// One of the six comparisons that have a sign.
        case relation(Query.Relation)
        case symbol(Character)
        case end
    }

    /// The reserved words; a field of such a name is marked with `#`.
    package enum Keyword: String, Sendable {
        case and = "AND"
        case or = "OR"
        case not = "NOT"
        case all = "ALL"
        case any = "ANY"
        case some = "SOME"
        case none = "NONE"
        case isIn = "IN"
        case between = "BETWEEN"
        case beginsWith = "BEGINSWITH"
        case contains = "CONTAINS"
        case tokenMatches = "TOKENMATCHES"
        case endsWith = "ENDSWITH"
        case like = "LIKE"
        case matches = "MATCHES"
        case record = "SELF"
        case null = "NULL"
        case `nil` = "NIL"
        case `true` = "TRUE"
        case yes = "YES"
        case `false` = "FALSE"
        case no = "NO"
        case now = "NOW"
        case truePredicate = "TRUEPREDICATE"
        case falsePredicate = "FALSEPREDICATE"

        /// The reserved word that a word is, in whatever case.
        package init?(word: String) {
            self.init(rawValue: word.uppercased())
        }
    }

    /// The kind of argument that a `%` sequence stands for.
    package enum Placeholder: Sendable {
        case value
        case key
        case signed
        case unsigned
        case decimal
    }
}
