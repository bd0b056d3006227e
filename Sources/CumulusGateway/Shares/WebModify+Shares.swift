// How records/modify plans saves of shares: the share, and with a new one the record that it
// shares.
//
// A new share of a record is saved in one batch with that record. Web clients only name the record,
// so it is added to the batch, with no field changed.

import CumulusModel

extension WebModify {
    /// The fields that every share has, whatever the schema says.
    static let shareColumns: [String: FieldType] = [
        "cloudkit.title": .one(.string), "cloudkit.type": .one(.string),
        "cloudkit.thumbnailImageData": .one(.bytes),
    ]

    /// The record that a share names as its root; nil for all other operations.
    func root(of operation: WebOperation) -> Record.ID? {
        operation.record.share?.root.map {
            Record.ID(recordName: $0, zoneID: operation.id.zoneID)
        }
    }

    /// The stored details of a share after the save; nil leaves them as they are.
    func shareDetails(
        _ operation: WebOperation,
        over stored: Record?
    ) throws(WebError) -> ShareDetails? {
        let share = operation.record.share
        try checkRoot(share, of: operation, over: stored)
        if stored == nil, operation.id.recordName != Names.zoneShare, share?.root == nil {
            throw .badRequest(
                "a new share needs 'forRecord', or the name '\(Names.zoneShare)' to share its zone"
            )
        }
        guard let share, stored == nil || !share.isEmpty else {
            return stored == nil ? ShareDetails(root: "") : nil
        }
        return try share.details(over: stored?.shareDetails)
    }

    /// Refuses a root that the share can't have.
    private func checkRoot(
        _ share: WebShareRequest?,
        of operation: WebOperation,
        over stored: Record?
    ) throws(WebError) {
        guard let share, let root = share.root else { return }
        if let zone = share.rootZone, zone != operation.id.zoneID {
            throw .badRequest(
                "'forRecord.zoneID' is another zone; a share is in the zone of its root"
            )
        }
        if operation.id.recordName == Names.zoneShare {
            throw .badRequest("'\(Names.zoneShare)' shares its zone; leave 'forRecord' out")
        }
        if let shared = stored?.shareDetails?.root, shared != root {
            throw .badRequest(
                "'forRecord' names another record than '\(shared)', which is shared; a share keeps "
                    + "its root"
            )
        }
    }

    /// The root that a new share is to be saved with; nil if the plan saves it anyway.
    ///
    /// - Parameter places: The places of the planned operations.
    func rootToSave(
        with operation: WebOperation,
        over stored: Record?,
        _ plan: Plan,
        _ places: [Int],
        _ knowledge: Knowledge
    ) throws(WebError) -> Record? {
        guard stored == nil, let id = root(of: operation) else { return nil }
        let own = operations.firstIndex { $0.id == id }
        let isNow = own.map { places.contains($0) } ?? false
        let found = try? knowledge.stored[id]?.get()
        guard isNow || found != nil else {
            throw WebError(
                .notFound,
                "Cannot share - no such record exists to share: '\(id.recordName)'"
            )
        }
        // Another round of the same request may have changed it.
        let isDone = own != nil && !isNow
        if let tag = operation.record.share?.rootTag, !isDone, tag != found?.recordChangeTag {
            throw WebError(
                .conflict,
                "the record to share was changed; look it up, and name its recordChangeTag in "
                    + "'forRecord'"
            )
        }
        // Two shares of one root are for the node to refuse.
        let isPlanned = plan.saves.contains { $0.record.recordID == id }
        guard let root = found, !isNow, !isPlanned else { return nil }
        var record = Record(recordType: root.recordType, recordID: id)
        record.recordChangeTag = root.recordChangeTag
        return record
    }
}
