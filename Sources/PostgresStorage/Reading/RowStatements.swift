// The statements that read rows.
//
// Asked by `RowSource`, and by `PostgresEngine` for sizes. A session prepares each of them once:
// see `Session`.

import CumulusModel
import CumulusStorage

enum RowStatements {
    /// Parameter: a key.
    static func row(of family: Family) -> Statement {
        Statement(
            name: "row\(family.rawValue)",
            text: "SELECT value FROM \(Tables.name(of: family)) WHERE key = $1::bytea"
        )
    }

    /// The places of those keys that have a row, counted from 1, and their values.
    ///
    /// Parameters: the keys, and the most bytes. A value is null where those before it have so many
    /// bytes; the database knows that without reading it.
    static func values(of family: Family) -> Statement {
        Statement(
            name: "values\(family.rawValue)",
            text: """
                SELECT place, CASE WHEN sum - octet_length(value) < $2::bigint THEN value END
                FROM (
                    SELECT k.place, t.value, sum(octet_length(t.value))
                        OVER (ORDER BY k.place ROWS UNBOUNDED PRECEDING)
                    FROM unnest($1::bytea[]) WITH ORDINALITY k(key, place)
                    JOIN \(Tables.name(of: family)) t ON t.key = k.key
                ) found
                """
        )
    }

    /// Parameters: the first key, the end, and the most rows.
    static func page(of family: Family, backwards: Bool) -> Statement {
        let order = backwards ? "DESC" : "ASC"
        return Statement(
            name: "page\(family.rawValue)\(order)",
            text: """
                SELECT key, value FROM \(Tables.name(of: family))
                WHERE key >= $1::bytea AND key < $2::bytea ORDER BY key \(order)
                LIMIT $3::bigint
                """
        )
    }

    /// About how many bytes the rows of a range have; parameters: the first key, and the end.
    ///
    /// Few rows are counted. Where there are many, a thousand pages of the table are looked at, the
    /// same ones each time, so that ranges can be compared. The database knows lengths of
    /// large values without reading them. Deleted rows count nothing, since their space is used
    /// again: the table's size would never fall.
    static func byteCount(of family: Family) -> Statement {
        let table = Tables.name(of: family)
        let share = "least(1, 1000 * 8192.0 / greatest(1, pg_relation_size('\(table)')))"
        return Statement(
            name: "bytes\(family.rawValue)",
            text: """
                WITH few AS (
                    SELECT count(*) AS rows, \(bytes) AS bytes FROM (
                        SELECT key, value FROM \(table)
                        WHERE key >= $1::bytea AND key < $2::bytea LIMIT \(fewRows)
                    ) r
                )
                SELECT CASE WHEN rows < \(fewRows) THEN bytes ELSE greatest(bytes, (
                    SELECT \(bytes) / \(share)
                    FROM \(table) TABLESAMPLE SYSTEM (100 * \(share)) REPEATABLE (1)
                    WHERE key >= $1::bytea AND key < $2::bytea
                )) END::bigint FROM few
                """
        )
    }

    /// Fewer rows are counted one by one.
    static let fewRows = 4_096

    private static let bytes = "coalesce(sum(octet_length(key) + octet_length(value)), 0)"

    /// What a table and its index take on the disk, space of deleted rows included.
    static func tableBytes(of family: Family) -> Statement {
        Statement(
            name: "table\(family.rawValue)",
            text: "SELECT pg_total_relation_size('\(Tables.name(of: family))')"
        )
    }
}

extension Question {
    /// The first rows of a range, or its last ones.
    static func page(
        _ family: Family,
        _ range: KeyRange,
        backwards: Bool,
        limit: Int
    ) -> Question {
        var parameters = Parameters()
        parameters.add(range.start)
        parameters.add(range.end)
        parameters.add(Int64(limit))
        return Question(RowStatements.page(of: family, backwards: backwards), parameters)
    }
}
