// A PostgreSQL server for the tests of this process: started once, in a folder of its own. Tests
// that stop or restart a server have one for themselves.
//
// It listens on a socket in the folder only. A shell watches over it, and ends it by its number
// when the pipe from this process closes, which happens however this process ends. PostgreSQL
// refuses to run as root, so root's tests start it as another user.
//
// Folder: the database server that tests start. Read `PostgresServer`.

import Foundation
import Synchronization

package final class PostgresServer: Sendable {
    package typealias Failure = ChildProcess.Failure

    private static let root = "/usr/lib/postgresql"
    private static let shared = Result { try PostgresServer() }

    /// Where Debian and Ubuntu have the server's programs; nil if no server is installed.
    private static let programs: String? = {
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        return versions.compactMap(Int.init).filter { $0 >= 14 }.sorted().reversed()
            .map { "\(root)/\($0)/bin" }
            .first { FileManager.default.isExecutableFile(atPath: "\($0)/initdb") }
    }()

    /// Whether the server can be started; tests that need it are skipped otherwise.
    package static var isInstalled: Bool { programs != nil }
    /// Why tests are skipped.
    package static let missing = "there is no PostgreSQL server; apt-get install postgresql-15"

    /// The server of this process.
    package static func running() throws -> PostgresServer { try shared.get() }

    /// A server of a test's own, which may be stopped; it ends with its value.
    package static func own() throws -> PostgresServer { try PostgresServer() }

    private let folder: TemporaryFolder
    private let programs: String
    private let watcher: ChildProcess
    /// The end of the pipe whose closing ends the server; it stays open.
    private let end: Int32
    private let databases = Atomic<Int>(0)

    private init() throws {
        guard let programs = PostgresServer.programs else {
            throw Failure(PostgresServer.missing)
        }
        self.programs = programs
        folder = try TemporaryFolder()
        let pipe = try PostgresServer.makePipe()
        end = pipe.writing
        watcher = try ChildProcess(
            ["/bin/sh", "-c", PostgresServer.script, "sh", folder.path, programs],
            variables: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"],
            input: pipe.reading,
            output: "/dev/null",
            errors: "/dev/null"
        )
        close(pipe.reading)
        try waitUntilReady()
        try run(in: "postgres", "CREATE ROLE locked LOGIN PASSWORD 'right'")
        try run(in: "postgres", "CREATE ROLE poor LOGIN")
    }

    deinit {
        close(end)
        // The watcher is killed with its value, and must not leave a server behind.
        for _ in 0..<1_000 where watcher.ending == nil { usleep(10_000) }
    }

    /// No program that is started later may hold the pipe open.
    private static func makePipe() throws -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Failure("no pipe can be made") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    /// The user `locked` needs a password, all others none.
    private static let script = """
        set -e
        cd /
        as=
        if [ "$(id -u)" = 0 ]; then
            chown nobody:nogroup "$1"
            as="setpriv --reuid=nobody --regid=nogroup --clear-groups"
        fi
        $as "$2/initdb" -D "$1/data" -U postgres -A trust -E UTF8 --locale=C --no-sync
        printf 'local all locked scram-sha-256\\nlocal all all trust\\n' >"$1/data/pg_hba.conf"
        printf "%s\\n" "listen_addresses = ''" "unix_socket_directories = '$1'" \\
            'max_connections = 200' 'shared_buffers = 32MB' >>"$1/data/postgresql.conf"
        $as "$2/postgres" -D "$1/data" </dev/null &
        cat >/dev/null
        $as "$2/pg_ctl" -D "$1/data" -m fast -w stop || true
        rm -rf "$1"
        """

    private func waitUntilReady() throws {
        for _ in 0..<600 {
            if (try? run(in: "postgres", "SELECT 1")) != nil { return }
            guard watcher.ending == nil else { break }
            usleep(50_000)
        }
        throw Failure("the PostgreSQL server of the tests did not start")
    }

    // MARK: Ends and starts

    /// Ends the server as a crash would, and starts it again.
    package func crash() throws { try control("restart", "-m", "immediate") }

    /// Ends the server in order.
    package func stop() throws { try control("stop", "-m", "fast") }

    package func start() throws { try control("start") }

    /// Lets the server say nothing more, as if a network lost all that is sent.
    package func pause() throws { try signal(SIGSTOP) }

    package func resume() throws { try signal(SIGCONT) }

    /// Sends a signal to the server and its children.
    private func signal(_ signal: Int32) throws {
        let file = try String(contentsOfFile: "\(folder.path)/data/postmaster.pid", encoding: .utf8)
        guard let first = file.split(separator: "\n").first, let server = Int32(first) else {
            throw Failure("the server's number is not known")
        }
        let list = "/proc/\(server)/task/\(server)/children"
        let children = try String(contentsOfFile: list, encoding: .utf8)
            .split(separator: " ").compactMap { Int32($0) }
        for process in [server] + children { kill(process, signal) }
    }

    private func control(_ words: String...) throws {
        let user =
            geteuid() == 0
            ? ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] : []
        // The user may not look into the folder that this process is in.
        try ChildProcess.run(
            ["-C", "/"] + user
                + ["\(programs)/pg_ctl", "-D", "\(folder.path)/data", "-w"]
                + ["-l", "\(folder.path)/data/restarts.log"] + words
        )
    }

    // MARK: Databases

    /// Makes an empty database, and returns its name.
    package func makeDatabase(owner: String = "postgres") throws -> String {
        let name = "test\(databases.add(1, ordering: .relaxed).newValue)"
        try run(in: "postgres", "CREATE DATABASE \(name) OWNER \(owner)")
        return name
    }

    /// Makes an empty database whose tables are in a folder, such as one on a disk of its own.
    package func makeDatabase(in folder: String) throws -> String {
        let name = "test\(databases.add(1, ordering: .relaxed).newValue)"
        let place = "\(folder)/tables"
        try FileManager.default.createDirectory(
            atPath: place,
            withIntermediateDirectories: false
        )
        if geteuid() == 0 { try ChildProcess.run(["chown", "nobody:nogroup", place]) }
        try run(in: "postgres", "CREATE TABLESPACE \(name) LOCATION '\(place)'")
        try run(in: "postgres", "CREATE DATABASE \(name) TABLESPACE \(name)")
        return name
    }

    /// Makes a copy of a database that nobody uses, and returns its name.
    package func copy(of database: String) throws -> String {
        let name = "test\(databases.add(1, ordering: .relaxed).newValue)"
        try run(in: "postgres", "CREATE DATABASE \(name) TEMPLATE \(database)")
        return name
    }

    /// The URL of a database, for a user.
    package func url(of database: String, user: String = "postgres") -> String {
        "postgres://\(user)@/\(database)?host=\(folder.path)"
    }

    /// Runs a statement as the server's owner.
    package func run(in database: String, _ statement: String) throws {
        try ChildProcess.run([
            "\(programs)/psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", folder.path, "-U",
            "postgres", "-d", database, "-c", statement,
        ])
    }
}
