// records/modify: plans, sends, plans forced operations again that somebody was ahead of, and shows
// the saved records whole.
//
// What a request says of its records is taken for granted first. Records are looked up before for
// requests that say too little, and for operations that the node refused.

import CumulusModel
import CumulusNode
import CumulusWire

extension WebContext {
    /// The outcome of one operation.
    private enum Outcome {
        case saved(Record)
        case deleted
        case failed(WebError)
    }

    /// How often forced operations are planned; each time somebody else was ahead.
    private static let rounds = 5

    func modifyRecords(_ json: inout JSONWriter) async throws {
        let modify = try WebModify(request, for: user) { newRecordName() }
        let token = try await zoneToken(of: modify.operations.map(\.id.zoneID))
        var round = Round(open: Array(modify.operations.indices))
        try await carryOutAsAssumed(modify, &round)
        let isBegun = !round.outcomes.isEmpty
        for number in 0..<WebContext.rounds where !round.open.isEmpty {
            do {
                try await carryOut(modify, &round)
            } catch {
                if number == 0, !isBegun { throw error }
                // Operations of an earlier round are done, and their outcomes are reported.
                for place in round.open { round.outcomes[place] = .failed(WebError(any: error)) }
                round.open = []
            }
        }
        var outcomes = round.outcomes
        for place in round.open {
            var error = WebError(.tryAgainLater, "others change the record all the time; try again")
            error.retryAfter = 1
            outcomes[place] = .failed(error)
        }
        if let error = zoneError(outcomes) { throw error }
        let shown = try await shown(outcomes, modify)
        json.object { json in
            json.key("records")
            json.array(of: modify.operations.indices) { place, json in
                write(outcomes[place], modify.operations[place], at: place, shown, to: &json)
            }
            write(syncToken: token, to: &json)
        }
    }

    /// The progress of a request that is carried out in rounds.
    private struct Round {
        /// The operations that are to be planned, or planned again.
        var open: [Int]
        var outcomes: [Int: Outcome] = [:]
        /// Operations whose files came from other nodes.
        var fetched: Set<Int> = []
    }

    /// Carries out what the node does with no look-up before.
    private func carryOutAsAssumed(_ modify: WebModify, _ round: inout Round) async throws {
        // Others are refused by what they ask for.
        guard !user.isEmpty else { return }
        let columns = try await calls.columns(of: modify.types(round.open))
        guard let assumption = modify.assumption(columns) else { return }
        let knowledge = knowledge(assumption.stored, columns)
        let plan = modify.plan(round.open, knowledge)
        guard plan.failures.isEmpty else { return }
        let isForced = assumption.isForced
        let errors = try await send(plan, modify, overReadable: isForced, &round.outcomes)
        round.open = errors.keys.sorted()
    }

    private func carryOut(_ modify: WebModify, _ round: inout Round) async throws {
        let knowledge = try await knowledge(of: round.open, modify)
        let plan = modify.plan(round.open, knowledge)
        for (place, error) in plan.failures { round.outcomes[place] = .failed(error) }
        var errors = try await send(plan, modify, &round.outcomes)
        let news = await fetchFiles(of: plan, modify, &errors, except: round.fetched)
        let verdict = modify.judge(errors, fetched: news, in: database)
        for (place, error) in verdict.failures { round.outcomes[place] = .failed(error) }
        round.fetched.formUnion(news)
        round.open = verdict.again
    }

    /// A zone that the whole request is for and that is not there refuses the request.
    private func zoneError(_ outcomes: [Int: Outcome]) -> WebError? {
        guard request["zoneID"] != nil, !outcomes.isEmpty else { return nil }
        var first: WebError?
        for outcome in outcomes.values {
            guard case .failed(let error) = outcome, error.code == .zoneNotFound else { return nil }
            first = error
        }
        return first
    }

    /// The name has the form of a UUID, as clients expect.
    func newRecordName() -> String {
        WebText.uuid(door.random(), door.random())
    }

    private func knowledge(
        of places: [Int],
        _ modify: WebModify
    ) async throws -> WebModify.Knowledge {
        let ids = modify.needed(places)
        let results = try await fetch(ids, keys: nil)
        let found = results.compactMap { try? $0.get().recordType }
        let types = Set(modify.types(places)).union(found)
        return knowledge(
            Dictionary(zip(ids, results)) { first, _ in first },
            try await calls.columns(of: types.sorted())
        )
    }

    private func knowledge(
        _ stored: [Record.ID: RecordResult],
        _ columns: [String: [String: FieldType]]
    ) -> WebModify.Knowledge {
        WebModify.Knowledge(
            stored: stored,
            columns: columns,
            user: user,
            database: database,
            asset: { [links, user] in links.asset(of: $0, for: user, in: $1) }
        )
    }

