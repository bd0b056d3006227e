// What an import did: how many records are saved, and how many lines failed.
//
// `Importer` fills it in, and `cumulus import` shows it.

package import ArgumentParser
package import CumulusModel
import CumulusTerminal

extension Importer {
    package struct Summary {
        var saved = 0
        /// Lines that can't be used, and records that the server refused.
        var badLines = 0
        var refused = 0
        /// Lines of an export of a database that no import can save again.
        var passedOver = 0
        var seconds = 0.0
        var mistakes = ImportMistakes()

        var failed: Int { badLines + refused }

        package var json: JSON {
            [
                "saved": .integer(Int64(saved)), "failed": .integer(Int64(failed)),
                "passedOver": .integer(Int64(passedOver)),
                "seconds": .decimal((seconds * 1_000).rounded() / 1_000),
                "errors": mistakes.json,
            ]
        }

        package var text: String {
            let tenths = (seconds * 10).rounded() / 10
            return "\(counted(saved, "record")) saved, \(counted(failed, "line")) failed, "
                + (passedOver > 0 ? "\(passedOver) shares passed over, " : "")
                + "\(tenths) s"
        }

        /// nil if every line was saved.
        package func exitCode(isStrict: Bool) -> ExitCode? {
            if failed == 0 { return nil }
            return isStrict || badLines > 0 ? .badInput : .refused
        }
    }
}
