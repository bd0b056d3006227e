// Assets as apps make and use them: from a file or from bytes, and as a file again.

public import CumulusModel
public import CumulusSystem

extension Asset {
    /// The content of a file; it is read when a record with the asset is saved.
    ///
    /// Only the content is kept: neither the file's name nor its dates.
    public init(fileURL: URL) {
        let path = fileURL.path(percentEncoded: false)
        let size = (try? FileManager.default.attributesOfItem(atPath: path)[.size]) as? UInt64
        self.init(source: .file(path: path), size: size ?? 0)
    }

    /// Content that is in memory.
    public init(data: Data) {
        self.init(source: .bytes([UInt8](data)), size: UInt64(data.count))
    }

    /// The file with the content: the one that the asset was made from, or a download; nil if there
    /// is none yet.
    ///
    /// A downloaded file is in a cache, which may drop it later: move or copy what is to stay.
    public var fileURL: URL? {
        guard case .file(let path) = source else { return nil }
        return URL(filePath: path)
    }
}
