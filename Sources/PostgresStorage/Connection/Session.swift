// One connection to the database, and the statements that are prepared on it.
//
// `SessionPool` makes them and lends them; at any time one thread uses a session. Every call blocks
// until the server has answered, but `send`. A session whose connection broke stays broken.
//
// Folder: connections to PostgreSQL. Read `PostgresAddress`, then `Session`, `SessionPool`, and the
// binary forms in `Parameters` and `Answer`. `PostgresError` says why a database can't be opened.

import CPostgres
import CumulusSystem

/// A statement with a name, under which a session prepares it once.
struct Statement: Hashable, Sendable {
    let name: String
    let text: String
}

/// A statement and its parameters.
struct Question: Sendable {
    let statement: Statement
    let parameters: Parameters

    init(_ statement: Statement, _ parameters: Parameters = Parameters()) {
        self.statement = statement
        self.parameters = parameters
    }
}

final class Session: @unchecked Sendable {
    // One thread at a time uses it, see above.

    private let library: LibPQ
    private let connection: OpaquePointer
    private var prepared: Set<String> = []
    /// A statement was sent whose answer nobody has read.
    private var isAnswerDue = false

    /// What every session of ours begins with, whatever the server's and the user's settings are.
    ///
    /// Plans are made once, perhaps on an empty table, so they have to be those for large ones: all
    /// rows are found by their keys. A commit is flushed before it is answered; settings that wait
    /// for standbys stay. A snapshot of the node may rest for hours.
    private static let beginning = """
        SET client_min_messages = error; SET jit = off; SET plan_cache_mode = force_generic_plan;
        SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off;
        SET enable_mergejoin = off; SET statement_timeout = 0; SET lock_timeout = 0;
        SET idle_in_transaction_session_timeout = 0; SET idle_session_timeout = 0;
        SET default_transaction_isolation = 'read committed';
        SELECT set_config('synchronous_commit', 'on', false)
        WHERE current_setting('synchronous_commit') = 'off'
        """

    /// Connects once.
    init(_ address: PostgresAddress, application: String) throws(PostgresError) {
        let place = address.description
        let keywords = address.keywords(application: application)
        guard let connection = Session.connect(keywords, address.library) else {
            throw .unusable(place: place, reason: "there is no memory for a connection")
        }
        library = address.library
        self.connection = connection
        guard isConnected else { throw refusal(place) }
        let version = Int(library.calls.PQserverVersion(connection))
        guard version >= PostgresError.oldestServer else {
            throw .oldServer(place: place, version: version)
        }
        // Remarks of the server belong into its own log.
        _ = library.calls.PQsetNoticeProcessor(connection, { _, _ in }, nil)
        do {
            _ = try run(Session.beginning)
            if version >= 170_000 { _ = try run("SET transaction_timeout = 0") }
        } catch {
            throw .unreachable(place: place, reason: error.text)
        }
    }

    deinit { library.calls.PQfinish(connection) }

    private static func connect(
        _ keywords: [(name: String, value: String)],
        _ library: LibPQ
    ) -> OpaquePointer? {
        let words = keywords.map { strdup($0.name) } + keywords.map { strdup($0.value) }
        defer { for word in words { free(word) } }
        let texts = words.map { UnsafePointer<CChar>($0) }
        return library.calls.PQconnectdbParams(
            texts[..<keywords.count] + [nil],
            texts[keywords.count...] + [nil],
            1
        )
    }

    /// Why the server didn't let us in; libpq has only its words, which are English as a rule.
    private func refusal(_ place: String) -> PostgresError {
        let text = words
        let reason = StatementError(state: "", text: text, isLost: true).text
        func says(_ words: String...) -> Bool { words.contains(where: text.contains) }
        if says("authentication failed", "pg_hba.conf", "no password supplied", "role \"")
            || library.calls.PQconnectionNeedsPassword(connection) != 0
        {
            return .refused(place: place, reason: reason)
        }
        if says("database \""), says("does not exist") {
            return .noDatabase(place: place, reason: reason)
        }
        return .unreachable(place: place, reason: reason)
    }

    private var isConnected: Bool { library.calls.PQstatus(connection) == CONNECTION_OK }

