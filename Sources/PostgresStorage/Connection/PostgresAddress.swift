// The address of a database, as an operator writes it: a URL, and perhaps a password beside it.
//
// Made by `cumulusd` from its settings. libpq, which the first one loads, reads the URL and all
// that may stand in it. The password is never part of a description or of an error.

import CPostgres

package struct PostgresAddress: Sendable, CustomStringConvertible {
    let library: LibPQ
    let url: String
    let password: String?
    /// The database and its host, without the user and the password.
    package let description: String

    /// Reads a URL like `postgres://cumulus@db.example:5432/cumulus?sslmode=verify-full`.
    ///
    /// - Parameter password: Replaces a password in the URL; nil means the URL's password, or the
    ///   one in the file `.pgpass` that libpq looks for.
    package init(_ url: String, password: String? = nil) throws(PostgresError) {
        guard PostgresAddress.schemes.contains(where: url.hasPrefix) else { throw .badAddress }
        library = try LibPQ.loaded()
        // What libpq says of a URL may quote the password.
        guard let options = library.calls.PQconninfoParse(url, nil) else { throw .badAddress }
        defer { library.calls.PQconninfoFree(options) }
        self.url = url
        self.password = password
        description = PostgresAddress.describe(options)
    }

    private static let schemes = ["postgres://", "postgresql://"]

    /// A URL whose password is left out, for those who look at the settings.
    ///
    /// A text that is no URL is hidden whole. Where a password was not encoded as it should be,
    /// more is hidden than must be.
    package static func hidingPassword(in url: String) -> String {
        guard let scheme = schemes.first(where: url.hasPrefix) else {
            return url.isEmpty ? "" : "…"
        }
        var rest = String(url.dropFirst(scheme.count))
        if let at = rest.lastIndex(of: "@"), let colon = rest[..<at].firstIndex(of: ":") {
            rest = "\(rest[..<colon]):…\(rest[at...])"
        }
        guard let query = rest.firstIndex(of: "?") else { return scheme + rest }
        let parameters = rest[rest.index(after: query)...]
            .split(separator: "&", omittingEmptySubsequences: false)
            .map { parameter in
                let name = parameter.prefix { $0 != "=" }
                let isSecret = name.lowercased().contains("pass") && name != "passfile"
                return isSecret ? "\(name)=…" : String(parameter)
            }
        return "\(scheme)\(rest[...query])\(parameters.joined(separator: "&"))"
    }

    private static func describe(_ options: UnsafeMutablePointer<PQconninfoOption>) -> String {
        var values: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val {
                values[String(cString: keyword)] = String(cString: value)
            }
            option += 1
        }
        let host = values["host"] ?? values["hostaddr"] ?? "this machine"
        let port = values["port"].map { ":\($0)" } ?? ""
        return "\(values["dbname"] ?? values["user"] ?? "the default") on \(host)\(port)"
    }

    /// What libpq is given: keywords and their values; a later one replaces an earlier one.
    func keywords(application: String) -> [(name: String, value: String)] {
        var keywords = [
            // A database that is cut off is noticed within some seconds.
            ("connect_timeout", "5"), ("tcp_user_timeout", "10000"), ("keepalives_idle", "5"),
            ("keepalives_interval", "2"), ("keepalives_count", "3"),
            ("dbname", url),
            ("application_name", application), ("client_encoding", "UTF8"),
        ]
        if let password { keywords.append(("password", password)) }
        return keywords
    }
}
