// A request that changes something, as the writer takes it from its queue: who, where, under which
// id, and what.
//
// Made by the session from a call; run by the writer inside a group commit. This is where retries
// are recognised.
//
// Folder: what every request has: a caller, addresses, an answer that can be repeated. Read
// `WriteRequest`, then `DoneElsewhere` and `Addresses`.

import Crypto
package import CumulusModel
package import CumulusStorage

package struct WriteRequest: Sendable {
    package enum Operation: Sendable {
        case modifyRecords(ModifyRecords)
        case modifyZones(ModifyZones)
        case modifySubscriptions(ModifySubscriptions)
        case markRead(MarkRead)
        case acceptShare(AcceptShare)
        // Of this node alone: what they do to its assets is in no log.
        case prepareAssets(PrepareAssets)
        case enterChunks(EnterChunks)
        case createContainer(String)
        case addUser(name: String, id: Bytes)
        case addToken(Bytes, user: String)
        case account(AccountChange)
        /// By its node id.
        case removeMember(Bytes)
        /// - Parameter above: The highest mark that callers have shown.
        case truncate(endsSessions: Bool, above: HybridTime = HybridTime(0))
        // Of an operator, about a container's environment.
        case setMergePolicy(MergePolicies.Entry)
        case importSchema(SchemaImport)
        case resetSchema
        case changeRole(AssignedRoles.Change)
        case stopShare(StopShare)
        case endSubscriptions(EndSubscriptions)
    }

    package enum Answer: Hashable, Sendable {
        case modified(ModifyOutcome)
        case prepared(PrepareAssets.Outcome)
        case stored(EnterChunks.Outcome)
        case container(existed: Bool)
        case user(Users.User, existed: Bool)
        case token
        case account(AccountChange.Outcome)
        case member(existed: Bool)
        case truncated(scopes: Int)
        case mergePolicy(existed: Bool)
        case schema(SchemaDifference)
        case reset(SchemaReset.Outcome)
        /// Whether it was so already.
        case role(existed: Bool)
        case accepted(ShareMetadata)
        /// Whether it was there.
        case stopped(existed: Bool)
        /// How many there were.
        case ended(Int)

        /// Bytes of the server's records that it shows.
        package var shownBytes: Int {
            if case .modified(let outcome) = self { outcome.shownBytes } else { 0 }
        }

        /// With no more bytes of the server's records than there is room for, which they take.
        ///
        /// - Parameter admits: Whether their caller's connection has room for so many bytes, too;
        ///   asked once, if it shows any.
        package func limitingServerRecords(
            to room: inout Int,
            _ admits: (Int) -> Bool
        ) -> Answer {
            guard case .modified(var outcome) = self else { return self }
            let shown = outcome.limitServerRecords(to: room)
            guard shown > 0 else { return .modified(outcome) }
            if admits(shown) {
                room -= shown
            } else {
                outcome.limitServerRecords(to: 0)
            }
            return .modified(outcome)
        }
    }

    package var operation: Operation
    package var scope: ScopeID
    package var caller: Caller
    /// What the caller showed, which the writer may judge again; nil unless it is a user.
    package var credential: Credential?
    /// nil for operators' requests, which are idempotent by their names.
    package var requestID: RequestID?
    /// 16 bytes over the request's content.
    package var digest: Bytes

    package init(
        _ operation: Operation,
        scope: ScopeID,
        caller: Caller,
        credential: Credential? = nil,
        requestID: RequestID? = nil,
        digest: Bytes = []
    ) {
        self.operation = operation
        self.scope = scope
        self.caller = caller
        self.credential = credential
        self.requestID = requestID
        self.digest = digest
    }

    /// Whether it deletes records, zones or subscriptions and does nothing else, which makes room
    /// in the end; or takes access away, which is not to wait for room.
    package var onlyDeletes: Bool {
        switch operation {
        case .modifyRecords(let request): request.saves.isEmpty
        case .modifyZones(let request): request.saves.isEmpty
        case .modifySubscriptions(let request): request.saves.isEmpty
        case .account(let change): change.onlyTakesAway
        case .stopShare, .endSubscriptions: true
        case .createContainer, .addUser, .addToken, .removeMember, .truncate, .setMergePolicy,
            .importSchema, .resetSchema, .changeRole, .prepareAssets, .enterChunks, .markRead,
            .acceptShare:
            false
        }
    }

    /// What tells a request from another one with the same id.
    ///
    /// - Parameter method: The number of the call that asks for it.
    package static func digest(of content: Bytes, method: UInt32) -> Bytes {
        var hash = SHA256()
        withUnsafeBytes(of: method.bigEndian) { hash.update(bufferPointer: $0) }
        hash.update(data: content)
        return Bytes(hash.finalize().prefix(16))
    }

    /// The answer, and whether what was written is to stay.
    package func run(
        in transaction: inout WriteTransaction
    ) throws(EngineError) -> (Result<Answer, ServiceError>, keep: Bool) {
        if let refusal = try callerRefusal(in: transaction) { return (.failure(refusal), false) }
        guard scope != .cluster else { return try administer(&transaction) }
        guard let number = try transaction.scope(scope) else {
            return (.failure(Containers.unknown(scope.container)), false)
        }
        if case .setMergePolicy(let entry) = operation {
            return try setMergePolicy(entry, number, &transaction)
        }
        if case .importSchema(let schemaImport) = operation {
            return try importSchema(schemaImport, &transaction)
        }
        if case .resetSchema = operation { return try resetSchema(&transaction) }
        if case .changeRole(let change) = operation { return try changeRole(change, &transaction) }
        if case .stopShare(let request) = operation {
            return try stopShare(request, number, &transaction)
        }
        if case .endSubscriptions(let request) = operation {
            return try endSubscriptions(request, number, &transaction)
        }
        if case .acceptShare(let request) = operation {
            let (outcome, keep) = try request.run(scope, number, by: caller, in: &transaction)
            return (outcome.map(Answer.accepted), keep)
        }
        if case .prepareAssets(let request) = operation {
            let outcome = try request.run(number, by: caller, in: &transaction)
            return (outcome.map(Answer.prepared), true)
        }
        if case .enterChunks(let request) = operation {
            let outcome = try request.run(number, by: caller, in: &transaction)
            return (.success(.stored(outcome)), outcome.refusal == nil)
        }
        if let requestID {
            if let error = checkAge(of: requestID, now: transaction.now) {
                return (.failure(error), false)
            }
            if let answer = try retried(requestID, number, &transaction) { return (answer, false) }
        }
        let outcome = try modify(number, &transaction)
        guard case .success(let outcome) = outcome, !outcome.dots.isEmpty, !outcome.needsSurvey
        else { return (outcome.map(Answer.modified), false) }
        if transaction.owesTooMuch { return (.failure(WriteRequest.owesTooMuch), false) }
        if let requestID {
            let row = RequestRow(digest: digest, dots: outcome.dots, outcome: outcome.rowBytes)
            transaction.put(.request(requestID, number, caller.user), row)
        }
        return (.success(.modified(outcome)), true)
    }

    /// Refuses for a moment a request of very many values.
    private static let owesTooMuch: ServiceError = {
        var error = ServiceError(
            .requestRateLimited,
            .overloaded,
            "the zone's indexes still follow earlier requests; try again in a moment"
        )
        error.retryAfterMilliseconds = 500
        return error
    }()

    private func setMergePolicy(
        _ entry: MergePolicies.Entry,
        _ scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> (Result<Answer, ServiceError>, keep: Bool) {
        if let refusal = operatorsOnly { return (.failure(refusal), false) }
        let isNew = try MergePolicies.set(entry, in: scope, &transaction)
        return (.success(.mergePolicy(existed: !isNew)), isNew)
    }

    private func importSchema(
        _ schemaImport: SchemaImport,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> (Result<Answer, ServiceError>, keep: Bool) {
        if let refusal = operatorsOnly { return (.failure(refusal), false) }
        let outcome = try schemaImport.run(for: scope, in: &transaction)
        guard case .success(let difference) = outcome else {
            return (outcome.map(Answer.schema), false)
        }
        return (.success(.schema(difference)), !difference.isEmpty)
    }

    private func resetSchema(
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> (Result<Answer, ServiceError>, keep: Bool) {
        if let refusal = operatorsOnly { return (.failure(refusal), false) }
        let outcome = try SchemaReset().run(for: scope, in: &transaction)
        guard case .success(let reset) = outcome else {
            return (outcome.map(Answer.reset), false)
        }
        return (.success(.reset(reset)), !reset.isEmpty)
    }

    private func changeRole(
        _ change: AssignedRoles.Change,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> (Result<Answer, ServiceError>, keep: Bool) {
        if let refusal = operatorsOnly { return (.failure(refusal), false) }
        let outcome = try change.run(for: scope, in: &transaction)
        guard case .success(let existed) = outcome else { return (outcome.map(Answer.role), false) }
        return (.success(.role(existed: existed)), !existed || !change.isGiven)
    }

    private func stopShare(
        _ request: StopShare,
        _ number: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> (Result<Answer, ServiceError>, keep: Bool) {
        if let refusal = operatorsOnly { return (.failure(refusal), false) }
        let outcome = try request.run(in: scope.container, number, &transaction)
        guard case .success(let existed) = outcome else {
            return (outcome.map(Answer.stopped), false)
        }
        return (.success(.stopped(existed: existed)), existed)
    }

    private func endSubscriptions(
        _ request: EndSubscriptions,
        _ number: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> (Result<Answer, ServiceError>, keep: Bool) {
        if let refusal = operatorsOnly { return (.failure(refusal), false) }
        let outcome = try request.run(in: scope.container, number, &transaction)
        guard case .success(let count) = outcome else {
            return (outcome.map(Answer.ended), false)
        }
        return (.success(.ended(count)), count > 0)
    }

    private var operatorsOnly: ServiceError? {
        if caller.role == .operator { return nil }
        return ServiceError(.permissionFailure, "only an operator may do this")
    }

    private func modify(
        _ scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<ModifyOutcome, ServiceError> {
        switch operation {
        case .modifyRecords(var request):
            request.growsSchema = self.scope.environment == .development
            let outcome = try request.run(scope, by: caller, requestID, in: &transaction)
            return outcome.flatMap { $0.refusal.map(Result.failure) ?? .success($0) }
        case .modifyZones(let request):
            return try request.run(scope, by: caller, requestID, in: &transaction)
        case .modifySubscriptions(let request):
            let environment = self.scope.environment
            return try request.run(scope, environment, by: caller, requestID, in: &transaction)
        case .markRead(let request):
            return try request.run(scope, by: caller, requestID, in: &transaction)
        case .createContainer, .addUser, .addToken, .account, .removeMember, .truncate,
            .setMergePolicy, .importSchema, .resetSchema, .changeRole, .prepareAssets, .enterChunks,
            .acceptShare, .stopShare, .endSubscriptions:
            return .failure(
                ServiceError(.invalidArguments, "an operator's request names no container")
            )
        }
    }

    /// Beyond what is remembered, a retry could be applied twice: such ids are refused.
    private func checkAge(of requestID: RequestID, now: Int64) -> ServiceError? {
        let age = now - requestID.milliseconds
        let limits = Limits.standard
        let accepted = -limits.requestLeadMilliseconds...limits.requestMemoryMilliseconds
        if accepted.contains(age) { return nil }
        return ServiceError(
            .invalidArguments,
            .requestIDExpired,
            """
            the request id was made \(age > 0 ? "more than 24 hours ago" : "in the future"); make \
            it from the clock that the server told in its HELLO
            """
        )
    }

    /// The answer that this request got before, as far as its caller may still have it; nil if it
    /// is new.
    private func retried(
        _ requestID: RequestID,
        _ scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<Answer, ServiceError>? {
        let key = RowKey.request(requestID, scope, caller.user)
        guard let row: RequestRow = try transaction.row(key) else { return nil }
        // Known from another node's commit, which doesn't tell what else was in the request.
        if row.digest.isEmpty { return try recall(row, scope, &transaction) }
        guard row.digest == digest else {
            return .failure(
                ServiceError(
                    .invalidArguments,
                    .requestIDReused,
                    "this request id was used for another request; make a new id for each request"
                )
            )
        }
        var outcome = try transaction.decoding(key.bytes) { () throws(MalformedBytes) in
            try ModifyOutcome(row: row.outcome)
        }
        outcome.dots = row.dots
        outcome.isRepeated = true
        outcome.owes = try transaction.owes(row.dots, in: scope)
        if case .modifyRecords(let request) = operation {
            try request.addServerRecords(to: &outcome, scope, by: caller, in: &transaction)
            try request.askAgain(&outcome, scope, by: caller, in: &transaction)
        }
        return .success(.modified(outcome))
    }

    private func recall(
        _ row: RequestRow,
        _ scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<Answer, ServiceError> {
        let done = try DoneElsewhere(row.dots, in: scope, by: caller, transaction)
        var outcome =
            switch operation {
            case .modifyRecords(let request): try done.outcome(of: request, transaction)
            case .modifyZones(let request): try done.outcome(of: request, transaction)
            case .modifySubscriptions(let request):
                try done.outcome(of: request, self.scope.environment, transaction)
            // Marks have no items: a trace of them says that they stand.
            case .createContainer, .addUser, .addToken, .account, .removeMember, .truncate,
                .setMergePolicy, .importSchema, .resetSchema, .changeRole, .prepareAssets,
                .enterChunks, .markRead, .acceptShare, .stopShare, .endSubscriptions:
                ModifyOutcome(saves: 0, deletes: 0)
            }
        outcome.dots = row.dots
        outcome.isRepeated = true
        outcome.owes = try transaction.owes(row.dots, in: scope)
        if done.tells(outcome, isAllOrNothing: isAllOrNothing) {
            if case .modifyRecords(let request) = operation {
                try request.askAgain(&outcome, scope, by: caller, in: &transaction)
            }
            return .success(.modified(outcome))
        }
        var error = ServiceError(
            .serviceUnavailable,
            .nodeBehind,
            done.isForgotten
                ? "another node carried out some of this request; only that one can tell what"
                : "another node carries out this request, and not all of it is here yet; try again"
        )
        error.retryAfterMilliseconds = done.isForgotten ? 1_000 : 100
        return .failure(error)
    }

    /// A trace of the request tells that every item was done.
    private var isAllOrNothing: Bool {
        switch operation {
        case .modifyRecords(let request): request.isAllOrNothing
        case .modifyZones(let request): request.saves.count + request.deletes.count == 1
        case .modifySubscriptions(let request): request.saves.count + request.deletes.count == 1
        case .createContainer, .addUser, .addToken, .account, .removeMember, .truncate,
            .setMergePolicy, .importSchema, .resetSchema, .changeRole, .prepareAssets,
            .enterChunks, .markRead, .acceptShare, .stopShare, .endSubscriptions:
            true
        }
    }

    private func administer(
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> (Result<Answer, ServiceError>, keep: Bool) {
        if case .account(let change) = operation {
            let (outcome, keep) = try change.run(by: self, in: &transaction)
            return (outcome.map(Answer.account), keep)
        }
        if let refusal = operatorsOnly { return (.failure(refusal), false) }
        switch operation {
        case .createContainer(let name):
            if let refusal = try Containers.refusal(name, in: transaction) {
                return (.failure(refusal), false)
            }
            let existed = try Containers.create(name, in: &transaction)
            return (.success(.container(existed: existed)), !existed)
        case .addUser(let name, let id):
            if let refusal = try AlikeNames.refusal(of: name, in: transaction) {
                return (.failure(refusal), false)
            }
            let (user, existed) = try Users.add(name, id: id, in: &transaction)
            return (.success(.user(user, existed: existed)), !existed)
        case .addToken(let token, let name):
            guard try Users.addToken(token, for: name, in: &transaction) else {
                return (.failure(Users.unknown(name)), false)
            }
            return (.success(.token), true)
        case .removeMember(let nodeID):
            let existed = try Members.remove(nodeID, in: &transaction)
            return (.success(.member(existed: existed)), existed)
        case .truncate(let endsSessions, let met):
            if endsSessions { try Sessions.endAll(in: &transaction) }
            let scopes = try Truncation.mark(above: met, in: &transaction)
            return (.success(.truncated(scopes: scopes)), true)
        case .modifyRecords, .modifyZones, .modifySubscriptions, .markRead, .account,
            .setMergePolicy, .importSchema, .resetSchema, .changeRole, .prepareAssets, .enterChunks,
            .acceptShare, .stopShare, .endSubscriptions:
            return (.failure(Containers.unknown("")), false)
        }
    }
}