    /// What libpq says of its last error.
    private var words: String {
        library.calls.PQerrorMessage(connection).map { String(cString: $0) } ?? ""
    }

    // MARK: Statements

    /// Runs statements without parameters; the answer is the last one's, its values are texts.
    func run(_ text: String) throws(StatementError) -> Answer {
        takeDueAnswer()
        return try checked(library.calls.PQexec(connection, text))
    }

    /// Runs a statement, which is prepared where it wasn't yet; its values are binary.
    func run(
        _ statement: Statement,
        _ parameters: Parameters = Parameters()
    ) throws(StatementError) -> Answer {
        try run([Question(statement, parameters)])[0]
    }

    /// Runs statements in one round trip; an error undoes all of them.
    func run(_ questions: [Question]) throws(StatementError) -> [Answer] {
        takeDueAnswer()
        let steps = try send(questions)
        var answers: [Answer] = []
        var problem: StatementError?
        for step in steps {
            do throws(StatementError) {
                let answer = try nextAnswer()
                if case .question = step { answers.append(answer) }
            } catch {
                if error.isLost { throw error }
                if case .preparation(let name) = step { prepared.remove(name) }
                // The answers behind it say only that there was an error.
                problem = problem ?? error
            }
        }
        try endPipeline()
        if let problem { throw problem }
        return answers
    }

    /// Sends a statement and doesn't wait for it; returns whether it went out.
    func send(_ text: String) -> Bool {
        takeDueAnswer()
        isAnswerDue = library.calls.PQsendQuery(connection, text) == 1
        return isAnswerDue
    }

    private func takeDueAnswer() {
        guard isAnswerDue else { return }
        isAnswerDue = false
        takeRest()
    }

    // MARK: Pipelines

    /// What was sent, and has an answer.
    private enum Step {
        case preparation(String)
        case question
    }

    private func send(_ questions: [Question]) throws(StatementError) -> [Step] {
        try require(library.calls.PQenterPipelineMode(connection))
        var steps: [Step] = []
        for question in questions {
            let (name, text) = (question.statement.name, question.statement.text)
            if prepared.insert(name).inserted {
                try require(library.calls.PQsendPrepare(connection, name, text, 0, nil))
                steps.append(.preparation(name))
            }
            let isSent = question.parameters.lend { count, values, lengths, formats in
                library.calls
                    .PQsendQueryPrepared(connection, name, count, values, lengths, formats, 1)
            }
            try require(isSent)
            steps.append(.question)
        }
        try require(library.calls.PQpipelineSync(connection))
        return steps
    }

    private func nextAnswer() throws(StatementError) -> Answer {
        let result = library.calls.PQgetResult(connection)
        defer { if isConnected { takeRest() } }
        return try checked(result)
    }

    private func endPipeline() throws(StatementError) {
        let result = library.calls.PQgetResult(connection)
        defer { library.calls.PQclear(result) }
        try require(library.calls.PQresultStatus(result) == PGRES_PIPELINE_SYNC ? 1 : 0)
        try require(library.calls.PQexitPipelineMode(connection))
    }

    /// Throws unless a step of a pipeline succeeded: the session is of no use then.
    private func require(_ isDone: Int32) throws(StatementError) {
        if isDone == 1 { return }
        throw StatementError(state: "", text: words, isLost: true)
    }

    /// Takes the results of a statement up to the empty one, which is the last.
    private func takeRest() {
        while let result = library.calls.PQgetResult(connection) { library.calls.PQclear(result) }
    }

    private func checked(_ result: OpaquePointer?) throws(StatementError) -> Answer {
        let status = library.calls.PQresultStatus(result)
        if let result, status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK {
            return Answer(result, library)
        }
        defer { library.calls.PQclear(result) }
        throw StatementError(
            state: field(cumulus_diag_sqlstate, of: result) ?? "",
            text: field(cumulus_diag_primary, of: result) ?? words,
            isLost: !isConnected
        )
    }

    private func field(_ code: Int32, of result: OpaquePointer?) -> String? {
        library.calls.PQresultErrorField(result, code).map { String(cString: $0) }
    }
}
