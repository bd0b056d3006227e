// How a migration makes shares, subscriptions and users' own records anew.
//
// A share gets another URL here. A user who had accepted it at the source has accepted it here: the
// migration does that as this user.

import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal

extension Migration {
    // MARK: Shares

    /// Saves a share as the owner of its zone, and joins those who had joined.
    func apply(_ record: SourceRecord, of lane: MigrationLane) async throws {
        guard var wanted = record.share else { return }
        let place = "share '\(record.name)' of \(lane.text)"
        if wanted.root.isEmpty { wanted.root = state.lanes[lane]?.roots[record.name] ?? "" }
        guard !wanted.root.isEmpty || record.name == Names.zoneShare else {
            return fail("the source does not say which record it shares", place)
        }
        try await needUsers(record.users)
        let database = try await database(of: lane)
        do {
            let share = try await target.persisting {
                try await save(record, wanted, in: database, lane)
            }
            report.shares += 1
            report.saved += 1
            guard let url = share.url else { return }
            for participant in wanted.participants where participant.hasAccepted {
                try await join(url, participant, place)
            }
        } catch let error as ServiceError where !error.passes {
            fail("\(error)", place)
        }
    }

    private func save(
        _ record: SourceRecord,
        _ wanted: SourceShare,
        in database: Database,
        _ lane: MigrationLane
    ) async throws -> Share {
        let id = Record.ID(recordName: record.name, zoneID: lane.zoneID)
        var share: Share
        var root: Record?
        if let known = try await found(id, in: database).flatMap({ Share($0) }) {
            share = known
        } else if wanted.root.isEmpty {
            share = Share(recordZoneID: lane.zoneID)
        } else {
            let rootID = Record.ID(recordName: wanted.root, zoneID: lane.zoneID)
            let record = try await database.record(for: rootID)
            share = Share(rootRecord: record, shareID: id)
            root = record
        }
        for (key, value) in record.fields {
            if case .plain(let value) = value { share[key] = value }
        }
        share.publicPermission = wanted.publicPermission
        // Nobody can be invited or removed by name while a share is open to all.
        if wanted.publicPermission == .none {
            // A participant does not see all others.
            if lane.database == .private {
                for participant in share.participants { share.removeParticipant(participant) }
            }
            for participant in invited(wanted) { share.addParticipant(participant) }
        }
        guard let root else { return try await database.save(share) }
        return try await database.save(share, rootRecord: root).share
    }

    private func found(_ id: Record.ID, in database: Database) async throws -> Record? {
        do {
            return try await database.record(for: id)
        } catch let error as ServiceError where error.code == .unknownItem {
            return nil
        }
    }

    private func invited(_ wanted: SourceShare) -> [Share.Participant] {
        wanted.participants.compactMap { participant -> Share.Participant? in
            let info: UserIdentity.LookupInfo
            if let address = participant.emailAddress {
                info = .emailAddress(address)
            } else if let number = participant.phoneNumber {
                info = .phoneNumber(number)
            } else if !participant.user.isEmpty {
                info = .userRecordID(Record.ID(recordName: state.mapped(participant.user)))
            } else {
                return nil
            }
            return Share.Participant(
                lookupInfo: participant.hasAccepted ? byName(participant) ?? info : info,
                permission: participant.permission,
                role: participant.role == .administrator ? .administrator : .privateUser
            )
        }
    }

    /// Who has accepted is known by its record: its address may not be verified here yet.
    private func byName(_ participant: SourceShare.Participant) -> UserIdentity.LookupInfo? {
        guard !participant.user.isEmpty else { return nil }
        return .userRecordID(Record.ID(recordName: state.mapped(participant.user)))
    }

    private func join(
        _ url: URL,
        _ participant: SourceShare.Participant,
        _ place: String
    ) async throws {
        guard let user = state.users[participant.user]?.name else { return }
        let container = try await target.container(of: user) { try noteSession($0, of: user) }
        do {
            _ = try await target.persisting { try await container.accept(url) }
        } catch let error as ServiceError where !error.passes {
            fail("user '\(user)' can't join it: \(error)", place)
        }
    }

    // MARK: Subscriptions

    func copySubscriptions() async throws {
        guard let user = state.users[caller]?.name else { return }
        let container = try await target.container(of: user) { try noteSession($0, of: user) }
        for database in [DatabaseScope.public, .private, .shared] {
            let entries = try await source.ask(.subscriptions(of: database)) {
                try SourceObject($0, at: "").neededList("subscriptions")
            }
            for (index, json) in entries.enumerated() {
                let place = "subscriptions[\(index)] of the \(database.name) database"
                try await save(json, in: container.database(with: database), place)
            }
        }
    }

    private func save(_ json: JSON, in database: Database, _ place: String) async throws {
        do {
            let subscription = try Subscription(source: json, at: "", for: caller) {
                state.mapped($0)
            }
            _ = try await target.persisting { try await database.save(subscription) }
            report.subscriptions += 1
        } catch let problem as SourceProblem {
            fail(problem.description, place)
        } catch let error as ServiceError where !error.passes {
            fail("\(error)", place)
        }
    }

    // MARK: The user's own record

    /// The fields of the user's record in the public database, if the schema's file has any.
    func copyUser() async throws {
        guard schema?.columns["Users"]?.isEmpty == false, let user = state.users[caller] else {
            return
        }
        let lane = MigrationLane(caller: caller, database: .public, zone: .standard)
        guard var record = try await lookUp([caller], in: lane).first?.record,
            record.type == "Users"
        else { return }
        record.name = user.recordName
        let made = try mapping.record(record, in: .default)
        let database = try await database(of: lane, as: user.name)
        let results = try await target.persisting {
            try await database.modifyRecords(
                saving: [made],
                deleting: [],
                savePolicy: .allKeys
            ).saveResults
        }
        if case .failure(let error)? = results[made.recordID] {
            fail("\(error)", "the user's record")
        }
    }
}
