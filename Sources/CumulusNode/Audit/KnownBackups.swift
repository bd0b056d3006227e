// The backups that a node knows that it made: those in its audit log.
//
// `DeletionCalls` names them to an operator who deletes something: it is still in them. A backup
// that was deleted since, or that another node made, is not known here.

import CumulusModel
import CumulusWire

extension Node {
    /// The backups of this node, oldest first, as far back as its audit log goes.
    func knownBackups() -> [WireKnownBackup] {
        (environment.auditLines?() ?? []).compactMap { line in
            guard let json = try? JSONReader.read(line),
                json["method"] == .string("OPERATOR_BACK_UP"),
                json["code"] == .integer(0), case .string(let path)? = json["target"],
                case .integer(let made)? = json["time"]
            else { return nil }
            return WireKnownBackup(path: path, made: made)
        }.suffix(Self.mostBackups)
    }

    private static let mostBackups = 100
}
