// The statements about packs.
//
// Asked by `SQLPacks`. A change begins with the fence, and answers with its row; without a row
// another process has taken the store over, and nothing was changed. Parts are not compressed, so
// the database reads no more of a part than is asked for.

import CumulusModel
import CumulusStorage

enum PackStatements {
    /// Writes parts, one after another; those that are there already get these bytes.
    static func writing(
        _ parts: [Bytes],
        from first: Int,
        of pack: PackNumber,
        _ process: Int64
    ) -> Question {
        var parameters = Parameters()
        parameters.reserve(parts.reduce(256) { $0 + $1.count + 4 })
        parameters.add(process)
        parameters.add(Int64(bitPattern: pack))
        parameters.add(Int64(first))
        parameters.add(array: parts)
        return Question(writing, parameters)
    }

    private static let writing = Statement(
        name: "packwrite",
        text: """
            WITH f AS (\(Term.share)), w AS (
                INSERT INTO cumulus_pack (pack, part, bytes)
                SELECT $2::bigint, ($3::bigint + n - 1)::integer, b
                FROM unnest($4::bytea[]) WITH ORDINALITY x(b, n) WHERE EXISTS (SELECT FROM f)
                ON CONFLICT (pack, part) DO UPDATE SET bytes = excluded.bytes
            )
            SELECT 1 FROM f
            """
    )

    /// Removes a pack, and answers how many bytes it had.
    static func removing(_ pack: PackNumber, _ process: Int64) -> Question {
        var parameters = Parameters()
        parameters.add(process)
        parameters.add(Int64(bitPattern: pack))
        return Question(removing, parameters)
    }

    private static let removing = Statement(
        name: "packremove",
        text: """
            WITH f AS (\(Term.share)), d AS (
                DELETE FROM cumulus_pack WHERE pack = $2::bigint AND EXISTS (SELECT FROM f)
                RETURNING octet_length(bytes) AS size
            )
            SELECT (SELECT coalesce(sum(size), 0) FROM d)::bigint FROM f
            """
    )

    /// Reads a stretch of a pack: what its parts have of it, one after another.
    static func reading(_ range: Range<Int>, of pack: PackNumber) -> Question {
        var parameters = Parameters()
        parameters.add(Int64(bitPattern: pack))
        parameters.add(Int64(range.lowerBound))
        parameters.add(Int64(range.upperBound))
        return Question(reading, parameters)
    }

    private static let reading = Statement(
        name: "packread",
        text: """
            SELECT substring(bytes FROM (\(start) + 1)::integer FOR (\(end) - \(start))::integer)
            FROM cumulus_pack WHERE pack = $1::bigint
                AND part BETWEEN $2::bigint / \(PackParts.size)
                AND greatest($3::bigint - 1, $2::bigint) / \(PackParts.size)
            ORDER BY part
            """
    )

    /// Where the stretch begins and ends in a part.
    private static let start = "greatest($2::bigint - part::bigint * \(PackParts.size), 0)"
    private static let end =
        "least($3::bigint - part::bigint * \(PackParts.size), \(PackParts.size))"

    /// Packs behind this one, in order, and their bytes, which are counted without reading them.
    static func sizes(after last: Int64, _ limit: Int64) -> Question {
        var parameters = Parameters()
        parameters.add(last)
        parameters.add(limit)
        return Question(sizes, parameters)
    }

    private static let sizes = Statement(
        name: "packsizes",
        text: """
            SELECT pack, sum(octet_length(bytes))::bigint FROM cumulus_pack
            WHERE pack > $1::bigint GROUP BY pack ORDER BY pack LIMIT $2::bigint
            """
    )
}
