// libpq, PostgreSQL's client library: loaded when the first address of a database is read.
//
// `PostgresAddress` holds it, so nothing is asked of a library that isn't there. It stays loaded as
// long as the process runs.

import CPostgres

final class LibPQ: @unchecked Sendable {
    // The table never changes once it is filled.

    /// The library's functions under their own names.
    let calls: cumulus_libpq

    private static let shared = Result { () throws(PostgresError) in try LibPQ() }

    static func loaded() throws(PostgresError) -> LibPQ { try shared.get() }

    private init() throws(PostgresError) {
        let table = UnsafeMutablePointer<cumulus_libpq>.allocate(capacity: 1)
        defer { table.deallocate() }
        if let reason = cumulus_libpq_load(table) {
            throw .noLibrary(reason: String(cString: reason))
        }
        calls = table.pointee
    }
}
