// Why a database wasn't opened: one line for the operator, which says what to do.
//
// Thrown by `PostgresEngine.init`. `place` is the description of a `PostgresAddress`, which has no
// password; `reason` is what the server or libpq said.

package enum PostgresError: Error, Equatable, CustomStringConvertible {
    /// The text is no URL of a database.
    case badAddress
    /// PostgreSQL's client library is not installed, or too old; `reason` is what the system said.
    case noLibrary(reason: String)
    case unreachable(place: String, reason: String)
    /// The user or the password is wrong, or the server lets nobody in from here.
    case refused(place: String, reason: String)
    case noDatabase(place: String, reason: String)
    /// The release of the server, such as 130004.
    case oldServer(place: String, version: Int)
    /// The server only follows another one.
    case standby(place: String)
    /// The server doesn't flush commits, so that a power cut loses what was acknowledged.
    case notDurable(place: String, setting: String)
    /// There are no tables, and none may be made.
    case noStore(place: String)
    /// Another release made the tables.
    case otherFormat(place: String, format: Int)
    /// Another process writes to this database; `process` is its host and number.
    case inUse(place: String, process: String)
    /// The user may not make or change tables.
    case notAllowed(place: String, reason: String)
    case unusable(place: String, reason: String)

    package var description: String {
        switch self {
        case .badAddress:
            """
            this is no address of a database; write postgres://USER@HOST:PORT/NAME, with % and \
            two hexadecimal digits for other characters than letters and digits
            """
        case .noLibrary(let reason):
            """
            a store in a database needs libpq 14 or newer, PostgreSQL's client library: \
            \(reason); install libpq5 (apt-get install libpq5, or brew install libpq)
            """
        case .unreachable(let place, let reason):
            "the database \(place) can't be reached: \(reason); start it, or correct the address"
        case .refused(let place, let reason):
            """
            the database \(place) does not let this user in: \(reason); correct the user, the \
            password or the server's pg_hba.conf
            """
        case .noDatabase(let place, let reason):
            "there is no database \(place): \(reason); make it with 'createdb'"
        case .oldServer(let place, let version):
            """
            the database \(place) is PostgreSQL \(version / 10_000), and this release needs \
            \(PostgresError.oldestServer / 10_000) or newer
            """
        case .standby(let place):
            """
            the database \(place) is a standby, which takes no writes; name the primary, or all \
            hosts with target_session_attrs=read-write
            """
        case .notDurable(let place, let setting):
            """
            the database \(place) has \(setting) = off, so a power cut would lose or break what \
            was acknowledged; set it to on and reload the server
            """
        case .noStore(let place):
            "there is no store in the database \(place) that could be shown; name another one"
        case .otherFormat(let place, let format):
            """
            the tables in the database \(place) have format \(format), and this release reads \
            \(Tables.format); run the release that made them
            """
        case .inUse(let place, let process):
            """
            the database \(place) is in use by another cumulusd (\(process)); end it first, or \
            start this one with --standby, so that it takes over when the other one ends, or name \
            a database of its own for this node
            """
        case .notAllowed(let place, let reason):
            """
            the user may not make tables in the database \(place): \(reason); make the user the \
            owner of the database, or say GRANT CREATE ON SCHEMA public TO the user
            """
        case .unusable(let place, let reason):
            "the database \(place) can't be used: \(reason)"
        }
    }

    /// The oldest release of the server whose settings and statements are those that we use.
    static let oldestServer = 140_000
}
