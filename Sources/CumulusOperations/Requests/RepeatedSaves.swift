// Recognises saves of a request that another node carried out, if its commits are not here because
// their records came with a state. The lives that they created have the request's key, and its
// increments are remembered.
//
// Asked by `ModifyRecords.run` before a zone's items are planned; `DoneElsewhere` answers. A save
// that only changed an existing record leaves nothing by which it could be recognised.

import CumulusModel
import CumulusStorage

struct RepeatedSaves {
    let request: ModifyRecords
    let requestID: RequestID
    let scope: ScopeNumber
    let caller: Caller

    /// The saves in a zone that were carried out already.
    ///
    /// If none was found so far, and the records hold more than one request may change, the search
    /// ends: the request is about to be refused.
    func find(
        in found: FoundZone,
        at address: ZoneAddress,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> [Int] {
        guard let number = found.number, !transaction.state.broken.contains(.knownRequests) else {
            return []
        }
        let key = LifeKey(request: requestID.bytes, of: caller.user, in: found.zone)
        var known: [Int] = []
        for (index, save) in request.saves.enumerated() where save.address.zone == address {
            let name = save.address.name
            guard let row = try transaction.load(number, name) else { continue }
            if try isDone(save, key, row, number, &transaction) { known.append(index) }
            if known.isEmpty, request.readsTooMuch(in: transaction) { break }
        }
        return known
    }

    private func isDone(
        _ save: SaveItem,
        _ key: LifeKey,
        _ row: RecordRow,
        _ zone: ZoneNumber,
        _ transaction: inout WriteTransaction
    ) throws(EngineError) -> Bool {
        if row.key == key || row.ended.contains(where: { $0.key == key }) { return true }
        let name = save.address.name
        let others = try transaction.siblings(of: row, named: name, in: zone)
        if others.contains(where: { $0.key == key }) { return true }
        guard case .success(let content) = save.content, !row.isDead else { return false }
        for increment in content.increments {
            for life in [row] + others {
                let key = RowKey.increment(scope, requestID, life.identity, name, increment.field)
                let known: IncrementRow? = try transaction.row(key)
                if known?.isOf(life) == true { return true }
            }
        }
        return false
    }

    /// Answers the items of a zone that were carried out.
    ///
    /// In an atomic zone all were carried out if one was.
    ///
    /// Returns the saves that are answered; nil if all items of the zone are.
    func answer(
        in found: FoundZone,
        at address: ZoneAddress,
        _ transaction: inout WriteTransaction,
        _ outcome: inout ModifyOutcome
    ) throws(EngineError) -> [Int]? {
        var known = try find(in: found, at: address, &transaction)
        if known.isEmpty { return known }
        let isWhole = request.isAtomic && found.capabilities.contains(.atomic)
        if isWhole {
            known = request.saves.indices.filter { request.saves[$0].address.zone == address }
        }
        let deletes = request.deletes.indices.filter {
            isWhole && request.deletes[$0].address.zone == address
        }
        let done = DoneElsewhere(
            known.map { request.saves[$0].address } + deletes.map { request.deletes[$0].address },
            of: found.zone,
            in: scope,
            by: caller
        )
        var told = try done.outcome(of: request, transaction)
        try request.askAgain(&told, scope, by: caller, in: &transaction)
        for index in known { outcome.saves[index] = told.saves[index] }
        for index in deletes { outcome.deletes[index] = told.deletes[index] }
        outcome.isRepeated = true
        return isWhole ? nil : known
    }
}
