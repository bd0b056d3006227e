// Marks notifications of the caller as read: some by their ids, all up to a feed token, or both.
//
// Run by the writer. New marks become one commit; if all were marked before, nothing is written.
// Ids are not checked: an id that names no notification has no effect, but takes room.

package import CumulusModel
package import CumulusStorage

package struct MarkRead: RememberedChange {
    package var ids: [FeedNotification.ID]
    /// Everything up to it is marked; nil marks only the ids.
    package var token: FeedToken?
    /// The webhook that was told of the notifications; nil means that the caller has read them.
    package var webhook: String?
    package var limits: Limits

    package init(
        _ ids: [FeedNotification.ID] = [],
        upTo token: FeedToken? = nil,
        limits: Limits = .standard
    ) {
        self.ids = ids
        self.token = token
        self.limits = limits
    }

    /// The most ids of one request: no more than a register keeps.
    package static func mostIDs(_ limits: Limits) -> Int {
        min(limits.itemsPerRequest, ReadMarks.mostIDs)
    }

    package var isAllOrNothing: Bool { true }

    /// Answers for marks that another node made: marks have no items, and a trace says that they
    /// stand.
    package func items(
        of done: DoneElsewhere,
        for asker: Asker,
        _ transaction: borrowing WriteTransaction
    ) throws(EngineError) -> ModifyOutcome {
        ModifyOutcome(saves: 0, deletes: 0)
    }

    /// - Returns: An outcome without items.
    package func run(
        for asker: Asker,
        in scope: ScopeNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Result<ModifyOutcome, ServiceError> {
        let caller = asker.caller
        var outcome = ModifyOutcome(saves: 0, deletes: 0)
        do {
            try Authorisation.checkFeed(of: caller)
            try check()
        } catch {
            return .failure(error)
        }
        let marker = ReadMarks.Reader(caller.user, webhook: webhook)
        let known = try transaction.readMarks(of: marker, in: scope)
        let new = ReadMarks(
            upTo: token.map { $0.base } ?? VersionVector(),
            ids: ids.filter { !known.holds($0) },
            // Another node's clock may be ahead: these ids count as newer than its ids.
            at: max(transaction.now, known.newest.map { $0 + 1 } ?? .min)
        )
        var all = known
        all.join(new)
        if all == known { return .success(outcome) }
        let register = Commit.Register(
            namespace: marker.namespace,
            key: marker.key,
            value: new.value
        )
        let (commit, _) = try transaction.perform(
            [.register(register)],
            in: scope,
            zone: nil,
            author: Author(
                requestID: asker.requestID,
                user: caller.user,
                device: caller.device
            )
        )
        outcome.dots = [commit.stamp.dot]
        return .success(outcome)
    }

    private func check() throws(ServiceError) {
        let limit = MarkRead.mostIDs(limits)
        guard ids.count <= limit else { throw .tooManyItems(ids.count, limit: limit) }
    }
}
