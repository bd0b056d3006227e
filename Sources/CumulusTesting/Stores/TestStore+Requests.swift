// Requests at a store for tests: each is run as the writer of a node would run it, with what has to
// be looked up before.
//
// Several of one kind share a batch; of any kinds through `TestStore.batch`.

package import CumulusModel
package import CumulusOperations
import CumulusReplication
package import CumulusStorage

extension TestStore {
    /// Runs a request in a batch of its own.
    @discardableResult
    package func run<Asked: Change>(
        _ request: WriteRequest<Asked>
    ) throws(EngineError) -> Result<Asked.Outcome, ServiceError> {
        try batch { (group: inout GroupCommit) throws(EngineError) in
            try run(request, in: &group)
        }
    }

    @discardableResult
    package func run(
        _ request: WriteRequest<ModifyRecords>
    ) throws(EngineError) -> Result<ModifyOutcome, ServiceError> {
        try batch { (group: inout GroupCommit) throws(EngineError) in
            try run(request, in: &group)
        }
    }

    @discardableResult
    package func run(_ request: DrawnRequest) throws(EngineError) -> DrawnRequest.Answer {
        try run([request])[0]
    }

    /// Runs requests in one batch.
    @discardableResult
    package func run(
        _ requests: [WriteRequest<ModifyRecords>]
    ) throws(EngineError) -> [Result<ModifyOutcome, ServiceError>] {
        try batch { (group: inout GroupCommit) throws(EngineError) in
            try readAhead(requests, &group)
            var answers: [Result<ModifyOutcome, ServiceError>] = []
            for request in requests { answers.append(try run(request, in: &group)) }
            return answers
        }
    }

    @discardableResult
    package func run(_ requests: [DrawnRequest]) throws(EngineError) -> [DrawnRequest.Answer] {
        try batch { (group: inout GroupCommit) throws(EngineError) in
            try readAhead(
                requests.compactMap { request in
                    guard case .modifyRecords(let change) = request.change else { return nil }
                    return WriteRequest(change, for: request.asker)
                },
                &group
            )
            var answers: [DrawnRequest.Answer] = []
            for request in requests { answers.append(try run(request, in: &group)) }
            return answers
        }
    }

    // MARK: In a batch

    /// Reads the rows of a batch together, as the writer does.
    private func readAhead(
        _ requests: [WriteRequest<ModifyRecords>],
        _ group: inout GroupCommit
    ) throws(EngineError) {
        try group.readAhead { transaction throws(EngineError) in
            var keys: [RowKey] = []
            for request in requests { keys += try request.likelyRows(in: transaction) }
            return keys
        }
    }

    @discardableResult
    package func run<Asked: Change>(
        _ request: WriteRequest<Asked>,
        in group: inout GroupCommit
    ) throws(EngineError) -> Result<Asked.Outcome, ServiceError> {
        try group.run(now: now) { (transaction: inout WriteTransaction) throws(EngineError) in
            let (answer, keep) = try request.run(in: &transaction)
            if keep { try CascadeCompensation.run(&transaction) }
            return (answer, keep)
        }
    }

    @discardableResult
    package func run(
        _ request: WriteRequest<ModifyRecords>,
        in group: inout GroupCommit
    ) throws(EngineError) -> Result<ModifyOutcome, ServiceError> {
        var request = request
        while true {
            let answer: Result<ModifyRecords.Outcome, ServiceError> = try run(
                request,
                in: &group
            )
            switch answer {
            case .failure(let error): return .failure(error)
            case .success(.modified(let outcome)): return .success(outcome)
            case .success(.needsSurvey): request = try survey(request)
            case .success(.needsTargets):
                request.change = request.change.lookingUpTargets()
                request = try survey(request)
            }
        }
    }

    private func run(
        _ request: DrawnRequest,
        in group: inout GroupCommit
    ) throws(EngineError) -> DrawnRequest.Answer {
        switch request.change {
        case .modifyRecords(let change):
            try run(WriteRequest(change, for: request.asker), in: &group).map { $0 }
        case .modifyZones(let change):
            try run(WriteRequest(change, for: request.asker), in: &group).map { $0 }
        case .acceptShare(let change):
            try run(WriteRequest(change, for: request.asker), in: &group).map { _ in nil }
        }
    }

