// Looks after a store that another process writes to, until it can be opened.
//
// Made by `cumulusd --standby`, which looks several times a second, on one connection. What it
// finds is a hint: `Opening` judges again, under a lock, and the fence makes each mistake safe. So
// two may find the store free at once, and one of them is told that it is in use, and looks on.

package final class Standby: @unchecked Sendable {
    // One thread at a time looks.

    package enum Finding: Equatable, Sendable {
        /// Nobody holds the store.
        case free
        /// Another process holds it; its host and number.
        case held(by: String)
        /// One without sessions holds it: it has died, or its connections broke.
        case missing(String)
        /// The database can't be reached, and why.
        case unreachable(String)
    }

    private let address: PostgresAddress
    private var session: Session?
    private var absence = Absence()

    package init(_ address: PostgresAddress) {
        self.address = address
    }

    /// Looks once; blocks for some seconds at most.
    ///
    /// Throws what more looks won't change: a wrong password, no such database.
    package func look() throws(PostgresError) -> Finding {
        do throws(PostgresError) {
            let session = if let session { session } else { try connect() }
            self.session = session
            return try look(session)
        } catch {
            guard case .unreachable(_, let reason) = error else { throw error }
            session = nil
            absence.connectionBroke()
            return .unreachable(reason)
        }
    }

    private func connect() throws(PostgresError) -> Session {
        try Session(address, application: "cumulusd standby")
    }

    private func look(_ session: Session) throws(PostgresError) -> Finding {
        do {
            let holders = Holder.all(in: try session.run(Term.holders))
            guard !absence.isFree(of: holders, now: .now) else { return .free }
            if let holder = holders.first(where: \.lives) { return .held(by: holder.endpoint) }
            return .missing(holders.first { !$0.hasSessions }?.endpoint ?? "")
        } catch {
            // Without tables this is a new store.
            if error.state == "42P01" { return .free }
            let place = address.description
            if error.isLost { throw .unreachable(place: place, reason: error.text) }
            throw .unusable(place: place, reason: error.text + error.advice)
        }
    }
}

/// Judges whether a store is free, from what was seen of its holders until now.
///
/// A process that was stopped or cut off keeps its sessions, and the server says when they asked
/// last. One that was killed has none. But one whose connections broke has none for a moment, too:
/// it comes back, after a restart of the server perhaps later than we do.
struct Absence {
    typealias Moment = ContinuousClock.Instant

    private var isAfterBreak = false
    private var beginning: Moment?

    /// How long a process that lives may have no sessions.
    static let usual = Duration.milliseconds(500)
    /// The same where our own connection broke, too.
    static let afterBreak = Duration.seconds(4)

    /// Our own connection broke: perhaps the server starts again.
    mutating func connectionBroke() {
        isAfterBreak = true
        beginning = nil
    }

    mutating func isFree(of holders: [Holder], now: Moment) -> Bool {
        if holders.contains(where: \.lives) {
            self = Absence()
            return false
        }
        if holders.allSatisfy(\.hasSessions) { return true }
        let start = beginning ?? now
        beginning = start
        return now - start >= (isAfterBreak ? Absence.afterBreak : Absence.usual)
    }
}
