// A file in a field: made from a file, or downloaded with its record.
//
// Folder: files in fields. Read `CKAsset`, then `AssetDelivery`.

internal import Cumulus
internal import CumulusFoundation
package import CumulusModel
public import Foundation

/// A file that is kept outside its record, such as a photo.
public final class CKAsset: NSObject, NSSecureCoding, NSCopying, Sendable {
    /// The content as the client library knows it.
    let model: Asset

    /// The content of a file; it is read when a record with the asset is saved.
    public convenience init(fileURL: URL) {
        self.init(Asset(fileURL: fileURL))
    }

    init(_ model: Asset) {
        self.model = model
    }

    /// The file with the content: the one that the asset was made from, or a download.
    ///
    /// Nil if the content was not downloaded, as in the records of errors. A download is in a
    /// cache, which may drop it later: copy what is to stay.
    public var fileURL: URL? { model.fileURL }

    /// The file, for people.
    public override var description: String {
        "<CKAsset: \(fileURL?.path ?? "not downloaded"); \(model.size) bytes>"
    }

    /// The asset itself, since it never changes.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// Archives the name of the content, and of its file on this machine.
    public func encode(with coder: NSCoder) {
        coder.encode(Data(model.digest) as NSData, forKey: "digest")
        coder.encode(Int64(clamping: model.size), forKey: "size")
        if let fileURL { coder.encode(fileURL as NSURL, forKey: "fileURL") }
    }

    /// An asset from an archive; nil if it names neither content nor a file.
    public init?(coder: NSCoder) {
        let file = coder.decode(NSURL.self, forKey: "fileURL") as URL?
        let digest = coder.decodeBytes(forKey: "digest") ?? Data()
        let size = UInt64(clamping: coder.decodeInt64(forKey: "size"))
        var asset = file.map { Asset(fileURL: $0) } ?? Asset(digest: [], size: 0)
        (asset.digest, asset.size) = (Bytes(digest), size)
        guard file != nil || !digest.isEmpty else { return nil }
        model = asset
    }
}

extension CKAsset: FormatArgument {
    package var formatArgument: FieldValue { .asset(model) }
}
