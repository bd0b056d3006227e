// Reads all chunks of this node's assets; damaged ones count as missing and are fetched again.
//
// Part of what an operator asks for by `Verification`.

import CumulusModel
import CumulusStorage
import CumulusWire

extension Node {
    private static let checkedAtOnce = 1_000

    /// Reads all chunks of this node; what is damaged counts as missing from then on.
    func checkAssets(
        _ report: VerificationReport,
        unless refusal: Refusal
    ) async throws {
        let databases = try await gate.reading { reader in
            try ScopeDirectory.all(in: reader).flatMap { try reader.databases(of: $0.number) }
        }
        for (_, database) in databases {
            var last: Bytes? = []
            while let after = last {
                let rows = try await gate.reading { reader in
                    let range = KeyRange.assets(of: database, after: after)
                    return try reader.rows(.records, range, limit: Node.checkedAtOnce)
                }
                for (key, _) in rows {
                    if let refusal = refusal() { throw refusal }
                    try await check(Bytes(key.suffix(32)), in: database, report)
                }
                last =
                    rows.count < Node.checkedAtOnce
                    ? nil : rows.last.map { Bytes($0.key.suffix(32)) }
            }
        }
    }

    private func check(
        _ asset: Bytes,
        in database: DatabaseNumber,
        _ report: VerificationReport
    ) async throws {
        let (list, lacks) = try await gate.reading { reader in
            let isWhole = try reader.asset(asset, in: database)?.isComplete ?? false
            let isNamed = try reader.isNamed(asset, inDatabase: database)
            return (try reader.chunkList(of: asset, in: database), isNamed && !isWhole)
        }
        guard let list else { return }
        let (checked, damaged) = try await assets.performing { [self] _ in
            loseDamaged(of: list, in: database)
        }
        report.count {
            $0.chunks += UInt64(checked)
            $0.damagedChunks += UInt64(damaged)
            if lacks { $0.incompleteAssets += 1 }
        }
    }
}
