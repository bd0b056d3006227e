// The tables of a store: their names, their statements, and the number of their form.
//
//   cumulus_meta, cumulus_records, cumulus_index, cumulus_log
//                      the rows of a family; keys are ordered as unsigned bytes
//   cumulus_process    the processes that wrote to the store, of which one is alive: see `Term`
//   cumulus_pack       the parts of packs of assets: see `SQLPacks`
//   cumulus_site       one row: the form of the tables, a name by which a data directory knows the
//                      store that it belongs to, the server's number of the database in which the
//                      store was opened last, and texts: see `SiteRow`
//
// `Opening` makes them. They are in the first schema of the user's search path.

import CumulusStorage

enum Tables {
    /// The form of the tables; what stands in their rows has a format of its own, see `OpenStore`.
    static let format = 1

    static func name(of family: Family) -> String {
        switch family {
        case .meta: "cumulus_meta"
        case .records: "cumulus_records"
        case .index: "cumulus_index"
        case .log: "cumulus_log"
        }
    }

    /// Makes all tables; several statements.
    static let creation: String = (Family.allCases.map(rows) + [pack, process, site])
        .joined(separator: ";\n")

    /// Small rows are changed in place where their page has room; large values are already
    /// compressed, if that helps.
    private static func rows(of family: Family) -> String {
        let filling =
            switch family {
            case .meta: " WITH (fillfactor = 50)"
            case .records: " WITH (fillfactor = 80)"
            case .index, .log: ""
            }
        let table = name(of: family)
        return """
            CREATE TABLE \(table) (key bytea PRIMARY KEY, value bytea NOT NULL)\(filling);
            ALTER TABLE \(table) ALTER COLUMN value SET STORAGE EXTERNAL
            """
    }

    /// What chunks gain by compression they have gained already.
    private static let pack = """
        CREATE TABLE cumulus_pack (
            pack bigint,
            part integer,
            bytes bytea NOT NULL,
            PRIMARY KEY (pack, part)
        );
        ALTER TABLE cumulus_pack ALTER COLUMN bytes SET STORAGE EXTERNAL
        """

    private static let process = """
        CREATE TABLE cumulus_process (
            id bigint PRIMARY KEY,
            epoch bigint NOT NULL,
            batch bigint NOT NULL,
            alive boolean NOT NULL,
            expires timestamptz NOT NULL,
            endpoint text NOT NULL
        ) WITH (fillfactor = 10)
        """

    private static let site = """
        CREATE TABLE cumulus_site (
            one boolean PRIMARY KEY DEFAULT true CHECK (one),
            format integer NOT NULL,
            id uuid NOT NULL DEFAULT gen_random_uuid(),
            database oid NOT NULL,
            pack_origin text,
            cluster_key text,
            operator_token text
        );
        INSERT INTO cumulus_site (format, database) VALUES (\(format), \(database))
        """

    /// The server's number of the database, which a copy of it does not have.
    static let database = "(SELECT oid FROM pg_database WHERE datname = current_database())"
}
