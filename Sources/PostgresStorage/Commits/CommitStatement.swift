// A batch as one statement: the fence, then what is deleted and written in each family.
//
// Made by `CommitWriter`. The server has all of it before it locks a row, so no lock waits for a
// client. There is a statement for each set of parts that batches have, a few dozen at most. hot:
// once per batch.
//
//   WITH f AS (UPDATE cumulus_process … RETURNING 1),        the fence: a row, or nothing is done
//       r0 AS (DELETE … USING unnest($4, $5)), …             ranges of family 0
//       d0 AS (DELETE … USING unnest($6)), …                 keys of family 0
//       w0 AS (INSERT … SELECT FROM unnest($7, $8) ON CONFLICT …), …
//   SELECT 1 FROM f

import CumulusModel
import CumulusStorage

struct CommitStatement {
    let statement: Statement
    let parameters: Parameters

    /// What a batch does in one family.
    struct Part {
        var ranges: [KeyRange] = []
        var deleted: [Bytes] = []
        var keys: [Bytes] = []
        var values: [Bytes] = []
    }

    /// - Parameter isFenced: Without its fence the statement writes whatever became of the term; so
    ///   in tests that show that they notice.
    init(_ batch: EngineBatch, _ term: Term, isFenced: Bool = true) {
        let parts = CommitStatement.parts(of: batch)
        var parameters = Parameters()
        // Each element has its length in front of it.
        parameters.reserve(batch.byteCount + 12 * batch.writes.count + 256)
        parameters.add(term.batch + 1)
        parameters.add(term.id)
        parameters.add(term.epoch)
        var text = isFenced ? CommitStatement.fence : CommitStatement.noFence
        var name = isFenced ? "commit" : "unfenced"
        var last = 3
        func next() -> String {
            last += 1
            return "$\(last)::bytea[]"
        }
        for (family, part) in zip(Family.allCases, parts) {
            let (number, table) = (family.rawValue, Tables.name(of: family))
            if !part.ranges.isEmpty {
                parameters.add(array: part.ranges.map(\.start))
                parameters.add(array: part.ranges.map(\.end))
                text += ",\nr\(number) AS (\(CommitStatement.deletion(of: table, next(), next())))"
                name += "r\(number)"
            }
            if !part.deleted.isEmpty {
                parameters.add(array: part.deleted)
                text += ",\nd\(number) AS (\(CommitStatement.deletion(of: table, next())))"
                name += "d\(number)"
            }
            if !part.keys.isEmpty {
                parameters.add(array: part.keys)
                parameters.add(array: part.values)
                text += ",\nw\(number) AS (\(CommitStatement.writing(to: table, next(), next())))"
                name += "w\(number)"
            }
        }
        statement = Statement(name: name, text: text + "\nSELECT 1 FROM f")
        self.parameters = parameters
    }

    /// The parts in the order of families; none has a key that it deletes and writes.
    static func parts(of batch: EngineBatch) -> [Part] {
        var parts = Family.allCases.map { _ in Part() }
        for write in batch.writes {
            let family = Int(write.family.rawValue)
            if let value = write.value {
                parts[family].keys.append(write.key)
                parts[family].values.append(value)
            } else {
                parts[family].deleted.append(write.key)
            }
        }
        for family in Set(batch.deletedRanges.map(\.family)) {
            let number = Int(family.rawValue)
            let keys = (parts[number].keys + parts[number].deleted).sorted { precedes($0, $1) }
            for deleted in batch.deletedRanges where deleted.family == family {
                parts[number].ranges += deleted.range.pieces(without: keys)
            }
        }
        return parts
    }

    // MARK: Text

    private static let fence = """
        WITH f AS (
            UPDATE cumulus_process SET batch = $1::bigint, expires = now() + \(Term.length)
            WHERE id = $2::bigint AND epoch = $3::bigint AND batch = $1::bigint - 1 AND alive
            RETURNING 1
        )
        """

    private static let noFence = "WITH f AS (SELECT $1::bigint, $2::bigint, $3::bigint)"

    private static let fenceHolds = "EXISTS (SELECT FROM f)"

    private static func deletion(of table: String, _ starts: String, _ ends: String) -> String {
        """
        DELETE FROM \(table) t USING unnest(\(starts), \(ends)) x(a, b)
        WHERE t.key >= x.a AND t.key < x.b AND \(fenceHolds)
        """
    }

    private static func deletion(of table: String, _ keys: String) -> String {
        "DELETE FROM \(table) t USING unnest(\(keys)) x(k) WHERE t.key = x.k AND \(fenceHolds)"
    }

    private static func writing(to table: String, _ keys: String, _ values: String) -> String {
        """
        INSERT INTO \(table) SELECT k, v FROM unnest(\(keys), \(values)) x(k, v) WHERE \(fenceHolds)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value
        """
    }
}
