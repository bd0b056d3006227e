// The bound of a lookup over HTTP: nginx, which sends a file of the same size from the page cache.
//
// One process with one thread, on a free port of loopback, in the folder of the bench's data. It is
// asked by the same client over as many connections.

import CumulusModel
import CumulusTerminal
import Foundation

enum BenchNginx {
    /// nil if nginx is not installed.
    static func bound(
        _ load: BenchLoad,
        fileBytes: Int,
        _ target: BenchTarget,
        _ cleanup: Cleanup
    ) async throws -> BenchFigure.Bound? {
        guard let program, let directory = target.directory else { return nil }
        let folder = directory + "/nginx"
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true
        )
        let file = Data(repeating: UInt8(ascii: "x"), count: fileBytes)
        try file.write(to: URL(fileURLWithPath: folder + "/file"))
        let (process, pool) = try await start(program, folder, load.callers, cleanup)
        let request = [UInt8]("GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
        let outcome: Result<BenchLoad.Outcome, any Error>
        do {
            outcome = .success(
                try await load.run(on: pool.executor) { _ in _ = try await pool.ask(request) }
            )
        } catch {
            outcome = .failure(error)
        }
        await pool.close()
        end(process, cleanup)
        let measured = try outcome.get()
        return BenchFigure.Bound(
            name: "nginx",
            perSecond: Double(measured.operations) / measured.seconds
        )
    }

    /// It was started with SIGTERM blocked, as the bench has it, and would wait for ever.
    private static func end(_ process: Process, _ cleanup: Cleanup) {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        cleanup.forget(process: process.processIdentifier)
    }

    /// In the folders of programs, and in that of system programs, which not all users search.
    private static var program: String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let folders = path.split(separator: ":").map(String.init) + ["/usr/sbin"]
        return folders.map { $0 + "/nginx" }.first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
    }

    /// Starts it on some port: it can't say which one it was given.
    private static func start(
        _ program: String,
        _ folder: String,
        _ connections: Int,
        _ cleanup: Cleanup
    ) async throws -> (Process, HTTPPool) {
        for _ in 0..<10 {
            let port = Int.random(in: 20_000..<30_000)
            let endpoint = "127.0.0.1:\(port)"
            if let taken = try? await HTTPPool(to: endpoint, connections: 1) {
                await taken.close()
                continue
            }
            let text = configuration(folder, port, connections)
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/nginx.conf"))
            let process = Process()
            process.executableURL = URL(fileURLWithPath: program)
            process.arguments = [
                "-p", folder, "-c", folder + "/nginx.conf", "-e", folder + "/error.log",
            ]
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            try process.run()
            cleanup.add(process: process.processIdentifier)
            let deadline = Date(timeIntervalSinceNow: 5)
            while process.isRunning, Date() < deadline {
                try await Task.sleep(for: .milliseconds(100))
                guard let pool = try? await HTTPPool(to: endpoint, connections: connections)
                else { continue }
                return (process, pool)
            }
            end(process, cleanup)
        }
        let log = try? String(contentsOfFile: folder + "/error.log", encoding: .utf8)
        throw BenchProblem(message: "nginx did not start: \(log ?? "it said nothing")")
    }

    /// In one process, so that nothing of it is left when that one is killed.
    private static func configuration(_ folder: String, _ port: Int, _ connections: Int) -> String {
        let kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        let temporary = kinds.map { "    \($0)_temp_path \"\(folder)/\($0)\";" }
        return """
            daemon off;
            master_process off;
            pid "\(folder)/nginx.pid";
            events { worker_connections \(connections + 64); }
            http {
                access_log off;
                sendfile on;
                keepalive_requests 1000000000;
                keepalive_timeout 3600;
            \(temporary.joined(separator: "\n"))
                server {
                    listen 127.0.0.1:\(port);
                    root "\(folder)";
                }
            }

            """
    }
}
