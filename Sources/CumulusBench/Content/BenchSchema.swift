// The record types of the bench, as a private node is told them beforehand.
//
// Types that appear by themselves have all indexes that CloudKit gives them in development: what
// those cost is measured by the path `query` and stays out of the other figures. Columns, posts and
// events are saved in the public database, so their types have grants.

enum BenchSchema {
    static let text = """
        DEFINE SCHEMA
            CREATE ROLE Editor;
            RECORD TYPE Article (
                author STRING, body STRING, category STRING, place LOCATION, price DOUBLE,
                published TIMESTAMP, rating DOUBLE, summary STRING, tags LIST<STRING>,
                title STRING, views INT64, votes INT64
            );
            RECORD TYPE Column (
                author STRING, body STRING, category STRING, place LOCATION, price DOUBLE,
                published TIMESTAMP, rating DOUBLE, summary STRING, tags LIST<STRING>,
                title STRING, views INT64, votes INT64,
                GRANT READ, CREATE, WRITE TO Editor
            );
            RECORD TYPE Post (
                author STRING, body STRING, category STRING, place LOCATION, price DOUBLE,
                published TIMESTAMP, rating DOUBLE, summary STRING, tags LIST<STRING>,
                title STRING, views INT64, votes INT64,
                GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator"
            );
            RECORD TYPE Note (
                number INT64, text STRING
            );
            RECORD TYPE Event (
                number INT64 QUERYABLE, level INT64 QUERYABLE SORTABLE, text STRING,
                GRANT READ TO "_world", GRANT CREATE TO "_icloud", GRANT WRITE TO "_creator"
            );
            RECORD TYPE Item (
                owner STRING QUERYABLE, rank INT64 QUERYABLE SORTABLE,
                title STRING QUERYABLE SORTABLE, words STRING SEARCHABLE,
                place LOCATION QUERYABLE, body STRING
            );
            RECORD TYPE Plain (
                owner STRING, rank INT64, title STRING, words STRING, place LOCATION, body STRING
            );
        """
}
