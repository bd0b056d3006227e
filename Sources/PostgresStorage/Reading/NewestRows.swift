// Reads of the newest state, each on a session that waits for work.
//
// Owned by `PostgresEngine`. The pages of a long scan are of different states, if a batch is
// committed meanwhile. That does no harm to the one who scans while batches are committed: the
// writer, which plans on top of the rows of the batch before, see `Overlay`.

import CumulusStorage

struct NewestRows: RowSource {
    let store: PostgresStore

    func ask(_ questions: [Question]) throws(EngineError) -> [Answer] {
        let answers = try store.pool.use { session throws(StatementError) in
            try session.run(questions)
        }
        try store.checkTerm(.disk)
        return answers
    }
}
