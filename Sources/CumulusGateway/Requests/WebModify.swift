// Turns the seven kinds of operations of records/modify into saves and deletes of the binary
// protocol.
//
// A plan is made of the request and of the records as they are stored at that moment. Each save
// names the change tag that was found, so that a change in between is noticed by the node: the
// operation fails with it, or, if it is a forced one, is planned again.

package import CumulusModel

package struct WebOperation: Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        case create
        case update
        case forceUpdate
        case replace
        case forceReplace
        case delete
        case forceDelete

        /// It works whatever is stored.
        package var isForced: Bool {
            switch self {
            case .forceUpdate, .forceReplace, .forceDelete: true
            case .create, .update, .replace, .delete: false
            }
        }

        /// The stored record decides what is to be done.
        package var needsStored: Bool { self != .create && self != .forceDelete }

        var isReplacing: Bool { self == .replace || self == .forceReplace }
        var isDeleting: Bool { self == .delete || self == .forceDelete }
    }

    package var kind: Kind
    package var id: Record.ID
    package var record: WebRecord
    package var options: WebRecordOptions
}

/// The parts of a record that an answer shows.
package struct WebRecordOptions: Hashable, Sendable {
    /// nil means all fields.
    package var keys: [String]?
    package var numbersAsStrings = false

    package init() {}

    /// Reads the options of a request, or of one of its items, which override the request's.
    package init(
        _ object: WebObject,
        over base: WebRecordOptions = WebRecordOptions()
    ) throws(WebError) {
        self = base
        if let keys = try object.strings("desiredKeys") {
            // A name that can't be a field's is unknown, and ignored.
            self.keys = keys.filter {
                (try? Names.checkFieldName(Bytes($0.utf8)[...], "a desired key")) != nil
            }
        }
        // The older spelling stands in the protocol's description.
        let flag = try object.flag("numbersAsStrings")
        let older = try object.flag("numberAsStrings")
        numbersAsStrings = flag ?? older ?? base.numbersAsStrings
    }
}

