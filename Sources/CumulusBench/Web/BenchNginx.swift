// The bound of a lookup over HTTP: nginx, which sends a file of the same size from the page cache.
//
// One process with one thread, on a free port of loopback, in the folder of the bench's data. It is
// asked by the same client over as many connections.

import AsyncHTTPClient
import CumulusModel
import CumulusTerminal
import Foundation
import NIOCore

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
        return try await HTTPCaller.with(connections: load.callers) { caller in
            let (process, request) = try await start(program, folder, load, cleanup) { request in
                let answer = try? await caller.ask(request)
                return answer?.body.readableBytes == fileBytes
            }
            defer { end(process, cleanup) }
            let operation: BenchLoad.Operation = { _ in _ = try await caller.ask(request) }
            try await load.rehearse(on: caller.executor, operation)
            let measured = try await load.run(on: caller.executor, operation)
            return BenchFigure.Bound(
                name: "nginx",
                perSecond: Double(measured.operations) / measured.seconds
            )
        }
    }

    /// It was started with SIGTERM blocked, as the bench has it, and would wait for ever.
    private static func end(_ process: Process, _ cleanup: Cleanup) {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        cleanup.forget(process: process.processIdentifier)
    }

    /// It is searched in the folders of programs, and of system programs, which not all users
    /// search.
    private static var program: String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let folders = path.split(separator: ":").map(String.init) + ["/usr/sbin"]
        return folders.map { $0 + "/nginx" }.first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
    }

    /// Starts it on some port, since it can't say which one it was given, and waits until it
    /// answers; returns the request for the file too.
    private static func start(
        _ program: String,
        _ folder: String,
        _ load: BenchLoad,
        _ cleanup: Cleanup,
        answers: (HTTPClientRequest) async -> Bool
    ) async throws -> (Process, HTTPClientRequest) {
        for _ in 0..<10 {
            let port = Int.random(in: 20_000..<30_000)
            let text = configuration(folder, port, load.callers)
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/nginx.conf"))
            let process = try launch(program, folder)
            cleanup.add(process: process.processIdentifier)
            let request = HTTPClientRequest(url: "http://127.0.0.1:\(port)/file")
            let deadline = Date(timeIntervalSinceNow: 5)
            // It ends if the port is taken.
            while process.isRunning, Date() < deadline {
                try await Task.sleep(for: .milliseconds(100))
                if await answers(request) { return (process, request) }
            }
            end(process, cleanup)
        }
        let log = try? String(contentsOfFile: folder + "/error.log", encoding: .utf8)
        throw BenchProblem(message: "nginx did not start: \(log ?? "it said nothing")")
    }

    private static func launch(_ program: String, _ folder: String) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = [
            "-p", folder, "-c", folder + "/nginx.conf", "-e", folder + "/error.log",
        ]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        return process
    }

    /// The configuration runs one process, so that killing it leaves nothing.
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
