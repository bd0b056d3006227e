// Which share a command is about, and whom it lets in: groups of options.

import ArgumentParser
import Cumulus
import CumulusModel

/// The share of a zone, or of a record in it.
struct ShareTarget: ParsableArguments {
    @Argument(help: "Name of the zone.") var zone: String
    @Option(help: "Record name of the root, unless the zone is shared as a whole.")
    var root: String?
    @OptionGroup var owner: OwnerOption

    var zoneID: RecordZone.ID { owner.zoneID(zone) }

    func share(in database: Database) async throws -> Share {
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
        let record = try await database.record(for: Record.ID(recordName: root, zoneID: zoneID))
        if let share = try await database.share(of: record) { return share }
        throw ServiceError(
            .unknownItem,
            "record '\(root)' is the root of no share; see 'cumulus share list'"
        )
    }
}

/// What somebody may do; the words are those of JSON and of apps.
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

/// Who is invited, and what they may do.
struct InvitationOptions: ParsableArguments {
    @Option(help: "Lets somebody read: \(Person.help); may be repeated.")
    var reader: [Person] = []
    @Option(help: "Lets somebody read and save records; may be repeated.")
    var writer: [Person] = []
    @Option(help: "Lets somebody save records and invite others; may be repeated.")
    var administrator: [Person] = []

    var isEmpty: Bool { reader.isEmpty && writer.isEmpty && administrator.isEmpty }

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
