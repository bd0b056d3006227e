// Changes that are remembered by their request ids: a repeated request gets its first answer, at
// any node, and nothing is changed a second time.
//
// Run by `WriteRequest`. A row holds the answer to a request that this node carried out. For
// another node's request, `DoneElsewhere` finds the answer from its commits. Ids that are too old
// to be remembered are refused.

package import CumulusModel
package import CumulusStorage

package protocol RememberedChange: ContainerChange {
    /// Whether it was carried out either completely or not at all.
    var isAllOrNothing: Bool { get }

    /// The outcomes of its items; nil if nothing was done with them yet.
    static func items(of outcome: Outcome) -> ModifyOutcome?
    static func outcome(_ items: ModifyOutcome) -> Outcome

    /// The outcomes of its items at another node.
    func items(
        of done: DoneElsewhere,
        for asker: Asker,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> ModifyOutcome

    /// Adds the server's records, which are not remembered, to an outcome of this node.
    func addServerRecords(
        to items: inout ModifyOutcome,
        _ scope: ScopeNumber,
        by caller: Caller,
        in transaction: inout WriteTransaction
    ) throws(EngineError)

    /// Removes from an earlier answer what the caller may no longer be told.
    func askAgain(
        _ items: inout ModifyOutcome,
        _ scope: ScopeNumber,
        by caller: Caller,
        in transaction: inout WriteTransaction
    ) throws(EngineError)
}

extension RememberedChange {
    package func addServerRecords(
        to items: inout ModifyOutcome,
        _ scope: ScopeNumber,
        by caller: Caller,
        in transaction: inout WriteTransaction
    ) throws(EngineError) {}

    package func askAgain(
        _ items: inout ModifyOutcome,
        _ scope: ScopeNumber,
        by caller: Caller,
        in transaction: inout WriteTransaction
    ) throws(EngineError) {}

    /// A request without commits changed nothing, and is not remembered.
    package func keeps(_ outcome: Outcome) -> Bool {
        Self.items(of: outcome).map { !$0.dots.isEmpty } ?? false
    }

    package func perform(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> (Result<Outcome, ServiceError>, keep: Bool) {
        if let requestID = asker.requestID {
            if let refusal = requestID.refusal(now: transaction.now) {
                return (.failure(refusal), false)
            }
            if let known = try repeated(requestID, for: asker, in: scope, &transaction) {
                return (known.map(Self.outcome), false)
            }
        }
        let answer = try run(for: asker, in: scope, &transaction)
        guard case .success(let outcome) = answer, keeps(outcome) else { return (answer, false) }
        if transaction.owesTooMuch { return (.failure(.owesTooMuch), false) }
        if let requestID = asker.requestID, let items = Self.items(of: outcome) {
            let row = RequestRow(digest: asker.digest, dots: items.dots, outcome: items.rowBytes)
            transaction.put(.request(requestID, scope, asker.caller.user), row)
        }
        return (answer, true)
    }

    /// The first answer to this request, as far as its caller may still have it; nil if the request
    /// is new.
    private func repeated(
        _ requestID: RequestID,
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<ModifyOutcome, ServiceError>? {
        let key = RowKey.request(requestID, scope, asker.caller.user)
        guard let row: RequestRow = try transaction.row(key) else { return nil }
        // The request is known from another node's commit, which doesn't tell what else was in it.
        if row.digest.isEmpty { return try recall(row, for: asker, in: scope, &transaction) }
        guard row.digest == asker.digest else {
            return .failure(
                ServiceError(
                    .invalidArguments,
                    .requestIDReused,
                    "this request id was used for another request; make a new id for each request"
                )
            )
        }
        var items = try transaction.decoding(key.bytes) { () throws(MalformedBytes) in
            try ModifyOutcome(row: row.outcome)
        }
        try note(row, in: &items, of: scope, transaction)
        try addServerRecords(to: &items, scope, by: asker.caller, in: &transaction)
        try askAgain(&items, scope, by: asker.caller, in: &transaction)
        return .success(items)
    }

    private func recall(
        _ row: RequestRow,
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<ModifyOutcome, ServiceError> {
        let done = try DoneElsewhere(row.dots, in: scope, by: asker.caller, transaction)
        var items = try items(of: done, for: asker, transaction)
        try note(row, in: &items, of: scope, transaction)
        guard done.tells(items, isAllOrNothing: isAllOrNothing) else {
            return .failure(done.refusal)
        }
        try askAgain(&items, scope, by: asker.caller, in: &transaction)
        return .success(items)
    }

    /// Adds what a row says of an outcome besides its items.
    private func note(
        _ row: RequestRow,
        in items: inout ModifyOutcome,
        of scope: ScopeNumber,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) {
        items.dots = row.dots
        items.isRepeated = true
        items.owes = try transaction.owes(row.dots, in: scope)
    }
}

extension RememberedChange where Outcome == ModifyOutcome {
    package static func items(of outcome: ModifyOutcome) -> ModifyOutcome? { outcome }
    package static func outcome(_ items: ModifyOutcome) -> ModifyOutcome { items }
}

extension RequestID {
    /// The refusal of an id outside the time that is remembered: a retry could be applied twice.
    fileprivate func refusal(now: Int64) -> ServiceError? {
        let age = now - milliseconds
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
}

extension ServiceError {
    /// The temporary refusal of a request with very many values.
    fileprivate static let owesTooMuch: ServiceError = {
        var error = ServiceError(
            .requestRateLimited,
            .overloaded,
            "the zone's indexes still follow earlier requests; try again in a moment"
        )
        error.retryAfterMilliseconds = 500
        return error
    }()
}
