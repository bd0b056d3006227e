// How files were cut that were uploaded from here: one that is uploaded again is only hashed, also
// by another process.
//
// `AssetUpload` asks it. A remembered cut is a guess, which `AssetSource` compares with the file
// before it uses any of it. It may be deleted at any time, like everything in the cache.

import Crypto
import CumulusAssets
import CumulusModel
import CumulusSystem

extension AssetCache {
    /// How a file was cut when it was last uploaded; nil if that is not remembered.
    func cuts(of path: String) -> ChunkList? {
        let file = cutsPath(of: path)
        guard let data = FileManager.default.contents(atPath: file),
            let list = try? ChunkList(checking: Bytes(data.dropFirst(32))),
            list.digest == Bytes(data.prefix(32))
        else { return nil }
        AssetCache.markUsed(file)
        return list
    }

    func keepCuts(_ list: ChunkList, of path: String) {
        try? FileManager.default.createDirectory(
            atPath: directory,
            withIntermediateDirectories: true
        )
        let content = Data(list.digest + list.bytes)
        // Another process may do the same at this moment.
        try? content.write(to: URL(filePath: cutsPath(of: path)), options: .atomic)
        evict()
    }

    private func cutsPath(of path: String) -> String {
        "\(directory)/\(Bytes(SHA256.hash(data: Array(path.utf8))).hex).cuts"
    }
}
