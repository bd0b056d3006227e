// Changes that are remembered by their request ids: whoever asks again, at any node, is told what
// was told before, and nothing is changed a second time.
//
// Run by `WriteRequest`. The answer of this node's own request is read from its row; of one that
// another node carried out, `DoneElsewhere` tells what its commits tell. Beyond what is remembered
// an id is refused.

package import CumulusModel
package import CumulusStorage

package protocol RememberedChange: ContainerChange {
    /// Where some of it was done, all of it was.
    var isAllOrNothing: Bool { get }

    /// What became of its items; nil if nothing was done with them yet.
    static func items(of outcome: Outcome) -> ModifyOutcome?
    static func outcome(_ items: ModifyOutcome) -> Outcome

    /// What became of its items at another node.
    func items(
        of done: DoneElsewhere,
        for asker: Asker,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> ModifyOutcome

    /// Adds the server's records to an outcome of this node's own, which are not remembered.
    func addServerRecords(
        to items: inout ModifyOutcome,
        _ scope: ScopeNumber,
        by caller: Caller,
        in transaction: inout WriteTransaction
    ) throws(EngineError)

    /// Takes out of an earlier answer what its caller may not be told any more.
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

    /// A request without commits left no trace, and is not remembered either.
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

    /// The answer that this request got before, as far as its caller may still have it; nil if it
    /// is new.
    private func repeated(
        _ requestID: RequestID,
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<ModifyOutcome, ServiceError>? {
        let key = RowKey.request(requestID, scope, asker.caller.user)
        guard let row: RequestRow = try transaction.row(key) else { return nil }
        // Known from another node's commit, which doesn't tell what else was in the request.
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

    /// Notes what a row says of an outcome beside its items.
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
    /// Beyond what is remembered, a retry could be applied twice: such ids are refused.
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
    /// Refuses for a moment a request of very many values.
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
