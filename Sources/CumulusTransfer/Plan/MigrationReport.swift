// What a migration did, and what it could not take over.
//
// Each mistake is told once on standard error with its place; more of one kind are counted.

package import ArgumentParser
package import CumulusModel
import CumulusSystem
import CumulusTerminal

package struct MigrationReport: Sendable {
    /// Records that were saved here, and deletions; shares are among the records.
    package var saved = 0
    package var deleted = 0
    package var assets = 0
    package var assetBytes: UInt64 = 0
    package var zones = 0
    package var shares = 0
    package var subscriptions = 0
    /// Records that were compared, and those that differ or are on one side alone.
    package var compared = 0
    package var different = 0
    /// The first differences, as they were told.
    package private(set) var differences: [String] = []
    private static let mostDifferences = 1_000
    /// Things that the source has and that are not taken over.
    package var failed = 0
    package var seconds = 0.0
    /// How often each kind of mistake was told.
    private var kinds: [String: Int] = [:]
    private static let toldOfEach = 3
    private static let mostKinds = 1_000

    package init() {}

    /// Notes a difference.
    package mutating func differ(_ text: String) {
        different += 1
        if differences.count < MigrationReport.mostDifferences { differences.append(text) }
    }

    /// Whether to tell of a mistake: the first three of a kind are told.
    ///
    /// - Parameter kind: What is wrong, without names.
    package mutating func tells(_ kind: String) -> Bool {
        guard kinds[kind] != nil || kinds.count < MigrationReport.mostKinds else { return false }
        kinds[kind, default: 0] += 1
        return kinds[kind, default: 0] <= MigrationReport.toldOfEach
    }

    /// Lines about mistakes that were not told one by one.
    package var rest: [String] {
        kinds.filter { $0.value > MigrationReport.toldOfEach }
            .map { "\($0.value - MigrationReport.toldOfEach) more: \($0.key)" }.sorted()
    }

    package var json: JSON {
        [
            "saved": .integer(Int64(saved)), "deleted": .integer(Int64(deleted)),
            "assets": .integer(Int64(assets)),
            "assetBytes": .integer(Int64(clamping: assetBytes)),
            "zones": .integer(Int64(zones)), "shares": .integer(Int64(shares)),
            "subscriptions": .integer(Int64(subscriptions)),
            "compared": .integer(Int64(compared)), "different": .integer(Int64(different)),
            "failed": .integer(Int64(failed)),
            "seconds": .decimal((seconds * 1_000).rounded() / 1_000),
        ]
    }

    package var text: String {
        if compared > 0 || different > 0 {
            return "\(compared) records compared, \(different) differ, \(seconds.text(digits: 1)) s"
        }
        return "\(saved) records saved, \(deleted) deleted, \(assets) assets, \(shares) shares, "
            + "\(subscriptions) subscriptions, \(failed) failed, \(seconds.text(digits: 1)) s"
    }

    /// nil if both sides are equal as far as was asked.
    package var exitCode: ExitCode? { failed == 0 && different == 0 ? nil : .refused }
}
