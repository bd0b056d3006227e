// Which life of a record a save writes: it ends the other lives, and a new life gets the key by
// which its repeat at another node is recognised.
//
// Called by `SavePlanner.plan`.

import CumulusModel
import CumulusStorage

extension SavePlanner {
    /// - Parameter row: The life that the save changes; nil if it creates one.
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
        if put.origin == .increments, transaction.state.isRestored {
            throw .item(Self.restored)
        }
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

    /// Of a creation: a save that ignores what is there, and increments, means a counter that any
    /// node may have begun.
    ///
    /// Where fields change as one, what two such saves set would mix.
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
        return batch.requestID == nil ? nil : .request
    }

    /// The key of a record that this batch creates; nil if the record gets none from its request.
    ///
    /// The same at every node that carries out the request.
    func requestKey(
        ofNew name: String,
        in transaction: inout WriteTransaction
    ) throws(PlanFailure) -> LifeKey? {
        let isKeyed = try engine { () throws(EngineError) in
            try Feature.lives.isKnown(in: &transaction)
        }
        guard isKeyed, let content = batch.content(named: name), content.increments.isEmpty,
            let requestID = batch.requestID
        else { return nil }
        return LifeKey(request: requestID.bytes, of: caller.user, in: found.zone)
    }
}

extension ModifyOutcome {
    /// Why the request is refused as a whole, for another node or for later; nil: it is not.
    var refusal: ServiceError? {
        let restored = Failure(SavePlanner.restored)
        let isRefused = saves.contains { item in
            if case .failure(restored) = item { true } else { false }
        }
        return isRefused ? SavePlanner.restored : nil
    }
}
