// Which life of a record a save writes: it ends the other lives. A new life gets a key, by which
// another node recognises a repetition of the save.
//
// Called by `SavePlanner.plan`.

import CumulusModel
import CumulusStorage

extension SavePlanner {
    /// - Parameter row: The life that the save changes; nil if the save creates one.
    func planLives(
        _ content: SaveItem.Content,
        _ put: inout Commit.Put,
        _ row: RecordRow?,
        _ plan: ZoneBatch.Plan,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) {
        let name = put.recordName
        let (hidden, isKeyed) = try engine { () throws(EngineError) in
            let first = row ?? dropped[name]
            let others = try transaction.siblings(of: first, named: name, in: found.number)
            return (
                others + [dropped[name]].compactMap(\.self),
                try Feature.lives.isKnown(in: &transaction)
            )
        }
        let ended = NamedLives(hidden)
        (put.absorbed, put.endedKeys) = (ended.births, ended.keys)
        guard row == nil, isKeyed else { return }
        put.origin = origin(of: content, plan.schemas[content.type]?.merge ?? .fields)
        if put.origin == .request { try checkEnds(of: name, in: &transaction) }
        if put.origin == .increments, transaction.state.isRestored {
            throw .item(Self.restored)
        }
    }

    private func checkEnds(
        of name: String,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) {
        let ends = try engine { () throws(EngineError) in
            guard let zone = found.number else { return 0 }
            return try transaction.load(zone, name)?.ended.count ?? 0
        }
        if ends < request.limits.endsPerRecord { return }
        throw .item(
            ServiceError(
                .limitExceeded,
                .tooManyItems,
                """
                record '\(name)' was created and deleted \(ends) times of late, and the node has \
                to remember each for a day; use another name, or wait
                """
            )
        )
    }

    fileprivate static let restored: ServiceError = {
        var error = ServiceError(
            .serviceUnavailable,
            .nodeBehind,
            """
            this node began with a backup and has not caught up with another one: it can't tell \
            whether the record that these increments would create was deleted; use another node, \
            or try again
            """
        )
        error.retryAfterMilliseconds = 1_000
        return error
    }()

    /// What a creation begins: a counter, or a record of its request; nil if the request has no id.
    ///
    /// A save with increments that ignores the stored record begins a counter, which any node may
    /// have begun. Fields that change as one would mix between two such saves, so there only a save
    /// of increments alone begins a counter.
    private func origin(
        of content: SaveItem.Content,
        _ policy: MergePolicy
    ) -> Commit.Origin? {
        let onlyIncrements = content.fields.bytes.isEmpty && content.parent == nil
        if request.policy == .changedKeys, !content.increments.isEmpty,
            policy == .fields || onlyIncrements
        {
            return .increments
        }
        return asker.requestID == nil ? nil : .request
    }

    /// The key of a record that this batch creates; nil if the record gets none from its request.
    ///
    /// The key is the same at every node that carries out the request.
    func requestKey(
        ofNew name: String,
        _ plan: ZoneBatch.Plan,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) -> LifeKey? {
        let isKeyed = try engine { () throws(EngineError) in
            try Feature.lives.isKnown(in: &transaction)
        }
        guard isKeyed, let content = items.content(named: name), let requestID = asker.requestID,
            origin(of: content, plan.schemas[content.type]?.merge ?? .fields) == .request
        else { return nil }
        return LifeKey(request: requestID.bytes, of: caller.user, in: found.zone)
    }
}

extension ModifyOutcome {
    /// The error of the whole request if this node is behind; another node may carry it out.
    var refusal: ServiceError? {
        let isBehind = saves.contains { item in
            if case .failure(let failure) = item { failure.reason == .nodeBehind } else { false }
        }
        return isBehind ? SavePlanner.restored : nil
    }
}
