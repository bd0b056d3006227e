// A seeded day in the life of a node: two users save, delete, increment and refer in a few zones,
// in batches, with restarts.
//
// Beside the store runs a model, a few dictionaries: what the requests that succeeded should have
// left.

package import CumulusModel
import CumulusOperations
import CumulusStorage

package struct RandomWork {
    package let store: TestStore
    private var source: RandomRequests
    /// How often each kind of answer occurred; a workload that only fails shows nothing.
    package private(set) var counts: [String: Int] = [:]
    private var model: [Place: ModelZone] = [:]

    private struct Place: Hashable {
        var owner: String
        var database: DatabaseScope
        var zone: String
    }

    private struct ModelZone {
        var records: [String: ModelRecord] = [:]
    }

    private struct ModelRecord {
        /// Tells the lives of one name apart.
        var life: Int
        var fields: [String: FieldValue] = [:]
        /// Per field: the name and the life that was there when the reference was saved.
        var owners: [String: (name: String, life: Int?)] = [:]
    }

    private var lives = 0

    /// - Parameters:
    ///   - policy: The merge policy of the type of all records.
    ///   - title: Fixes the type of the field.
    package init(
        seed: UInt64,
        merging policy: MergePolicy = .fields,
        title: FieldValue = ""
    ) throws {
        store = try TestStore(seed: seed)
        source = RandomRequests(seed: seed &* 0x5851_F42D)
        // Fixes the types of the fields, in a zone that nothing else touches.
        try store.modify(ModifyZones(saving: ["schema"]), by: .alice)
        let first = SaveItem(
            "first",
            ["price": 1.5, "title": title, "votes": 0],
            in: ZoneAddress(name: "schema")
        )
        try store.modify(ModifyRecords(database: .private, saves: [first]), by: .alice)
        guard policy != .fields else { return }
        let entry = MergePolicies.Entry(recordType: RandomRequests.recordType, policy: policy)
        try store.run(
            WriteRequest(SetMergePolicy(entry), scope: store.scope, caller: .administrator)
        )
    }

    // MARK: Running

    /// Runs that many batches of one to four requests.
    package mutating func run(batches: Int) throws {
        for _ in 0..<batches {
            store.now += Int64.random(in: 0...3, using: &source.dice)
            if Int.random(in: 0..<20, using: &source.dice) == 0 { try store.restart() }
            let requests = (0..<Int.random(in: 1...4, using: &source.dice)).map { _ in request() }
            let answers = try store.run(requests)
            for (request, answer) in zip(requests, answers) {
                guard case .success(let outcome?) = answer else {
                    counts["refused", default: 0] += 1
                    continue
                }
                note(outcome)
                switch request.change {
                case .modifyRecords(let modify): apply(modify, outcome, by: request.asker.caller)
                case .modifyZones(let modify): apply(modify, outcome, by: request.asker.caller)
                case .acceptShare: break
                }
            }
        }
    }

    /// Runs requests that the model doesn't follow: where others change the records too, it would
    /// know nothing.
    ///
    /// Returns the requests.
    package mutating func edit(requests: Int) throws -> [DrawnRequest] {
        let requests = (0..<requests).map { _ in request() }
        try store.run(requests)
        return requests
    }

    private mutating func note(_ outcome: ModifyOutcome) {
        for item in outcome.saves + outcome.deletes {
            counts[item.code.map { "\($0)" } ?? "done", default: 0] += 1
        }
    }

    /// The differences between the store and the model.
    package func differences() throws -> [String] {
        var found: [String] = []
        for (place, zone) in model {
            let caller = Caller(role: .user(place.owner))
            let address = ZoneAddress(name: place.zone)
            let names = try store.names(in: place.database, zone: address, by: caller)
            if names != zone.records.keys.sorted() {
                found.append("\(place): \(names), not \(zone.records.keys.sorted())")
            }
            for (name, record) in zone.records {
                let view = try? store.fetch(name, in: place.database, zone: address, by: caller)
                    .get()
                if view?.fields == WireField.body(record.fields) { continue }
                found.append(
                    "\(place) \(name): \(view?.fields.hex ?? "none"), not \(record.fields)"
                )
            }
        }
        return found
    }

    // MARK: Requests

    private mutating func request() -> DrawnRequest {
        let store = store
        let (change, caller) = source.next { name, database, zone, caller in
            try? store.fetch(name, in: database, zone: zone, by: caller).get().changeTag
        }
        let id = store.newRequestID()
        return DrawnRequest(
            change,
            for: Asker(scope: store.scope, caller: caller, requestID: id)
        )
    }

    // MARK: The model

    private mutating func apply(
        _ modify: ModifyZones,
        _ outcome: ModifyOutcome,
        by caller: Caller
    ) {
        for (address, item) in zip(modify.deletes, outcome.deletes) where item.code == nil {
            guard case .success(let address) = address else { continue }
            model[Place(owner: caller.user, database: .private, zone: address.name)] = nil
        }
    }

    private mutating func apply(
        _ modify: ModifyRecords,
        _ outcome: ModifyOutcome,
        by caller: Caller
    ) {
        guard let zone = (modify.saves.map(\.address) + modify.deletes.map(\.address)).first?.zone
        else { return }
        let isPublic = modify.database == .public
        let place = Place(
            owner: isPublic ? "_alice" : caller.user,
            database: modify.database,
            zone: zone.name
        )
        if outcome.codes.contains(.zoneNotFound) { return }
        var after = model[place] ?? ModelZone()
        let saves = zip(modify.saves, outcome.saves).filter { $0.1.code == nil }.map(\.0)
        let deletes = zip(modify.deletes, outcome.deletes).filter { $0.1.code == nil }.map(\.0)
        let dying = reach(of: deletes.map(\.address.name), in: after, saves)
        var created: [String: Int] = [:]
        for save in saves where after.records[save.address.name] == nil {
            lives += 1
            created[save.address.name] = lives
        }
        let before = after
        for save in saves {
            guard case .success(let content) = save.content else { continue }
            let name = save.address.name
            var record = after.records[name] ?? ModelRecord(life: created[name] ?? 0)
            merge(content, into: &record) { target in
                if dying.contains(target) { return nil }
                return before.records[target]?.life ?? created[target]
            }
            after.records[name] = record
        }
        for name in dying { after.records[name] = nil }
        model[place] = after
    }

    /// Everything that goes when these go: owned records whose reference this batch doesn't take
    /// elsewhere.
    private func reach(
        of names: [String],
        in zone: ModelZone,
        _ saves: [SaveItem]
    ) -> Set<String> {
        var dying: Set<String> = []
        var pending = names.filter { zone.records[$0] != nil }
        while let name = pending.popLast() {
            guard dying.insert(name).inserted else { continue }
            for (child, record) in zone.records {
                let isOwned = record.owners.contains { field, owner in
                    owner.name == name
                        && (owner.life ?? zone.records[name]?.life) == zone.records[name]?.life
                        && !isTaken(field, of: child, from: name, by: saves)
                }
                if isOwned { pending.append(child) }
            }
        }
        return dying
    }

    private func isTaken(
        _ field: String,
        of child: String,
        from owner: String,
        by saves: [SaveItem]
    ) -> Bool {
        for save in saves where save.address.name == child {
            guard case .success(let content) = save.content,
                let entry = content.fields.entry(named: field)
            else { continue }
            let references = (try? content.fields.references(entry)) ?? []
            return entry.type == nil
                || !references.contains { $0.recordName == owner && $0.action == .deleteSelf }
        }
        return false
    }

    private func merge(
        _ content: SaveItem.Content,
        into record: inout ModelRecord,
        _ life: (String) -> Int?
    ) {
        for entry in content.fields.entries {
            let name = content.fields.name(of: entry)
            record.owners[name] = nil
            guard entry.type != nil else {
                record.fields[name] = nil
                continue
            }
            record.fields[name] = ModelValues.value(of: name, entry, in: content.fields)
            let references =
                entry.type?.holdsReferences == true
                ? (try? content.fields.references(entry)) ?? [] : []
            for reference in references where reference.action == .deleteSelf {
                record.owners[name] = (reference.recordName, life(reference.recordName))
            }
        }
        for increment in content.increments {
            let old = record.fields[increment.field]?.int64 ?? 0
            record.fields[increment.field] = .int64(old + increment.delta)
        }
    }
}

/// The few values that the workload writes, read back from their bytes.
private enum ModelValues {
    static func value(
        of name: String,
        _ entry: RecordBody.Entry,
        in body: RecordBody
    ) -> FieldValue {
        let bytes = body.bytes[entry.value]
        switch name {
        case "votes": return .int64((try? body.int64(entry)) ?? 0)
        case "price" where entry.type == .one(.int64):
            return .double(Double((try? body.int64(entry)) ?? 0))
        case "price": return .double(1.5)
        case "tags": return entry.type == .emptyList ? .list([]) : .list(["a", "b", "a"])
        case "owner", "second":
            let references = (try? body.references(entry)) ?? []
            let values = references.map { FieldValue.reference($0) }
            return name == "owner" ? values[0] : .list(values)
        default: return .string(String(decoding: bytes, as: UTF8.self))
        }
    }
}
