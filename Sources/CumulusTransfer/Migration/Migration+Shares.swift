// How a migration makes shares and users' own records anew.
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
        guard let wanted = share(of: record, lane) else { return }
        guard !wanted.root.isEmpty || record.name == Names.zoneShare else {
            return note(record.name, lane, "the source does not say which record it shares")
        }
        try await needUsers(record.users)
        do {
            try await save(record, wanted, of: lane)
            report.shares += 1
            report.saved += 1
        } catch let error as ServiceError where !error.passes {
            return note(record.name, lane, "\(error)")
        }
        if let field = record.fields.keys.sorted().first(where: { record.plain($0) == nil }) {
            note(record.name, lane, "its field '\(field)' is one that no share has here")
        }
        if wanted.participants.contains(where: { $0.key(state.mapped) == nil }) {
            note(record.name, lane, "the source does not tell who one of its participants is")
        }
    }

    /// What a record shares, with its root: in some answers only the root says which share it has.
    func share(of record: SourceRecord, _ lane: MigrationLane) -> SourceShare? {
        guard var share = record.share else { return nil }
        if share.root.isEmpty { share.root = state.lanes[lane]?.waiting.roots[record.name] ?? "" }
        return share
    }

    /// While a share is open to all, nobody can be invited or removed by name.
    ///
    /// So it is saved closed if others are to be in it, these join, and then it is opened.
    private func save(
        _ record: SourceRecord,
        _ wanted: SourceShare,
        of lane: MigrationLane
    ) async throws {
        let database = try await database(of: lane)
        let id = Record.ID(recordName: record.name, zoneID: lane.zoneID)
        let known = try await target.persisting { try await found(id, in: database) }
        let differences = known?.shareDetails.map { details in
            ShareComparison.invited(
                wanted,
                details,
                seesAll: lane.database == .private,
                mapped: state.mapped
            )
        }
        var permissions = [wanted.publicPermission]
        if wanted.publicPermission != .none, differences?.isEmpty != true {
            permissions.insert(.none, at: 0)
        }
        for permission in permissions {
            let share = try await target.persisting {
                try await save(record, wanted, permission, in: database, lane)
            }
            guard let url = share.url else { continue }
            let isOpen = permission != .none
            for participant in wanted.participants
            where participant.hasAccepted && (participant.role == .publicUser) == isOpen {
                try await join(url, participant, record.name, lane)
            }
        }
    }

    private func save(
        _ record: SourceRecord,
        _ wanted: SourceShare,
        _ permission: ShareParticipant.Permission,
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
        for key in Set(share.record.allKeys()).union(record.fields.keys) {
            share[key] = record.plain(key)
        }
        share.publicPermission = permission
        if permission == .none {
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
            // Who came by the URL alone joins while the share is open.
            if participant.role == .publicUser { return nil }
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
        _ share: String,
        _ lane: MigrationLane
    ) async throws {
        guard let user = state.users[participant.user]?.name else { return }
        let container = try await container(of: user)
        do {
            _ = try await target.persisting { try await container.accept(url) }
        } catch let error as ServiceError where !error.passes {
            note(share, lane, "user '\(user)' can't join it: \(error)")
        }
    }

    // MARK: The user's own record

    /// The fields of the user's record in the public database, if the schema's file has any.
    func copyUser() async throws {
        guard let user = state.users[caller], let (record, lane) = try await userRecord() else {
            return
        }
        try await needUsers(record.users)
        let files = try await fetchAssets(of: [record])
        defer { for path in files.paths { unlink(path) } }
        if let error = files.failed[record.name] { return fail("\(error)", "the user's record") }
        let made = try mapping.record(
            record,
            in: .default,
            assets: files.content[record.name] ?? [:]
        )
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

    /// The user's record at the source, with the name that it has here; nil if there is none to
    /// copy.
    func userRecord() async throws -> (record: SourceRecord, lane: MigrationLane)? {
        guard schema?.columns["Users"]?.isEmpty == false, let user = state.users[caller] else {
            return nil
        }
        let lane = MigrationLane(caller: caller, database: .public, zone: .standard)
        guard var record = try await lookUp([caller], in: lane).first?.record,
            record.type == "Users"
        else { return nil }
        record.name = user.recordName
        return (record, lane)
    }
}

extension SourceRecord {
    /// The value of a field as shares have it; nil for files and what is encrypted.
    func plain(_ key: String) -> FieldValue? {
        if case .plain(let value)? = fields[key] { value } else { nil }
    }
}
