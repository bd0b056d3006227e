// records/modify: plans, sends, plans forced operations again that somebody was ahead of, and shows
// the saved records whole.

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

    func modifyRecords() async throws -> [JSON.Member] {
        let modify = try WebModify(request, for: user) { newRecordName() }
        let token = try await zoneToken(of: modify.operations.map(\.id.zoneID))
        var round = Round(open: Array(modify.operations.indices))
        for number in 0..<WebContext.rounds where !round.open.isEmpty {
            do {
                try await carryOut(modify, &round)
            } catch {
                if number == 0 { throw error }
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
        let records = JSON.Member("records", .array(try await entries(outcomes, modify)))
        return [records] + syncToken(token)
    }

    /// The progress of a request that is carried out in rounds.
    private struct Round {
        /// The operations that are to be planned, or planned again.
        var open: [Int]
        var outcomes: [Int: Outcome] = [:]
        /// Operations whose files came from other nodes.
        var fetched: Set<Int> = []
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
        return WebModify.Knowledge(
            stored: Dictionary(zip(ids, results)) { first, _ in first },
            columns: try await calls.columns(of: types.sorted()),
            user: user,
            database: database,
            asset: { [links, user] in links.asset(of: $0, for: user, in: $1) }
        )
    }

    /// Sends a plan; returns what the node refused, by the places of the operations.
    private func send(
        _ plan: WebModify.Plan,
        _ modify: WebModify,
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
        let answer = try await calls.modify(message)
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

    private func entries(
        _ outcomes: [Int: Outcome],
        _ modify: WebModify
    ) async throws -> [JSON] {
        let saved = modify.operations.indices.filter {
            if case .saved? = outcomes[$0] { true } else { false }
        }
        let keys = WebContext.wireKeys(saved.map { modify.operations[$0].options })
        // Saved records stay saved even if they can't be shown whole.
        let ids = saved.map { modify.operations[$0].id }
        let whole = (try? await fetch(ids, keys: keys)) ?? []
        let shown = Dictionary(uniqueKeysWithValues: zip(saved, whole))
        let records = whole.compactMap { try? $0.get() }
        let columns = (try? await columns(of: records)) ?? [:]
        return modify.operations.indices.map { place in
            let operation = modify.operations[place]
            switch outcomes[place] {
            case .saved(let record)?:
                let found = shown[place].flatMap { try? $0.get() } ?? record
                return writer(operation.options)
                    .json(found, columns: columns[found.recordType] ?? [:])
            case .deleted?:
                return writer(operation.options).tombstone(operation.id.recordName)
            case .failed(let error)?:
                return WebRecordWriter.entry(error, operation.id.recordName, uuid: uuid)
            case nil:
                let error = WebContext.resultMissing
                return WebRecordWriter.entry(error, operation.id.recordName, uuid: uuid)
            }
        }
    }
}