package struct WebModify: Sendable {
    package var operations: [WebOperation] = []
    package var isAtomic: Bool

    /// - Parameters:
    ///   - user: The caller's user record name; empty: no user is signed in.
    ///   - newName: Makes a name for a record that came without one.
    package init(
        _ request: WebObject,
        for user: String,
        newName: () -> String
    ) throws(WebError) {
        isAtomic = try request.flag("atomic") ?? true
        let zone = try WebZone.id(in: request, for: user) ?? .default
        let options = try WebRecordOptions(request)
        var names: Set<Record.ID> = []
        for item in try request.items("operations") {
            let text = try item.needed("operationType")
            guard let kind = WebOperation.Kind(rawValue: text) else {
                throw .badRequest("'\(item.place("operationType"))' is no operation: '\(text)'")
            }
            guard let object = try item.object("record") else {
                throw .badRequest("'\(item.place("record"))' is missing")
            }
            let record = try WebRecord(object, for: user)
            guard let name = record.name ?? (kind.needsStored ? nil : newName()),
                record.name != nil || kind == .create
            else { throw .badRequest("'\(object.place("recordName"))' is missing") }
            let id = Record.ID(recordName: name, zoneID: record.zoneID ?? zone)
            guard names.insert(id).inserted else {
                throw .badRequest(
                    "record '\(name)' occurs twice in the request; name each record once"
                )
            }
            operations.append(
                WebOperation(
                    kind: kind,
                    id: id,
                    record: record,
                    options: try WebRecordOptions(item, over: options)
                )
            )
        }
    }

    // MARK: Plans

    /// The calls to the node for some of the operations, by their places in the request.
    package struct Plan: Sendable {
        /// `isRoot` marks a record that goes with the new share of the operation.
        package var saves: [(place: Int, record: Record, isRoot: Bool)] = []
        /// A deletion with a tag is done only if the record still has it.
        package var deletes: [(place: Int, id: Record.ID, tag: String?)] = []
        package var failures: [Int: WebError] = [:]
    }

    /// The facts about the store that planning needs.
    package struct Knowledge {
        /// The stored records that operations need.
        package var stored: [Record.ID: Result<Record, ServiceError>]
        /// The fields of types; types that the schema does not have are left out.
        package var columns: [String: [String: FieldType]]
        /// The caller's user record name.
        package var user: String
        package var database: DatabaseScope
        /// The asset of an upload's receipt in a zone.
        package var asset: @Sendable (String, RecordZone.ID) -> Asset?

        package init(
            stored: [Record.ID: Result<Record, ServiceError>],
            columns: [String: [String: FieldType]],
            user: String,
            database: DatabaseScope,
            asset: @escaping @Sendable (String, RecordZone.ID) -> Asset? = { _, _ in nil }
        ) {
            self.stored = stored
            self.columns = columns
            self.user = user
            self.database = database
            self.asset = asset
        }
    }

    /// The types whose fields planning has to know, as far as the request says them.
    package func types(_ places: [Int]) -> [String] {
        Array(Set(places.compactMap { operations[$0].record.type })).sorted()
    }

    /// The records that planning has to know.
    package func needed(_ places: [Int]) -> [Record.ID] {
        let planned = places.map { operations[$0] }
        let stored = planned.filter(\.kind.needsStored).map(\.id)
        let roots = Set(planned.compactMap { root(of: $0) }).subtracting(stored)
        return stored + roots.sorted { $0.recordName < $1.recordName }
    }

    package func plan(_ places: [Int], _ knowledge: Knowledge) -> Plan {
        var plan = Plan()
        if let refusal = zonesRefusal(in: knowledge.database) {
            for place in places { plan.failures[place] = refusal }
            return plan
        }
        for place in places {
            let operation = operations[place]
            do throws(WebError) {
                let stored = try stored(for: operation, knowledge)
                if operation.kind.isDeleting {
                    let tag = operation.kind.isForced ? nil : stored?.recordChangeTag
                    plan.deletes.append((place, operation.id, tag))
                } else {
                    let record = try save(operation, over: stored, knowledge)
                    if let root = try rootToSave(
                        with: operation,
                        over: stored,
                        plan,
                        places,
                        knowledge
                    ) {
                        plan.saves.append((place, root, true))
                    }
                    plan.saves.append((place, record, false))
                }
            } catch {
                plan.failures[place] = error
            }
        }
        if !plan.failures.isEmpty, isAllOrNothing(in: knowledge.database) {
            for place in places where plan.failures[place] == nil {
                plan.failures[place] = WebModify.sibling
            }
            plan.saves = []
            plan.deletes = []
        }
        return plan
    }

    /// Whether the operations are done together or not at all: asked for, and of a custom zone.
    private func isAllOrNothing(in database: DatabaseScope) -> Bool {
        isAtomic && database != .public
            && operations.contains { $0.id.zoneID.zoneName != Names.defaultZone }
    }

    /// Refuses an atomic request that names several zones: a node can't undo one zone's changes.
    private func zonesRefusal(in database: DatabaseScope) -> WebError? {
        let zones = Set(operations.map(\.id.zoneID))
        guard zones.count > 1, isAllOrNothing(in: database) else { return nil }
        return .badRequest(
            "an atomic request changes records of one zone, and this one names \(zones.count); "
                + "send a request for each zone, or set 'atomic' to false"
        )
    }

    // MARK: Further rounds

    /// Decides about operations that the node refused.
    ///
    /// - Parameters:
    ///   - errors: Errors by the places of the operations.
    ///   - fetched: Operations whose files came to the node meanwhile.
    /// - Returns: The operations to plan again, and the failures of the others.
    package func judge(
        _ errors: [Int: ServiceError],
        fetched: Set<Int> = [],
        in database: DatabaseScope
    ) -> (again: [Int], failures: [Int: WebError]) {
        let isWhole = isAllOrNothing(in: database)
        var failures = errors.mapValues { WebError($0) }
        // In an atomic request these fail with the others, and go on with them.
        let passing = errors.filter { isPassing($1, at: $0) || fetched.contains($0) }
        let siblings = errors.filter { isWhole && $1.code == .batchRequestFailed }
        let isOver = isWhole && passing.count + siblings.count < errors.count
        if passing.isEmpty { return ([], failures) }
        if isOver {
            for place in passing.keys { failures[place] = WebModify.sibling }
            return ([], failures)
        }
        let again = Set(passing.keys).union(siblings.keys)
        return (again.sorted(), failures.filter { !again.contains($0.key) })
    }

    /// A forced operation that somebody was ahead of.
    private func isPassing(_ error: ServiceError, at place: Int) -> Bool {
        let isLate = error.code == .serverRecordChanged || error.code == .unknownItem
        return isLate && operations[place].kind.isForced
    }

    private static let sibling = WebError(
        .atomicError,
        "not done, because another operation of the atomic request failed"
    )

    /// The stored record, if the operation is right about it, else nil.
    private func stored(
        for operation: WebOperation,
        _ knowledge: Knowledge
    ) throws(WebError) -> Record? {
        guard operation.kind.needsStored else { return nil }
        switch knowledge.stored[operation.id] {
        case .success(let record)?:
            if operation.kind.isForced || operation.record.changeTag == record.recordChangeTag {
                return record
            }
            throw WebError(
                .conflict,
                operation.record.changeTag == nil
                    ? "the operation has no recordChangeTag, and the record exists; look it up, or "
                        + "force the operation"
                    : "client oplock error updating record; look it up and try again"
            )
        case .failure(let error)?:
            guard error.code == .unknownItem, operation.kind.isForced else {
                throw WebError(error)
            }
            return nil
        case nil: throw WebError(.internalError, "the stored record was not looked up")
        }
    }

    private func save(
        _ operation: WebOperation,
        over stored: Record?,
        _ knowledge: Knowledge
    ) throws(WebError) -> Record {
        guard let type = stored?.recordType ?? operation.record.type else {
            throw .badRequest("a new record needs a recordType")
        }
        let isShare = type == Names.shareType
        guard isShare || operation.record.share == nil else {
            throw .badRequest(
                "a record of type '\(type)' is no share; leave 'forRecord', 'publicPermission' and "
                    + "'participants' out"
            )
        }
        var columns = knowledge.columns[type]
        if isShare {
            columns = WebModify.shareColumns.merging(columns ?? [:]) { _, own in own }
        }
        guard let columns else {
            throw WebError(
                .notFound,
                "record type '\(type)' is not in the schema, and web services add none"
            )
        }
        for field in operation.record.fields where columns[field.key] == nil {
            throw .badRequest(
                "field '\(field.key)' is not in record type '\(type)', and web services add none"
            )
        }
        let reader = WebFieldReader(
            zone: operation.id.zoneID,
            user: knowledge.user,
            asset: { [id = operation.id] in knowledge.asset($0, id.zoneID) }
        )
        var record = try operation.record.record(
            operation.id,
            type: type,
            columns: columns,
            reader
        )
        record.recordChangeTag = stored?.recordChangeTag
        if isShare { record.shareDetails = try shareDetails(operation, over: stored) }
        if operation.kind.isReplacing, let stored {
            let given = Set(operation.record.fields.map(\.key))
            let held = Set(stored.allKeys()).union(stored.encryptedValues.values.keys)
            for key in held.subtracting(given) { record[key] = nil }
        }
        return record
    }
}
