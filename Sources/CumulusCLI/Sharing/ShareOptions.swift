// The share that a command is about, and the people whom it lets in: groups of options.

import ArgumentParser
import Cumulus
import CumulusModel
import CumulusTerminal

/// The share of a zone, or of a record in it; the zone may be of another user.
struct ShareTarget: ParsableArguments {
    @OptionGroup var subject: SubjectOptions
    @OptionGroup var owner: OwnerOption

    var root: String? { subject.root }

    var zoneID: RecordZone.ID { owner.zoneID(subject.zone) }

    func share(in database: Database) async throws -> Share {
        try await subject.share(in: database, zoneID)
    }
}

/// A zone by its name alone, and a record in it.
struct SubjectOptions: ParsableArguments {
    @Argument(help: "Name of the zone.") var zone: String
    @Option(help: "Record name of the root, unless the zone is shared as a whole.")
    var root: String?

    /// - Parameter zoneID: The zone with its owner.
    func share(in database: Database, _ zoneID: RecordZone.ID) async throws -> Share {
        guard let root else {
            if let share = try await database.share(ofZoneWith: zoneID) { return share }
            throw ServiceError(
                .unknownItem,
                """
                zone '\(zone)' is not shared as a whole; name the record that is with --root, or \
                see what is shared with 'cumulus share list'
                """
            )
        }
        let record = try await SubjectOptions.root(root, in: zoneID, of: database)
        if let share = try await database.share(of: record) { return share }
        throw ServiceError(
            .unknownItem,
            "record '\(root)' is the root of no share; see 'cumulus share list'"
        )
    }

    /// The record of a zone that is a root, or is to be one.
    static func root(
        _ name: String,
        in zoneID: RecordZone.ID,
        of database: Database
    ) async throws -> Record {
        do {
            return try await database.record(for: Record.ID(recordName: name, zoneID: zoneID))
        } catch let error as ServiceError where error.code == .unknownItem {
            let zone = zoneID.zoneName
            let owner = zoneID.otherOwner.map { " --database shared --owner \($0)" } ?? ""
            throw ServiceError(
                .unknownItem,
                """
                zone '\(zone)' has no record '\(name)', which --root names; see \
                'cumulus record list --zone \(zone)\(owner)'
                """
            )
        }
    }
}

/// The user whose shares an operator asks for.
struct UserOfShares: ParsableArguments {
    @Option(help: "As the operator: the shares of this user.") var user: String?
    @OptionGroup var role: OperatorOption

    func validate() throws {
        guard user == nil, role.operatorTokenFile != nil else { return }
        throw ValidationError(
            "Without --user a user asks about itself: leave out --operator-token-file."
        )
    }

    /// Throws if an operator asks with what is of users only.
    func check(_ connection: Connection, _ others: String?...) throws {
        guard user != nil else { return }
        let own = [connection.token, connection.key, connection.session] + others
        guard own.allSatisfy({ $0 == nil }) else {
            throw ValidationError(
                "With --user the operator asks: --token, --key, --session, --database, --owner "
                    + "and --replicas go without it."
            )
        }
    }

    /// The shares of the user; nil if a user asks.
    func shares(by connection: Connection, in zone: String?) async throws -> [Share]? {
        guard let user else { return nil }
        let scope = connection.scope
        let (name, environment) = (scope.containerName, try scope.environmentValue())
        return try await asOperator(connection) { node in
            try await node.shares(of: user, in: name, environment)
        }.filter { zone == nil || $0.recordID.zoneID.zoneName == zone }
    }

    private func asOperator<Value>(
        _ connection: Connection,
        _ body: (NodeOperator) async throws -> Value
    ) async throws -> Value {
        try await role.withOperator(
            of: connection.nodes,
            tokenFile: connection.tokenFile,
            body
        )
    }

    /// Ends the share of the user's zone or root, and returns it; nil if a user asks.
    func stop(_ target: SubjectOptions, by connection: Connection) async throws -> Share? {
        guard let user, let shares = try await shares(by: connection, in: target.zone) else {
            return nil
        }
        guard let share = shares.first(where: { $0.rootRecordID?.recordName == target.root })
        else {
            throw ServiceError(
                .unknownItem,
                "'\(user)' shares no such zone or root; see 'cumulus share list --user \(user)'"
            )
        }
        let scope = connection.scope
        let (name, environment) = (scope.containerName, try scope.environmentValue())
        // Another node may have stopped it meanwhile.
        _ = try await asOperator(connection) { node in
            try await node.stop(share.recordID, of: user, in: name, environment)
        }
        return share
    }
}

