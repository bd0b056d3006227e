// One request of the console's pages: what it names, who asks, and the calls to the node.
//
// Made by `Console` once the session is judged. The handlers in its extensions are named by
// `ConsoleRoute`; each makes one call of the binary protocol and writes the answer as JSON.

import CumulusModel
import CumulusNode
import CumulusWire

struct ConsoleCall: Sendable {
    let request: WebRequest
    /// The request's members: from its body, or from its URL's query.
    let values: WebObject
    let session: ConsoleSession
    let door: any WebDoor
    let sources: ConsoleSources
    let uuid: String

    init(
        _ request: WebRequest,
        _ values: WebObject,
        _ session: ConsoleSession,
        _ door: any WebDoor,
        _ sources: ConsoleSources,
        uuid: String
    ) {
        self.request = request
        self.values = values
        self.session = session
        self.door = door
        self.sources = sources
        self.uuid = uuid
    }

    /// The members in the query of a URL.
    static func values(ofQuery target: String) throws(WebError) -> WebObject {
        var members: [JSON.Member] = []
        for (key, value) in WebText.query(of: target).sorted(by: { $0.key < $1.key }) {
            guard let text = WebText.percentDecoded(value) else {
                throw .badRequest("'\(key)' is not percent-encoded UTF-8")
            }
            members.append(JSON.Member(key, .string(text)))
        }
        return try WebObject(.object(members))
    }

    // MARK: What is named

    /// The container and the environment that the request names.
    func scope() throws -> ScopeID {
        let container = try values.needed("container")
        guard let environment = Environment(name: try values.needed("environment")) else {
            throw WebError.badRequest("'environment' must be development or production")
        }
        let name = try Names.checkIdentifier(Bytes(container.utf8)[...], "container")
        return ScopeID(container: name, environment: environment)
    }

    func database() throws(WebError) -> DatabaseScope {
        guard let database = DatabaseScope(name: try values.needed("database")) else {
            throw .badRequest("'database' must be public, private or shared")
        }
        return database
    }

    /// The zone that a request names in its members; without one, the default zone.
    func zone() throws(WebError) -> RecordZone.ID {
        RecordZone.ID(
            zoneName: try values.string("zone") ?? Names.defaultZone,
            ownerName: try values.string("owner") ?? Names.currentUser
        )
    }

    /// A name that the request must have.
    func bytes(_ key: String) throws(WebError) -> Bytes { Bytes(try values.needed(key).utf8) }

    // MARK: Calls

    /// Asks the node as the operator, and reads each message of the answer.
    ///
    /// - Parameter scope: Named in the call's header; the cluster's own means none.
    func ask<Value>(
        _ method: Method,
        _ message: Bytes = [],
        in scope: ScopeID = .cluster,
        _ read: (Bytes) throws -> Value
    ) async throws -> [Value] {
        let calls = try await enter(scope, .operatorSession(digest: session.digest))
        defer { calls.close() }
        return try await calls.read(method, message).map(read)
    }

    /// Asks the node as the operator for an answer of one message.
    func askOnce<Value>(
        _ method: Method,
        _ message: Bytes = [],
        in scope: ScopeID = .cluster,
        _ read: (Bytes) throws -> Value
    ) async throws -> Value {
        guard let value = try await ask(method, message, in: scope, read).first else {
            throw WebContext.resultMissing
        }
        return value
    }

    /// The calls of the operator, or with `as=user` of the user for whom it acts.
    func caller(in scope: ScopeID) async throws -> any WebCalls {
        let isUser = WebText.query(of: request.target)["as"] == "user" || values["as"] == "user"
        guard isUser else {
            return try await enter(scope, .operatorSession(digest: session.digest))
        }
        return try await user(in: scope)
    }

    /// The calls of the user for whom the operator acts.
    func user(in scope: ScopeID) async throws -> any WebCalls {
        // The user's session may outlive the operator's token.
        try await checkOperator()
        guard let actor = session.actor, actor.scope == scope else {
            throw WebError(
                .accessDenied,
                "you act as no user of \(scope.container), \(scope.environment.name); "
                    + "act as one first"
            )
        }
        do throws(ServiceError) {
            return try await enter(scope, .session(digest: actor.digest))
        } catch {
            guard error.code == .notAuthenticated else { throw error }
            throw ConsoleCall.sessionEnded
        }
    }

    /// The status is not 401, which would ask the operator to sign in.
    static let sessionEnded = WebError(
        .accessDenied,
        "the user's session has ended; act as the user again"
    )

    /// Refuses an operator whose token is the node's no more, where no call does.
    func checkOperator() async throws(ServiceError) {
        try await enter(.cluster, .operatorSession(digest: session.digest)).close()
    }

    func enter(
        _ scope: ScopeID,
        _ proof: LocalEntrance.Proof
    ) async throws(ServiceError) -> any WebCalls {
        let entrance = LocalEntrance(
            scope,
            proof,
            address: request.address,
            isSecret: request.isSecret
        )
        return try await door.enter(entrance)
    }
}
