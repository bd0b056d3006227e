// What `cumulus record save` may overwrite: as CloudKit, nothing that the caller has not seen.
//
// Used by `RecordCommand.Save`. A refusal names the commands that go on from there.

import ArgumentParser
import Cumulus
import CumulusModel

struct SaveRule: ParsableArguments {
    @Option(help: "Change tag of the record that is changed, as 'cumulus record get' shows it.")
    var tag: String?
    @Flag(help: "Save over whatever is there; fields that are not named stay.") var force = false

    func validate() throws {
        guard !force || tag == nil else {
            throw ValidationError("--force saves whatever the tag is: leave out --tag, or --force.")
        }
        guard tag.map({ Bytes(hex: $0)?.isEmpty == false }) ?? true else {
            throw ValidationError(
                "--tag takes hexadecimal digits: the recordChangeTag of 'cumulus record get'."
            )
        }
    }

    /// - Parameter isSum: The save only adds to integers, which overwrites nothing.
    func policy(isSum: Bool) -> RecordSavePolicy {
        force || isSum && tag == nil ? .changedKeys : .ifServerRecordUnchanged
    }

    /// A refusal with what to do about it.
    ///
    /// - Parameter get: The command that shows the record.
    func advised(_ error: any Error, get: String) -> any Error {
        guard var error = error as? ServiceError else { return error }
        switch error.code {
        case .serverRecordChanged:
            let present = error.serverRecord?.recordChangeTag ?? "TAG"
            let what =
                tag == nil
                ? "there is such a record already" : "the record has changed since that tag"
            error.message = """
                \(what): look at it with '\(get)', then save again with its change tag \
                (--tag \(present)), or over it with --force
                """
        case .unknownItem where tag != nil && error.message.hasPrefix("Record not found"):
            // A node doesn't know whether there ever was such a record.
            error.message = """
                there is no such record here, now or any more; check its name, zone and database, \
                or leave out --tag to make a new one
                """
        case .unknownItem where tag != nil: error.message += " (leave out --tag)"
        default: break
        }
        return error
    }
}