    /// Sends a plan; returns what the node refused, by the places of the operations.
    ///
    /// - Parameter overReadable: Whether saves go over whatever the caller may read.
    private func send(
        _ plan: WebModify.Plan,
        _ modify: WebModify,
        overReadable: Bool = false,
        _ outcomes: inout [Int: Outcome]
    ) async throws -> [Int: ServiceError] {
        if plan.saves.isEmpty, plan.deletes.isEmpty { return [:] }
        let message = ModifyRecordsRequest(
            database: database,
            policy: 0,
            isAtomic: modify.isAtomic,
            saves: plan.saves.map { $0.record.encodedSave(allKeys: false) },
            deletes: plan.deletes.map { WireRecordID($0.id) },
            deleteTags: plan.deletes.map { $0.tag.flatMap { Bytes(hex: $0) } ?? [] }
        ).encoded()
        let answer = try await calls.modify(message, overReadable: overReadable)
        let (saves, deletes) = (answer.saves, answer.deletes)
        guard saves.count == plan.saves.count, deletes.count == plan.deletes.count else {
            throw WebContext.resultMissing
        }
        var errors: [Int: ServiceError] = [:]
        for (save, result) in zip(plan.saves, saves) {
            switch result {
            case .success(let answer):
                if !save.isRoot { outcomes[save.place] = .saved(save.record.saved(as: answer)) }
            case .failure(let error):
                // An error of the root of a new share is reported for the share.
                let known = errors[save.place]
                if known == nil || known?.code == .batchRequestFailed { errors[save.place] = error }
            }
        }
        for (delete, error) in zip(plan.deletes, deletes) {
            errors[delete.place] = error
            if error == nil { outcomes[delete.place] = .deleted }
        }
        return errors
    }

    /// Fetches files that other nodes took, for saves that were refused without them.
    ///
    /// - Parameters:
    ///   - errors: For a file that can't be fetched, or not now, its error replaces the refusal.
    ///   - tried: Operations for which that was done before.
    /// - Returns: The operations whose files are here now.
    private func fetchFiles(
        of plan: WebModify.Plan,
        _ modify: WebModify,
        _ errors: inout [Int: ServiceError],
        except tried: Set<Int>
    ) async -> Set<Int> {
        var fetched: Set<Int> = []
        let end = door.nanoseconds() + WebFiles.milliseconds * 1_000_000
        for save in plan.saves where !save.isRoot && !tried.contains(save.place) {
            guard errors[save.place]?.code == .assetNotAvailable else { continue }
            let zone = save.record.recordID.zoneID
            let receipts = modify.operations[save.place].record.receipts
            let assets = links.heldAnywhere(receipts, by: user, in: zone)
            if assets.isEmpty { continue }
            let files = WebFiles(calls, links, in: zone, until: end)
            do {
                for asset in assets { try await files.fetch(asset) }
                fetched.insert(save.place)
            } catch let error as ServiceError {
                errors[save.place] = error
            } catch {
                errors[save.place] = ServiceError(.internalError, "\(error)")
            }
        }
        return fetched
    }

    // MARK: Answers

    /// The saved records as answers show them.
    private struct Shown {
        /// Whole records, by the places of their operations, as far as they could be read.
        var records: [Int: Record] = [:]
        var columns: [String: [String: FieldType]] = [:]
    }

    /// Saved records stay saved even if they can't be shown whole.
    private func shown(
        _ outcomes: [Int: Outcome],
        _ modify: WebModify
    ) async throws -> Shown {
        var shown = Shown()
        var read: [Int] = []
        let shares = modify.operations.contains { $0.record.share != nil }
        for (place, operation) in modify.operations.enumerated() {
            guard case .saved(let record)? = outcomes[place] else { continue }
            shown.records[place] = record
            if shares || !operation.isWhole(record) { read.append(place) }
        }
        let keys = WebContext.wireKeys(read.map { modify.operations[$0].options })
        let whole = (try? await fetch(read.map { modify.operations[$0].id }, keys: keys)) ?? []
        for (place, result) in zip(read, whole) {
            if let record = try? result.get() { shown.records[place] = record }
        }
        shown.columns = (try? await columns(of: Array(shown.records.values))) ?? [:]
        return shown
    }

    private func write(
        _ outcome: Outcome?,
        _ operation: WebOperation,
        at place: Int,
        _ shown: Shown,
        to json: inout JSONWriter
    ) {
        let name = operation.id.recordName
        switch outcome {
        case .saved(let saved)?:
            let record = shown.records[place] ?? saved
            let columns = shown.columns[record.recordType] ?? [:]
            writer(operation.options).write(record, columns: columns, to: &json)
        case .deleted?: writer(operation.options).writeTombstone(name, to: &json)
        case .failed(let error)?:
            json.value(WebRecordWriter.entry(error, name, uuid: uuid))
        case nil:
            json.value(WebRecordWriter.entry(WebContext.resultMissing, name, uuid: uuid))
        }
    }
}

extension WebOperation {
    /// Whether a record that it saved is all that is stored, in a request without shares: it made
    /// the record, which holds no file and hangs below no other.
    fileprivate func isWhole(_ record: Record) -> Bool {
        kind == .create && record.parent == nil && !record.holdsAssets
    }
}
