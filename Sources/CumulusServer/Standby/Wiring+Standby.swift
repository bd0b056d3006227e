// A process that stands by: it waits until nobody else holds its store, and then opens it.
//
// Called by `Wiring.run`, before anything is made on the disk. Two that stand by may find the store
// free at once: one gets it, and the other one is told that it was overtaken, and waits on.
//
// Folder: a second process beside the one that holds the store. Read `Wiring+Standby`.

import CumulusGateway
import CumulusSystem
import CumulusTransport
import Logging
import PostgresStorage

/// Where a process that stands by answers health checks.
struct HealthDoors {
    /// The address of HTTP; nil if health checks are not answered.
    let address: (host: String, port: Int)?
    let identity: TLSIdentity?
    let loops: EventLoops
}

/// Thrown by a process that stands by where another one was faster.
struct Overtaken: Error {}

extension Wiring {
    /// How often the store is looked at, in milliseconds.
    private static let pause: Int64 = 250
    /// The same once its holder is missing.
    private static let shortPause: Int64 = 50

    /// The database for whose store this process waits; nil if it does not wait.
    func awaitedDatabase() throws -> PostgresAddress? {
        guard try configuration[\.node.standby] else { return nil }
        if let address = try database() { return address }
        throw StartProblem(
            \.node.standby,
            "only a store in a database can be waited for; name it with --store"
        )
    }

    /// Waits until nobody holds the store; returns false if a signal came first.
    ///
    /// Health checks are answered meanwhile, at the address where the node is to serve HTTP.
    func waitForTurn(
        at address: PostgresAddress,
        _ signals: EndSignals,
        _ doors: HealthDoors
    ) async throws -> Bool {
        let pages = open(doors)
        let turn: Result<Bool, any Error>
        do {
            turn = .success(try await wait(for: address, signals))
        } catch {
            turn = .failure(error)
        }
        pages?.cancel()
        await pages?.value
        return try turn.get()
    }

    private func wait(for address: PostgresAddress, _ signals: EndSignals) async throws -> Bool {
        let standby = Standby(address)
        var told: Standby.Finding?
        while !signals.haveCome {
            let finding: Standby.Finding
            do {
                finding = try await Wiring.look(standby).get()
            } catch {
                throw StartProblem("\(error)")
            }
            if finding != told { tell(finding) }
            if finding == .free { return true }
            told = finding
            let isMissing = if case .missing = finding { true } else { false }
            let pause = isMissing ? Wiring.shortPause : Wiring.pause
            try await Task.sleep(for: .milliseconds(pause))
        }
        return false
    }

    /// Answers health checks until the task is cancelled; nil without `--http`.
    private func open(_ doors: HealthDoors) -> Task<Void, Never>? {
        guard let (host, port) = doors.address else { return nil }
        var secure: HTTPServer.Secure?
        if let identity = doors.identity { secure = { identity.web } }
        let server = WaitingServer(secure: secure, logger: logger)
        return Task { [logger] in
            do {
                try await server.run(host: host, port: port, on: doors.loops.group) {
                    Wiring.say("cumulusd serves HTTP on \(host):\($0)")
                }
            } catch {
                logger.error("health checks are not answered", metadata: ["why": "\(error)"])
            }
        }
    }

    /// The database may be slow to answer, so no thread of the pool waits for it.
    private static func look(
        _ standby: Standby
    ) async -> Result<Standby.Finding, PostgresError> {
        await withCheckedContinuation { waiting in
            DispatchQueue.global().async {
                waiting.resume(
                    returning: Result { () throws(PostgresError) in try standby.look() }
                )
            }
        }
    }

    private func tell(_ finding: Standby.Finding) {
        switch finding {
        case .free: logger.notice("nobody holds the store: this process opens it")
        case .held(let process):
            Wiring.say("cumulusd stands by while \(process) holds the store")
            logger.info("stands by", metadata: ["holder": "\(process)"])
        case .missing(let process):
            logger.notice(
                "the process that holds the store has no sessions any more",
                metadata: ["holder": "\(process)"]
            )
        case .unreachable(let reason):
            logger.warning(
                "stands by, and the database can't be reached",
                metadata: ["why": "\(reason)"]
            )
        }
    }
}
