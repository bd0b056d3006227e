// Users' own records: one for each user in the public and in the private database of a container,
// in the default zone, of type `Users`, under the user's record name.
//
// Called by fetches, saves and deletes. Nobody makes such a record: it is there, without fields, as
// soon as its user signs in, and takes room once the user saves a field.

import CumulusModel
import CumulusStorage

enum UserRecords {
    static let type = Schema.users.name
    /// The name that is reserved for the roles of a user; no user can set the field.
    static let rolesField = "roles"

    /// The caller's own record while nothing was saved in it; nil for other names.
    static func unsaved(
        named name: String,
        in zone: FoundZone,
        of caller: Caller
    ) -> RecordView? {
        guard name == caller.user, zone.zone.name == Names.defaultZone else { return nil }
        return RecordView(
            name: name,
            type: type,
            changeTag: [],
            created: caller.registered,
            createdBy: name,
            modified: caller.registered,
            modifiedBy: name
        )
    }

    /// Why a save doesn't change the caller's own record; nil if it does, or if it is about no
    /// user's record.
    static func refusal(
        of content: SaveItem.Content,
        named name: String,
        in zone: FoundZone,
        by caller: Caller
    ) -> ServiceError? {
        guard content.type == type || Names.isUserRecordName(name) else { return nil }
        guard name == caller.user, zone.zone.name == Names.defaultZone else {
            return Names.isUserRecordName(name) && content.type == type
                ? ServiceError(
                    .permissionFailure,
                    "a user's record is changed by that user only, in the default zone"
                )
                : ServiceError(
                    .invalidArguments,
                    """
                    records of type '\(type)' are made by the server only; fetch the one that has \
                    your user record name, and save that
                    """
                )
        }
        guard content.type == type else {
            return ServiceError(
                .invalidArguments,
                .wrongType,
                "record '\(name)' is a user's, whose type is '\(type)' and not '\(content.type)'"
            )
        }
        let names = content.fields.entries.map { content.fields.name(of: $0) }
        guard !(names + content.increments.map(\.field)).contains(rolesField) else {
            return ServiceError(
                .permissionFailure,
                "users don't give themselves roles; leave the field '\(rolesField)' out"
            )
        }
        return nil
    }

    static let deletion = ServiceError(
        .permissionFailure,
        "users' records can't be deleted, alone or with others; remove their fields instead"
    )
}
