// Opens the store in a database: checks the server, makes the tables or checks them, and enters
// this process as the one that writes.
//
// Called by `PostgresEngine.init`, once. All of it is one transaction, and a lock keeps two starts
// apart. A process that writes to the store is respected: the start waits for some seconds, since
// it may be the one before us that ends, and then gives up. One that died, or stopped for longer
// than its term, is fenced off: nothing that it still sends is written, and once its lease is over,
// it reads nothing any more.
//
// Folder: what stands in the database beside the rows, and how a store is opened. Read `Tables`,
// then `Opening`, `ServerCheck` and `SiteRow`, and `Standby`, which waits beside another process.

import CumulusModel
import CumulusSystem

struct Opening {
    let session: Session
    let place: String
    /// The number of this process, see `Term`.
    let process: Int64
    /// How long a start waits for the process before it.
    let patience: Duration
    /// False: a database without tables of ours is refused.
    let makesTables: Bool

    struct Opened {
        /// The name of the store, 32 hexadecimal digits.
        var store: String
        /// The tables were made now.
        var isNew: Bool
        /// The store was last opened in another database.
        var hasMoved: Bool
        /// The processes that were fenced off.
        var fenced: [Holder] = []
    }

    private enum Outcome {
        case opened(Opened)
        case refused(PostgresError)
    }

    /// Any number that nobody else locks in a database of ours.
    private static let lock = "SELECT pg_advisory_xact_lock(48879420)"
    private static let pause: UInt32 = 100_000

    func run() throws(PostgresError) -> Opened {
        let start = ContinuousClock.now
        // This stays nil as long as no other process was seen alive.
        var absence: Absence?
        while true {
            let outcome: Outcome
            do {
                outcome = try transaction(&absence)
            } catch {
                throw refusal(error)
            }
            switch outcome {
            case .opened(let opened): return opened
            case .refused(let problem):
                guard case .inUse = problem, .now - start < patience else { throw problem }
                absence = absence ?? Absence()
            }
            usleep(Opening.pause)
        }
    }

    private func transaction(_ absence: inout Absence?) throws(StatementError) -> Outcome {
        _ = try session.run("BEGIN; \(Opening.lock)")
        let outcome = try attempt(&absence)
        if case .opened(let opened) = outcome {
            _ = try session.run("COMMIT")
            let fence = ContinuousClock.now
            try endSessions(of: opened.fenced)
            if !opened.fenced.isEmpty { Opening.rest(since: fence) }
        } else {
            _ = try session.run("ROLLBACK")
        }
        return outcome
    }

    /// Waits until the processes that were fenced off know, by their own clocks, that they can't
    /// answer anything from what they have in memory.
    private static func rest(since fence: ContinuousClock.Instant) {
        let left = Lease.rest - (.now - fence)
        if left > .zero { usleep(UInt32(left / .microseconds(1))) }
    }

    private func attempt(_ absence: inout Absence?) throws(StatementError) -> Outcome {
        let check = ServerCheck(try session.run(ServerCheck.question))
        if let problem = check.problem(at: place) { return .refused(problem) }
        if !check.hasTables {
            guard makesTables else { return .refused(.noStore(place: place)) }
            _ = try session.run(Tables.creation)
        }
        let site = try session.run(Opening.site)
        guard site.count == 1 else {
            return .refused(.unusable(place: place, reason: "the row of cumulus_site is missing"))
        }
        let format = Int(site.number(0, 0))
        guard format == Tables.format else {
            return .refused(.otherFormat(place: place, format: format))
        }
        if let holder = try holder(&absence) {
            return .refused(.inUse(place: place, process: holder.endpoint))
        }
        var opened = Opened(
            store: site.text(0, 1),
            isNew: !check.hasTables,
            hasMoved: !site.isTrue(0, 2)
        )
        if opened.hasMoved { _ = try session.run(Opening.moving) }
        _ = try session.run(Term.waiting)
        opened.fenced = Holder.fenced(in: try session.run(Term.fencing))
        _ = try session.run(Term.forgetting)
        var parameters = Parameters()
        parameters.add(process)
        parameters.add(Bytes(Opening.endpoint.utf8))
        _ = try session.run(Term.beginning, parameters)
        return .opened(opened)
    }

    /// The process that holds the store.
    ///
    /// One that was seen alive, and whose connections broke, holds it for a moment longer.
    private func holder(_ absence: inout Absence?) throws(StatementError) -> Holder? {
        let holders = Holder.all(in: try session.run(Term.holders))
        if absence?.isFree(of: holders, now: .now) == false { return holders.first }
        return holders.first { $0.lives }
    }

    /// Ends what processes that were fenced off have left at the server.
    ///
    /// A statement that still comes from them would find the fence, too.
    private func endSessions(of others: [Holder]) throws(StatementError) {
        guard !others.isEmpty else { return }
        let names = others.map { "'\(Term.application($0.id))'" }.joined(separator: ", ")
        _ = try session.run(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND application_name IN (\(names))
            """
        )
    }

    private static let site = Statement(
        name: "site",
        text: """
            SELECT format, replace(id::text, '-', ''), database = \(Tables.database)
            FROM cumulus_site
            """
    )

    private static let moving = Statement(
        name: "moving",
        text: "UPDATE cumulus_site SET database = \(Tables.database)"
    )

    /// What people see of this process: its host and number.
    private static var endpoint: String {
        var name = [CChar](repeating: 0, count: 256)
        gethostname(&name, name.count - 1)
        let host = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return "\(String(decoding: host, as: UTF8.self)), process \(getpid())"
    }

    private func refusal(_ error: StatementError) -> PostgresError {
        if error.state == "42501" { return .notAllowed(place: place, reason: error.text) }
        if error.isLost { return .unreachable(place: place, reason: error.text) }
        return .unusable(place: place, reason: error.text + error.advice)
    }
}
