// A process whose row in `cumulus_process` is alive: it holds the store, unless it died.
//
// Read from the answers to statements of `Term`, by `Opening` and `Standby`.

struct Holder: Equatable {
    let id: Int64
    /// Its host and number, for people.
    let endpoint: String
    /// The server has sessions of it.
    var hasSessions = false
    /// It may still write, so its store is not to be taken over.
    var lives = false

    /// Reads the answer to `Term.holders`.
    static func all(in answer: Answer) -> [Holder] {
        (0..<answer.count).map { row in
            Holder(
                id: answer.number(row, 0),
                endpoint: answer.text(row, 1),
                hasSessions: answer.isTrue(row, 2),
                lives: answer.isTrue(row, 3)
            )
        }
    }

    /// Reads the answer to `Term.fencing`.
    static func fenced(in answer: Answer) -> [Holder] {
        (0..<answer.count).map { row in
            Holder(id: answer.number(row, 0), endpoint: answer.text(row, 1))
        }
    }
}

extension Opening.Opened {
    /// What an operator should know of; one line each.
    func notes(_ address: PostgresAddress) -> [String] {
        var notes = fenced.map { other in
            """
            the store in \(address) was last written by a cumulusd that did not end by itself \
            (\(other.endpoint)): it can write nothing any more
            """
        }
        if hasMoved {
            notes.append(
                """
                the store in \(address) is a copy of another database, or was restored: run no \
                node on the other one any more, since both would be the same member of a cluster
                """
            )
        }
        return notes
    }
}
