// How many files this process may have open: each connection takes one.
//
// Called by the paths with thousands of connections, before they are made.

import Foundation

enum BenchFiles {
    /// Raises the number of files that this process may have open.
    ///
    /// - Parameter option: The option that a user can lower instead.
    static func allow(_ count: Int, _ option: String) throws {
        var limit = rlimit()
        #if os(Linux)
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let resource = RLIMIT_NOFILE
        #endif
        getrlimit(resource, &limit)
        let wanted = rlim_t(count + 100)
        guard limit.rlim_max >= wanted else {
            throw BenchProblem(
                message: """
                    this process may have \(limit.rlim_max) files open, \(wanted) are needed; \
                    raise the hard limit (ulimit -Hn) or name fewer \(option)
                    """
            )
        }
        limit.rlim_cur = max(limit.rlim_cur, wanted)
        setrlimit(resource, &limit)
    }
}
