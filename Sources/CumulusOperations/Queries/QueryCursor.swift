// Where a query goes on: the content of a cursor before it is sealed.
//
//   content = scope · database · caller · digest of the question (16) · seen · truncation
//           · count of keys · per key: 0, or its kind and its value · record name · zone name
//   caller  = 0: anonymous, 1: an operator, 2 and a record name: a user
//
// Made by `QueryRecords`, sealed and opened by the node. It holds the last result's position in the
// order and not a count of results, so records that are saved or deleted meanwhile shift nothing.
// Any node that has read what the cursor's pages were read from can go on with it.

package import CumulusModel
package import CumulusStorage

package struct QueryCursor: Hashable, Sendable {
    package var scope: ScopeID
    package var database: DatabaseID
    /// The caller who was given the page before; nobody else goes on with the cursor.
    package var caller: Caller.Role
    /// The digest of the question: a cursor goes on with the same question only.
    package var question: Bytes
    /// The state from which the page was read; later pages must not be older.
    ///
    /// It is a short vector, see `Runs`.
    package var seen: VersionVector
    /// The newest truncation that its maker knew, see `Truncation`.
    package var truncation: HybridTime
    /// The position of the last result that was told.
    package var position: ResultPosition

    package init(
        scope: ScopeID,
        database: DatabaseID,
        caller: Caller.Role,
        question: Bytes,
        seen: VersionVector,
        truncation: HybridTime,
        position: ResultPosition
    ) {
        self.scope = scope
        self.database = database
        self.caller = caller
        self.question = question
        self.seen = seen
        self.truncation = truncation
        self.position = position
    }
}

extension QueryCursor {
    package var content: Bytes {
        var writer = CanonicalWriter(reserving: 128)
        writer.scope(scope)
        writer.database(database)
        QueryCursor.write(caller, to: &writer)
        writer.delimited(question)
        writer.vector(seen)
        writer.varint(truncation.value)
        writer.varint(UInt64(position.keys.count))
        for key in position.keys { QueryCursor.write(key, to: &writer) }
        writer.delimited(position.name.utf8)
        writer.delimited(position.zone.utf8)
        return writer.bytes
    }

    package init(content: Bytes) throws(MalformedBytes) {
        var reader = CanonicalReader(content)
        scope = try reader.scope()
        database = try reader.database()
        caller = try QueryCursor.caller(&reader)
        question = try reader.delimitedBytes()
        seen = try reader.vector()
        truncation = HybridTime(try reader.varint())
        let keys = try reader.list(QueryCursor.key)
        position = ResultPosition(keys: keys, name: try reader.text(), zone: try reader.text())
        guard reader.isAtEnd else { throw MalformedBytes("a cursor is longer than what it says") }
    }

    private static func write(_ caller: Caller.Role, to writer: inout CanonicalWriter) {
        switch caller {
        case .anonymous: writer.varint(0)
        case .operator: writer.varint(1)
        case .user(let name):
            writer.varint(2)
            writer.delimited(name.utf8)
        case .server(let name):
            writer.varint(3)
            writer.delimited(name.utf8)
        }
    }

    private static func caller(
        _ reader: inout CanonicalReader
    ) throws(MalformedBytes) -> Caller.Role {
        switch try reader.varint() {
        case 0: return .anonymous
        case 1: return .operator
        case 2: return .user(try reader.text())
        case 3: return .server(try reader.text())
        default: throw MalformedBytes("a cursor is of a caller of another kind")
        }
    }

    private static func write(_ key: ComparableValue?, to writer: inout CanonicalWriter) {
        switch key {
        case nil: writer.varint(0)
        case .bytes(let bytes):
            writer.varint(1)
            writer.delimited(bytes)
        case .int64(let number):
            writer.varint(2)
            writer.varint(zigzag(number))
        case .double(let number):
            writer.varint(3)
            writer.bigEndian(number.bitPattern)
        }
    }

    private static func key(
        _ reader: inout CanonicalReader
    ) throws(MalformedBytes) -> ComparableValue? {
        switch try reader.varint() {
        case 0: return nil
        case 1: return .bytes(try reader.delimitedBytes())
        case 2: return .int64(try reader.signed())
        case 3: return .double(Double(bitPattern: try reader.bigEndian()))
        default: throw MalformedBytes("a cursor holds a value of another kind")
        }
    }
}

// MARK: - Judgement

extension QueryCursor {
    /// Refuses another question or another caller, and a state that is older than what the caller
    /// was shown.
    func check(
        _ scope: ScopeID,
        _ database: DatabaseID,
        _ caller: Caller,
        _ question: Bytes,
        _ runs: Runs,
        _ broken: BrokenRules
    ) throws(ServiceError) {
        guard self.scope == scope, self.database == database, self.question == question else {
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                """
                the cursor is of another query, zone, database or container; send what was asked \
                with the first page, or begin without a cursor
                """
            )
        }
        guard self.caller == caller.role else {
            throw .cursorUnusable("it is of another caller")
        }
        guard broken.contains(.cursorSeen) || runs.covers(seen) else {
            throw ServiceError(
                .serviceUnavailable,
                .nodeBehind,
                "this node has not got what the caller was shown elsewhere; try again, or that one"
            )
        }
    }
}

extension ServiceError {
    /// - Parameter why: The reason, as a clause.
    package static func cursorUnusable(_ why: String) -> ServiceError {
        ServiceError(
            .invalidArguments,
            .invalidValue,
            "the cursor can't be used: \(why); begin without one"
        )
    }
}
