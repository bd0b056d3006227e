// A process's right to write: its row in `cumulus_process`, and the statements about it.
//
//   id       a random number that a process gives itself when it starts
//   epoch    rises when a reply was lost, and when another process takes the store over
//   batch    the number of the last commit
//   alive    false once another process took the store over, or this one ended
//   expires  when others may take it that the process has died or stopped; each commit moves it
//
// Between commits the server's list of sessions shows when a process last asked something, and it
// asks several times a second. Nothing is written for that: versions of the row would pile up as
// long as a snapshot rests.
//
// Each commit changes the row, and only as long as it has this epoch, and the batch before. So a
// commit that comes late, twice, or from a process that was fenced off writes nothing. The clock of
// the database decides when a term expires; that says only when another process may take over,
// never whether that is safe. How long a process may trust what it has in memory: see `Lease`.
//
// What is changed beside the commits, such as packs, only shares the row while its statement runs:
// it waits for no commit, and no commit waits for it. A start waits for both before it fences off.

struct Term: Sendable {
    let id: Int64
    var epoch: Int64 = 1
    var batch: Int64 = 0

    /// How long a process may be silent: a start that finds it so takes the store over, and serves
    /// from it `Lease.rest` later, which makes about four seconds.
    static let length = "interval '3.4 s'"

    /// The name of a process's sessions at the server.
    static func application(_ id: Int64) -> String { "cumulusd \(id)" }

    /// The processes that were not fenced off and did not end: the number, what people see of it,
    /// whether it has sessions, and whether it lives.
    ///
    /// It lives if it has sessions, and its term isn't over, or it has asked something since, or
    /// has the server work on a statement, such as a long commit. A server that waits for a client
    /// to take an answer is not at work: the client may have been stopped. Where the server doesn't
    /// tell what a session does, the session counts as a sign of life.
    static let holders = Statement(
        name: "holders",
        text: """
            SELECT p.id, p.endpoint, count(a.pid) > 0, count(a.pid) > 0 AND (
                p.expires > clock_timestamp() OR coalesce(bool_or(
                    a.state = 'active' AND a.wait_event_type IS DISTINCT FROM 'Client'
                    OR coalesce(a.state, 'disabled') = 'disabled'
                    OR a.state_change > clock_timestamp() - \(length)
                ), false)
            )
            FROM cumulus_process p LEFT JOIN pg_stat_activity a
                ON a.application_name = 'cumulusd ' || p.id AND a.datname = current_database()
            WHERE p.alive GROUP BY p.id
            """
    )

    /// The fence of a change beside the commits; its first parameter is the process.
    ///
    /// Without a row, this process is fenced off. The epoch doesn't matter: it also rises when the
    /// process lost a commit's reply itself.
    static let share = """
        SELECT 1 FROM cumulus_process WHERE id = $1::bigint AND alive FOR KEY SHARE
        """

    /// Waits for commits and other changes that are running, also of processes that ended.
    static let waiting = Statement(
        name: "waiting",
        text: "SELECT id FROM cumulus_process FOR UPDATE"
    )

    static let fencing = Statement(
        name: "fencing",
        text: """
            UPDATE cumulus_process SET epoch = epoch + 1, alive = false WHERE alive
            RETURNING id, endpoint
            """
    )

    /// A process without a row is fenced off as well.
    static let forgetting = Statement(
        name: "forgetting",
        text: "DELETE FROM cumulus_process WHERE expires < now() - interval '1 day' AND NOT alive"
    )

    /// Parameters: the process, and what people see of it.
    static let beginning = Statement(
        name: "beginning",
        text: """
            INSERT INTO cumulus_process (id, epoch, batch, alive, expires, endpoint)
            VALUES ($1::bigint, 1, 0, true, clock_timestamp() + \(length), $2::text)
            """
    )

    /// The parameter is the process; without a row in the answer it is fenced off.
    static let sign = Statement(
        name: "sign",
        text: "SELECT id FROM cumulus_process WHERE id = $1::bigint AND alive"
    )

    /// The parameter is the process; what it sent and heard no reply to is done, or never will be.
    static let settling = Statement(
        name: "settling",
        text: """
            UPDATE cumulus_process SET epoch = epoch + 1, expires = now() + \(length)
            WHERE id = $1::bigint AND alive RETURNING epoch, batch
            """
    )

    /// The last statement of a process that ends.
    static func ending(_ id: Int64) -> String {
        "UPDATE cumulus_process SET alive = false WHERE id = \(id)"
    }

    /// Begins a snapshot, which the answer is of: the number of the last commit; no row if the
    /// process is fenced off.
    static func snapshot(_ id: Int64) -> String {
        """
        BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
        SELECT batch FROM cumulus_process WHERE id = \(id) AND alive
        """
    }

    /// What a process says when it finds itself fenced off.
    static let loss = """
        another cumulusd has taken over the database of this node, which was silent for too long, \
        or was started twice
        """
}
