// The path `http`: web services beside the binary protocol, by the same caller, in the same node.
//
// A server's key looks up and saves records of the public database. Over HTTP each call in flight
// has a connection of its own, which is kept; over the binary protocol all of them share a few.
// Lookups show an API token, as web apps do; saves are signed. Lookups also stand beside nginx,
// which sends a file as large as their answer.
//
// The HTTP client is a library, and takes more processor time than the client of the binary
// protocol: for each request it reads a URL, sets a timer and starts a task on another thread. It
// runs in this process, beside the node. So where the processors are full, rates and times over
// HTTP, and their part of a bound, also depend on the client; this client asks nginx, too. Only the
// node's processor time shows the cost of a request for the node.
//
// Folder: HTTP as the bench speaks it. Read `Bench+HTTP`, then `HTTPCaller` and `BenchServer`.

import AsyncHTTPClient
import Cumulus
import CumulusModel
import CumulusTerminal
import NIOCore

extension Bench {
    func http(_ target: BenchTarget, _ cleanup: Cleanup) async throws -> [BenchFigure] {
        let server = try await BenchServer.open(target, options)
        return try await server.container.use { _ in
            try await lookups(target, server, cleanup) + modifies(target, server)
        }
    }

    /// Sends requests over newly opened connections: a node closes connections that are silent for
    /// a minute.
    private func measure(
        _ name: String,
        _ target: BenchTarget,
        _ server: BenchServer,
        _ request: @escaping @Sendable (inout SeededGenerator) throws -> HTTPClientRequest
    ) async throws -> BenchFigure {
        try await HTTPCaller.with(connections: options.inFlight) { caller in
            try await BenchFigure.measure(name, target, load, on: caller.executor) { dice in
                _ = try await caller.ask(request(&dice))
            }
        }
    }

    // MARK: Lookups

    private func lookups(
        _ target: BenchTarget,
        _ server: BenchServer,
        _ cleanup: Cleanup
    ) async throws -> [BenchFigure] {
        let (database, records) = (server.container.publicCloudDatabase, server.records)
        let binary = try await BenchFigure.measure("http: lookup, binary", target, load) { dice in
            _ = try await database.record(for: records.anyID(&dice))
        }
        let answer = try await HTTPCaller.with(connections: 1) { caller in
            try await caller.ask(server.lookup(records.ids[0]))
        }
        var web = try await measure("http: lookup", target, server) { dice in
            server.lookup(records.anyID(&dice))
        }
        // The same measurement, beside another bound.
        var file = web
        file.path = "http: lookup, beside a file"
        web.compare(with: [binary.bound(named: "binary")])
        let size = answer.body.readableBytes
        if let bound = try await BenchNginx.bound(load, fileBytes: size, target, cleanup) {
            file.compare(with: [bound])
        } else {
            file.note = "nginx is not installed"
        }
        return [binary, web, file]
    }

    // MARK: Saves

    private func modifies(
        _ target: BenchTarget,
        _ server: BenchServer
    ) async throws -> [BenchFigure] {
        let database = server.container.publicCloudDatabase
        let binary = try await BenchFigure.measure("http: modify, binary", target, load) { dice in
            try await database.save([server.nextRecord(&dice)], .allKeys)
        }
        var web = try await measure("http: modify", target, server) { dice in
            try server.modify(server.nextRecord(&dice))
        }
        web.compare(with: [binary.bound(named: "binary")])
        return [binary, web]
    }
}
