// The limit of open files and sockets for this process, and the limit that it begins with.
//
// Called once, when the node starts: most systems allow 1,024 unless a process asks for more, and
// every connection is one.

import CumulusSystem

enum OpenFiles {
    /// Opens what the caller closed of standard input, output and errors: else the store's files
    /// would get their numbers, and what is said would be written into them.
    static func keepStandardOnes() {
        for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", descriptor == 0 ? O_RDONLY : O_WRONLY)
        }
    }

    /// Raises the soft limit to the hard one; without the right to do so it stays as it is.
    ///
    /// - Returns: The limit that holds now.
    @discardableResult static func raiseLimit() -> Int {
        var limit = rlimit()
        #if os(Linux)
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let resource = RLIMIT_NOFILE
        #endif
        guard getrlimit(resource, &limit) == 0 else { return usual }
        let before = limit.rlim_cur
        limit.rlim_cur = limit.rlim_max
        #if os(macOS)
            limit.rlim_cur = min(limit.rlim_cur, rlim_t(OPEN_MAX))
        #endif
        let now = setrlimit(resource, &limit) == 0 ? limit.rlim_cur : before
        return Int(clamping: now)
    }

    private static let usual = 1_024

    /// Connections that leave room for the store's files.
    ///
    /// - Parameters:
    ///   - limit: Files that this process may have open.
    ///   - tables: Files that the store keeps open.
    static func connectionLimit(of limit: Int, besides tables: Int) -> Int {
        max(fewestConnections, limit - tables - otherFiles)
    }

    /// How many of all connections are for gRPC, where it is served; the others speak the binary
    /// protocol.
    ///
    /// - Parameter connections: What `connectionLimit` leaves.
    static func grpcShare(of connections: Int) -> Int {
        min(mostGRPCConnections, connections / 4)
    }

    private static let fewestConnections = 16
    private static let mostGRPCConnections = 1_000
    /// Logs, packs that are read and written, backups, and what a library may open.
    private static let otherFiles = 128
}