    /// The request with what is found before the batch: of its cascades, of what it refers to, or
    /// of shares in a zone that it shares.
    private func survey(
        _ request: WriteRequest<ModifyRecords>
    ) throws(EngineError) -> WriteRequest<ModifyRecords> {
        var request = request
        do {
            let (reader, scope, caller) = (reader, try scopeNumber(), request.asker.caller)
            if request.change.needsTargets {
                var survey = try TargetSurvey(request.change, of: scope, by: caller, in: reader)
                while try !survey.advance(reader, steps: 100) {}
                request.change.targets = survey
            } else if request.change.needsShares {
                var survey = try ShareSurvey(request.change, of: scope, by: caller, in: reader)
                while try !survey.advance(reader, steps: 3) {}
                request.change.shares = survey
            } else {
                var survey = try CascadeSurvey(request.change, of: scope, by: caller)
                while request.change.survey == nil {
                    request.change.survey = try survey.advance(reader, steps: 3)
                }
            }
        } catch {
            throw .failed("a request can't be surveyed: \(error)")
        }
        return request
    }

    // MARK: Making requests

    /// A request with an id of its own.
    package func request<Asked: ContainerChange>(
        _ change: Asked,
        by caller: Caller
    ) -> WriteRequest<Asked> {
        WriteRequest(change, scope: scope, caller: caller, requestID: newRequestID())
    }

    /// Saves and deletes records, with all that goes along; throws what fails the whole request.
    @discardableResult
    package func modify(
        _ modify: ModifyRecords,
        by caller: Caller
    ) throws -> ModifyOutcome {
        var outcome = try run(request(modify, by: caller)).get()
        guard outcome.owes, let first = outcome.dots.last else { return outcome }
        try payCascades()
        let last = try reader.runs(of: scopeNumber())[first.incarnation]?.seq ?? first.seq
        for seq in first.seq..<last { outcome.dots.append(Dot(first.incarnation, seq + 1)) }
        return outcome
    }

    /// Saves and deletes zones; throws what fails the whole request.
    @discardableResult
    package func modify(
        _ modify: ModifyZones,
        by caller: Caller
    ) throws -> ModifyOutcome {
        try run(request(modify, by: caller)).get()
    }

    /// Saves and deletes subscriptions; throws what fails the whole request.
    @discardableResult
    package func modify(
        _ modify: ModifySubscriptions,
        by caller: Caller = .alice
    ) throws -> ModifyOutcome {
        try run(request(modify, by: caller)).get()
    }

    /// Marks notifications as read; throws what fails it.
    @discardableResult
    package func mark(_ mark: MarkRead, by caller: Caller = .alice) throws -> ModifyOutcome {
        try run(request(mark, by: caller)).get()
    }

    /// Saves records, as one atomic request of Alice's that compares no tags.
    @discardableResult
    package func save(
        _ items: [SaveItem],
        in database: DatabaseScope = .private,
        _ policy: SavePolicy = .changedKeys,
        by caller: Caller = .alice
    ) throws -> ModifyOutcome {
        try modify(ModifyRecords(database: database, policy: policy, saves: items), by: caller)
    }

    /// Deletes records, as one atomic request of Alice's.
    @discardableResult
    package func delete(
        _ items: [DeleteItem],
        in database: DatabaseScope = .private,
        by caller: Caller = .alice
    ) throws -> ModifyOutcome {
        try modify(ModifyRecords(database: database, deletes: items), by: caller)
    }

    /// Imports a type beside those that are there, as an operator.
    ///
    /// - Parameter items: Its fields and its grants, as they stand in a schema file.
    package func importType(_ type: String, _ items: String) throws {
        var schema = try reader.storedSchema(of: scopeNumber(), in: scope.environment)
        schema.recordTypes.removeAll { $0.name == type }
        schema.recordTypes += try Schema(
            ckdb: "DEFINE SCHEMA RECORD TYPE \(type) (\(items));"
        ).recordTypes
        let change = SchemaImport(.file(schema, drops: false))
        _ = try run(
            WriteRequest(change, scope: scope, caller: Caller(role: .operator))
        ).get()
    }
}
