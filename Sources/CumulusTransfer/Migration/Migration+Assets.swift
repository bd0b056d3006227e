// Files on their way: from the source to the disk, and from there to the node, never whole in
// memory.

import Cumulus
import CumulusModel
import CumulusSystem
import CumulusTerminal

extension Migration {
    /// The files of a page.
    struct PageFiles {
        /// By record and field.
        var content: [String: [String: [Asset]]] = [:]
        /// Records of which a file could not be had, and why.
        var failed: [String: any Error] = [:]
        var paths: [String] = []
    }

    private struct Download: Sendable {
        var record: String
        var field: String
        var index: Int
        var asset: SourceAsset
        var path: String
    }

    private static let parallelDownloads = 4

    func fetchAssets(of records: [SourceRecord]) async throws -> PageFiles {
        var downloads: [Download] = []
        var files = PageFiles()
        for record in records {
            for (field, assets) in record.assets {
                for (index, asset) in assets.enumerated() {
                    let path = "\(folder)/\(downloads.count)"
                    files.paths.append(path)
                    downloads.append(
                        Download(
                            record: record.name,
                            field: field,
                            index: index,
                            asset: asset,
                            path: path
                        )
                    )
                }
            }
        }
        if downloads.isEmpty { return files }
        let outcomes = try await Migration.run(downloads, from: source)
        for (download, outcome) in zip(downloads, outcomes) {
            switch outcome {
            case nil:
                let file = Asset(fileURL: URL(filePath: download.path))
                files.content[download.record, default: [:]][download.field, default: []]
                    .append(file)
            case let problem as OutputProblem: throw problem
            case let error?: files.failed[download.record] = error
            }
        }
        return files
    }

    /// The errors of downloads, in their order; nil for one that is there.
    private static func run(
        _ downloads: [Download],
        from source: SourceClient
    ) async throws -> [(any Error)?] {
        try await withThrowingTaskGroup(of: (Int, (any Error)?).self) { group in
            var outcomes = [(any Error)?](repeating: nil, count: downloads.count)
            for (number, download) in downloads.enumerated() {
                if number >= parallelDownloads, let (done, error) = try await group.next() {
                    outcomes[done] = error
                }
                group.addTask {
                    do {
                        _ = try await source.download(download.asset, to: download.path)
                        return (number, nil)
                    } catch {
                        return (number, error)
                    }
                }
            }
            for try await (done, error) in group { outcomes[done] = error }
            return outcomes
        }
    }
}