/// The permission of a participant; the words are the ones of JSON and of apps.
enum SharePermission: String, CaseIterable, ExpressibleByArgument {
    case none
    case readOnly
    case readWrite

    var permission: Share.Participant.Permission {
        switch self {
        case .none: .none
        case .readOnly: .readOnly
        case .readWrite: .readWrite
        }
    }
}

/// Somebody, as a command line names a person.
struct Person: ExpressibleByArgument, Equatable {
    let text: String

    /// nil for any other text.
    init?(argument: String) {
        guard argument.contains("@") || argument.hasPrefix("+") || argument.hasPrefix("_") else {
            return nil
        }
        text = argument
    }

    func participant(
        _ permission: Share.Participant.Permission = .readOnly,
        _ role: Share.Participant.Role = .privateUser
    ) -> Share.Participant {
        if text.hasPrefix("_") {
            return Share.Participant(
                userRecordID: Record.ID(recordName: text),
                permission: permission,
                role: role
            )
        }
        return Share.Participant(
            lookupInfo: text.hasPrefix("+") ? .phoneNumber(text) : .emailAddress(text),
            permission: permission,
            role: role
        )
    }

    static let help = "an e-mail address, a telephone number with +, or a user record name"
}

/// The invited people, and what they may do.
struct InvitationOptions: ParsableArguments {
    @Option(help: "Lets somebody read: \(Person.help); may be repeated.")
    var reader: [Person] = []
    @Option(help: "Lets somebody read and save records; may be repeated.")
    var writer: [Person] = []
    @Option(help: "Lets somebody save records and invite others; may be repeated.")
    var administrator: [Person] = []

    func validate() throws {
        var share = Share(recordZoneID: .default)
        for person in reader + writer + administrator {
            guard !share.holds(person.participant()) else {
                throw ValidationError(
                    "'\(person.text)' is named twice; one person is either a reader, a writer or "
                        + "an administrator."
                )
            }
            share.addParticipant(person.participant())
        }
    }

    var isEmpty: Bool { reader.isEmpty && writer.isEmpty && administrator.isEmpty }

    /// Throws if somebody can't be invited because everybody who has the URL may join.
    ///
    /// Participants who were invited before can still be changed. The node refuses callers who
    /// change nothing in the share.
    func check(_ share: Share) throws(ServiceError) {
        let mayChange = share.participants.first(where: \.isCurrentUser).map {
            $0.role == .owner || $0.role == .administrator
        }
        guard share.publicPermission != .none, mayChange != false else { return }
        let invited = share.participants.filter { $0.role != .publicUser }
        for person in reader + writer + administrator {
            var others = Share(recordZoneID: .default)
            for participant in invited { others.addParticipant(participant) }
            if others.holds(person.participant()) { continue }
            let zone = share.recordID.zoneID.zoneName
            let set = "cumulus share set \(zone)"
            throw ServiceError(
                .invalidArguments,
                .invalidValue,
                """
                '\(person.text)' can't be invited while everybody who has the URL may join, and \
                who joins by it may do what all may (\(share.publicPermission)): change that with \
                '\(set) --public', or first close the share with '\(set) --public none', after \
                which those who joined by the URL are out and can be invited
                """
            )
        }
    }

    /// Adds all of them, or changes what they may do if they are in already.
    func add(to share: inout Share) {
        for person in reader { share.addParticipant(person.participant(.readOnly)) }
        for person in writer { share.addParticipant(person.participant(.readWrite)) }
        for person in administrator {
            share.addParticipant(person.participant(.readWrite, .administrator))
        }
    }

    static let note = """
        People are named by an e-mail address or a telephone number, which need not belong to a \
        user yet, or by a user record name, which 'cumulus sign-in' shows. Who is named by an \
        address joins as the user to whom an operator gave it ('cumulus user handle add').
        """
}
