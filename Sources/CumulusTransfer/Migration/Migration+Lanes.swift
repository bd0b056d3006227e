// How a migration reads one list of the source to its end: pages, then what had to wait for others,
// then what was deleted.

import Cumulus
import CumulusModel
import CumulusTerminal

extension Migration {
    // MARK: Zones

    /// Takes over which zones there are, and which are gone.
    ///
    /// The token counts once all pages are read: a list that was cut off is read again, and so
    /// compares all zones if it began anew.
    func takeZones(of database: DatabaseScope) async throws {
        let key = MigrationState.key(caller, database)
        var token = state.databases[key]
        var isAnew = token == nil
        var seen: Set<SourceZone> = []
        while true {
            let request = SourceRequest.databaseChanges(of: database, token: token)
            let page: SourceDatabaseChanges
            do {
                page = try await source.ask(request) { try SourceDatabaseChanges($0) }
            } catch let error as ServiceError
                where error.code == .invalidArguments && !isAnew
            {
                // The token has expired: zones that were deleted since are found by comparing.
                state.databases[key] = nil
                (token, isAnew, seen) = (nil, true, [])
                continue
            }
            for zone in page.changed.map({ own($0, database) }) {
                seen.insert(zone)
                let lane = MigrationLane(caller: caller, database: database, zone: zone)
                state.lanes[lane, default: MigrationProgress()].isDone = false
            }
            for zone in page.deleted { try await dropZone(own(zone, database), database) }
            token = page.token
            try keep()
            if !page.moreComing { break }
        }
        // Zones that may have gone are looked for again in the next round.
        if isAnew, try await !dropZones(of: database, except: seen) { return }
        state.databases[key] = token
        try keep()
    }

    /// Deletes the zones that were not seen, unless it is doubtful that they are gone: then false.
    private func dropZones(
        of database: DatabaseScope,
        except seen: Set<SourceZone>
    ) async throws -> Bool {
        let known = state.lanes.keys.filter {
            $0.caller == caller && $0.database == database && $0.type == nil
        }
        let gone = known.filter { !seen.contains($0.zone) }
        if gone.count > 1, gone.count * 2 > known.count {
            // Rather a right to read was lost, and a zone goes with all that it holds.
            fail(
                "\(gone.count) of \(known.count) zones are not at the source any more, and none "
                    + "was deleted here: see whether who asks may still read them there",
                "the \(database.name) database"
            )
            return false
        }
        for lane in gone { try await dropZone(lane.zone, database) }
        return true
    }

    /// A private zone has no owner's name: it is the caller's.
    private func own(_ zone: SourceZone, _ database: DatabaseScope) -> SourceZone {
        database == .private ? SourceZone(name: zone.name) : zone
    }

    /// Deletes a zone that is gone at the source; a share that ended takes no records with it.
    private func dropZone(_ zone: SourceZone, _ database: DatabaseScope) async throws {
        let lane = MigrationLane(caller: caller, database: database, zone: zone)
        guard state.lanes[lane] != nil else { return }
        if database == .private {
            let place = try await self.database(of: lane)
            try await target.persisting { () async throws -> Void in
                do {
                    try await place.deleteRecordZone(withID: lane.zoneID)
                } catch let error as ServiceError where error.code == .zoneNotFound {
                    return
                }
            }
        }
        state.lanes[lane] = nil
    }

    /// The database here in which a lane's records are.
    func database(of lane: MigrationLane) async throws -> Database {
        let owner = lane.database == .shared ? lane.zone.owner : caller
        try await needUsers([owner])
        let container = try await container(of: state.users[owner]?.name ?? "")
        return container.database(with: lane.database == .public ? .public : .private)
    }

    // MARK: Pages

    func run(_ lane: MigrationLane) async throws {
        var progress = state.lanes[lane] ?? MigrationProgress()
        if rounds == 1 { progress.readAgainWhatIsLost(of: lane) }
        if lane.type == nil, progress.token == nil { try await makeZone(lane) }
        while !progress.isDone {
            guard let answer = try await page(of: lane, &progress) else { continue }
            var page = answer.page
            page.entries = try await waited(page.entries, in: lane)
            let deferred = try await apply(page.entries, of: lane)
            progress.take(page, deferring: deferred, at: answer.time)
            settle(page.entries.map(\.name), of: lane, in: &progress)
            state.lanes[lane] = progress
            try keep()
            draw()
            if isOver() { return }
        }
        restarted.remove(lane)
        let waiting = progress.waiting.deferred + progress.waiting.failed.keys.sorted()
        if !waiting.isEmpty {
            try await applyWaiting(waiting, of: lane)
            progress.waiting.deferred = []
            settle(waiting, of: lane, in: &progress)
        }
        if progress.mustSweep {
            progress.mustSweep = try await !sweep(lane)
            if progress.mustSweep { otherFailures += 1 }
            settle([], of: lane, in: &progress)
        }
        // A list that ended meanwhile, with its zone, is not kept.
        if state.lanes[lane] != nil { state.lanes[lane] = progress }
        try keep()
    }

    /// The next page; nil after a refusal that was met: then the progress is another one.
    private func page(
        of lane: MigrationLane,
        _ progress: inout MigrationProgress
    ) async throws -> (page: MigrationPage, time: Int64)? {
        let request = progress.request(of: lane)
        do {
            return try await page(request, of: lane)
        } catch let error as SourceRefusalError {
            let refusal = error.refusal
            // A list that is refused again would be read without end.
            if refusal.isOfToken, !restarted.contains(lane), progress.forgetToken(of: lane) {
                restarted.insert(lane)
                return nil
            }
            if refusal.isOfToken, progress.token == nil, progress.since != nil {
                // Without an index of times the whole list is read each round.
                progress.since = nil
                return nil
            }
            let isUnlisted = lane.isUnlisted(refusal)
            guard lane.isOptional(refusal), progress.token == nil || !isUnlisted else {
                throw refusal.error(of: "\(request.path) of \(lane.text)")
            }
            if isUnlisted {
                fail("the default zone can't be listed: \(refusal.reason)", lane.text)
            }
            progress.isDone = true
            return nil
        }
    }

    private func makeZone(_ lane: MigrationLane) async throws {
        let place = try await database(of: lane)
        _ = try await target.persisting {
            try await place.save(RecordZone(zoneName: lane.zone.name))
        }
        report.zones += 1
    }
}

extension MigrationLane {
    /// The zone here, in its owner's private database.
    var zoneID: RecordZone.ID { RecordZone.ID(zoneName: zone.name) }
}

extension Array {
    /// The elements in parts of at most so many.
    func parts(of count: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: self.count, by: count).map {
            self[$0..<Swift.min($0 + count, self.count)]
        }
    }
}
