// What a migration does about what fails: it waits where the source says so, keeps the names of
// what failed, and tries it again at the end of each list, in each round.
//
// Records are kept in the state, by their lists. What is no record of a list is tried in each round
// anyway, and counts for that round.

import Cumulus
import CumulusModel
import CumulusTerminal

extension Migration {
    /// Something that is no record of a list can't be taken over; the rest goes on.
    func fail(_ kind: String, _ place: String) {
        otherFailures += 1
        tell(kind, place)
    }

    /// A record of the list at hand can't be taken over; the rest goes on.
    func note(_ name: String, _ lane: MigrationLane, _ kind: String) {
        trouble[name] = kind
        // A round after the first says what is new.
        if rounds > 1, state.lanes[lane]?.waiting.failed[name] == kind { return }
        tell(kind, "record '\(name)' of \(lane.text)")
    }

    /// Keeps which records of a list failed, of those that were tried.
    func settle(
        _ tried: [String],
        of lane: MigrationLane,
        in progress: inout MigrationProgress
    ) {
        let before = progress.waiting.unnamed
        progress.waiting.settle(tried, trouble)
        trouble = [:]
        guard before == 0, progress.waiting.unnamed > 0 else { return }
        tell(
            "more than \(MigrationWaiting.mostFailed) records failed: the next run reads the list "
                + "from its beginning",
            lane.text
        )
    }

    /// Says which types a key can't list: the source does not refuse them.
    func tellOfHidden(_ schema: MigrationSchema) {
        for type in options.isOfUser ? [] : schema.hidden {
            tell(
                "only creators may read its records, so the key sees its own alone: grant READ on "
                    + "it to a role of the key in the source's schema",
                "type \(type) of the public database"
            )
        }
    }

    // MARK: Waiting

    /// A page, and when the source read it; it asks again while the zone is busy.
    func page(
        _ request: SourceRequest,
        of lane: MigrationLane
    ) async throws -> (page: MigrationPage, time: Int64) {
        var wait = SourceWait(patience: source.patience)
        while true {
            let answer = try await source.answer(request)
            do {
                return (try MigrationPage(answer.json, of: lane), answer.time)
            } catch let error as SourceRefusalError {
                guard error.refusal.mayPass, try await wait.pause(for: error.refusal) else {
                    throw error
                }
            } catch let problem as SourceProblem {
                throw InputProblem(
                    "the source's answer about \(lane.text): \(problem.description)"
                )
            }
        }
    }

    /// The entries, after busy ones were asked for again.
    func waited(
        _ entries: [SourceEntry],
        in lane: MigrationLane,
        keys: [String]? = nil
    ) async throws -> [SourceEntry] {
        var entries = entries
        var wait = SourceWait(patience: source.patience)
        while true {
            let busy = entries.indices.filter { entries[$0].passing != nil }
            let longest = busy.compactMap { entries[$0].passing }
                .max { $0.retryAfter ?? 0 < $1.retryAfter ?? 0 }
            guard let longest, try await wait.pause(for: longest) else { return entries }
            for part in busy.parts(of: SourceRequest.most) {
                let again = try await ask(for: part.map { entries[$0].name }, in: lane, keys: keys)
                for (index, entry) in zip(part, again) { entries[index] = entry }
            }
        }
    }

    /// Entries in the order of the names; what is not there is `missing`.
    func lookUp(
        _ names: [String],
        in lane: MigrationLane,
        keys: [String]? = nil
    ) async throws -> [SourceEntry] {
        try await waited(try await ask(for: names, in: lane, keys: keys), in: lane, keys: keys)
    }

    private func ask(
        for names: [String],
        in lane: MigrationLane,
        keys: [String]?
    ) async throws -> [SourceEntry] {
        let request = SourceRequest.lookup(names, in: lane.zone, of: lane.database, keys: keys)
        return try await source.ask(request) {
            try SourceLookup($0, count: names.count, in: lane.zone.name).entries
        }
    }

    // MARK: What waited

    /// Saves and deletes what had to wait for others, as long as that helps, and then shares.
    ///
    /// What failed before is tried again, too.
    func applyWaiting(_ names: [String], of lane: MigrationLane) async throws {
        var seen: Set<String> = []
        var waiting = names.filter { seen.insert($0).inserted }
        var shares: [String] = []
        while !waiting.isEmpty {
            var rest: [String] = []
            for part in waiting.parts(of: SourceRequest.most) {
                let entries = try await lookUp(Array(part), in: lane)
                shares += entries.filter { $0.record?.share != nil }.map(\.name)
                rest += try await apply(entries.filter { $0.record?.share == nil }, of: lane)
            }
            guard rest.count < waiting.count else {
                for name in rest {
                    note(name, lane, reasons[name] ?? "what it belongs to is not at the source")
                }
                break
            }
            // Chains run forwards or backwards: so do the rounds.
            waiting = rest.reversed()
        }
        for part in shares.parts(of: SourceRequest.most) {
            for entry in try await lookUp(Array(part), in: lane) {
                switch entry {
                case .record(let record): try await apply(record, of: lane)
                case .refused(let name, let refusal): note(name, lane, refusal.text)
                case .deleted(let name), .missing(let name):
                    _ = try await delete([name], of: lane)
                }
            }
        }
        reasons = [:]
    }
}

extension SourceEntry {
    /// The refusal, if another try may succeed.
    fileprivate var passing: SourceRefusal? {
        guard case .refused(let name, let refusal) = self, !name.isEmpty, refusal.mayPass else {
            return nil
        }
        return refusal
    }
}

extension MigrationLane {
    /// Whether a list may be passed over that was refused from its beginning.
    func isOptional(_ refusal: SourceRefusal) -> Bool {
        switch refusal.code {
        // A type without records may be unknown.
        case "NOT_FOUND": type != nil
        case "ZONE_NOT_FOUND": type == nil
        default: isUnlisted(refusal)
        }
    }

    /// Apps with zones of their own have no index for the default zone.
    func isUnlisted(_ refusal: SourceRefusal) -> Bool {
        refusal.code == "BAD_REQUEST" && database == .private && type != nil
    }
}
