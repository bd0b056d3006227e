// A record on its way to the server and back.
//
// Called by the calls of databases and by the sync engine.

internal import CumulusModel
internal import Foundation
internal import Synchronization

extension CKRecord {
    /// The object for a record that came from the server: a `CKShare` for the record of a
    /// share.
    static func object(for record: Record) -> CKRecord {
        let content = Content(record: record, fetched: record)
        return record.shareDetails == nil ? CKRecord(content) : CKShare(content)
    }

    /// The record as it is to be saved.
    ///
    /// - Throws: `invalidArguments` if a field was set to a value that no field can hold;
    ///   `assetFileNotFound` if the file of an asset can't be read.
    func prepared() throws(ServiceError) -> Record {
        let (record, refusal) = content.withLock { content in
            (content.record, content.refusals.min { $0.key < $1.key }?.value)
        }
        if let refusal { throw refusal }
        try record.checkFiles()
        return record
    }

    /// The record as it was fetched or saved last; nil if it was made here.
    var ancestor: Record? { content.withLock(\.fetched) }

    /// Whether a field holds an asset, or a list of assets.
    var holdsAssets: Bool { read(\.holdsAssets) }

    /// Becomes the saved record.
    ///
    /// Fields that were set since `sent` was taken stay, and count as changed.
    func become(_ saved: Record, sent: Record) {
        content.withLock { content in
            let saved = saved.keepingFiles(of: sent)
            var next = saved
            let now = content.record
            for key in now.changedKeys() {
                if now[key] != sent[key] { next[key] = now[key] }
                if now.encryptedValues[key] != sent.encryptedValues[key] {
                    next.encryptedValues[key] = now.encryptedValues[key]
                }
            }
            for (key, sum) in now.increments {
                let late = sum &- (sent.increments[key] ?? 0)
                if late != 0 { next.increment(key, by: late) }
            }
            if now.parent != sent.parent { next.parent = now.parent }
            if let details = now.shareDetails, details != sent.shareDetails {
                next.shareDetails?.publicPermission = details.publicPermission
                next.shareDetails?.participants = details.participants
            }
            content.record = next
            content.fetched = saved
        }
    }
}

extension Record {
    /// The same record with the files of the assets that were uploaded from another one.
    fileprivate func keepingFiles(of sent: Record) -> Record {
        guard sent.holdsAssets else { return self }
        var record = self
        for key in sent.changedKeys() {
            guard let value = self[key], let local = sent[key] else { continue }
            record.receive(value.keepingFiles(of: local), for: key)
        }
        return record
    }
}

extension FieldValue {
    fileprivate func keepingFiles(of sent: FieldValue) -> FieldValue {
        switch (self, sent) {
        case (.asset(var asset), .asset(let local)):
            asset.source = asset.source ?? local.source
            return .asset(asset)
        case (.list(let elements), .list(let locals)) where elements.count == locals.count:
            return .list(zip(elements, locals).map { $0.keepingFiles(of: $1) })
        default: return self
        }
    }
}

extension Record {
    /// - Throws: `assetFileNotFound` if an asset is to be uploaded whose file can't be read.
    fileprivate func checkFiles() throws(ServiceError) {
        guard holdsAssets else { return }
        for key in changedKeys() {
            for value in self[key]?.list ?? self[key].map({ [$0] }) ?? [] {
                guard case .asset(let asset) = value, asset.digest.isEmpty,
                    case .file(let path) = asset.source,
                    !FileManager.default.isReadableFile(atPath: path)
                else { continue }
                throw ServiceError(
                    .assetFileNotFound,
                    """
                    field '\(key)' of record '\(recordID.recordName)': the file \(path) \
                    can't be read
                    """
                )
            }
        }
    }
}
